package reserve

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestReserveReadBack proves that who reads back what he has added to a row waits for those who have taken units of it
// before he has its base row, which they may edit, or refer to: no deadlock.
func TestReserveReadBack(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, edit := range []string{"UPDATE item SET title = 'x' WHERE id = 1", "INSERT INTO sale (item_id, n) VALUES (1, 7)"} {
			tw := newShop(t, srv, reserved())
			want(t, tw, 1)
			buyer := sold(t, tw, 7)
			reader, err := tw.Ours.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			defer reader.Rollback()
			harness.Affected(t, reader, "UPDATE item SET stock = stock + 1 WHERE id = 1")
			read := make(chan string, 1)
			go func() { read <- harness.Queried(t.Context(), reader, stockOf) }()
			select {
			case got := <-read:
				require.FailNow(t, "it does not wait for the buyer", got)
			case <-time.After(200 * time.Millisecond):
			}
			_, err = buyer.Exec(edit)
			require.NoError(t, err, edit)
			require.NoError(t, buyer.Commit())
			require.Contains(t, harness.Soon(t, read), "[9994]")
			require.NoError(t, reader.Commit())
			require.EqualValues(t, 9994, harness.Number(t, tw.Ours, stockOf))
		}
	})
}
