package reserve

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestFoundBesideFilling proves that a statement which finds its rows by a counter finds one also whose reserved rows
// are filled from its base row meanwhile, for the first time, at READ COMMITTED: its value is the same at any moment.
func TestFoundBesideFilling(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, begin := range []bool{true, false} {
			for _, stmt := range []string{"UPDATE item SET title = 'x' WHERE stock = 10000", "UPDATE item SET stock = 9999 WHERE stock = 10000 AND id < 9", "UPDATE item SET stock = stock + 1 WHERE title = '' AND stock > 9990"} {
				t.Run(fmt.Sprint("in a transaction ", begin, " ", stmt), func(t *testing.T) {
					tw := newShop(t, srv, reserved())
					session := harness.Session(t, tw.Ours)
					harness.Affected(t, session, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
					if begin {
						harness.Affected(t, session, "BEGIN")
					}
					fill := sync.OnceFunc(func() {
						tx, err := tw.Direct.Begin()
						require.NoError(t, err)
						defer tx.Rollback()
						harness.Affected(t, tx, "UPDATE item SET stock = stock - 20 WHERE id = 2")
						harness.Affected(t, tx, "INSERT INTO item_slots (id, slot, stock) VALUES (2, 64512, 0), (2, 64513, 10), (2, 64514, 10)")
						require.NoError(t, tx.Commit())
					})
					filled := false
					tw.Sent.Meddle(t, func(query string) error {
						if strings.HasPrefix(query, "SAVEPOINT countermysql_between") {
							filled = true
							fill()
						}
						return nil
					})
					require.EqualValues(t, 3, harness.Affected(t, session, stmt))
					require.True(t, filled)
					if begin {
						harness.Affected(t, session, "COMMIT")
					}
					harness.Affected(t, tw.Plain, stmt)
					const all = "SELECT id, title, stock FROM item ORDER BY id"
					require.Equal(t, harness.Queried(t.Context(), tw.Plain, all), harness.Queried(t.Context(), tw.Ours, all))
				})
			}
		}
	})
}
