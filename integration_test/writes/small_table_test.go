package writes

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestSmallTable proves that a statement locks the rows whose keys it names and no others, in a table so small that
// the servers would rather look at all rows, inside a transaction as outside.
func TestSmallTable(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE item (id INT PRIMARY KEY, stock INT UNSIGNED NOT NULL DEFAULT 0, title VARCHAR(20) NOT NULL DEFAULT '');\nINSERT INTO item (id, stock) VALUES (1, 100), (2, 100), (3, 100)",
			harness.Counters("item", "stock"), "innodb_lock_wait_timeout=1", "interpolateParams=true")
		for _, stmt := range []string{
			"REPLACE INTO item (id, stock) VALUES (1, 50), (3, 60)",
			"INSERT INTO item (id, stock) VALUES (1, 50), (3, 60) ON DUPLICATE KEY UPDATE stock = VALUES(stock)",
			"INSERT INTO item (id, stock) VALUES (1, 50), (3, 60) ON DUPLICATE KEY UPDATE stock = stock - 1",
			"UPDATE item SET stock = 40 WHERE id IN (1, 3)",
			"DELETE FROM item WHERE id IN (1, 3)",
		} {
			for _, begin := range []string{"begin RR", "begin RC"} {
				harness.Affected(t, tw.Direct, "REPLACE INTO item_slots (id, slot, stock) VALUES (1, 1, 0), (3, 1, 0)")
				tw.Play(t, "B: begin", "B: SELECT title FROM item WHERE id = 2 FOR UPDATE", "A: "+begin, "A: SELECT title FROM item WHERE id IN (1) FOR UPDATE", "A: SELECT title FROM item WHERE id = 3 FOR UPDATE",
					"A: "+stmt, "A: rollback", "B: rollback")
			}
		}
	})
}
