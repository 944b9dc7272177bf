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
