package schema

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestCountedBesideAlter proves that DDL which empties partitions, drops a counter or replaces the table takes
// along what is counted until it has the table: a column, or rows, made again begin with nothing.
func TestCountedBesideAlter(t *testing.T) {
	const parted, again = " PARTITION BY HASH (id) PARTITIONS 3", "ALTER TABLE post ADD COLUMN likes INT NOT NULL DEFAULT 0"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		type ending struct{ more, alter, behind string }
		endings := []ending{
			{parted, "ALTER TABLE post TRUNCATE PARTITION ALL", threeRows},
			{"", "ALTER TABLE post DROP COLUMN likes", again},
			{"", "ALTER TABLE post ADD COLUMN x INT, DROP likes", again},
			{"", "ALTER TABLE post DROP `Likes`;", again},
		}
		if harness.MariaDB(srv) {
			endings = append(endings, ending{"", "CREATE OR REPLACE" + strings.TrimPrefix(madePost, "CREATE"), threeRows})
		}
		for _, c := range endings {
			tw := withSlots(t, srv, c.more)
			quiet := *tw.Config
			quiet.Interceptor = nil
			other, _ := harness.OpenOurs(t, tw.OursDSN, &quiet)
			require.EqualValues(t, 5, harness.Number(t, other, firstRow))
			counted := make(chan error, 1)
			meddled := false
			tw.Sent.Meddle(t, func(query string) error {
				if query != c.alter || meddled {
					return nil
				}
				meddled = true
				go func() {
					tx, err := tw.Direct.Begin() // with the row locked, others count in slots
					if err == nil {
						_, err = tx.Exec(firstRow + " LOCK IN SHARE MODE")
						defer tx.Rollback()
					}
					if err == nil {
						_, err = other.Exec(likeFirst)
					}
					counted <- err
				}()
				for waits := 0; waits < 50 && len(counted) == 0 && !tw.Waits(t); waits++ {
					time.Sleep(10 * time.Millisecond)
				}
				return nil
			})
			harness.Affected(t, tw.Plain, c.alter)
			harness.Affected(t, tw.Ours, c.alter)
			require.True(t, meddled)
			if err := <-counted; err != nil {
				require.Equal(t, 1054, harness.ErrorNumber(err))
			}
			tw.Play(t, "A: "+c.behind, "A: SELECT * FROM post ORDER BY id", "A: "+likeFirst, "A: SELECT * FROM post ORDER BY id")
		}
	})
}
