package connections

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestChangedZone proves that a session which has changed its time zone finds the
// slots under TIMESTAMP keys, and takes over the times of touch columns as they are.
func TestChangedZone(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		keyed := harness.NewTwin(t, srv, "CREATE TABLE hour (at TIMESTAMP NOT NULL PRIMARY KEY, hits INT NOT NULL DEFAULT 0);\nINSERT INTO hour (at) VALUES ('2026-01-01 10:00:00')", harness.Counters("hour", "hits"))
		const hit = "B: UPDATE hour SET hits = hits + 5 WHERE at = '2026-01-01 10:00:00'"
		keyed.Play(t, "A: SET time_zone = '+05:00'", hit, "A: UPDATE hour SET hits = 1 WHERE hits > 2", "B: SELECT hits FROM hour",
			hit, "A: BEGIN", "A: SELECT COUNT(*) FROM hour", "A: UPDATE hour SET hits = hits * 2 WHERE hits > 2", "A: SELECT hits FROM hour", "A: COMMIT", "B: SELECT hits FROM hour")

		touched := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, title VARCHAR(9) NOT NULL DEFAULT '', at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP);\n"+
			"INSERT INTO post (id, at) VALUES (1, '2026-01-01 00:00:00')", harness.Counters("post", "likes"))
		for _, zone := range []string{"-05:00", "+05:00", "SYSTEM"} {
			for _, steps := range [][]string{
				{"A: UPDATE post SET likes = GREATEST(likes, 0) WHERE id = 1"},
				{"A: BEGIN", "A: UPDATE post SET title = CONCAT(title, 'x') WHERE id = 1", "A: SELECT likes, UNIX_TIMESTAMP(at) - UNIX_TIMESTAMP() BETWEEN -5 AND 1 AS now FROM post", "A: COMMIT"},
			} {
				answers := harness.PlayOn(t, touched.Ours, append([]string{"B: UPDATE post SET at = '2026-01-01 00:00:00' WHERE id = 1", "B: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SET time_zone = '" + zone + "'"}, steps...))
				require.NotContains(t, strings.Join(answers, "\n"), "error")
				require.EqualValues(t, 1, harness.Number(t, touched.Ours, "SELECT UNIX_TIMESTAMP(at) - UNIX_TIMESTAMP() BETWEEN -5 AND 1 FROM post"), zone)
				require.EqualValues(t, 1, harness.Number(t, touched.Direct, "SELECT UNIX_TIMESTAMP(at) - UNIX_TIMESTAMP() BETWEEN -5 AND 1 FROM post"), zone)
			}
		}
	})
}

// TestChangedZoneInside proves the same of a transaction that has already written rows, or
// incremented them, by a TIMESTAMP.
func TestChangedZoneInside(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		const schema = "CREATE TABLE hour (at TIMESTAMP NOT NULL PRIMARY KEY, hits INT NOT NULL DEFAULT 0);\nINSERT INTO hour (at) VALUES ('2026-01-01 10:00:00'), ('2026-01-01 06:30:00')"
		const hit = "UPDATE hour SET hits = hits + 5 WHERE at = '2026-01-01 10:00:00'"
		for _, begin := range []string{"A: BEGIN", "A: SET autocommit = 0"} {
			for _, write := range []string{"UPDATE hour SET hits = hits * 2 WHERE at = '2026-01-01 10:00:00'", "UPDATE hour SET hits = GREATEST(hits, 7)", hit} {
				tw := harness.NewTwin(t, srv, schema, harness.Counters("hour", "hits"), "time_zone='%2B00:00'")
				tw.Play(t, "B: "+hit, begin, "A: "+write, "A: SET time_zone = '-03:30'", "A: SET @v = (SELECT MAX(hits) FROM hour)", "A: SELECT @v", "A: SELECT * FROM hour ORDER BY at",
					"A: UPDATE hour SET hits = hits + 1 WHERE at = '2026-01-01 06:30:00'", "A: SELECT * FROM hour ORDER BY at", "A: COMMIT", "B: SELECT * FROM hour ORDER BY at", "A: ROLLBACK")
			}
		}
	})
}

// TestChangedClock proves that a session which has set its clock counts on the days
// and at the times that it shows.
func TestChangedClock(t *testing.T) {
	const schema = `
CREATE TABLE daily (day DATE NOT NULL, page INT NOT NULL, hits INT NOT NULL DEFAULT 0, at DATETIME NULL ON UPDATE CURRENT_TIMESTAMP, PRIMARY KEY (day, page));
INSERT INTO daily (day, page) VALUES ('2023-11-14', 1), ('2023-11-14', 2), (CURRENT_DATE, 1), (CURRENT_DATE, 2);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("daily", "hits"))
		const show = "A: SELECT page, hits, at FROM daily WHERE day = '2023-11-14' ORDER BY page"
		tw.Play(t, "A: SET timestamp = 1700000000", "A: UPDATE daily SET hits = hits + 1 WHERE day = CURRENT_DATE AND page IN (1, 2)", show,
			"A: BEGIN", "A: UPDATE daily SET hits = hits + 1 WHERE day = CURRENT_DATE AND page = 1", show, "A: COMMIT",
			"A: SET timestamp = 1700000060", "A: begin", "A: UPDATE daily SET hits = hits + 1 WHERE day = CURRENT_DATE AND page = 2", "A: commit", show, "B: SELECT SUM(hits) FROM daily WHERE day = CURRENT_DATE")
	})
}
