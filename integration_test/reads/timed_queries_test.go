package reads

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestTimedQueries proves that max_execution_time, by which MySQL ends queries that lock
// as well, and no other statements, ends those of the application alone: what runs the
// exact way waits for a locked row as the plain statement does.
func TestTimedQueries(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		const schema = `CREATE TABLE post (id INT PRIMARY KEY, slug VARCHAR(9) UNIQUE, likes INT NOT NULL);
CREATE TABLE note (id INT PRIMARY KEY AUTO_INCREMENT, n INT);
`
		const limit = "max_execution_time"
		params, set := []string{limit + "=100"}, "DO 0"
		if harness.MariaDB(srv) { // which has another setting, for all statements
			params = nil
		}
		rows := "INSERT INTO post VALUES (1, 'a', 1), (2, 'b', 2)"
		steps := [][]string{
			{"A: UPDATE post SET likes = GREATEST(likes - 1, 0) WHERE id = 1"}, {"A: UPDATE post SET likes = 5 WHERE likes > 0"}, {"A: REPLACE INTO post VALUES (1, 'a', 4)"},
			{"A: INSERT INTO post VALUES (1, 'a', 4) ON DUPLICATE KEY UPDATE likes = likes + 1"}, {"A: UPDATE post SET id = 9 WHERE id = 1"}, {"A: DELETE FROM post WHERE id = 1"},
			{"A: begin RC", "A: INSERT INTO note VALUES ()", "A: UPDATE post SET likes = 0 WHERE id = 1", "A: commit"},
			{"A: begin", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: UPDATE note SET n = 1", "A: commit"},
			{"A: SELECT likes FROM post WHERE id = 1 FOR UPDATE"}, {"A: begin", "A: SELECT likes FROM post ORDER BY id FOR UPDATE", "A: commit"},
		}
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"), params...)
		for _, by := range []string{"the DSN", "a statement"} {
			if by == "a statement" {
				tw = harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
				if !harness.MariaDB(srv) {
					set = "SET " + limit + " = 100"
				}
			}
			for _, script := range steps {
				var answers []string
				for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
					harness.Affected(t, db, "DELETE FROM post")
					harness.Affected(t, db, rows)
					harness.Affected(t, db, "UPDATE post SET likes = likes + 1 WHERE id IN (1, 2)")
					other := tw.Direct
					if db == tw.Plain {
						other = tw.Plain
					}
					holder, err := other.BeginTx(t.Context(), nil)
					require.NoError(t, err)
					holds(t, holder)
					go func() {
						time.Sleep(400 * time.Millisecond) // for longer than queries may take
						_ = holder.Rollback()
					}()
					answers = append(answers, strings.Join(harness.PlayOn(t, db, append([]string{"A: " + set}, script...)), "\n"))
				}
				require.Equal(t, answers[0], answers[1], by)
			}
		}
		tw = harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"), params...)
		harness.Affected(t, tw.Ours, rows)
		harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes + 1 WHERE id IN (1, 2)")
		holder, err := tw.Direct.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		defer holder.Rollback()
		holds(t, holder)
		out, err := countermysql.Rollup(t.Context(), tw.Ours, nil)
		require.NoError(t, err)
		require.EqualValues(t, 1, out[0].Busy)
		require.EqualValues(t, 1, out[0].Keys)
	})
}

// holds requires that a transaction holds the first row of post.
func holds(t *testing.T, tx *sql.Tx) {
	t.Helper()
	var id int
	require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT id FROM post WHERE id = 1 FOR UPDATE").Scan(&id))
}
