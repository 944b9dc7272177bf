package writes

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

const listed = `
CREATE TABLE item (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0, v INT NOT NULL DEFAULT 0, title VARCHAR(9) NOT NULL DEFAULT '', author INT NULL, INDEX (author), INDEX (v));
CREATE TABLE cell (x INT, y INT, n INT NOT NULL DEFAULT 0, PRIMARY KEY (x, y));
INSERT INTO item (id, n, v) VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 4, 4), (5, 5, 5), (6, 6, 6), (7, 7, 7), (-8, 8, 8);
CREATE TABLE other (id INT PRIMARY KEY);
INSERT INTO cell VALUES (1, 1, 1), (1, 2, 2), (2, 1, 3)`

func listedCounters() *countermysql.Config {
	return &countermysql.Config{Rollup: countermysql.RollupNever, Tables: []countermysql.TableConfig{{Table: "item", Counters: []string{"n", "v"}}, {Table: "cell", Counters: []string{"n"}}}}
}

// TestListsInOneTrip proves that UPDATEs of several rows, given by their keys, are one round trip where none of the
// rows has slots, and run the exact way where one has, or where they may wait for something else, or where rows may
// come; that this is two of one row; and that all are answered as on plain MySQL.
func TestListsInOneTrip(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		level := map[testserver.Flavor]string{testserver.MariaDB: "tx_isolation", testserver.MySQL: "transaction_isolation"}[srv.Flavor()]
		for _, params := range []string{"interpolateParams=true", "clientFoundRows=true", "", "interpolateParams=true&" + level + "='READ-COMMITTED'"} {
			tw := harness.NewTwin(t, srv, listed, listedCounters(), params)
			type list struct {
				text  string
				trips int // at least, of what only reads its rows
			}
			const exactly = 4
			lists := []list{
				{"UPDATE item SET n = 50 WHERE id IN (1, 2)", 1},
				{"UPDATE item SET n = 50 WHERE id IN (2, 1, 1, 99)", 1},
				{"UPDATE item SET n = n * 2, title = 'twice' WHERE id IN (1, 2, -8) AND title <> 'y'", 1},
				{"UPDATE `item` AS `i` SET `i`.n = LEAST(`i`.n, i.v) WHERE `i`.`id` IN (7, 6)", 1},
				{"UPDATE cell SET n = 9 - n WHERE y IN (1, 2) AND x = 1", 1},
				{"UPDATE cell SET n = 0 WHERE y IN (2, 1) AND x IN (2, 1)", 1},
				{"UPDATE item SET v = v * 2 WHERE id IN (2, 1)", 1},
				// It may wait for something behind the slots:
				{"DELETE FROM item WHERE id = 20", 2},
				{"UPDATE item SET n = 4, author = 7 WHERE id = 4", 2},
				// The exact way, as they may wait and are of several, read counters or other tables, or as a key is no number:
				{"DELETE FROM item WHERE id IN (20, 30)", exactly},
				{"UPDATE item SET author = 2, n = n * 3 WHERE id IN (1, 2)", exactly},
				{"REPLACE INTO item (id, n) VALUES (1, 5)", exactly},
				{"INSERT INTO cell VALUES (1, 1, 7), (3, 3, 8), (2, 1, 9) ON DUPLICATE KEY UPDATE n = 5", exactly},
				{"UPDATE item SET title = 'x' WHERE v < 3 AND id IN (3, 2, 1) AND n + v < 1000 AND title <> 'y'", exactly},
				{"UPDATE item SET n = 1 WHERE id IN ('2x', 1)", exactly},
				{"UPDATE item SET n = (SELECT MAX(x) FROM cell) WHERE id IN (6, 1)", exactly},
				{"REPLACE INTO item (id, n) VALUES (6, (SELECT COUNT(*) FROM other))", exactly},
				{"REPLACE INTO item (id, n) VALUES ('6x', 1)", exactly},
				{"INSERT INTO item (v, id) VALUES ('x', 3) ON DUPLICATE KEY UPDATE v = VALUES(v), n = n * 2", exactly},
				{"REPLACE INTO item (id, n) SELECT 6, 2", exactly},
				{"INSERT IGNORE INTO item (id, n) VALUES (6, 9) ON DUPLICATE KEY UPDATE n = 9", exactly},
				{"DELETE FROM item WHERE id IN (3, 4) AND n >= 4", exactly},
				{"DELETE FROM item WHERE id IN (3, 5)", exactly},
			}
			play := func() (sent [][]harness.Sending) {
				for _, list := range lists {
					sent = append(sent, tw.Sent.During(func() { tw.Play(t, "A: "+list.text) }))
					for _, table := range []string{"item", "cell"} {
						tw.Same(t, "SELECT * FROM "+table+" ORDER BY 1, 2")
					}
				}
				return sent
			}
			for i, sent := range play() {
				switch want := lists[i].trips; {
				case want == exactly:
					require.GreaterOrEqual(t, len(sent), want, "%s: %v", lists[i].text, sent)
				case strings.Contains(params, "COMMITTED") && strings.Contains(lists[i].text, " IN ("): // a row may come
					require.GreaterOrEqual(t, len(sent), exactly, "%s: %v", lists[i].text, sent)
				case strings.Contains(params, "COMMITTED"):
					require.Len(t, sent, 1, "%s: %v", lists[i].text, sent)
				default:
					require.Len(t, sent, want, "%s: %v", lists[i].text, sent)
				}
			}
			for _, db := range []*sql.DB{tw.Plain, tw.Direct} {
				harness.Affected(t, db, "REPLACE INTO item (id, n, v) VALUES (1, 2, 3), (2, 3, 4), (3, 4, 5), (4, 5, 6), (5, 6, 7), (6, 7, 8), (7, 8, 9), (-8, 9, 10)")
				harness.Affected(t, db, "UPDATE cell SET n = x + y")
			}
			harness.Affected(t, tw.Plain, "UPDATE item SET n = n + 10")
			harness.Affected(t, tw.Plain, "UPDATE cell SET n = n + 10")
			harness.Affected(t, tw.Direct, "INSERT INTO item_slots (id, slot, n) SELECT id, 1, 10 FROM item")
			harness.Affected(t, tw.Direct, "INSERT INTO cell_slots (x, y, key2_slot, n) SELECT x, y, 1, 10 FROM cell")
			play()
			for _, call := range [][]any{
				{"UPDATE item SET n = n + v WHERE id IN (?, ?) AND v < ?", 1, 2, 1000}, {"UPDATE item SET n = n * 3 WHERE id IN (?, ?)", 6, int64(7)},
				{"UPDATE item SET n = v WHERE id IN (?, ?)", "7", -8}, {"UPDATE item SET n = v WHERE id IN (?, ?)", 1.5, 2}, {"DELETE FROM item WHERE id IN (?, ?)", nil, 6},
			} {
				var results []string
				for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
					n, err := int64(0), error(nil)
					var result sql.Result
					if result, err = db.Exec(call[0].(string), call[1:]...); err == nil {
						n, err = result.RowsAffected()
					}
					results = append(results, fmt.Sprint(n, harness.ErrorNumber(err)))
				}
				require.Equal(t, results[0], results[1], "%v", call)
				tw.Same(t, "SELECT * FROM item ORDER BY id")
			}
			harness.Affected(t, tw.Direct, "INSERT INTO item_slots (id, slot, n, v) VALUES (40, 1, 10, 1), (41, 2, 20, 1), (42, 3, 30, 1), (43, 4, 40, 1), (44, 4, 40, 1)") // of rows that are gone
			harness.Affected(t, tw.Direct, "INSERT INTO cell_slots (x, y, key2_slot, n) VALUES (44, 9, 1, 10)")
			for _, text := range []string{
				"REPLACE INTO item (id, n) VALUES (40, 1)", "REPLACE item SET n = 2, id = 41", "INSERT INTO item (id) VALUES (42), (1) ON DUPLICATE KEY UPDATE v = 5",
				"INSERT INTO item (id) VALUES (1) ON DUPLICATE KEY UPDATE v = 3, id = 43", "REPLACE INTO cell VALUES (9, 8, 1), (44, 9, 2)", "REPLACE INTO `item` (v, id) VALUE (1, -(-44))",
			} {
				tw.Play(t, "A: "+text, "A: SELECT * FROM item ORDER BY id", "A: SELECT * FROM cell ORDER BY x, y")
			}
			tw.Play(t, "A: UPDATE item SET n = v WHERE id IN (1, NULL)", "A: UPDATE item SET n = 3000000000 WHERE id IN (1, 2)",
				"A: begin RC", "A: UPDATE item SET n = 4 WHERE id IN (1, 2)", "A: SELECT id, n FROM item ORDER BY id", "A: rollback",
				"A: begin RR", "A: UPDATE item SET n = n + 1 WHERE id = 1", "A: UPDATE item SET n = n * 2 WHERE id IN (1, 2)", "A: commit",
				"A: SELECT * FROM item ORDER BY id")
		}
	})
}

