package connections

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/ngrok/sqlmw"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestRaw proves that sql.Conn.Raw gives a connection that counts, with
// mysql.Result, and by Unwrap go-sql-driver's own.
func TestRaw(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		db := tw.Bare(t, "&multiStatements=true")
		harness.Affected(t, db, "DELETE FROM post WHERE id = 3")
		conn := harness.Session(t, db)
		var physical string
		require.NoError(t, conn.Raw(func(c any) error {
			for _, text := range []string{
				"UPDATE post SET likes = likes + 1 WHERE id = 1",
				"UPDATE post SET likes = likes + 1 WHERE id = 1; UPDATE post SET likes = likes + 1 WHERE id IN (1, 2); UPDATE post SET title = 'x'",
				"UPDATE note SET body = 'x'; UPDATE author SET name = 'x' WHERE id = 1",
				"INSERT INTO post (id, slug) VALUES (5, 'e')",
			} {
				res, err := c.(driver.ExecerContext).ExecContext(t.Context(), text, nil)
				if err != nil {
					return err
				}
				all, ok := res.(mysql.Result)
				if !ok {
					return fmt.Errorf("%s: %T is no mysql.Result", text, res)
				}
				n, err := res.RowsAffected()
				if err != nil {
					return err
				}
				if rows := all.AllRowsAffected(); rows[len(rows)-1] != n {
					return fmt.Errorf("%s: %v, but %d", text, rows, n)
				}
				if text[len(text)-9:] == "title = 'x'" {
					require.Equal(t, []int64{1, 2, 2}, all.AllRowsAffected())
					require.Len(t, all.AllLastInsertIds(), 3)
				}
			}
			physical = fmt.Sprintf("%T", c.(interface{ Unwrap() driver.Conn }).Unwrap())
			return nil
		}))
		require.Equal(t, "*mysql.mysqlConn", physical)
		require.EqualValues(t, 13, harness.Number(t, db, "SELECT likes FROM post WHERE id = 1"))
		// an error in Raw that is driver.ErrBadConn closes the connection
		require.ErrorIs(t, conn.Raw(func(any) error { return driver.ErrBadConn }), driver.ErrBadConn)
		require.EqualValues(t, 13, harness.Number(t, db, "SELECT likes FROM post WHERE id = 1"))
	})
}

// TestSeveralDatabases proves that connectors, and sessions that change their
// database or name another one, do not mix up tables of the same name.
func TestSeveralDatabases(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		one, two := harness.NewBlog(t, srv, harness.BlogCounters()), harness.NewBlog(t, srv, harness.BlogCounters())
		harness.Affected(t, one.Ours, "UPDATE post SET likes = likes + 1 WHERE id = 1")
		harness.Affected(t, two.Ours, "UPDATE post SET likes = likes + 2 WHERE id = 1")
		name := func(db *sql.DB) (name string) {
			require.NoError(t, db.QueryRow("SELECT DATABASE()").Scan(&name))
			return name
		}
		first, second := name(one.Ours), name(two.Ours)
		plainOf := harness.NewDatabase(t, srv) // with tables of the same names, and no counters
		harness.Affected(t, one.Direct, "CREATE TABLE "+plainOf+".post (id INT PRIMARY KEY, likes INT)")
		harness.Affected(t, one.Direct, "INSERT INTO "+plainOf+".post VALUES (1, 1)")

		conn := harness.Session(t, one.Ours)
		harness.Affected(t, conn, "UPDATE "+first+".post SET likes = likes + 10 WHERE "+first+".post.id = 1")
		harness.Affected(t, conn, "USE "+plainOf)
		harness.Affected(t, conn, "UPDATE post SET likes = likes + 100 WHERE id = 1")
		harness.Affected(t, conn, "UPDATE "+first+".post SET likes = likes + 10 WHERE id = 1")
		require.EqualValues(t, 101, harness.Number(t, conn, "SELECT likes FROM post WHERE id = 1"))
		require.EqualValues(t, 132, harness.Number(t, conn, "SELECT p.likes + "+first+".post.likes FROM post p JOIN "+first+".post ON "+first+".post.id = p.id WHERE p.id = 1"))
		harness.Affected(t, conn, "USE "+first)
		tx, err := conn.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		harness.Affected(t, tx, "UPDATE post SET likes = likes + 5 WHERE id = 1")
		harness.Affected(t, tx, "USE "+plainOf)
		harness.Affected(t, tx, "UPDATE post SET likes = likes + 100 WHERE id = 1")
		harness.Affected(t, tx, "UPDATE "+first+".post SET likes = likes + 10 WHERE id = 1")
		require.NoError(t, tx.Commit())
		require.EqualValues(t, 46, harness.Number(t, one.Ours, "SELECT likes FROM post WHERE id = 1"))
		require.EqualValues(t, 12, harness.Number(t, two.Ours, "SELECT likes FROM post WHERE id = 1"))
		require.EqualValues(t, 201, harness.Number(t, one.Direct, "SELECT likes FROM "+plainOf+".post WHERE id = 1"))
		require.EqualValues(t, 12, harness.Number(t, two.Ours, "SELECT likes FROM "+second+".post WHERE id = 1"))
	})
}

