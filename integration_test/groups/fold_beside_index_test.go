package groups

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestFoldBesideIndex proves that the slots of cold rows, and of other tables, are folded while somebody has the
// entry of a row in the counter's index locked, and not the row; and that who has such an entry and changes another
// row meanwhile gets at most a deadlock.
func TestFoldBesideIndex(t *testing.T) {
	const last, held = 40, 22
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := cooling(harness.Counters("post", "likes"))
		config.Tables = append(config.Tables, harness.Counters("page", "hits").Tables...)
		tw := harness.NewTwin(t, srv, pages+";\nALTER TABLE post ADD KEY (likes);\nUPDATE post SET likes = 1000 * id;\nCREATE TABLE stat (n INT)", config)
		child, err := tw.Direct.Begin()
		require.NoError(t, err)
		harness.Affected(t, child, "INSERT INTO log (post_id) SELECT id FROM post WHERE id <= ?", last) // shares them
		for id := range last {
			like := fmt.Sprintf("UPDATE post SET likes = likes + 1 WHERE id = %d", id+1)
			harness.Affected(t, tw.Plain, like)
			harness.Affected(t, tw.Ours, like)
		}
		slotted := func(where string) bool {
			return harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM post_slots WHERE "+where) > 0
		}
		require.EqualValues(t, last, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM post_slots"))
		count := fmt.Sprintf("INSERT INTO stat SELECT COUNT(*) FROM post FORCE INDEX (likes) WHERE likes = %d", 1000*held)
		reader, err := tw.Direct.Begin()
		require.NoError(t, err)
		harness.Affected(t, reader, count)
		day, err := tw.Direct.Begin()
		require.NoError(t, err)
		harness.Queried(t.Context(), day, "SELECT * FROM page WHERE name = 'page3' LOCK IN SHARE MODE")
		harness.Affected(t, tw.Ours, fillPage(2))
		require.NoError(t, child.Commit())
		require.NoError(t, day.Commit())
		for end := time.Now().Add(20 * time.Second); slotted(fmt.Sprintf("id NOT IN (%d, %d)", held-1, held)) || harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM page_slots") > 0; { // the one goes to the gap before the other
			require.True(t, time.Now().Before(end), "the others are not folded")
			err := transact(tw.Direct, func(tx *sql.Tx) error {
				if _, err := tx.Exec(count); err != nil {
					return err
				}
				time.Sleep(20 * time.Millisecond)
				_, err := tx.Exec("UPDATE post SET slug = 'x' WHERE id = 7")
				return err
			})
			if mysqlerr.Number(err) != mysqlerr.ErrDeadlock {
				require.NoError(t, err)
			}
		}
		require.True(t, slotted(fmt.Sprint("id = ", held)))
		require.NoError(t, reader.Commit())
		require.Eventually(t, func() bool { return !slotted("TRUE") }, 10*time.Second, 20*time.Millisecond)
		tw.Same(t, "SELECT id, likes FROM post ORDER BY id")
	})
}