// TestListsLockRowsFirst proves that such a statement has all of its rows before it looks at the slots of
// any: who waited for the second one behind the slots of the first would keep others from counting, and
// deadlock with a COMMIT that has the second one.
func TestListsLockRowsFirst(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, listed, listedCounters(), "interpolateParams=true")
		for _, list := range []string{"UPDATE item SET n = 50 WHERE id IN (1, 2)", "UPDATE item SET v = n WHERE id IN (2, 1) AND title <> 'x'"} {
			for _, first := range []int{1, 2} {
				other, err := tw.Direct.Begin()
				require.NoError(t, err)
				harness.Number(t, other, fmt.Sprintf("SELECT id FROM item WHERE id = %d FOR UPDATE", 3-first))
				done := make(chan error, 1)
				go func() {
					_, err := tw.Ours.Exec(list)
					done <- err
				}()
				require.Eventually(t, func() bool { return tw.Waits(t) }, 10*time.Second, 10*time.Millisecond)
				start := time.Now()
				for _, id := range []int{1, 2, 3} { // a foreign key would have them wait for the row itself
					harness.Affected(t, other, fmt.Sprintf("INSERT INTO item_slots (id, slot, n) VALUES (%d, 5, 1) ON DUPLICATE KEY UPDATE n = item_slots.n + 1", id))
				}
				require.Less(t, time.Since(start), 5*time.Second, "it waited for a lock")
				require.NoError(t, other.Commit())
				require.NoError(t, <-done)
			}
		}
		require.EqualValues(t, 50+50+2+2, harness.Number(t, tw.Ours, "SELECT SUM(n) FROM item WHERE id IN (1, 2)"))
		require.EqualValues(t, 3+4, harness.Number(t, tw.Ours, "SELECT n FROM item WHERE id = 3"))
	})
}
