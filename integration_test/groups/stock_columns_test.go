package groups

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestStockOwnColumns proves that updates whose condition reads a column that they change
// themselves go each by itself, as the first one may make it false for the rest: a column that is
// generated from what they set, from another such, from the counter, or from what ON UPDATE sets.
// Those which change no column of their condition still go together.
func TestStockOwnColumns(t *testing.T) {
	const schema = `
CREATE TABLE item (id INT PRIMARY KEY, stock INT NOT NULL, state VARCHAR(9) NOT NULL DEFAULT 'open', title VARCHAR(9) NOT NULL DEFAULT '', moved DATETIME NULL,
 is_open TINYINT AS (state = 'open') STORED, is_shut TINYINT AS (1 - is_open), spots INT AS (CHAR_LENGTH(state) + 5) STORED, moved_on DATE AS (DATE(moved)));
INSERT INTO item (id, stock) VALUES (1, 0);
CREATE TABLE page (id INT PRIMARY KEY, hits INT NOT NULL, title VARCHAR(9) NOT NULL DEFAULT '', seen DATETIME NULL ON UPDATE CURRENT_TIMESTAMP, day DATE AS (DATE(seen)) STORED);
INSERT INTO page (id, hits) VALUES (1, 0)`
	const item = "SELECT id, stock, state, title, moved IS NULL, is_open FROM item"
	const page = "SELECT id, hits, title, day = CURDATE() FROM page"
	config := harness.Counters("item", "stock")
	config.Tables[0].Touch = []string{"moved"}
	config.Tables = append(config.Tables, harness.Counters("page", "hits").Tables...)
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, config, "interpolateParams=true")
		tw.Ours.SetMaxIdleConns(8)
		for _, c := range []struct {
			ddl, rows, text string
			together        bool
		}{
			{"", item, "UPDATE item SET stock = stock - ?, state = 'sold' WHERE id = 1 AND stock >= 1 AND is_open = 1", false},
			{"", item, "UPDATE item SET stock = stock - ?, State = 'sold' WHERE id = 1 AND stock >= 1 AND (title = '' AND 0 = Is_Shut)", false},
			{"", item, "UPDATE item SET stock = stock - ?, state = 'sold' WHERE id = 1 AND stock - spots >= 0", false},
			{"", item, "UPDATE item SET stock = stock - ?, moved = NOW() WHERE id = 1 AND stock >= 1 AND moved_on IS NULL", false},
			{"", item, "UPDATE item SET stock = stock - ?, title = 'sold' WHERE id = 1 AND stock >= 1 AND is_open = 1", true},
			{"", page, "UPDATE page SET hits = hits + ? WHERE id = 1 AND hits < 12 AND day < CURDATE()", false},
			{"", page, "UPDATE page SET hits = hits + ? WHERE id = 1 AND hits < 12 AND seen < CURDATE()", false},
			{"", page, "UPDATE page SET hits = hits + ? WHERE id = 1 AND hits < 12 AND title = ''", true},
			{"ALTER TABLE item ADD low TINYINT AS (stock < 9)", item, "UPDATE item SET stock = stock - ? WHERE id = 1 AND stock >= 1 AND low = 0", false},
		} {
			for _, db := range []*sql.DB{tw.Plain, tw.Direct} {
				if c.ddl != "" {
					harness.ExecAll(t, db, c.ddl)
					tw.LearnAnew(t)
				}
			}
			first := map[string]string{item: "UPDATE item SET stock = stock - ? WHERE id = 1 AND stock >= 99", page: "UPDATE page SET hits = hits + ? WHERE id = 1 AND hits < 0"}[c.rows] // is refused
			shared := false
			for try := 0; try == 0 || c.together && !shared && try < 20; try++ { // on a busy machine they may come one by one
				for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
					harness.Affected(t, db, "UPDATE item SET stock = 10, state = 'open', title = '', moved = NULL")
					harness.Affected(t, db, "UPDATE page SET hits = 1, title = '', seen = NOW() - INTERVAL 2 DAY")
				}
				shared = inSomeOrder(t, tw, c.rows, append(onShelf(1, first, []any{1}), onShelf(1, c.text, []any{1}, []any{2}, []any{1})...))
			}
			require.Equal(t, c.together, shared, c.text)
		}
	})
}
