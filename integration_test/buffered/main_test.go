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
