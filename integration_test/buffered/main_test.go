// Package buffered proves what becomes of increments that are acknowledged before they are
// stored: each is stored once, or told to be lost.
package buffered

import (
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

func TestMain(m *testing.M) {
	if dsn := os.Getenv(processDSN); dsn != "" {
		if err := work(dsn, os.Getenv(processPage)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(harness.Main(m))
}

// schema has pages 1 to 9, and nobody at 10.
const schema = `CREATE TABLE page (id INT PRIMARY KEY, hits BIGINT NOT NULL DEFAULT 0, likes INT NULL, title VARCHAR(20) NOT NULL DEFAULT '');
INSERT INTO page (id) VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9)`

// hit is the increment that is buffered.
const hit = "UPDATE page SET hits = hits + 1 WHERE id = ?"

// pages is the configuration of schema. Flushes come when the test asks.
func pages(keys int) *countermysql.Config {
	config := harness.Counters("page", "hits", "likes")
	config.Tables[0].Buffered = &countermysql.Buffered{Every: time.Hour, Keys: keys}
	return config
}

func newPages(t *testing.T, srv *testserver.Server, keys int, params ...string) *harness.Twin {
	tw := harness.NewTwin(t, srv, schema, pages(keys), params...)
	opened(t, tw.Ours)
	return tw
}

// opened waits until increments are buffered. It makes some of page 9.
func opened(t *testing.T, db *sql.DB) {
	t.Helper()
	require.Eventually(t, func() bool {
		harness.Affected(t, db, hit, 9)
		return buffer(t, db).Acknowledged > 0
	}, 30*time.Second, 20*time.Millisecond)
	require.NoError(t, countermysql.Flush(t.Context(), db))
}

// known makes pages known to be there, by an increment each, and flushes.
func known(t *testing.T, db *sql.DB, ids ...int) {
	t.Helper()
	for _, id := range ids {
		require.EqualValues(t, 1, harness.Affected(t, db, hit, id))
	}
	require.NoError(t, countermysql.Flush(t.Context(), db))
}

// buffer is what Stats tells of the table.
func buffer(t *testing.T, db *sql.DB) countermysql.BufferedStatistics {
	t.Helper()
	for name, b := range harness.Stats(t, db).Buffered {
		require.True(t, strings.HasSuffix(name, ".page"), name)
		return b
	}
	require.Fail(t, "no buffer")
	return countermysql.BufferedStatistics{}
}

// stored is what the server has of a page, base row and slots.
func stored(t *testing.T, tw *harness.Twin, id int) int64 {
	t.Helper()
	return harness.Number(t, tw.Direct, fmt.Sprintf("SELECT (SELECT hits FROM page WHERE id = %d) + COALESCE((SELECT SUM(hits) FROM page_slots WHERE id = %[1]d), 0)", id))
}

// way is one of the two in which a flush stores.
type way string

const (
	atOnce        way = "in a statement"
	inTransaction way = "in a transaction" // where somebody has locked a page shared, as increments of a transaction do
)

// eachWay runs a test for each server and way.
func eachWay(t *testing.T, f func(t *testing.T, srv *testserver.Server, w way)) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, w := range []way{atOnce, inTransaction} {
			t.Run(string(w), func(t *testing.T) { f(t, srv, w) })
		}
	})
}

// begin has flushes go this way from now on.
func (w way) begin(t *testing.T, srv *testserver.Server, tw *harness.Twin) {
	t.Helper()
	if w == inTransaction {
		shares(t, srv, tw)
	}
}

// shares locks all pages shared.
func shares(t *testing.T, srv *testserver.Server, tw *harness.Twin) *sql.Tx {
	t.Helper()
	tx, err := harness.Open(t, srv.DSN("")).Begin() // in no database, for killFlusher
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback() })
	harness.Number(t, tx, "SELECT COUNT(*) FROM (SELECT 1 FROM "+tw.Name(t)+".page LOCK IN SHARE MODE) x")
	return tx
}

// stores reports whether it is by this statement that something is stored.
func (w way) stores(query string) bool {
	if w == atOnce {
		return strings.HasPrefix(query, "UPDATE") && strings.Contains(query, "_flush.batch =")
	}
	return strings.HasPrefix(query, "COMMIT")
}

// end sends a statement that stores, or has it not stored.
func (w way) end(send func(query string) error, query string, stored bool) error {
	switch {
	case stored:
		return send(query)
	case w == atOnce:
		return nil
	}
	return send("ROLLBACK")
}
