package writes

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestDigitsOfTouch proves that a time has the digits that the statement asks
// for, not all that its column can hold.
func TestDigitsOfTouch(t *testing.T) {
	const schema = `
CREATE TABLE page (id INT PRIMARY KEY, hits INT NOT NULL DEFAULT 0, seen DATETIME(6) NULL, last TIMESTAMP(3) NULL DEFAULT NULL);
INSERT INTO page (id) VALUES (1), (2);
`
	config := &countermysql.Config{Tables: []countermysql.TableConfig{{Table: "page", Counters: []string{"hits"}, Touch: []string{"seen", "last"}}}}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, set := range []string{"seen = NOW()", "seen = NOW(3)", "seen = CURRENT_TIMESTAMP(6), last = LOCALTIME", "last = NOW(6)", "last = CURRENT_TIMESTAMP(2), seen = LOCALTIMESTAMP(0)"} {
			tw := harness.NewTwin(t, srv, schema, config, "timestamp=1700000000.654321")
			one := "A: UPDATE page SET hits = hits + 1, " + set + " WHERE id = 1"
			tw.Play(t, one, "A: SELECT * FROM page", one, "A: begin", one, strings.ReplaceAll(one, "id = 1", "id IN (1, 2)"), "A: SELECT * FROM page", "A: commit", "A: SELECT * FROM page",
				strings.ReplaceAll(one, "id = 1", "hits > 0"), "A: SELECT * FROM page")
		}
	})
}

// TestGeneratedFromTouch proves that a column generated from one that increments
// move is never older than that, nor what is found by it.
func TestGeneratedFromTouch(t *testing.T) {
	const schema = `
CREATE TABLE page (id INT PRIMARY KEY, hits INT NOT NULL DEFAULT 0, seen DATETIME(3) NOT NULL DEFAULT '2020-01-01' ON UPDATE CURRENT_TIMESTAMP(3), day DATE AS (DATE(seen)) STORED, KEY (day));
INSERT INTO page (id) VALUES (1), (2);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("page", "hits"), "timestamp=1700000000.654321")
		find := "A: SELECT id, day FROM page WHERE day > '2021-01-01'"
		tw.Play(t, "A: UPDATE page SET hits = hits + 1 WHERE id = 1", find, "A: begin", "A: UPDATE page SET hits = hits + 1 WHERE id = 2", find, "A: commit", find, "A: SELECT * FROM page",
			"A: INSERT INTO page (id, hits) VALUES (1, 1) ON DUPLICATE KEY UPDATE hits = hits + 1", "A: SELECT * FROM page")
	})
}

// TestRoundedTouch proves that an increment takes the fast way although MySQL has rounded
// the time of the row, a moment ago, up to the digits of its column.
func TestRoundedTouch(t *testing.T) {
	const schema = "CREATE TABLE page (id INT PRIMARY KEY, hits INT NOT NULL DEFAULT 0, title VARCHAR(9), last DATETIME NULL);\nINSERT INTO page (id) VALUES (1), (2)"
	config := &countermysql.Config{Tables: []countermysql.TableConfig{{Table: "page", Counters: []string{"hits"}, Touch: []string{"last"}}}}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, config)
		now := time.Now().UTC().Truncate(time.Second).Format(time.DateTime)
		hit := "A: UPDATE page SET hits = hits + 1, last = '" + now + ".800' WHERE id = 1"
		tw.Play(t, "A: UPDATE page SET title = 'x', last = '"+now+".700'", hit, "A: SELECT * FROM page",
			"A: begin", hit, strings.ReplaceAll(hit, "id = 1", "id IN (1, 2)"), "A: UPDATE page SET title = 'y' WHERE id = 2", "A: commit", "A: SELECT * FROM page")
		require.Zero(t, harness.Stats(t, tw.Ours).Exact)
	})
}
