package writes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestIncompleteDates proves that rows with a date without a month or day in their key
// are counted like others, also where the sql_mode allows no such dates: a slots table
// had them under another row's key.
func TestIncompleteDates(t *testing.T) {
	const schema = `
SET sql_mode = '';
CREATE TABLE page (at TYPE NOT NULL PRIMARY KEY, slug VARCHAR(9) UNIQUE, hits INT NOT NULL DEFAULT 0, title VARCHAR(9), KEY (hits));
INSERT INTO page VALUES ('2026-00-00', 'a', 9, ''), ('2026-01-01', 'b', 1, ''), ('0000-00-00', 'c', 2, ''), ('2026-03-00', 'd', 3, '');
SET sql_mode = DEFAULT;
`
	look := []string{"A: SELECT slug, hits FROM page ORDER BY slug", "A: SELECT SUM(hits) FROM page", "A: SELECT hits FROM page WHERE slug = 'a'", "A: SELECT hits FROM page WHERE slug = 'c'",
		"A: SELECT slug, hits FROM page ORDER BY hits DESC, at DESC LIMIT 2", "A: SELECT slug, hits FROM page WHERE hits > 2 ORDER BY slug"}
	scripts := [][]string{
		{"A: UPDATE page SET hits = hits + 5 WHERE slug = 'a'", "A: UPDATE page SET hits = hits + 7 WHERE slug = 'c'"},
		{"A: begin", "A: UPDATE page SET hits = hits + 5 WHERE slug = 'a'", "A: UPDATE page SET hits = hits + 7 WHERE slug = 'c'", "A: UPDATE page SET hits = hits + 5 WHERE slug = 'b'", "A: commit"},
		{"A: begin", "A: UPDATE page SET hits = hits + 5 WHERE slug IN ('a', 'c')", look[0], look[2], "A: commit"},
		{"A: begin RC", "A: UPDATE page SET hits = hits + 5 WHERE slug IN ('a', 'b')", "A: UPDATE page SET hits = hits * 2 WHERE slug <> 'd'", "A: commit"},
		{"A: begin RC", "A: UPDATE page SET title = 'x' WHERE hits > 5", "A: DELETE FROM page WHERE hits > 90 OR slug = 'd'", "A: commit"},
		{"A: begin RR", look[0], "B: UPDATE page SET hits = hits + 5 WHERE slug IN ('a', 'b', 'c')", "A: UPDATE page SET hits = hits * 2 WHERE slug <> 'd'", look[0], "A: commit"},
		{"A: begin RR", look[0], "B: UPDATE page SET hits = hits + 5 WHERE slug IN ('a', 'b', 'c')", "A: UPDATE page SET title = 'y' WHERE slug = 'a'", look[0], "A: commit"},
		{"A: UPDATE page SET hits = hits + 5 WHERE slug IN ('a', 'b')", "A: UPDATE page SET hits = hits * 2 WHERE slug IN ('a', 'b')", "A: DELETE FROM page WHERE slug = 'c' AND hits > 3", "A: UPDATE page SET hits = 0 WHERE hits > 9"},
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, mode := range []string{"", "TRADITIONAL", "NO_ZERO_DATE,NO_ZERO_IN_DATE", "STRICT_ALL_TABLES,NO_ZERO_IN_DATE"} {
			for _, key := range []string{"DATE", "DATETIME(3)"} {
				tw := harness.NewTwin(t, srv, strings.ReplaceAll(schema, "TYPE", key), harness.Counters("page", "hits"), "sql_mode='"+mode+"'")
				for _, steps := range scripts {
					tw.Play(t, append(steps, look...)...)
				}
				harness.RollUp(t, tw.Ours)
				require.Equal(t, harness.Number(t, tw.Plain, "SELECT SUM(hits) FROM page"), harness.Number(t, tw.Direct, "SELECT SUM(hits) FROM page"), fmt.Sprint(mode, key))
			}
		}
	})
}
