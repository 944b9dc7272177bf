package connections

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// tokens gives connections the password of the moment. Its change waits for those that are being
// made: a token is good for a while, a password is not.
type tokens struct {
	*harness.Recorder
	user string
	mu   sync.RWMutex
	now  string
}

func (k *tokens) hook(_ context.Context, cfg *mysql.Config) error {
	cfg.User, cfg.Passwd = k.user, k.now
	return nil
}

func (k *tokens) ConnectorConnect(ctx context.Context, c driver.Connector) (driver.Conn, error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return c.Connect(ctx)
}

// waiting is plain's connector that waits likewise.
type waiting struct {
	driver.Connector
	*tokens
}

func (w waiting) Connect(ctx context.Context) (driver.Conn, error) {
	return w.ConnectorConnect(ctx, w.Connector)
}

// newTokens opens both drivers as a user whose password a hook knows.
func newTokens(t *testing.T, srv *testserver.Server) (*account, *tokens) {
	t.Helper()
	a := newAccount(t, srv, "'first'")
	k := &tokens{Recorder: a.Sent, user: a.name, now: "first"}
	plain, ours := a.settings(t, srv, a.plain), a.settings(t, srv, a.ours)
	for _, cfg := range []*mysql.Config{plain, ours} {
		require.NoError(t, cfg.Apply(mysql.BeforeConnect(k.hook)))
	}
	raw, err := mysql.NewConnector(plain)
	require.NoError(t, err)
	a.config.Interceptor = k
	connector, err := countermysql.NewConnector(ours, a.config)
	require.NoError(t, err)
	a.use(t, waiting{raw, k}, connector)
	return a, k
}

// change gives the user another password, and kills his connections, those of both drivers.
func (k *tokens) change(t *testing.T, a *account, password string) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	harness.Affected(t, a.Direct, "ALTER USER "+a.name+" IDENTIFIED BY '"+password+"'")
	k.now = password
	connections := "SELECT id FROM information_schema.PROCESSLIST WHERE user = '" + a.name + "'"
	for _, id := range harness.QueriedList(t, a.Direct, connections) {
		if _, err := a.Direct.ExecContext(t.Context(), "KILL "+id); harness.ErrorNumber(err) != noSuchThread {
			require.NoError(t, err)
		}
	}
	require.Eventually(t, func() bool { return len(harness.QueriedList(t, a.Direct, connections)) == 0 }, 10*time.Second, 5*time.Millisecond)
}

const noSuchThread = 1094

// TestTokens proves that a hook's password of the moment is that of all connections: after each
// change, for which all of them are killed, look-ups, the schema and rollups go on, nobody
// gets an error, and every count is plain's.
func TestTokens(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		a, k := newTokens(t, srv)
		for round := range 4 {
			a.counted(t)
			k.change(t, a, fmt.Sprint("token ", round))
		}
		a.counted(t)
	})
}

// TestTokensUnderLoad proves that no count is lost or doubled where the password changes, and all
// connections are killed, while transactions and rollups are under way, and that the application
// gets no other error than of those connections.
func TestTokensUnderLoad(t *testing.T) {
	const value, ledger = "SELECT n FROM hot WHERE id = 20", "SELECT COUNT(*) FROM log"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		a, k := newTokens(t, srv)
		var stop atomic.Bool
		var working sync.WaitGroup
		var crowd harness.Crowd
		var acknowledged [2]atomic.Int64
		dbs := []*sql.DB{a.Plain, a.Ours}
		for i, db := range dbs {
			for range clients {
				working.Go(func() {
					for !stop.Load() {
						err := harness.InTransaction(t.Context(), db, sql.LevelDefault, []string{"INSERT INTO log (hot) VALUES (20)", "UPDATE hot SET n = n + 1 WHERE id = 20"})
						if err == nil {
							acknowledged[i].Add(1)
						} else if !killed(err) {
							crowd.Check(err)
						}
					}
				})
			}
		}
		for round := range 5 {
			time.Sleep(300 * time.Millisecond)
			k.change(t, a, fmt.Sprint("token ", round))
		}
		time.Sleep(300 * time.Millisecond)
		stop.Store(true)
		working.Wait()
		crowd.NoDeadlocks(t)
		for i, db := range dbs {
			n := harness.Number(t, db, value)
			require.Equal(t, harness.Number(t, db, ledger), n)
			require.GreaterOrEqual(t, n, acknowledged[i].Load())
			require.Positive(t, acknowledged[i].Load())
		}
		harness.RollUp(t, a.Ours)
		require.Equal(t, harness.Number(t, a.Direct, ledger), harness.Number(t, a.Direct, value))
	})
}

// killed reports whether an error is that of a connection which was killed.
func killed(err error) bool {
	number := harness.ErrorNumber(err)
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) || number == 1317 || number == 1927 || number == 1053
}
