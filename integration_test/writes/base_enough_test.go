package writes

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestBaseHasEnough proves that a guarded decrement of an UNSIGNED counter is sent as it is where
// its base row has enough, whatever is in slots, and counts what is in slots where it has not; and
// that where rows of late had not, the base row is not asked first.
func TestBaseHasEnough(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range [][]string{{"interpolateParams=true"}, {"clientFoundRows=true"}} {
			tw := harness.NewTwin(t, srv, stockroom, harness.Counters("item", "spare"), params...)
			const slots = "SELECT COUNT(*) FROM item_slots WHERE id = 1"
			sell := func(n int) (sent []string) {
				t.Helper()
				var sold []int64
				for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
					all := tw.Sent.During(func() {
						sold = append(sold, harness.Affected(t, db, fmt.Sprintf("UPDATE item SET spare = spare - %d WHERE id = ? AND spare >= ?", n), 1, n))
					})
					for _, s := range all {
						if !strings.HasPrefix(s.Text, "PREPARE ") {
							sent = append(sent, s.Text)
						}
					}
				}
				require.Equal(t, sold[0], sold[1])
				tw.Same(t, "SELECT spare FROM item WHERE id = 1")
				return sent
			}
			for range 12 { // first as text, and then prepared
				for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
					harness.Affected(t, db, "UPDATE item SET spare = spare + 7 WHERE id = 1")
					harness.Affected(t, db, "UPDATE item SET stock = 0, spare = spare + 5 WHERE id = 1")
					harness.Affected(t, db, "UPDATE item SET spare = spare + 7 WHERE id = 1")
				}
				require.NotZero(t, harness.Number(t, tw.Direct, slots))
				require.Len(t, sell(3), 1)
				require.NotZero(t, harness.Number(t, tw.Direct, slots), "are left alone")
			}
			all := harness.Number(t, tw.Plain, "SELECT spare FROM item WHERE id = 1")
			require.Greater(t, len(sell(int(all)-1)), 2, "base row and slots together")
			require.Zero(t, harness.Number(t, tw.Direct, slots))
			sell(2)
			sell(2)
			require.Len(t, sell(2), 1, "with a guard against slots")
			require.EqualValues(t, 1, harness.Number(t, tw.Ours, "SELECT spare FROM item WHERE id = 1"))
		}
	})
}
