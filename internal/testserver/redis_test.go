package testserver

import (
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRedis(t *testing.T) {
	for _, appendfsync := range []string{"always", "everysec"} {
		r, err := StartRedis(t.Context(), appendfsync, WithProgress(func(s string) { t.Log(s) }))
		require.NoError(t, err)
		t.Cleanup(r.Stop)
		require.NoError(t, r.ping(t.Context()))
		require.DirExists(t, r.dir.host("data/appendonlydir"))

		require.NoError(t, r.Kill())
		require.Error(t, r.ping(t.Context()))
		require.NoError(t, r.Restart(t.Context()))
		require.NoError(t, r.ping(t.Context()))

		r.Stop()
		assert.NoDirExists(t, r.dir.path)
		_, err = net.Dial("tcp", r.Addr())
		require.Error(t, err)
		r.Stop() // again: nothing
	}
	_, err := StartRedis(t.Context(), "sometimes")
	require.ErrorContains(t, err, "appendfsync")
}
