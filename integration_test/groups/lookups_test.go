package groups

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestLookupsOfTouches proves that look-ups of increments with and without a touch go
// together, and that each increment gets its own time.
func TestLookupsOfTouches(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Crowded, harness.CrowdedCounters(), "interpolateParams=true")
		const looks = "SELECT 0, `seen`"
		g := harness.NewGateOn(t, tw.Sent, func(query string) bool { return strings.HasPrefix(query, looks) })
		var answers []<-chan string
		var all []*sql.Tx
		sent := tw.Sent.During(func() {
			for i, at := range []string{"", ", at = NOW()", "", ", at = NOW(3)"} {
				tx, err := tw.Ours.BeginTx(t.Context(), nil)
				require.NoError(t, err)
				all = append(all, tx)
				if i == 0 {
					answers = append(answers, harness.Later(t, tx, "UPDATE seen SET n = n + 1 WHERE id = 3"))
					<-g.Reached
					continue
				}
				answers = append(answers, harness.Later(t, tx, fmt.Sprintf("UPDATE seen SET n = n + 1%s WHERE id = %d", at, i)))
				time.Sleep(5 * time.Millisecond)
			}
			g.Open()
			for _, a := range answers {
				require.Equal(t, "affected 1", harness.Soon(t, a))
			}
		})
		for _, s := range concerning(sent, "`seen`") {
			require.True(t, strings.HasPrefix(s, looks), "it went by itself: %s", s)
		}
		for _, tx := range all {
			require.NoError(t, tx.Commit())
		}
		const touched = "SELECT COUNT(*) FROM seen WHERE id IN (1, 3) AND ABS(TIMESTAMPDIFF(SECOND, at, NOW())) < 60 OR id = 2 AND at IS NULL"
		require.EqualValues(t, 3, harness.Number(t, tw.Ours, touched))
		require.EqualValues(t, 4, harness.Number(t, tw.Ours, "SELECT SUM(n) FROM seen"))
	})
}

// TestLookupsByKey proves that look-ups of different rows by their keys are one list of
// keys, and that each caller gets the answer for its own.
func TestLookupsByKey(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, begun := range []bool{false, true} {
			tw := harness.NewTwin(t, srv, harness.Crowded, harness.CrowdedCounters(), "interpolateParams=true")
			const looks = "SELECT 0, `item`"
			g := harness.NewGateOn(t, tw.Sent, func(query string) bool { return strings.HasPrefix(query, looks) })
			ids := []any{4, 1, 2, 2, "3", int64(5), 11, uint64(7), 2147483647, 99, 1}
			var want []string
			var answers []<-chan string
			var all []*sql.Tx
			sent := tw.Sent.During(func() {
				const step = "UPDATE item SET m = m + 1 WHERE id = ?"
				for _, id := range ids {
					want = append(want, fmt.Sprint("affected ", harness.Affected(t, tw.Plain, step, id)))
					tx, err := tw.Ours.BeginTx(t.Context(), nil)
					require.NoError(t, err)
					if begun {
						harness.Number(t, tx, "SELECT COUNT(*) FROM word")
					}
					all = append(all, tx)
				}
				for i, id := range ids {
					answers = append(answers, harness.Later(t, all[i], step, id))
					if i == 0 {
						<-g.Reached
					}
				}
				harness.Queue()
				g.Open()
				for i, a := range answers {
					require.Equal(t, want[i], harness.Soon(t, a), "id %v", ids[i])
				}
			})
			lists := 0
			for _, s := range concerning(sent, "`item`") {
				require.NotContains(t, s, "UNION")
				if _, list, found := strings.Cut(s, " IN ("); found && strings.Contains(list, ", ") && slices.Contains(strings.Split(strings.TrimRight(list, ")"), ", "), "5") {
					lists++
				}
			}
			require.NotZero(t, lists, "%v", sent)
			for _, tx := range all {
				require.NoError(t, tx.Commit())
			}
			require.Equal(t, contents(t, tw.Plain), contents(t, tw.Ours))
		}
	})
}
