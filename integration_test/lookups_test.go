package integration_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/testserver"
)

// TestLookupsOfTouches proves that look-ups of increments with and without a touch go
// together, and that each increment gets its own time.
func TestLookupsOfTouches(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, crowded, crowdedCounters(), "interpolateParams=true")
		const looks = "SELECT 0, `seen`"
		g := newGateOn(t, tw.sent, func(query string) bool { return strings.HasPrefix(query, looks) })
		var answers []<-chan string
		var all []*sql.Tx
		sent := tw.sent.during(func() {
			for i, at := range []string{"", ", at = NOW()", "", ", at = NOW(3)"} {
				tx, err := tw.ours.BeginTx(t.Context(), nil)
				require.NoError(t, err)
				all = append(all, tx)
				if i == 0 {
					answers = append(answers, later(t, tx, "UPDATE seen SET n = n + 1 WHERE id = 3"))
					<-g.reached
					continue
				}
				answers = append(answers, later(t, tx, fmt.Sprintf("UPDATE seen SET n = n + 1%s WHERE id = %d", at, i)))
				time.Sleep(5 * time.Millisecond)
			}
			g.open()
			for _, a := range answers {
				require.Equal(t, "affected 1", soon(t, a))
			}
		})
		for _, s := range concerning(sent, "`seen`") {
			require.True(t, strings.HasPrefix(s, looks), "it went by itself: %s", s)
		}
		for _, tx := range all {
			require.NoError(t, tx.Commit())
		}
		const touched = "SELECT COUNT(*) FROM seen WHERE id IN (1, 3) AND ABS(TIMESTAMPDIFF(SECOND, at, NOW())) < 60 OR id = 2 AND at IS NULL"
		require.EqualValues(t, 3, number(t, tw.ours, touched))
		require.EqualValues(t, 4, number(t, tw.ours, "SELECT SUM(n) FROM seen"))
	})
}

// TestLookupsByKey proves that look-ups of different rows by their keys are one list of
// keys, and that each caller gets the answer for its own.
func TestLookupsByKey(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, begun := range []bool{false, true} {
			tw := newTwin(t, srv, crowded, crowdedCounters(), "interpolateParams=true")
			const looks = "SELECT 0, `item`"
			g := newGateOn(t, tw.sent, func(query string) bool { return strings.HasPrefix(query, looks) })
			ids := []any{4, 1, 2, 2, "3", int64(5), 11, uint64(7), 2147483647, 99, 1}
			var want []string
			var answers []<-chan string
			var all []*sql.Tx
			sent := tw.sent.during(func() {
				for i, id := range ids {
					const step = "UPDATE item SET m = m + 1 WHERE id = ?"
					want = append(want, fmt.Sprint("affected ", affected(t, tw.plain, step, id)))
					tx, err := tw.ours.BeginTx(t.Context(), nil)
					require.NoError(t, err)
					if begun {
						number(t, tx, "SELECT COUNT(*) FROM word")
					}
					all = append(all, tx)
					answers = append(answers, later(t, tx, step, id))
					if i == 0 {
						<-g.reached
					}
				}
				queue()
				g.open()
				for i, a := range answers {
					require.Equal(t, want[i], soon(t, a), "id %v", ids[i])
				}
			})
			lists := 0
			for _, s := range concerning(sent, "`item`") {
				require.NotContains(t, s, "UNION")
				if strings.Contains(s, ", 5") && strings.Contains(s, " IN (") {
					lists++
				}
			}
			require.NotZero(t, lists, "%v", sent)
			for _, tx := range all {
				require.NoError(t, tx.Commit())
			}
			require.Equal(t, contents(t, tw.plain), contents(t, tw.ours))
		}
	})
}
