package writes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

const related = `
CREATE TABLE writer (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0);
CREATE TABLE item (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0, title VARCHAR(9) NOT NULL DEFAULT '', slug VARCHAR(9) UNIQUE, writer INT NULL, sort INT NOT NULL DEFAULT 0,
 doubled INT AS (sort * 2) STORED, INDEX (doubled), FOREIGN KEY (writer) REFERENCES writer (id));
CREATE TABLE note (id INT PRIMARY KEY, item INT NOT NULL, FOREIGN KEY (item) REFERENCES item (id) ON DELETE CASCADE);
CREATE TABLE entry (id INT PRIMARY KEY, item INT NOT NULL, FOREIGN KEY (item) REFERENCES item (id));
CREATE TABLE page (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0, writer INT NULL, FOREIGN KEY (writer) REFERENCES writer (id));
INSERT INTO writer (id) VALUES (1), (2)`

const fresh = `DELETE FROM note
DELETE FROM entry
DELETE FROM item
DELETE FROM page
INSERT INTO item (id) VALUES (1), (2), (3), (4), (5), (6), (7)
INSERT INTO page (id) VALUES (1), (2), (3), (4), (5), (6), (7)
INSERT INTO note VALUES (1, 1), (2, 2)
INSERT INTO entry VALUES (4, 4)`

// TestWaitsOutsideGaps proves that a statement that looks whether its rows have slots, and waits for a child, a
// parent or an index entry then, keeps nobody from counting meanwhile: that transaction would have 1213 where it
// holds what is waited for. It may be one round trip as long as it does not wait there, two where it sets its level.
func TestWaitsOutsideGaps(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := &countermysql.Config{Rollup: countermysql.RollupNever, Tables: []countermysql.TableConfig{{Table: "item", Counters: []string{"n"}}, {Table: "page", Counters: []string{"n"}}}}
		for _, params := range []string{"interpolateParams=true", ""} {
			tw := harness.NewTwin(t, srv, related, config, params)
			const (
				child  = "UPDATE note SET id = id + 100 WHERE item = 1"
				parent = "UPDATE writer SET n = n + 1 WHERE id = 2"
				taken  = "INSERT INTO item (id, slug) VALUES (20, 'x')"
				sorted = "SELECT id FROM item WHERE doubled BETWEEN 4 AND 40 FOR UPDATE"
			)
			for _, x := range []struct {
				first, list string
				args        []any
			}{
				{child, "DELETE FROM item WHERE id = ?", []any{1}},
				{"INSERT INTO entry VALUES (5, 5)", "DELETE FROM item WHERE id = ? AND n < 100", []any{5}}, // it has the row itself, too
				{"SELECT id FROM entry WHERE item = 4 FOR UPDATE", "DELETE FROM item WHERE id = 4", nil},
				{parent, "UPDATE item SET n = 0, writer = 2 WHERE id = ?", []any{1}},
				{taken, "UPDATE item SET n = 0, slug = 'x' WHERE id = ?", []any{1}},
				{sorted, "UPDATE item SET n = n * 2, sort = 4 WHERE id = ?", []any{1}},
				{child, "DELETE FROM item WHERE id IN (?, ?)", []any{2, 1}},
				{parent, "UPDATE item SET n = 0, writer = 2 WHERE id IN (?, ?)", []any{1, 2}},
				{taken, "UPDATE item SET n = 0, slug = CONCAT('x', LEFT(id - 1, id - 1)) WHERE id IN (?, ?)", []any{1, 2}},
				{parent, "REPLACE INTO page (id, n, writer) VALUES (?, ?, ?)", []any{1, 5, 2}},
				{parent, "REPLACE INTO page (id, n, writer) VALUES (?, 4, ?), (2, 6, 1)", []any{11, 2}},
				{parent, "INSERT INTO page (id, n, writer) VALUES (?, 1, 1), (4, 1, 2) ON DUPLICATE KEY UPDATE n = 4, writer = VALUES(writer)", []any{3}},
			} {
				for _, made := range strings.Split(fresh, "\n") {
					harness.Affected(t, tw.Direct, made)
				}
				other, err := tw.Direct.Begin()
				require.NoError(t, err)
				if strings.HasPrefix(x.first, "SELECT") {
					harness.Queried(t.Context(), other, x.first)
				} else {
					harness.Affected(t, other, x.first)
				}
				done := make(chan error, 1)
				go func() {
					_, err := tw.Ours.Exec(x.list, x.args...)
					done <- err
				}()
				require.Eventually(t, func() bool { return tw.Waits(t) }, 10*time.Second, 10*time.Millisecond, "%s: it does not wait", x.list)
				start := time.Now()
				for _, table := range []string{"item_slots", "page_slots"} {
					for _, id := range []int{1, 2, 3, 4, 5, 6, 7, 8, 30} { // a foreign key would have them wait for the row itself
						_, err = other.Exec(fmt.Sprintf("INSERT INTO %s (id, slot, n) VALUES (%d, 5, 1)", table, id))
						require.NoError(t, err, x.list)
					}
				}
				require.Less(t, time.Since(start), 4*time.Second, "%s: they waited for a lock", x.list)
				require.NoError(t, other.Rollback())
				if err := <-done; harness.ErrorNumber(err) != 1451 {
					require.NoError(t, err, x.list)
				}
			}
		}
	})
}

