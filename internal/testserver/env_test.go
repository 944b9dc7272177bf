package testserver

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFromEnv(t *testing.T) {
	needOwn(t)
	servers, err := FromEnv(t.Context(), WithProgress(func(s string) { t.Log(s) }))
	require.NoError(t, err)
	require.Len(t, servers, 2)
	dsns := ""
	for i, f := range []Flavor{MariaDB, MySQL} {
		t.Cleanup(servers[i].Stop)
		assert.Equal(t, f, servers[i].Flavor())
		require.NoError(t, open(t, servers[i].DSN("")).PingContext(t.Context()))
		dsns += " " + servers[i].DSN("ignored", "timeout=3s")
	}

	// The same two, as somebody else's.
	t.Setenv(EnvDSN, dsns)
	others, err := FromEnv(t.Context())
	require.NoError(t, err)
	require.Len(t, others, 2)
	for i, s := range others {
		assert.Equal(t, servers[i].Flavor(), s.Flavor())
		assert.Equal(t, servers[i].Version(), s.Version())
		assert.Equal(t, "root@tcp("+servers[i].Addr()+")/x?timeout=3s&parseTime=true", s.DSN("x", "parseTime=true"))
		assert.False(t, s.Own())
		require.ErrorContains(t, s.Kill(), "not ours")
		require.ErrorContains(t, s.Restart(t.Context()), "not ours")
		s.Stop()
		require.NoError(t, open(t, s.DSN("")).PingContext(t.Context()), "Stop is for our own")
	}
}

func TestShared(t *testing.T) {
	needOwn(t)
	servers, err := Shared(t.Context())
	require.NoError(t, err)
	require.Len(t, servers, 2)
	same, err := Shared(t.Context())
	require.NoError(t, err)
	require.Equal(t, servers, same)
	StopShared()
	for _, s := range servers {
		require.Error(t, open(t, s.DSN("")).PingContext(t.Context()))
		assert.NoDirExists(t, s.dir.path)
	}
	StopShared() // again: nothing
}

func TestFromEnvBadDSN(t *testing.T) {
	addr, err := freeAddr()
	require.NoError(t, err)
	t.Setenv(EnvDSN, "root:secret@tcp("+addr+")/ root:secret-at-localhost")
	_, err = FromEnv(t.Context())
	require.ErrorContains(t, err, "DSN 1 of 2 in COUNTERMYSQL_TEST_DSN: no answer from tcp("+addr+")")
	require.ErrorContains(t, err, "DSN 2 of 2 in COUNTERMYSQL_TEST_DSN: invalid DSN")
	require.ErrorContains(t, err, "it looks like user:password@tcp(127.0.0.1:3306)/")
	assert.NotContains(t, err.Error(), "secret")
}
