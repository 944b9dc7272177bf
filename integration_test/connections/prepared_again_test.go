package connections

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestPreparedAgain proves that a prepared query with subqueries gives the rows of the
// moment each time. MariaDB finds other rows when it executes it with views once more.
func TestPreparedAgain(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, author INT NOT NULL DEFAULT 0, likes SMALLINT NULL, views INT NOT NULL DEFAULT 0);
INSERT INTO post (id, author, likes, views) VALUES (3, 1, -7, 9);
CREATE TABLE note (id INT);
INSERT INTO note VALUES (0);
`
	queries := []string{
		"SELECT q.author, COUNT(*) FROM post q LEFT JOIN post p ON p.likes = ? WHERE COALESCE(p.likes, p.views) NOT IN (SELECT ? FROM post) GROUP BY q.author",
		"SELECT author FROM post WHERE likes = ? AND views NOT IN (SELECT ? FROM note)",
		"SELECT id FROM note WHERE ? IN (SELECT likes FROM post) AND id IN (SELECT ? FROM post WHERE likes > 0)",
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, query := range queries {
			tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes", "views"))
			var answers [2][]string
			for i, db := range []*sql.DB{tw.Plain, tw.Ours} {
				conn := harness.Session(t, db)
				stmt, err := conn.PrepareContext(t.Context(), query)
				require.NoError(t, err)
				for range 3 {
					answers[i] = append(answers[i], harness.Queried(t.Context(), harness.StmtQuerier{Stmt: stmt}, "", 1, 0))
					harness.Affected(t, conn, "UPDATE post SET likes = likes + 8, views = views + 1 WHERE id = 3")
					answers[i] = append(answers[i], harness.Queried(t.Context(), harness.StmtQuerier{Stmt: stmt}, "", 1, 0))
					harness.Affected(t, conn, "UPDATE post SET likes = likes - 8 WHERE id = 3")
				}
				require.NoError(t, stmt.Close())
			}
			require.Equal(t, answers[0], answers[1], query)
		}
	})
}
