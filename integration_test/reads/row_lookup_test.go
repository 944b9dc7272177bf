package reads

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestRowsAmongSubqueries proves that rows with counters are looked for among those of
// a subquery without a lock, also by statements prepared one after the other: MariaDB
// would refuse sums there, and crash when the next one was prepared.
func TestRowsAmongSubqueries(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, likes SMALLINT NULL, views INT NOT NULL DEFAULT 0);
INSERT INTO post (id, likes, views) VALUES (3, -7, 9), (4, 2, 1);
CREATE TABLE note (id INT, n INT);
INSERT INTO note VALUES (2, 1), (3, 1);
`
	queries := []string{
		"SELECT SUM(o.likes) FROM (SELECT MIN(q.views) AS c FROM post q LEFT JOIN note ON (q.views, q.likes) IN (SELECT p.views, p.likes FROM post p)) d CROSS JOIN post o",
		"SELECT id FROM post WHERE (likes, views) IN (SELECT * FROM note) ORDER BY id",
		"SELECT id FROM post WHERE (((likes, 1))) NOT IN (SELECT id, n FROM note) ORDER BY id",
		"SELECT id FROM note WHERE (id, n) IN (SELECT likes, views FROM post)",
		"SELECT id FROM post WHERE (likes, 1) = ANY (SELECT * FROM note) ORDER BY id",
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes", "views"))
		var answers [2][]string
		for i, db := range []*sql.DB{tw.Plain, tw.Ours} {
			conn := harness.Session(t, db)
			for _, query := range queries {
				for range 2 {
					harness.Affected(t, conn, "UPDATE post SET likes = likes + 1 WHERE id = 4")
					stmt, err := conn.PrepareContext(t.Context(), query)
					require.NoError(t, err)
					for _, s := range tw.Sent.During(func() {
						answers[i] = append(answers[i], harness.Queried(t.Context(), harness.StmtQuerier{Stmt: stmt}, ""), harness.Queried(t.Context(), conn, query))
					}) {
						require.NotContains(t, s.Text, "FOR UPDATE", query)
					}
					require.NoError(t, stmt.Close())
				}
			}
		}
		require.Equal(t, answers[0], answers[1])
	})
}