// TestNoStatementLeaks proves that prepared statements are closed on the
// server, whatever was prepared in their place.
func TestNoStatementLeaks(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "interpolateParams=false")
		conn, plain := harness.Session(t, tw.Ours), harness.Session(t, tw.Plain)
		openOn := func(conn *sql.Conn) int64 {
			var name string
			var prepared, closed int64
			require.NoError(t, conn.QueryRowContext(t.Context(), "SHOW SESSION STATUS LIKE 'Com_stmt_prepare'").Scan(&name, &prepared))
			require.NoError(t, conn.QueryRowContext(t.Context(), "SHOW SESSION STATUS LIKE 'Com_stmt_close'").Scan(&name, &closed))
			return prepared - closed
		}
		failed := int64(0) // what could not be prepared counts as prepared
		open := func() int64 { return openOn(conn) - failed }
		require.Zero(t, open())
		texts := []struct {
			text string
			args []any
		}{
			{"UPDATE post SET likes = likes + ? WHERE id = ?", []any{1, 1}},
			{"SELECT likes FROM post WHERE id = ?", []any{1}},
			{"SELECT likes FROM post WHERE id = ? FOR UPDATE", []any{1}},
			{"UPDATE post SET likes = GREATEST(likes - ?, 0) WHERE id = ?", []any{1, 1}},
			{"UPDATE post SET likes = likes - 1 WHERE likes >= ? AND id = ?", []any{1, 1}},
			{"UPDATE post SET title = ? WHERE id = ?", []any{"x", 1}},
			{"UPDATE post SET likes = likes + ? WHERE id = ?", []any{1}},
			{"SELECT body FROM note WHERE id = ?", []any{1}},
			{"INSERT INTO page VALUES (?, 'x', 1) ON DUPLICATE KEY UPDATE hits = hits + 1", []any{"2026-01-01"}},
		}
		stmt, err := plain.PrepareContext(t.Context(), texts[1].text)
		require.NoError(t, err)
		require.EqualValues(t, 1, openOn(plain), "the test does not see a statement that is open")
		require.NoError(t, stmt.Close())
		_, err = conn.QueryContext(t.Context(), "SELECT nosuch FROM post WHERE id = ?", 1)
		require.Equal(t, 1054, harness.ErrorNumber(err))
		failed = openOn(conn)
		require.LessOrEqual(t, failed, int64(1))
		for round := range 2 {
			for _, c := range texts {
				if round == 0 { // prepared and closed by database/sql
					if rows, err := conn.QueryContext(t.Context(), c.text, c.args...); err == nil {
						rows.Next()
						rows.Close()
					}
					if !strings.HasPrefix(c.text, "SELECT") { // go-sql-driver v1.10.1 hangs in Exec of a query without rows on MariaDB
						_, _ = conn.ExecContext(t.Context(), c.text, c.args...)
					}
					require.Zero(t, open(), c.text)
					continue
				}
				stmt, err := conn.PrepareContext(t.Context(), c.text)
				if err != nil {
					continue
				}
				tx, err := conn.BeginTx(t.Context(), nil)
				require.NoError(t, err)
				for range 3 { // what stands in its place differs inside a transaction
					for _, on := range []*sql.Stmt{stmt, tx.Stmt(stmt)} {
						if on != stmt {
							defer on.Close()
						}
						if rows, err := on.QueryContext(t.Context(), c.args...); err == nil {
							rows.Next()
							rows.Close()
						}
						if strings.HasPrefix(c.text, "SELECT") {
							continue
						}
						_, err = on.ExecContext(t.Context(), c.args...)
						if errors.Is(err, driver.ErrBadConn) {
							t.Fatal(err)
						}
					}
				}
				require.NoError(t, tx.Rollback())
				require.NoError(t, stmt.Close())
				require.Zero(t, open(), c.text)
			}
		}
		require.Zero(t, tw.Sent.Prepared(), "on the look-up connections")
	})
}

