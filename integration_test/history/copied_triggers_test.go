package history

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestCopiedTriggers proves that the triggers of a history may have any names, as gh-ost gives them
// others (--include-triggers): Init puts its own in their place, and not beside them, where each change
// would be written twice, and Drop leaves none behind, which would fail each change of a counter when the
// history table is gone.
func TestCopiedTriggers(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw, before := newPosts(t, srv, posts(time.Hour))
		triggers := "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE() ORDER BY TRIGGER_NAME"
		copied := func() {
			for _, name := range harness.QueriedList(t, tw.Direct, triggers) {
				event := map[bool]string{true: "INSERT", false: "UPDATE"}[strings.Contains(name, "_ai")]
				var body string
				require.NoError(t, tw.Direct.QueryRow("SELECT ACTION_STATEMENT FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE() AND TRIGGER_NAME = ?", name).Scan(&body))
				harness.ExecAll(t, tw.Direct, "DROP TRIGGER "+name+";\nCREATE TRIGGER "+name+"_ghost AFTER "+event+" ON post FOR EACH ROW "+body)
			}
		}
		count := func() {
			harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes + 3, views = 7 WHERE id = 1")
			harness.RollUp(t, tw.Ours)
			written(t, tw, before)
		}
		own := []string{"post_history_ai", "post_history_au"}

		copied()
		require.Empty(t, problems(t, tw.Ours))
		count()

		config := *tw.Config
		config.Tables = posts(time.Minute).Tables // another interval
		minutes, _ := harness.OpenOurs(t, tw.OursDSN, &config)
		initialize(t, minutes)
		require.Equal(t, own, harness.QueriedList(t, tw.Direct, triggers))
		count()

		copied()
		harness.ExecAll(t, tw.Direct, "ALTER TABLE post CHANGE score score DECIMAL(12,2) NOT NULL DEFAULT 0 FIRST") // counters in another order
		require.Contains(t, strings.Join(problems(t, tw.Ours), "\n"), "write a history of other counters")
		initialize(t, tw.Ours)
		require.Equal(t, own, harness.QueriedList(t, tw.Direct, triggers))
		count()

		copied()
		_, err := countermysql.Drop(t.Context(), tw.Ours, &countermysql.DropOptions{Notice: 1, History: true})
		require.NoError(t, err)
		require.Empty(t, harness.QueriedList(t, tw.Direct, triggers))
		harness.Affected(t, tw.Direct, "UPDATE post SET likes = likes + 3 WHERE id = 1")
	})
}

// TestRestoredElsewhere proves that a dump of a database with a history can be restored under
// another name, beside the original, and that the copy's triggers write the copy's history.
func TestRestoredElsewhere(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw, before := newPosts(t, srv, posts(time.Hour))
		copied, dsn, triggers := tw.Restored(t, "post", "post_slots", "post_history")
		require.Equal(t, 2, triggers)
		ours, _ := harness.OpenOurs(t, dsn, posts(time.Hour))
		require.Empty(t, problems(t, ours))
		require.Empty(t, initialize(t, ours))
		harness.Affected(t, ours, "UPDATE post SET likes = likes + 3, views = 7 WHERE id = 1")
		harness.RollUp(t, ours)
		written(t, &harness.Twin{Ours: ours, Direct: copied}, before)
		require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM post_history"))
	})
}
