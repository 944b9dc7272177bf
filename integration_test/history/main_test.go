// Package history proves that the history of a table's counters is what they have changed by,
// whoever changed them.
package history

import (
	"database/sql"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// schema has posts 1 to 9, some of whose counters are not zero before there is a history.
const schema = `CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, views BIGINT UNSIGNED NULL, score DECIMAL(10,2) NOT NULL DEFAULT 0, stock INT UNSIGNED NOT NULL DEFAULT 100, title VARCHAR(20) NOT NULL DEFAULT '');
INSERT INTO post (id, likes, views, score) VALUES (1, 10, 5, 1.5), (2, -3, NULL, 0), (3, 0, 0, 0), (4, 0, 0, 0), (5, 0, 0, 0), (6, 0, 0, 0), (7, 0, 0, 0), (8, 0, 0, 0), (9, 0, 0, 0)`

var counters = []string{"likes", "views", "score", "stock"}

func posts(every time.Duration) *countermysql.Config {
	config := harness.Counters("post", counters...)
	config.Tables[0].History = &countermysql.History{Every: every}
	return config
}

// newPosts are twins of schema, of which ours has a history, and what its counters were when
// that began.
func newPosts(t testing.TB, srv *testserver.Server, config *countermysql.Config, params ...string) (*harness.Twin, values) {
	tw := harness.NewTwin(t, srv, schema, config, params...)
	initialize(t, tw.Ours)
	return tw, valuesOf(t, tw.Direct, "SELECT CONCAT(id, ' ', '%[1]s'), COALESCE(%[1]s, 0) FROM post")
}

func initialize(t testing.TB, db *sql.DB) []string {
	t.Helper()
	stmts, err := countermysql.Init(t.Context(), db, nil)
	require.NoError(t, err)
	return stmts
}

// values are numbers by post and counter.
type values map[string]float64

// valuesOf reads them, counter by counter.
func valuesOf(t testing.TB, db *sql.DB, query string) values {
	t.Helper()
	all := values{}
	for _, counter := range counters {
		rows, err := db.QueryContext(t.Context(), fmt.Sprintf(query, counter))
		require.NoError(t, err)
		for rows.Next() {
			var of string
			var n float64
			require.NoError(t, rows.Scan(&of, &n))
			if all[of] += n; all[of] == 0 {
				delete(all, of)
			}
		}
		require.NoError(t, rows.Err())
	}
	return all
}

// written requires that the history is the change of the base rows since it began.
func written(t testing.TB, tw *harness.Twin, before values) {
	t.Helper()
	change := valuesOf(t, tw.Direct, "SELECT CONCAT(id, ' ', '%[1]s'), COALESCE(%[1]s, 0) FROM post")
	for of, n := range before {
		if change[of] -= n; change[of] == 0 {
			delete(change, of)
		}
	}
	require.Equal(t, change, valuesOf(t, tw.Direct, "SELECT CONCAT(id, ' ', '%[1]s'), SUM(%[1]s) FROM post_history GROUP BY id"))
}
