package integration_test

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
	"github.com/countermysql/countermysql/internal/testserver"
)

// bare opens our driver on the twin's database without an interceptor, whose
// wrapper has fewer methods than go-sql-driver's types.
func (tw *twin) bare(t *testing.T, params string) *sql.DB {
	t.Helper()
	config := *tw.config
	config.Interceptor = nil
	db, _ := openOurs(t, tw.oursDSN+params, &config)
	return db
}

// TestRaw proves that sql.Conn.Raw gives a connection that counts, with
// mysql.Result, and by Unwrap go-sql-driver's own.
func TestRaw(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newBlog(t, srv, blogCounters())
		db := tw.bare(t, "&multiStatements=true")
		affected(t, db, "DELETE FROM post WHERE id = 3")
		conn := session(t, db)
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
		require.EqualValues(t, 13, number(t, db, "SELECT likes FROM post WHERE id = 1"))
		// an error in Raw that is driver.ErrBadConn closes the connection
		require.ErrorIs(t, conn.Raw(func(any) error { return driver.ErrBadConn }), driver.ErrBadConn)
		require.EqualValues(t, 13, number(t, db, "SELECT likes FROM post WHERE id = 1"))
	})
}

// TestSeveralDatabases proves that connectors, and sessions that change their
// database or name another one, do not mix up tables of the same name.
func TestSeveralDatabases(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		one, two := newBlog(t, srv, blogCounters()), newBlog(t, srv, blogCounters())
		affected(t, one.ours, "UPDATE post SET likes = likes + 1 WHERE id = 1")
		affected(t, two.ours, "UPDATE post SET likes = likes + 2 WHERE id = 1")
		name := func(db *sql.DB) (name string) {
			require.NoError(t, db.QueryRow("SELECT DATABASE()").Scan(&name))
			return name
		}
		first, second := name(one.ours), name(two.ours)
		plainOf := newDatabase(t, srv) // with tables of the same names, and no counters
		affected(t, one.direct, "CREATE TABLE "+plainOf+".post (id INT PRIMARY KEY, likes INT)")
		affected(t, one.direct, "INSERT INTO "+plainOf+".post VALUES (1, 1)")

		conn := session(t, one.ours)
		affected(t, conn, "UPDATE "+first+".post SET likes = likes + 10 WHERE "+first+".post.id = 1")
		affected(t, conn, "USE "+plainOf)
		affected(t, conn, "UPDATE post SET likes = likes + 100 WHERE id = 1")
		affected(t, conn, "UPDATE "+first+".post SET likes = likes + 10 WHERE id = 1")
		require.EqualValues(t, 101, number(t, conn, "SELECT likes FROM post WHERE id = 1"))
		require.EqualValues(t, 132, number(t, conn, "SELECT p.likes + "+first+".post.likes FROM post p JOIN "+first+".post ON "+first+".post.id = p.id WHERE p.id = 1"))
		affected(t, conn, "USE "+first)
		tx, err := conn.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		affected(t, tx, "UPDATE post SET likes = likes + 5 WHERE id = 1")
		affected(t, tx, "USE "+plainOf)
		affected(t, tx, "UPDATE post SET likes = likes + 100 WHERE id = 1")
		affected(t, tx, "UPDATE "+first+".post SET likes = likes + 10 WHERE id = 1")
		require.NoError(t, tx.Commit())
		require.EqualValues(t, 46, number(t, one.ours, "SELECT likes FROM post WHERE id = 1"))
		require.EqualValues(t, 12, number(t, two.ours, "SELECT likes FROM post WHERE id = 1"))
		require.EqualValues(t, 201, number(t, one.direct, "SELECT likes FROM "+plainOf+".post WHERE id = 1"))
		require.EqualValues(t, 12, number(t, two.ours, "SELECT likes FROM "+second+".post WHERE id = 1"))
	})
}

// TestNoStatementLeaks proves that prepared statements are closed on the
// server, whatever was prepared in their place.
func TestNoStatementLeaks(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newBlog(t, srv, blogCounters(), "interpolateParams=false")
		conn, plain := session(t, tw.ours), session(t, tw.plain)
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
		require.Equal(t, 1054, errorNumber(err))
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
		require.Zero(t, tw.sent.prepared(), "on the look-up connections")
	})
}

// TestNoGoroutineLeaks proves that db.Close leaves neither goroutines nor connections.
func TestNoGoroutineLeaks(t *testing.T) {
	for _, srv := range servers { // one after the other: nobody else may start goroutines
		t.Run(string(srv.Flavor()), func(t *testing.T) {
			tw := newBlog(t, srv, blogCounters())
			tw.plain.Close()
			tw.ours.Close()
			number(t, tw.direct, "SELECT 1")
			ignore := goleak.IgnoreCurrent()
			const connections = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE()"
			before := number(t, tw.direct, connections)

			config := *tw.config
			config.Interceptor = nil
			db, _ := openOurs(t, tw.oursDSN, &config)
			tx, err := db.Begin()
			require.NoError(t, err)
			affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id = 1")
			require.EqualValues(t, 11, number(t, tx, "SELECT likes FROM post WHERE id = 1"))
			ctx, cancel := context.WithCancel(t.Context())
			_, err = db.ExecContext(ctx, "UPDATE post SET likes = likes + 1 WHERE id = 2")
			require.NoError(t, err)
			cancel()
			require.NotZero(t, stats(t, db).Increments)
			require.NoError(t, tx.Rollback())
			require.NoError(t, db.Close())
			goleak.VerifyNone(t, append(ownServers(), ignore)...)
			require.Eventually(t, func() bool { return number(t, tw.direct, connections) <= before }, 5*time.Second, 20*time.Millisecond)

			// one that is closed while a transaction is open, which goes on
			db, _ = openOurs(t, tw.oursDSN, &config)
			tx, err = db.Begin()
			require.NoError(t, err)
			affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id = 1")
			require.NoError(t, db.Close())
			affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id = 1")
			affected(t, tx, "UPDATE note SET body = 'x'")
			require.EqualValues(t, 12, number(t, tx, "SELECT likes FROM post WHERE id = 1"))
			require.NoError(t, tx.Commit())
			goleak.VerifyNone(t, append(ownServers(), ignore)...)
			require.Eventually(t, func() bool { return number(t, tw.direct, connections) <= before }, 5*time.Second, 20*time.Millisecond)

			// one that could not connect, and one that never did
			cfg, err := mysql.ParseDSN(tw.oursDSN)
			require.NoError(t, err)
			cfg.Passwd = "wrong"
			cfg.User = "nobody"
			failing, err := countermysql.NewConnector(cfg, &config)
			require.NoError(t, err)
			db = sql.OpenDB(failing)
			require.Error(t, db.Ping())
			require.NoError(t, db.Close())
			goleak.VerifyNone(t, append(ownServers(), ignore)...)
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
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newBlog(t, srv, blogCounters())
		cfg, err := mysql.ParseDSN(tw.oursDSN)
		require.NoError(t, err)
		config := *tw.config
		config.Interceptor = detached{}
		connector, err := countermysql.NewConnector(cfg, &config)
		require.NoError(t, err)
		db := sql.OpenDB(connector)
		defer db.Close()
		require.ErrorContains(t, db.Ping(), "the context that it is given")
	})
}
