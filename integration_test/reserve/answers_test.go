package reserve

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

const shelf = "SELECT id, title, stock, views, moved IS NULL FROM item ORDER BY id"

// TestReserveAnswers proves that transactions which take from reserved rows get the answers of
// plain MySQL, and leave the rows as that does, whatever else they do: by each isolation level,
// behind savepoints, with an older snapshot, and where they need the row itself. B is the guarded
// update of an item that has reserved rows.
func TestReserveAnswers(t *testing.T) {
	const levels = "RR RC"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for n, test := range []struct {
			takes int64 // from reserved rows
			steps string
		}{
			{1, "a: B; a: commit"},
			{1, "a: B; a: rollback"},
			{2, "a: B; a: B; a: commit"},
			{1, "a: B; a: UPDATE item SET stock = stock - 9990 WHERE id = 1 AND stock >= 9990; a: commit"},
			{1, "a: B; a: UPDATE item SET stock = stock - 9999 WHERE id = 1 AND stock >= 9999; a: commit"},
			{1, "a: B; a: UPDATE item SET stock = stock - 99999 WHERE id = 1 AND stock >= 99999; a: commit"},
			{0, "a: UPDATE item SET stock = stock - 99999 WHERE id = 1 AND stock >= 99999; a: commit"},
			{0, "a: UPDATE item SET stock = stock - 99999 WHERE id = 1; a: " + shelf + "; a: commit"},
			{0, "a: UPDATE item SET stock = stock - 9999 WHERE id = 1; a: commit"},
			{1, "a: UPDATE item SET stock = stock - 2 WHERE id = 1; a: commit"},
			{1, "a: UPDATE item SET stock = stock - 2 WHERE id = 1 AND stock > 200; a: commit"},
			{0, "a: UPDATE item SET stock = stock - 2 WHERE id = 1 AND stock > 9000; a: commit"},
			{0, "a: UPDATE item SET stock = stock - 2 WHERE id = 1 AND stock > 9999; a: commit"},
			{1, "a: UPDATE item SET stock = stock - 2 WHERE id = 1 AND stock - 2 >= 0; a: commit"},
			{1, "a: UPDATE item i SET i.stock = i.stock - 2 WHERE 2 <= i.stock AND i.id = 1; a: commit"},
			{0, "a: UPDATE item SET stock = stock - 2 WHERE id = 1 AND stock >= 2 AND title = ''; a: commit"},
			{0, "a: UPDATE item SET stock = stock - 2, title = 'sold' WHERE id = 1 AND stock >= 2; a: commit"},
			{1, "a: UPDATE item SET stock = stock - 2, moved = NOW(6) WHERE id = 1 AND stock >= 2; a: commit"},
			{0, "a: UPDATE item SET stock = stock - 2, moved = '2001-01-01' WHERE id = 1 AND stock >= 2; a: SELECT moved FROM item WHERE id = 1; a: commit"},
			{0, "a: UPDATE item SET stock = GREATEST(stock - 9999, 0) WHERE id = 1; a: commit"},
			{0, "a: UPDATE item SET stock = stock - 1 WHERE id IN (1, 2) AND stock >= 1; a: commit"},
			{1, "a: SAVEPOINT s; a: B; a: ROLLBACK TO s; a: " + shelf + "; a: commit"},
			{2, "a: B; a: SAVEPOINT s; a: B; a: ROLLBACK TO s; a: commit"},
			{2, "a: B; a: SAVEPOINT s; a: B; a: ROLLBACK TO s; a: B2; a: " + shelf + "; a: commit"},
			{1, "a: B; a: SAVEPOINT s; a: UPDATE item SET stock = 5 WHERE id = 1; a: ROLLBACK TO s; a: commit"},
			{1, "a: B; a: SAVEPOINT s; a: UPDATE item SET stock = 5 WHERE id = 1; a: ROLLBACK TO s; a: B; a: B; a: commit"},
			{1, "a: B; a: " + shelf + "; a: B; a: " + shelf + "; a: commit"},
			{1, "a: " + shelf + "; a: B; a: SELECT stock FROM item WHERE id = 1; a: commit"},
			{0, "a: " + shelf + "; b: UPDATE item SET stock = stock - 3 WHERE id = 1; a: B; a: SELECT stock FROM item WHERE id = 1; a: " + shelf + "; a: commit"},
			{1, "a: " + shelf + "; b: UPDATE item SET stock = stock + 3 WHERE id = 1; a: B; a: SELECT stock, title FROM item WHERE id = 1; a: commit"},
			{1, "a: " + shelf + "; b: UPDATE item SET title = 'x' WHERE id = 1; a: B; a: SELECT title FROM item WHERE id = 1; a: commit"},
			{1, "a: SELECT stock FROM item WHERE id = 1 FOR UPDATE; a: B; a: SELECT stock FROM item WHERE id = 1 FOR UPDATE; a: commit"},
			{1, "a: B; a: SELECT stock FROM item WHERE id = 1 FOR UPDATE; a: B; a: commit"},
			{1, "a: B; a: SELECT stock, views FROM item WHERE stock > 5 ORDER BY id LOCK IN SHARE MODE; a: commit"},
			{1, "a: B; a: UPDATE item SET views = views + 3 WHERE id = 1; a: commit"},
			{1, "a: UPDATE item SET views = views + 3 WHERE id = 1; a: B; a: commit"},
			{1, "a: UPDATE item SET views = views + 3, stock = stock + 1 WHERE id = 1; a: B; a: UPDATE item SET stock = stock + 1 WHERE id = 1; a: commit"},
			{1, "a: UPDATE item SET views = views + 3 WHERE id = 2; a: B; a: UPDATE item SET views = views + 4 WHERE id = 3; a: commit"},
			{2, "a: B; a: UPDATE item SET stock = stock - 2 WHERE id = 2 AND stock >= 2; a: UPDATE item SET stock = stock - 2 WHERE id = 4 AND stock >= 2; a: commit"},
			{1, "a: B; a: UPDATE item SET views = 4294967295 WHERE id = 1; a: UPDATE item SET views = views + 1 WHERE id = 1; a: commit"},
			{1, "a: B; a: UPDATE item SET title = 'y' WHERE id = 1; a: B; a: commit"},
			{1, "a: B; a: INSERT INTO sale (item_id, n) VALUES (1, 1), (2, 3); a: commit"},
			{1, "a: INSERT INTO sale (item_id, n) VALUES (1, 1); a: B; a: SELECT * FROM sale; a: commit"},
			{1, "a: B; a: INSERT INTO item (id, stock) VALUES (1, 3) ON DUPLICATE KEY UPDATE stock = stock - 1; a: commit"},
			{1, "a: B; a: REPLACE INTO item (id, stock) VALUES (1, 3); a: B; a: commit"},
			{1, "a: B; a: DELETE FROM item WHERE id = 1; a: B; a: commit"},
			{1, "a: B; a: DELETE FROM item WHERE id = 1; a: INSERT INTO item (id, stock) VALUES (1, 3); a: B; a: " + shelf + "; a: commit"},
			{1, "a: B; a: UPDATE item SET id = 30 WHERE id = 1; a: B; a: UPDATE item SET stock = stock - 1 WHERE id = 30; a: commit"},
			{1, "a: B; a: DELETE FROM item WHERE stock < 9999; a: commit"},
			{1, "a: B; a: UPDATE item SET stock = stock + 1; a: commit"},
			{1, "a: B; a: UPDATE item JOIN (SELECT 1 AS one) o SET stock = stock * 2 WHERE id < 3; a: commit"},
			{1, "a: B; a: ALTER TABLE item ADD COLUMN more INT; a: rollback; a: ALTER TABLE item DROP COLUMN more"},
			{1, "a: B; a: CREATE TEMPORARY TABLE t (a INT); a: rollback"},
			{2, "a: B; a: ROLLBACK AND CHAIN; a: B; a: commit"},
			{0, "a: ROLLBACK; a: START TRANSACTION READ ONLY; a: B; a: commit"},
			{0, "a: SET sql_mode = ''; a: UPDATE item SET stock = stock - 99999 WHERE id = 1; a: commit"},
			{0, "a: SET sql_mode = CONCAT(@@sql_mode, ',NO_UNSIGNED_SUBTRACTION'); a: UPDATE item SET stock = stock - 99999 WHERE id = 1; a: commit"},
			{1, "a: SET sql_safe_updates = 1; a: B; a: UPDATE item SET stock = 3 WHERE id = 1; a: commit; a: SET sql_safe_updates = 0"},
			{1, "a: B; a: SELECT COUNT(*) FROM item WHERE stock BETWEEN 9000 AND 9999; a: commit"},
			{1, "a: B; a: XA START 'x'; a: commit"},
		} {
			for _, level := range strings.Fields(levels) {
				t.Run(fmt.Sprint(n, level), func(t *testing.T) {
					tw := newShop(t, srv, reserved())
					want(t, tw, 1, 2)
					before := harness.Stats(t, tw.Ours).Reserved
					steps := []string{"a: begin " + level}
					b := strings.NewReplacer(" B2", " UPDATE item SET stock = stock - 2 WHERE id = 1 AND stock >= 2 AND stock >= 1", " B", " UPDATE item SET stock = stock - 1 WHERE id = 1 AND stock >= 1")
					for step := range strings.SplitSeq(test.steps, "; ") {
						if name, text, _ := strings.Cut(step, ": "); text == "B" || text == "B2" {
							step = name + ": " + strings.TrimSpace(b.Replace(" "+text))
						}
						steps = append(steps, step)
					}
					tw.Play(t, steps...)
					tw.Same(t, shelf)
					require.Equal(t, test.takes, harness.Stats(t, tw.Ours).Reserved-before, test.steps)
					harness.RollUp(t, tw.Ours)
					require.Equal(t, harness.Queried(t.Context(), tw.Plain, shelf), harness.Queried(t.Context(), tw.Direct, shelf), test.steps)
				})
			}
		}
	})
}
