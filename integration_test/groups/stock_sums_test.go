package groups

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestStockUnsignedSums proves that updates which wait together, and whose conditions compute
// with UNSIGNED numbers, get an error (1690) where plain MySQL gives one: where what the
// condition computes goes below zero, be it true of numbers or not.
func TestStockUnsignedSums(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, shelves, harness.Counters("item", "stock", "spare", "used", "tiny"), "interpolateParams=true")
		tw.Ours.SetMaxIdleConns(8)
		for text, args := range map[string][][]any{
			"UPDATE item SET used = used + ? WHERE id = # AND used - ? < 10":         {{1, 6}, {1, 9}, {2, 6}, {1, 8}, {1, 7}},
			"UPDATE item SET used = used + ? WHERE id = # AND seats - used >= ?":     {{1, 1}, {2, -1}, {1, -1}, {3, -9}, {1, 0}},
			"UPDATE item SET used = used + ? WHERE id = # AND used <= seats - ?":     {{1, 1}, {1, 12}, {1, 2}, {1, 0}, {1, 9}},
			"UPDATE item SET used = used + ? WHERE id = # AND used <= ? - seats":     {{1, 9}, {1, 30}, {1, 8}, {1, 16}, {1, 20}},
			"UPDATE item SET spare = spare - ? WHERE id = # AND spare - ? + 5 >= 0":  {{1, 1}, {1, 9}, {2, 3}, {1, 8}, {1, 12}},
			"UPDATE item SET spare = spare - ? WHERE id = # AND spare - 2 >= kept":   {{3}, {2}, {1}, {3}, {1}},
			"UPDATE item SET used = used + ? WHERE id = # AND used + kept <= seats":  {{1}, {1}, {2}, {1}, {1}},
			"UPDATE item SET stock = stock - ? WHERE id = # AND stock - seats >= ?":  {{1, -9}, {1, -5}, {2, -2}, {1, 0}, {1, -9}},
			"UPDATE item SET spare = spare - ? WHERE id = # AND spare > used + ?":    {{1, 0}, {1, 1}, {2, 2}, {1, 9}, {1, 0}},
			"UPDATE item SET used = used + ? WHERE id = # AND used + ? <= seats - 1": {{1, 1}, {1, 1}, {2, 2}, {1, 1}, {3, 3}},
		} {
			for _, id := range []int{2, 6} {
				for _, kept := range []string{"2", "-9"} {
					fillShelf(t, tw, id, "UPDATE item SET kept = "+kept+", moved = '2026-01-02' WHERE id = #")
					inSomeOrder(t, tw, shelf, onShelf(id, text, args...))
				}
			}
		}
	})
}
