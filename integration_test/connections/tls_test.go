package connections

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"net"
	"os"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// wires is a network on which it is seen which connections can be read.
type wires struct{ laid, readable atomic.Int64 }

type wire struct {
	net.Conn
	*wires
	read atomic.Bool
}

func (w *wires) dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	w.laid.Add(1)
	return &wire{Conn: conn, wires: w}, err
}

func (c *wire) Write(b []byte) (int, error) {
	if (bytes.Contains(b, []byte("u_itg_")) || bytes.Contains(b, []byte("SELECT"))) && !c.read.Swap(true) { // the user, who is named first, and a query
		c.readable.Add(1)
	}
	return c.Conn.Write(b)
}

// encrypting is a server with a certificate, and what go-sql-driver knows of it by name.
type encrypting struct {
	*testserver.Server
	*wires
	name    string // of the network, and of trusted
	trusted *tls.Config
}

func newEncrypting(t *testing.T, flavor testserver.Flavor) *encrypting {
	t.Helper()
	srv, err := testserver.Start(t.Context(), flavor, testserver.WithTLS())
	require.NoError(t, err)
	t.Cleanup(srv.Stop)
	e := &encrypting{srv, &wires{}, "wire " + srv.Addr(), &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "127.0.0.1"}}
	mysql.RegisterDialContext(e.name, e.dial)
	t.Cleanup(func() { mysql.DeregisterDialContext(e.name) })
	pem, err := os.ReadFile(srv.Certificate())
	require.NoError(t, err)
	require.True(t, e.trusted.RootCAs.AppendCertsFromPEM(pem))
	require.NoError(t, mysql.RegisterTLSConfig(e.name, e.trusted))
	t.Cleanup(func() { mysql.DeregisterTLSConfig(e.name) })
	return e
}

// open has both drivers connect with a value of the DSN's tls, or with a *tls.Config.
func (e *encrypting) open(t *testing.T, a *account, by string, config *tls.Config) {
	t.Helper()
	settings := func(db *sql.DB) *mysql.Config {
		cfg := a.settings(t, e.Server, db)
		cfg.User, cfg.Passwd, cfg.Net, cfg.TLSConfig, cfg.TLS = a.name, "secret", e.name, by, config
		return cfg
	}
	plain, err := mysql.NewConnector(settings(a.plain))
	require.NoError(t, err)
	ours, err := countermysql.NewConnector(settings(a.ours), a.config)
	require.NoError(t, err)
	a.use(t, plain, ours)
}

// TestTLS proves that all connections are encrypted which the driver opens, those of look-ups and
// rollups too, by each of go-sql-driver's ways to ask for it: the server takes no others of
// this user, nothing on the wire can be read, and every count is plain's.
func TestTLS(t *testing.T) {
	t.Parallel()
	for _, flavor := range []testserver.Flavor{testserver.MariaDB, testserver.MySQL} {
		t.Run(string(flavor), func(t *testing.T) {
			t.Parallel()
			e := newEncrypting(t, flavor)
			for _, way := range []struct {
				by     string
				config *tls.Config
			}{{e.name, nil}, {"skip-verify", nil}, {"preferred", nil}, {"", e.trusted}} {
				a := newAccount(t, e.Server, "'secret' REQUIRE SSL")
				e.open(t, a, way.by, way.config)
				a.counted(t)
				for range 2 {
					var name, cipher string
					require.NoError(t, harness.Session(t, a.Ours).QueryRowContext(t.Context(), "SHOW SESSION STATUS LIKE 'Ssl_cipher'").Scan(&name, &cipher))
					require.NotEmpty(t, cipher)
				}
				require.Zero(t, e.readable.Load())
			}
		})
	}
}

// TestTLSRefused proves that the user of TestTLS is refused without encryption, that on its wire
// everything could be read then, and that a server which is not trusted gets no connection.
func TestTLSRefused(t *testing.T) {
	t.Parallel()
	for _, flavor := range []testserver.Flavor{testserver.MariaDB, testserver.MySQL} {
		t.Run(string(flavor), func(t *testing.T) {
			t.Parallel()
			e := newEncrypting(t, flavor)
			a := newAccount(t, e.Server, "'secret' REQUIRE SSL")
			e.open(t, a, "false", nil)
			require.Equal(t, 1045, harness.ErrorNumber(a.Plain.Ping()))
			require.Equal(t, 1045, harness.ErrorNumber(a.Ours.Ping()))
			for _, c := range []*tls.Config{{RootCAs: x509.NewCertPool(), ServerName: "127.0.0.1"}, {RootCAs: e.trusted.RootCAs, ServerName: "elsewhere"}} {
				e.open(t, a, "", c)
				want := a.Plain.Ping()
				var untrusted *tls.CertificateVerificationError
				require.ErrorAs(t, want, &untrusted)
				require.EqualError(t, a.Ours.Ping(), want.Error())
			}

			harness.Affected(t, a.Direct, "ALTER USER "+a.name+" REQUIRE NONE")
			e.laid.Store(0)
			e.readable.Store(0)
			e.open(t, a, "false", nil)
			a.counted(t)
			require.Equal(t, e.laid.Load(), e.readable.Load())
		})
	}
}