// TestNoGoroutineLeaks proves that db.Close leaves neither goroutines nor connections.
func TestNoGoroutineLeaks(t *testing.T) {
	for _, srv := range harness.Servers { // one after the other: nobody else may start goroutines
		t.Run(string(srv.Flavor()), func(t *testing.T) {
			tw := harness.NewBlog(t, srv, harness.BlogCounters())
			tw.Plain.Close()
			tw.Ours.Close()
			harness.Number(t, tw.Direct, "SELECT 1")
			ignore := goleak.IgnoreCurrent()
			const connections = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE()"
			before := harness.Number(t, tw.Direct, connections)

			config := *tw.Config
			config.Interceptor = nil
			db, _ := harness.OpenOurs(t, tw.OursDSN, &config)
			tx, err := db.Begin()
			require.NoError(t, err)
			harness.Affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id = 1")
			require.EqualValues(t, 11, harness.Number(t, tx, "SELECT likes FROM post WHERE id = 1"))
			ctx, cancel := context.WithCancel(t.Context())
			_, err = db.ExecContext(ctx, "UPDATE post SET likes = likes + 1 WHERE id = 2")
			require.NoError(t, err)
			cancel()
			require.NotZero(t, harness.Stats(t, db).Increments)
			require.NoError(t, tx.Rollback())
			require.NoError(t, db.Close())
			goleak.VerifyNone(t, append(harness.OwnServers(), ignore)...)
			require.Eventually(t, func() bool { return harness.Number(t, tw.Direct, connections) <= before }, 5*time.Second, 20*time.Millisecond)

			// one that is closed while a transaction is open, which goes on
			db, _ = harness.OpenOurs(t, tw.OursDSN, &config)
			tx, err = db.Begin()
			require.NoError(t, err)
			harness.Affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id = 1")
			require.NoError(t, db.Close())
			harness.Affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id = 1")
			harness.Affected(t, tx, "UPDATE note SET body = 'x'")
			require.EqualValues(t, 12, harness.Number(t, tx, "SELECT likes FROM post WHERE id = 1"))
			require.NoError(t, tx.Commit())
			goleak.VerifyNone(t, append(harness.OwnServers(), ignore)...)
			require.Eventually(t, func() bool { return harness.Number(t, tw.Direct, connections) <= before }, 5*time.Second, 20*time.Millisecond)

			// one that could not connect, and one that never did
			cfg, err := mysql.ParseDSN(tw.OursDSN)
			require.NoError(t, err)
			cfg.Passwd = "wrong"
			cfg.User = "nobody"
			failing, err := countermysql.NewConnector(cfg, &config)
			require.NoError(t, err)
			db = sql.OpenDB(failing)
			require.Error(t, db.Ping())
			require.NoError(t, db.Close())
			goleak.VerifyNone(t, append(harness.OwnServers(), ignore)...)
		})
	}
}

// detached is an interceptor that connects with a context of its own.
type detached struct{ sqlmw.NullInterceptor }

func (detached) ConnectorConnect(_ context.Context, c driver.Connector) (driver.Conn, error) {
	return c.Connect(context.Background())
}

// TestDetachedInterceptor proves that an interceptor that hides the driver's own
// connection is told so: the driver panicked.
func TestDetachedInterceptor(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		cfg, err := mysql.ParseDSN(tw.OursDSN)
		require.NoError(t, err)
		config := *tw.Config
		config.Interceptor = detached{}
		connector, err := countermysql.NewConnector(cfg, &config)
		require.NoError(t, err)
		db := sql.OpenDB(connector)
		defer db.Close()
		require.ErrorContains(t, db.Ping(), "the context that it is given")
	})
}
