package accepted

import (
	"strconv"
	"strings"
	"testing"
	"time"

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

// TestAcceptedChildAltered pins who waits for whom where DDL of a child table comes between the lock of a row
// and the statement that adds its slots: the server sees no deadlock of a row's and a table's locks, and
// innodb_lock_wait_timeout ends it for who waits for the row, or lock_wait_timeout for the DDL.
func TestAcceptedChildAltered(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Hammered+";\nCREATE TABLE comment (id INT PRIMARY KEY, post INT, FOREIGN KEY (post) REFERENCES post (id))", harness.Counters("post", "likes"))
		require.Zero(t, harness.Number(t, tw.Ours, "SELECT SUM(likes) FROM post"))
		for i, c := range []struct{ rowWait, ddlWait, edited, altered string }{{"2", "60", "error 1205", "affected 0"}, {"60", "2", "affected 0", "error 1205"}} {
			harness.Affected(t, tw.Direct, "INSERT INTO post_slots (id, slot, likes) VALUES (1, 3, 4)")
			g := harness.NewGateOn(t, tw.Sent, func(query string) bool {
				return strings.HasPrefix(query, "UPDATE `") && strings.Contains(query, ".`post` ")
			})
			exact := harness.Later(t, tw.Ours, "UPDATE post SET likes = GREATEST(likes - 1, 0) WHERE id = 1")
			<-g.Reached
			editor, altering := harness.Session(t, tw.Direct), harness.Session(t, tw.Direct)
			harness.Affected(t, editor, "SET innodb_lock_wait_timeout = "+c.rowWait)
			harness.Affected(t, altering, "SET lock_wait_timeout = "+c.ddlWait)
			edit := harness.Later(t, editor, "UPDATE post SET likes = likes WHERE id = 1")
			require.Eventually(t, func() bool { return tw.Waits(t) }, 10*time.Second, time.Millisecond)
			alter := harness.Later(t, altering, "ALTER TABLE comment ADD COLUMN later"+strconv.Itoa(i)+" INT NULL")
			require.Eventually(t, func() bool {
				return harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND INFO LIKE 'ALTER%' AND STATE LIKE 'Waiting for table%'") > 0
			}, 10*time.Second, time.Millisecond)
			g.Open()
			require.Equal(t, []string{c.edited, c.altered, "affected 1"}, []string{harness.Soon(t, edit), harness.Soon(t, alter), harness.Soon(t, exact)})
		}
		require.EqualValues(t, 6, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"))
	})
}
