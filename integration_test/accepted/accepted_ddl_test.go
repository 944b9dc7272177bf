package accepted

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestAcceptedDropOfSeveral pins that what is counted just before DROP TABLE of several tables, for
// which the driver does not lock all of them, is left to the rows of a table that another client
// makes before the slots are dropped.
func TestAcceptedDropOfSeveral(t *testing.T) {
	const made, rows = "CREATE TABLE post (id INT AUTO_INCREMENT PRIMARY KEY, likes INT NOT NULL DEFAULT 0)", "INSERT INTO post (likes) VALUES (0)"
	const drop, see = "DROP TABLE post, note", "SELECT likes FROM post WHERE id = 1"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, made+";\nCREATE TABLE note (id INT);\n"+rows, harness.Counters("post", "likes"))
		quiet := *tw.Config
		quiet.Interceptor = nil
		other, _ := harness.OpenOurs(t, tw.OursDSN, &quiet)
		require.Zero(t, harness.Number(t, other, see))
		sent, again := 0, false
		tw.Sent.Meddle(t, func(query string) error {
			switch {
			case query == drop:
				if sent++; sent == 1 { // under a lock of post and its slots, which does not do, as note is not locked
					break
				}
				tx, err := tw.Direct.Begin()
				require.NoError(t, err)
				defer tx.Rollback()
				require.NoError(t, tx.QueryRow(see+" LOCK IN SHARE MODE").Scan(new(int)))
				require.EqualValues(t, 1, harness.Affected(t, other, "UPDATE post SET likes = likes + 1 WHERE id = 1"))
			case sent == 2 && !again && strings.Contains(query, "post_slots"):
				again = true
				harness.Affected(t, tw.Direct, made)
				harness.Affected(t, tw.Direct, rows)
			}
			return nil
		})
		harness.Affected(t, tw.Ours, drop)
		require.True(t, again)
		tw.LearnAnew(t)
		require.EqualValues(t, 1, harness.Number(t, tw.Ours, see), "plain: 0")
	})
}
