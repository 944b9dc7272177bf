package operations

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestKeptGauges proves that Stats names each derived counter and each history, and why one is
// not kept: its triggers are missing or outdated; and counts the rows that histories forget.
func TestKeptGauges(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, comments INT NOT NULL DEFAULT 0, votes INT NOT NULL DEFAULT 0);
INSERT INTO post (id) VALUES (1);
CREATE TABLE comment (id INT PRIMARY KEY, post_id INT NOT NULL);
CREATE TABLE vote (id INT PRIMARY KEY, post_id INT NOT NULL);
CREATE TABLE plain (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0)
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := harness.Counters("post", "likes", "comments", "votes")
		config.Tables[0].Derived = map[string]string{"comments": "SELECT post_id, COUNT(*) FROM comment GROUP BY post_id", "votes": "SELECT post_id, COUNT(*) FROM vote GROUP BY post_id"}
		config.Tables[0].History = &countermysql.History{Keep: 24 * time.Hour}
		config.Tables = append(config.Tables, countermysql.TableConfig{Table: "plain", Counters: []string{"n"}})
		tw := harness.NewTwin(t, srv, schema, config)
		post := harness.DbName(t, tw.Direct) + ".post"
		told := func() (comments, votes, history string) {
			t.Helper()
			tw.LearnAnew(t)
			s := harness.Stats(t, tw.Ours)
			require.Len(t, s.Derived, 2)
			require.Equal(t, countermysql.DerivedStatistics{Table: post, Counter: "comments", Problem: s.Derived[0].Problem}, s.Derived[0])
			require.Equal(t, countermysql.DerivedStatistics{Table: post, Counter: "votes", Problem: s.Derived[1].Problem}, s.Derived[1])
			require.Len(t, s.Histories, 1)
			require.Equal(t, countermysql.HistoryStatistics{Table: post, History: "post_history", Every: time.Hour, Problem: s.Histories[0].Problem}, s.Histories[0])
			return s.Derived[0].Problem, s.Derived[1].Problem, s.Histories[0].Problem
		}
		initialized := func() {
			t.Helper()
			_, err := countermysql.Init(t.Context(), tw.Ours, nil)
			require.NoError(t, err)
			comments, votes, history := told()
			require.Empty(t, comments+votes+history)
		}
		comments, votes, history := told()
		require.Contains(t, comments, "comment that keeps it is missing")
		require.Contains(t, votes, "vote that keeps it is missing")
		require.Contains(t, history, "a trigger that writes its history is missing")
		initialized()

		trigger := harness.QueriedList(t, tw.Direct, "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE() AND EVENT_OBJECT_TABLE = 'comment' AND EVENT_MANIPULATION = 'DELETE'")[0]
		harness.ExecAll(t, tw.Direct, "DROP TRIGGER "+trigger+";\nDROP TRIGGER post_history_ai")
		comments, votes, history = told()
		require.Contains(t, comments, "comment that keeps it is missing")
		require.Empty(t, votes)
		require.Contains(t, history, "a trigger that writes its history is missing")
		harness.ExecAll(t, tw.Direct, "CREATE TRIGGER "+trigger+" AFTER DELETE ON comment FOR EACH ROW SET @gone = OLD.id") // outdated
		comments, _, _ = told()
		require.Contains(t, comments, "or is another")
		initialized()

		harness.ExecAll(t, tw.Direct, "DROP TRIGGER post_history_au;\nCREATE TRIGGER post_history_au AFTER UPDATE ON post FOR EACH ROW SET @changed = NEW.id")
		_, _, history = told()
		require.Contains(t, history, "or were changed")
		initialized()

		require.Zero(t, harness.Stats(t, tw.Ours).Rollups.Forgotten)
		harness.ExecAll(t, tw.Direct, "INSERT INTO post_history (id, bucket) VALUES (1, UTC_TIMESTAMP() - INTERVAL 26 HOUR), (2, UTC_TIMESTAMP() - INTERVAL 26 HOUR), (1, UTC_TIMESTAMP())")
		harness.RollUp(t, tw.Ours)
		require.EqualValues(t, 2, harness.Stats(t, tw.Ours).Rollups.Forgotten)
	})
}
