package transactions

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestTakenFromParts proves that guarded updates inside transactions, which take from the base row
// where that has enough by itself and from all of it where not, are answered as on plain MySQL, and
// that the rest of the transaction sees what it would there: of rows with and without slots, of
// one that is not there, by each isolation level, behind older snapshots, and beside others who
// roll up.
func TestTakenFromParts(t *testing.T) {
	const schema = `
CREATE TABLE item (id INT PRIMARY KEY, sku VARCHAR(9) NOT NULL UNIQUE, state VARCHAR(9) NOT NULL DEFAULT 'open', stock INT UNSIGNED NOT NULL, debt INT NOT NULL DEFAULT 0,
 moved DATETIME(6) NULL ON UPDATE CURRENT_TIMESTAMP(6));
INSERT INTO item (id, sku, stock) VALUES (1, 'a', 12), (2, 'b', 12), (3, 'c', 0)`
	const shelf = "SELECT id, state, stock, debt, moved IS NULL FROM item ORDER BY id"
	take := func(n, id int) string {
		return fmt.Sprintf("UPDATE item SET stock = stock - %d WHERE id = %d AND stock >= %d", n, id, n)
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for n, steps := range []string{
			take(3, 1), take(5, 1), take(7, 1), take(12, 1), take(13, 1), take(3, 2), take(13, 2), take(1, 3), take(1, 4),
			take(3, 1) + "; " + take(3, 1) + "; " + take(3, 1) + "; " + take(3, 1) + "; " + take(3, 1),
			take(3, 1) + "; SELECT stock FROM item WHERE id = 1; " + shelf,
			shelf + "; " + take(3, 1) + "; SELECT stock FROM item WHERE id = 1; " + shelf,
			shelf + "; " + take(13, 1) + "; SELECT stock FROM item WHERE id = 1 FOR UPDATE",
			"UPDATE item SET stock = stock + 9 WHERE id = 1; " + take(15, 1) + "; SELECT stock FROM item WHERE id = 1",
			"UPDATE item SET stock = stock + 9 WHERE id = 3; " + take(9, 3) + "; " + take(1, 3),
			take(4, 1) + "; UPDATE item SET stock = stock + 9 WHERE id = 1; " + take(9, 1) + "; " + shelf,
			"SAVEPOINT s; " + take(4, 1) + "; ROLLBACK TO s; " + shelf + "; " + take(12, 1),
			take(4, 1) + "; SAVEPOINT s; " + take(8, 1) + "; ROLLBACK TO s; " + shelf + "; " + take(8, 1) + "; " + shelf,
			"UPDATE item SET stock = stock - 4 WHERE id = 1; UPDATE item SET stock = stock - 9 WHERE id = 1; " + shelf,
			"UPDATE item SET stock = stock - 4 WHERE id = 1 AND stock > 11; UPDATE item SET stock = stock - 4 WHERE id = 1 AND stock > 8; " + shelf,
			"UPDATE item SET stock = stock - 4, state = 'shut' WHERE id = 1 AND stock >= 4 AND state = 'open'; UPDATE item SET stock = stock - 4 WHERE id = 1 AND stock >= 4 AND state = 'open'; " + shelf,
			"UPDATE item SET stock = stock - 4, moved = '2001-01-01' WHERE id = 1 AND stock >= 4; SELECT moved FROM item WHERE id = 1",
			"UPDATE item SET stock = stock - 4 WHERE sku = 'A' AND stock >= 4; UPDATE item SET stock = stock - 8 WHERE sku = 'a' AND stock >= 8; " + shelf,
			"UPDATE item SET stock = stock - 4 WHERE id = '1' AND stock >= 4; UPDATE item SET stock = stock - 8 WHERE id = 1.0 AND stock >= 8; " + shelf,
			"UPDATE item SET stock = stock - 1.5 WHERE id = 1 AND stock >= 1.5; UPDATE item SET stock = stock - -2 WHERE id = 1 AND stock >= 2; " + shelf,
			"UPDATE item SET debt = debt - 4 WHERE id = 1 AND debt >= -5; " + take(6, 1) + "; " + shelf,
			"UPDATE item SET stock = GREATEST(stock - 6, 0) WHERE id = 1; " + shelf,
			take(6, 1) + "; UPDATE item SET stock = stock DIV 2 WHERE id = 1; " + shelf,
			take(4, 1) + "; DELETE FROM item WHERE id = 1; " + take(4, 1) + "; INSERT INTO item (id, sku, stock) VALUES (1, 'a', 2); " + take(1, 1) + "; " + shelf,
			take(4, 1) + "; UPDATE item SET id = 9 WHERE id = 1; " + take(4, 1) + "; " + take(4, 9) + "; " + take(5, 9) + "; " + shelf,
		} {
			for _, level := range []string{"RC", "RR", "S", "RU"} {
				for _, folds := range []bool{false, true} {
					if folds && (level == "S" || !strings.HasPrefix(steps, "S")) { // the row is locked by then
						continue
					}
					t.Run(fmt.Sprint(n, level, folds), func(t *testing.T) {
						tw := harness.NewTwin(t, srv, schema, harness.Counters("item", "stock", "debt"), "interpolateParams=true")
						harness.ExecAll(t, tw.Ours, "UPDATE item SET stock = stock + 0 WHERE id = 1") // learns the schema
						harness.ExecAll(t, tw.Direct, "UPDATE item SET stock = 5, moved = NULL WHERE id = 1;\nINSERT INTO item_slots (id, slot, stock) VALUES (1, 3, 4), (1, 9, 3), (2, 3, 0)")
						harness.ExecAll(t, tw.Plain, "UPDATE item SET moved = NULL WHERE id = 1")
						all := strings.Split(steps, "; ")
						if folds { // others, between the first two
							all = append([]string{all[0], "fold"}, all[1:]...)
						}
						script := func(fold string) (lines []string) {
							lines = append(lines, "a: begin "+level)
							for _, step := range all {
								if step == "fold" {
									lines = append(lines, "b: "+fold)
									continue
								}
								lines = append(lines, "a: "+step)
							}
							return append(lines, "a: commit", "b: "+shelf)
						}
						// What others fold is nothing to plain MySQL.
						want := harness.PlayOn(t, tw.Plain, script("SELECT 1"))
						var got []string
						s := &harness.Script{Db: tw.Ours, Clients: map[string]*harness.Client{}}
						defer s.End()
						for _, step := range script("SELECT 1") {
							if step == "b: SELECT 1" {
								harness.RollUp(t, tw.Ours)
							}
							s.Do(t, step)
						}
						got = s.Answers
						require.Equal(t, strings.Join(want, "\n"), strings.Join(got, "\n"))
					})
				}
			}
		}
	})
}
