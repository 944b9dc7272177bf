package writes

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

const listed = `
CREATE TABLE item (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0, v INT NOT NULL DEFAULT 0, title VARCHAR(9) NOT NULL DEFAULT '', author INT NULL, INDEX (author));
CREATE TABLE cell (x INT, y INT, n INT NOT NULL DEFAULT 0, PRIMARY KEY (x, y));
INSERT INTO item (id, n, v) VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 4, 4), (5, 5, 5), (6, 6, 6), (7, 7, 7), (-8, 8, 8);
INSERT INTO cell VALUES (1, 1, 1), (1, 2, 2), (2, 1, 3)`

func listedCounters() *countermysql.Config {
	return &countermysql.Config{Rollup: countermysql.RollupNever, Tables: []countermysql.TableConfig{{Table: "item", Counters: []string{"n", "v"}}, {Table: "cell", Counters: []string{"n"}}}}
}

// TestListsInOneTrip proves that UPDATEs of several rows, given by their keys, are one round trip where none
// of the rows has slots, and run the exact way where one has, or where they may wait for something else; and that
// they are answered as on plain MySQL.
func TestListsInOneTrip(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"interpolateParams=true", "clientFoundRows=true", ""} {
			tw := harness.NewTwin(t, srv, listed, listedCounters(), params)
			lists := []string{
				"UPDATE item SET n = 50 WHERE id IN (1, 2)",
				"UPDATE item SET n = 50 WHERE id IN (2, 1, 1, 99)",
				"UPDATE item SET n = n * 2, title = 'twice' WHERE id IN (1, 2, -8) AND title <> 'y'",
				"UPDATE `item` AS `i` SET `i`.n = LEAST(`i`.n, i.v) WHERE `i`.`id` IN (7, 6)",
				"UPDATE cell SET n = 9 - n WHERE y IN (1, 2) AND x = 1",
				"UPDATE cell SET n = 0 WHERE y IN (2, 1) AND x IN (2, 1)",
				// The exact way, as they read counters, or may wait for something behind the slots:
				"UPDATE item SET title = 'x' WHERE v < 3 AND id IN (3, 2, 1) AND n + v < 1000 AND title <> 'y'",
				"UPDATE item SET author = 2, n = n * 3 WHERE id IN (1, 2)",
				"UPDATE item SET n = 1 WHERE id IN ('2x', 1)",
				"UPDATE item SET n = (SELECT MAX(x) FROM cell) WHERE id IN (6, 1)",
				"DELETE FROM item WHERE id IN (3, 4) AND n >= 4",
				"DELETE FROM item WHERE id IN (3, 5)",
			}
			const inOne = 6
			play := func() (sent [][]harness.Sending) {
				for _, list := range lists {
					sent = append(sent, tw.Sent.During(func() { tw.Play(t, "A: "+list) }))
					for _, table := range []string{"item", "cell"} {
						tw.Same(t, "SELECT * FROM "+table+" ORDER BY 1, 2")
					}
				}
				return sent
			}
			for i, sent := range play() {
				require.Equal(t, i < inOne, len(sent) == 1, "%s: %v", lists[i], sent)
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
				require.Eventually(t, func() bool { return tw.Waits(t) }, 10*time.Second, 120*time.Millisecond)
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
