package writes

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestCounterIndex proves that an exact statement waits for no row but its own where a counter
// has an index. An index of counters holds all that rows are locked by: the server would rather
// go through all of it, and lock it before the row, while a rollup that has the row waits for
// the index.
func TestCounterIndex(t *testing.T) {
	const schema = "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL, title VARCHAR(9) NOT NULL, KEY by_likes (likes));\nINSERT INTO post VALUES (1, 5, 'a'), (2, 4, 'b');\n"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
		for _, stmt := range []string{
			"UPDATE post SET likes = likes + 1.5 WHERE id IN (4, 6)",
			"UPDATE post SET likes = 0 WHERE id > 3",
			"DELETE FROM post WHERE id IN (4, 6)",
		} {
			var answers []string
			for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
				rollup, err := tw.DirectTo(db).BeginTx(t.Context(), nil) // or another client that has the row
				require.NoError(t, err)
				harness.Affected(t, rollup, "UPDATE post SET title = CONCAT(title, '.') WHERE id = 2")
				answers = append(answers, harness.ToldInTransaction(t, db, stmt))
				require.NoError(t, rollup.Commit())
			}
			require.Equal(t, answers[0], answers[1], stmt)
		}
	})
}

// TestSlotsOfOthers proves that a locking read, or a guarded update, waits for nobody who has
// locked other rows' slots: a server would rather go through all of a small slots table than by its key.
func TestSlotsOfOthers(t *testing.T) {
	const schema = "CREATE TABLE job (id INT PRIMARY KEY, attempts INT NOT NULL DEFAULT 5);\nINSERT INTO job (id) VALUES (1), (2), (3);\n"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, stmt := range []string{
			"SELECT id, attempts FROM job WHERE id IN (2, 3) ORDER BY id FOR UPDATE",
			"SELECT id, attempts FROM job ORDER BY id FOR UPDATE SKIP LOCKED",
			"UPDATE job SET attempts = attempts - 1 WHERE id = 2 AND attempts >= 1",
		} {
			tw := harness.NewTwin(t, srv, schema, harness.Counters("job", "attempts"))
			var answers []string
			for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
				for id := range 3 {
					harness.Affected(t, db, "UPDATE job SET attempts = attempts + 1 WHERE id = ?", id+1)
				}
				tx, err := db.BeginTx(t.Context(), nil)
				require.NoError(t, err)
				harness.Affected(t, tx, "UPDATE job SET attempts = 0 WHERE id = 1")
				c := harness.Session(t, db)
				answers = append(answers, harness.Queried(t.Context(), c, stmt))
				require.NoError(t, tx.Commit())
			}
			require.Equal(t, answers[0], answers[1], stmt)
		}
	})
}
