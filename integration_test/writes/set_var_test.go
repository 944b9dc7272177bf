package writes

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestWriteWithVariables proves that variables which a hint of MySQL's sets for one
// statement are in force for it: a write that is cut by them is not sent without them.
func TestWriteWithVariables(t *testing.T) {
	const schema = "CREATE TABLE post (id INT PRIMARY KEY, likes TINYINT NOT NULL DEFAULT 0, title VARCHAR(9) NOT NULL DEFAULT '');\nINSERT INTO post (id, likes) VALUES (1, -120), (2, 120)"
	const look = "A: SELECT * FROM post ORDER BY id"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, write := range []string{
			"A: UPDATE /*+ SET_VAR(sql_mode = '') */ post SET likes = likes + 100 WHERE id = 2",
			"A: UPDATE /*+ set_var(sql_mode = '') */ post SET likes = likes - 100, title = 'x' WHERE id = 1",
			"A: UPDATE /*+ SET_VAR(sql_mode = '') */ post SET likes = likes - 100 WHERE title = '' AND id < 2",
			"A: UPDATE /*+ SET_VAR(sql_mode = '') */ post p JOIN (SELECT 1 AS n) q ON p.id = q.n SET p.likes = p.likes - 100",
			"A: INSERT /*+ SET_VAR(sql_mode = '') */ INTO post (id, likes) VALUES (2, 3) ON DUPLICATE KEY UPDATE likes = likes + 100",
			"A: INSERT /*+ SET_VAR(sql_mode = '') */ INTO post (id, likes) VALUES (1, 300) ON DUPLICATE KEY UPDATE likes = likes + 1",
		} {
			for _, begin := range []string{"A: SELECT 1", "A: BEGIN"} {
				tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
				tw.Play(t, "A: UPDATE post SET likes = likes + 10 WHERE id = 1", "A: UPDATE post SET likes = likes - 10 WHERE id = 2", begin, write, look, "A: COMMIT", look)
			}
		}
	})
}
