package reads

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

const conversionSchema = `
CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, score DECIMAL(9,2) NULL, updated_at DATETIME(3) NULL, seen TIMESTAMP NULL);
INSERT INTO post VALUES (1, 10, 3, '2026-01-02 00:00:00', '2026-01-02 00:00:00'), (2, 7, 5.5, '2026-01-03 10:00:00.5', '2026-01-03 10:00:00'), (3, 0, NULL, NULL, NULL);
`

func newConversions(t *testing.T, srv *testserver.Server, params ...string) *harness.Twin {
	t.Helper()
	config := &countermysql.Config{Tables: []countermysql.TableConfig{{Table: "post", Counters: []string{"likes", "score"}, Touch: []string{"updated_at", "seen"}}}}
	tw := harness.NewTwin(t, srv, conversionSchema, config, params...)
	for _, stmt := range []string{"UPDATE post SET likes = likes + 2, score = score + 1 WHERE id = 2",
		"UPDATE post SET likes = likes + 3, updated_at = '2026-01-05 00:00:00' WHERE id = 3"} {
		harness.Affected(t, tw.Plain, stmt)
		harness.Affected(t, tw.Ours, stmt)
	}
	return tw
}

// TestTimesBesideNumbers proves that a touch column is compared with a number as on
// plain MySQL, which takes 20260102 for a day: it was a number beside one of 14 digits.
func TestTimesBesideNumbers(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newConversions(t, srv)
		for _, query := range []string{
			"SELECT id FROM post WHERE updated_at = 20260102", "SELECT id FROM post WHERE updated_at > 20260102 ORDER BY id", "SELECT id FROM post WHERE 20260103 < updated_at ORDER BY id",
			"SELECT id FROM post WHERE updated_at <> 20260102 ORDER BY id", "SELECT id FROM post WHERE seen <=> 20260102", "SELECT id FROM post WHERE seen BETWEEN 20260101 AND 20260103",
			"SELECT id FROM post WHERE updated_at BETWEEN 20260101 AND '2026-1-4' ORDER BY id", "SELECT id FROM post WHERE updated_at > 20260102.5 ORDER BY id",
			"SELECT id, updated_at = 20260102, NULLIF(updated_at, 20260102), updated_at IN (20260102, 20260105) FROM post ORDER BY id",
			"SELECT id FROM post WHERE updated_at > 20260101 + 1 ORDER BY id", "SELECT id FROM post WHERE updated_at > CAST(20260102 AS SIGNED) ORDER BY id",
			"SELECT x.id FROM (SELECT id, updated_at FROM post) x WHERE x.updated_at > 20260102 ORDER BY id",
			"SELECT id FROM post WHERE updated_at > CURDATE() - 1 ORDER BY id", "SELECT id FROM post WHERE updated_at BETWEEN 20260101 AND CURDATE() + 0 ORDER BY id",
			"SELECT id FROM post WHERE updated_at > '2026-01-02' ORDER BY id",
		} {
			tw.Play(t, "A: "+query, "A: SET @d = 20260102", "A: SELECT id FROM post WHERE updated_at > @d ORDER BY id")
		}
		for _, interpolated := range []string{"interpolateParams=false", "interpolateParams=true"} {
			tw := newConversions(t, srv, interpolated)
			for _, arg := range []any{int64(20260102), "2026-1-2", "20260102", uint64(20260102), 20260102.0} {
				tw.Same(t, "SELECT id FROM post WHERE updated_at > ? ORDER BY id", arg)
				tw.Same(t, "SELECT id FROM post WHERE id > 0 AND updated_at > ? ORDER BY id", arg)
			}
		}
		require.NotContains(t, harness.Stats(t, tw.Ours).Exact, "the server does not accept the view")
	})
}

// TestStringsInLists proves that a counter in a list of strings is compared as on
// plain MySQL: '1e1' was not 10 there, and '10.2' was.
func TestStringsInLists(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, interpolated := range []string{"interpolateParams=false", "interpolateParams=true"} {
			tw := newConversions(t, srv, interpolated)
			for _, query := range []string{
				"SELECT id FROM post WHERE likes IN ('8', '1e1') ORDER BY id", "SELECT id FROM post WHERE likes NOT IN ('8', '1e1') ORDER BY id",
				"SELECT id FROM post WHERE likes IN ('9.7', '3', '10.2') ORDER BY id", "SELECT id FROM post WHERE likes IN ('9', '10') ORDER BY id",
				"SELECT id FROM post WHERE likes IN ('8', '1e1', 'x') ORDER BY id", "SELECT id FROM post WHERE score IN ('3e0', '6.50') ORDER BY id",
				"SELECT id FROM post WHERE likes IN (9, '1e1') ORDER BY id", "SELECT id FROM post WHERE likes IN (NULL, ' 10') ORDER BY id",
				"SELECT id, likes IN ('8', '1e1') FROM post ORDER BY id",
			} {
				tw.Same(t, query)
			}
			tw.Same(t, "SELECT id FROM post WHERE likes IN (?, ?) ORDER BY id", "8", "1e1")
			tw.Same(t, "SELECT id FROM post WHERE likes IN (?, '10.2') ORDER BY id", "9")
		}
	})
}

// TestParametersInAggregates proves that a parameter within GROUP_CONCAT and the like
// is its argument: MySQL took it for NULL beside what a view computes.
func TestParametersInAggregates(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newConversions(t, srv)
		for _, query := range []string{
			"SELECT likes + 1 AS k, COUNT(DISTINCT ?) FROM post GROUP BY k ORDER BY k", "SELECT likes, GROUP_CONCAT(?) FROM post GROUP BY likes ORDER BY likes",
			"SELECT likes, GROUP_CONCAT(id, ?) FROM post GROUP BY likes ORDER BY likes", "SELECT DATE(updated_at) d, COUNT(DISTINCT CONCAT(?, 'x')) FROM post GROUP BY d ORDER BY d",
			"SELECT o.id, COUNT(DISTINCT ?), MAX(p.likes) FROM post o JOIN post p ON p.id >= o.id GROUP BY o.id ORDER BY o.id",
			"SELECT likes, GROUP_CONCAT(CONCAT(id, ?)) FROM post GROUP BY likes ORDER BY likes",
		} {
			tw.Same(t, query, "x")
		}
	})
}
