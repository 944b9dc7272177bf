package reads

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestNestedIn proves that what a subquery gives is found among the counters of another,
// as on plain MySQL. MariaDB does not find it among sums.
func TestNestedIn(t *testing.T) {
	const schema = `
CREATE TABLE post (day DATE NOT NULL, page VARCHAR(20) NOT NULL, likes INT NULL, views INT NULL, n BIGINT UNSIGNED NULL, PRIMARY KEY (day, page));
INSERT INTO post VALUES ('2026-01-04', 'a', NULL, 0, 2), ('2026-01-04', 'x', 9, NULL, 7), ('2026-01-01', 'i', 0, NULL, NULL), ('2026-01-02', 'c', NULL, NULL, 4), ('2026-01-03', 'd', NULL, -5, 7);
CREATE TABLE note (id INT PRIMARY KEY, n INT NULL);
INSERT INTO note VALUES (1, 2), (2, 4), (3, NULL);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes", "views", "n"))
		const count, two = "SELECT COUNT(*) FROM note WHERE ", "(SELECT COUNT(DISTINCT views) FROM post WHERE n > 1)"
		for range 2 {
			for _, of := range []string{" (SELECT n FROM post GROUP BY 1)", " (SELECT n FROM post)", " (SELECT n FROM post GROUP BY n HAVING COUNT(*) > 0)", " (SELECT DISTINCT n FROM post)", " (SELECT MAX(n) FROM post GROUP BY page)"} {
				for _, left := range []string{two, "1 + " + two, "note.n", "(SELECT MIN(id) FROM note) + 1"} {
					tw.Same(t, count+left+" IN"+of)
					tw.Same(t, count+left+" NOT IN"+of)
					tw.Same(t, count+left+" = ANY"+of)
					tw.Same(t, count+left+" <= ALL"+of)
				}
			}
			tw.Play(t, "A: UPDATE post SET n = n + 1, views = views + 3 WHERE page = 'x' AND day = '2026-01-04'")
		}
	})
}
