package buffered

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestRefusedCommit proves that a COMMIT which fails with an error of locks, as one of a Galera
// cluster may, is looked for as any other that fails: its increments count once. That of a row whose
// slot is full, which goes to its base row, counted twice.
func TestRefusedCommit(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw, db, m := meddled(t, srv)
		known(t, db, 1)
		harness.Affected(t, tw.Direct, "DELETE FROM page_slots")
		harness.Affected(t, tw.Direct, "INSERT INTO page_slots (id, slot, hits) SELECT 1, seq, 9223372036854775807 FROM ("+sixteen+") s")
		base := func() int64 { return harness.Number(t, tw.Direct, "SELECT hits FROM page WHERE id = 1") }
		want := base()
		for _, number := range []uint16{1213, 1205, 3572} {
			for _, ends := range []string{"ROLLBACK", "COMMIT"} {
				for range 3 {
					harness.Affected(t, db, hit, 1)
					want++
				}
				var refused atomic.Bool
				m.set(func(_ context.Context, query string, send func(string) error) error {
					if !strings.HasPrefix(query, "COMMIT") || !refused.CompareAndSwap(false, true) {
						return send(query)
					}
					if err := send(ends); err != nil {
						return err
					}
					return &mysql.MySQLError{Number: number, Message: "refused by the test"}
				})
				require.NoError(t, countermysql.Flush(t.Context(), db))
				require.True(t, refused.Load())
				require.Equal(t, want, base(), "%d %s", number, ends)
				require.Zero(t, buffer(t, db).Waiting)
			}
		}
	})
}
