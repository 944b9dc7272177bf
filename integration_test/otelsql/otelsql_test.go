// Package otelsql_test wraps countermysql in otelsql, as applications do that
// trace their statements. It is a module of its own, so that its dependencies
// are not ours.
package otelsql_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"testing"

	"github.com/XSAM/otelsql"
	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestWrapped proves that the driver counts beneath otelsql, whose wrapper has
// to find every optional interface, with and without its SQL comments.
func TestWrapped(t *testing.T) {
	servers, err := testserver.FromEnv(t.Context())
	require.NoError(t, err)
	for i, srv := range servers {
		t.Cleanup(srv.Stop)
		for _, comments := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/comments %v", srv.Flavor(), comments), func(t *testing.T) {
				name := fmt.Sprintf("itg_otel_%d_%d_%v", os.Getpid(), i, comments)
				admin, err := sql.Open("mysql", srv.DSN(""))
				require.NoError(t, err)
				defer admin.Close()
				_, err = admin.Exec("CREATE DATABASE " + name)
				require.NoError(t, err)
				defer func() {
					_, err := admin.Exec("DROP DATABASE " + name)
					require.NoError(t, err)
				}()
				test(t, srv.DSN(name), comments)
			})
		}
	}
}

func test(t *testing.T, dsn string, comments bool) {
	cfg, err := mysql.ParseDSN(dsn)
	require.NoError(t, err)
	connector, err := countermysql.NewConnector(cfg, &countermysql.Config{
		CreateSlots: true,
		Tables:      []countermysql.TableConfig{{Table: "page", Counters: []string{"hits"}}},
	})
	require.NoError(t, err)
	spans := tracetest.NewSpanRecorder()
	provider := trace.NewTracerProvider(trace.WithSpanProcessor(spans), trace.WithSampler(trace.AlwaysSample()))
	otel.SetTextMapPropagator(propagation.TraceContext{})
	ctx, parent := provider.Tracer("test").Start(t.Context(), "request")
	defer parent.End()
	db := otelsql.OpenDB(connector, otelsql.WithTracerProvider(provider), otelsql.WithSQLCommenter(comments),
		otelsql.WithSpanOptions(otelsql.SpanOptions{Ping: true, RowsNext: true}))
	defer db.Close()

	exec := func(on interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	}, want int64, query string, args ...any) {
		t.Helper()
		res, err := on.ExecContext(ctx, query, args...)
		require.NoError(t, err, query)
		n, err := res.RowsAffected()
		require.NoError(t, err)
		require.Equal(t, want, n, query)
	}
	hits := func(on interface {
		QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	}) (n int64) {
		t.Helper()
		require.NoError(t, on.QueryRowContext(ctx, "SELECT hits FROM page WHERE id = ?", 1).Scan(&n))
		return n
	}
	require.NoError(t, db.PingContext(ctx))
	exec(db, 0, "CREATE TABLE page (id INT PRIMARY KEY AUTO_INCREMENT, hits INT NOT NULL DEFAULT 0)")
	exec(db, 1, "INSERT INTO page (hits) VALUES (0)")
	exec(db, 1, "UPDATE page SET hits = hits + 1 WHERE id = 1")
	exec(db, 1, "UPDATE page SET hits = hits + ? WHERE id = ?", 1, uint64(1))
	exec(db, 0, "UPDATE page SET hits = hits + 1 WHERE id = 2")
	stmt, err := db.PrepareContext(ctx, "UPDATE page SET hits = hits + ? WHERE id = 1")
	require.NoError(t, err)
	defer stmt.Close()
	_, err = stmt.ExecContext(ctx, 2)
	require.NoError(t, err)
	require.EqualValues(t, 4, hits(db))

	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	require.NoError(t, err)
	exec(tx, 1, "UPDATE page SET hits = hits + 10 WHERE id = 1")
	_, err = tx.StmtContext(ctx, stmt).ExecContext(ctx, 10)
	require.NoError(t, err)
	require.EqualValues(t, 24, hits(tx))
	exec(tx, 1, "UPDATE page SET hits = hits + 10 WHERE id = 1")
	require.NoError(t, tx.Commit())
	require.EqualValues(t, 34, hits(db))

	tx, err = db.BeginTx(ctx, nil)
	require.NoError(t, err)
	exec(tx, 1, "UPDATE page SET hits = hits + 1000 WHERE id = 1")
	require.NoError(t, tx.Rollback())
	require.EqualValues(t, 34, hits(db))

	conn, err := db.Conn(ctx) // left in a transaction begun by text
	require.NoError(t, err)
	exec(conn, 0, "BEGIN")
	exec(conn, 1, "UPDATE page SET hits = hits + 1000 WHERE id = 1")
	require.NoError(t, conn.Close())
	db.SetMaxOpenConns(1)
	exec(db, 1, "UPDATE page SET hits = hits + 1 WHERE id = 1")
	require.EqualValues(t, 35, hits(db))

	stats, err := countermysql.Stats(db) // found below otelsql
	require.NoError(t, err)
	require.NotZero(t, stats.Increments)
	require.Greater(t, len(spans.Ended()), 20, "otelsql saw nothing")
}