// TestLevelSetBack proves that the next transaction has the level that the application has set, whatever became of
// such a statement: the server keeps one that is for the next transaction where the statement has begun none.
func TestLevelSetBack(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := &countermysql.Config{Rollup: countermysql.RollupNever, Tables: []countermysql.TableConfig{{Table: "item", Counters: []string{"n"}}, {Table: "part", Counters: []string{"n"}}}}
		tw := harness.NewTwin(t, srv, `CREATE TABLE item (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0, slug VARCHAR(9) UNIQUE);
CREATE TABLE part (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0) PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN (100));
CREATE TABLE other (id INT AUTO_INCREMENT PRIMARY KEY);
INSERT INTO item (id, slug) VALUES (1, 'a'), (2, 'b'), (3, 'c')`, config, "interpolateParams=true")
		harness.Affected(t, tw.Direct, "INSERT INTO item_slots (id, slot, n) VALUES (3, 1, 0)")
		tw.Play(t, "B: SET innodb_lock_wait_timeout = 1", "A: SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE", "A: DELETE FROM part WHERE id = 1000", "A: BEGIN", "A: SELECT COUNT(*) FROM item", "B: UPDATE item SET slug = 'z' WHERE id = 1", "A: ROLLBACK", "A: SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
		for _, text := range []string{
			"DELETE FROM part WHERE id = 1000", "DELETE FROM part WHERE id IN (1000, 2000)", "DELETE FROM part WHERE id = 1 AND 1 = 0", "UPDATE part SET n = 5 WHERE id = 1000",
			"REPLACE INTO part VALUES (1000, 5)", "REPLACE INTO part VALUES (10, 5)", "REPLACE INTO part VALUES (10, 5, 6)", "UPDATE item SET n = 4, slug = 'b' WHERE id = 1",
			"UPDATE item SET n = 4, slug = nosuch WHERE id = 1", "DELETE FROM item WHERE id = 3 AND n > 5", "DELETE FROM item WHERE id = 3 LIMIT 0", "UPDATE item SET n = 4, slug = 'a' WHERE id = 1",
		} {
			tw.Play(t, "A: "+text, "A: BEGIN", "A: SELECT COUNT(*) FROM item", "B: INSERT INTO item (id) SELECT COUNT(*) + 100 FROM other", "A: SELECT COUNT(*) FROM item", "A: ROLLBACK", "B: INSERT INTO other VALUES ()")
		}
	})
}

// TestLogOfStatements proves that such statements run where the binary log is of statements, at whose level InnoDB
// refuses them (1665).
func TestLogOfStatements(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, listed, listedCounters(), "interpolateParams=true&binlog_format='STATEMENT'")
		sent := tw.Sent.During(func() {
			tw.Play(t, "A: REPLACE INTO item (id, n) VALUES (1, 5)", "A: DELETE FROM item WHERE id IN (2, 3)", "A: DELETE FROM item WHERE id = 4", "A: SELECT * FROM item ORDER BY id")
		})
		if harness.QueriedValue(t, tw.Direct, "SELECT @@log_bin") == "1" {
			require.Greater(t, len(sent), 3*4, "%v", sent)
		}
	})
}

// TestCountersIndexes proves that no transaction of the driver's has a part of a counter's index locked that it has
// not the rows of: one that counts then has no 1213 for who changes such a counter in one round trip.
func TestCountersIndexes(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := &countermysql.Config{Rollup: countermysql.RollupNever, Tables: []countermysql.TableConfig{{Table: "item", Counters: []string{"n", "u"}}}}
		tw := harness.NewTwin(t, srv, `CREATE TABLE item (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0, u INT NOT NULL DEFAULT 9, INDEX (u));
CREATE TABLE best (id INT PRIMARY KEY)`, config, "interpolateParams=true")
		for _, first := range []string{"INSERT INTO best SELECT id FROM item WHERE u < 9", "INSERT INTO best SELECT id FROM item ORDER BY u LIMIT 3", "SELECT id FROM item ORDER BY u LIMIT 3 FOR UPDATE", "UPDATE item SET n = 7 WHERE u < 9"} {
			for _, second := range []string{"UPDATE item SET u = u - 8 WHERE id = 1 AND u >= 3", "UPDATE item SET u = 4 WHERE id IN (1, 3)"} {
				for _, made := range []string{"DELETE FROM best", "DELETE FROM item_slots", "DELETE FROM item", "INSERT INTO item (id) VALUES (1), (2), (3), (4)", "INSERT INTO item (id, u) VALUES (5, 3), (6, 4), (7, 5)"} {
					harness.Affected(t, tw.Direct, made)
				}
				tx, err := tw.Ours.Begin()
				require.NoError(t, err)
				_, err = tx.Exec(first)
				require.NoError(t, err)
				done := make(chan error, 1)
				go func() {
					_, err := tw.Ours.Exec(second)
					done <- err
				}()
				require.Eventually(t, func() bool { return tw.Waits(t) }, 10*time.Second, 10*time.Millisecond)
				for _, id := range []int{1, 2, 5} {
					harness.Affected(t, tx, fmt.Sprintf("UPDATE item SET n = n + 1 WHERE id = %d", id))
				}
				require.NoError(t, tx.Commit(), "%s; %s", first, second)
				require.NoError(t, <-done, "%s; %s", first, second)
			}
		}
	})
}
