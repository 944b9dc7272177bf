package schema

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestRollupBesideChildDDL proves that a rollup which has locked rows that an edit waits for does not
// wait for DDL of a child table that waits for the edit, which no server takes for a deadlock.
func TestRollupBesideChildDDL(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Hammered+";\nCREATE TABLE comment (id INT PRIMARY KEY, post INT, FOREIGN KEY (post) REFERENCES post (id))", harness.Counters("post", "likes"))
		require.Zero(t, harness.Number(t, tw.Ours, "SELECT SUM(likes) FROM post"))
		harness.Affected(t, tw.Direct, "INSERT INTO post_slots (id, slot, likes) VALUES (1, 3, 4)")
		g := harness.NewGateOn(t, tw.Sent, func(query string) bool {
			return strings.HasPrefix(query, "UPDATE `") && strings.Contains(query, ".`post` ") && !strings.HasSuffix(query, "WHERE FALSE")
		})
		rolled := make(chan []countermysql.RolledUp, 1)
		go func() {
			done, err := countermysql.Rollup(t.Context(), tw.Ours, nil)
			if err != nil {
				t.Error(err)
			}
			rolled <- done
		}()
		<-g.Reached
		edit := harness.Later(t, harness.Session(t, tw.Direct), "UPDATE post SET likes = likes WHERE id = 1")
		require.Eventually(t, func() bool { return tw.Waits(t) }, 10*time.Second, time.Millisecond)
		alter := harness.Later(t, harness.Session(t, tw.Direct), "ALTER TABLE comment ADD COLUMN later INT NULL")
		require.Eventually(t, func() bool {
			return harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND INFO LIKE 'ALTER%' AND STATE LIKE 'Waiting for table%'") > 0
		}, 10*time.Second, time.Millisecond)
		g.Open()
		done := <-rolled
		require.Len(t, done, 1)
		require.EqualValues(t, 1, done[0].Keys)
		require.Zero(t, done[0].Busy)
		require.Equal(t, []string{"affected 0", "affected 0"}, []string{harness.Soon(t, edit), harness.Soon(t, alter)})
		require.EqualValues(t, 4, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"))
	})
}
