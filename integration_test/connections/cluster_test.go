package connections

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestSlotsWrittenByAnotherNode proves that a slot that is written between the
// reading of slots and their removal keeps what it got. On one server the base
// row's lock forbids that; another node of a cluster does not see the lock, and
// what it has written is applied here without: by a client without the driver, in
// this test.
func TestSlotsWrittenByAnotherNode(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, inside := range []bool{false, true} {
			t.Run(fmt.Sprint("in a transaction ", inside), func(t *testing.T) {
				tw := harness.NewBlog(t, srv, harness.BlogCounters()) // post 1: base row 5, slots 5
				var hit atomic.Bool
				tw.Sent.Meddle(t, func(query string) error {
					if strings.HasPrefix(query, "DELETE `") && strings.Contains(query, "STRAIGHT_JOIN") && hit.CompareAndSwap(false, true) {
						harness.Affected(t, tw.Direct, "UPDATE post_slots SET likes = likes + 3 WHERE id = 1 ORDER BY slot LIMIT 1")
					}
					return nil
				})
				const clamp = "UPDATE post SET likes = GREATEST(likes, 0) WHERE id = 1"
				if inside {
					tx, err := tw.Ours.Begin()
					require.NoError(t, err)
					harness.Affected(t, tx, "INSERT INTO note VALUES (1, '')")
					_, err = tx.Exec(clamp)
					require.Equal(t, 1213, harness.ErrorNumber(err))
					_ = tx.Rollback() // the server has done it
					require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM note WHERE id = 1"))
				} else {
					_, err := tw.Ours.Exec(clamp) // it is tried again
					require.NoError(t, err)
				}
				require.True(t, hit.Load())
				require.EqualValues(t, 13, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"))
			})
		}
	})
}
