package derived

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestCopiedDatabase proves that a dump of a database can be restored under another name, also
// beside the original, and that its triggers then count in the copy, whose Check finds nothing and
// whose Init changes nothing, although the triggers' names are the original's.
func TestCopiedDatabase(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newPosts(t, srv)
		was := rows(t, tw.Ours, "SELECT id, comments, earned FROM post ORDER BY id")
		copied, dsn, triggers := tw.Restored(t, "post", "post_slots", "comment")
		require.Equal(t, 3, triggers)
		ours, _ := harness.OpenOurs(t, dsn, posts())
		restored := &harness.Twin{Ours: ours, Direct: copied}
		require.Empty(t, problems(t, restored))
		require.Empty(t, initialized(t, ours))
		harness.Affected(t, copied, "INSERT INTO comment (post_id, amount) VALUES (1, 2)")
		requireExact(t, restored)
		require.Equal(t, was, rows(t, tw.Ours, "SELECT id, comments, earned FROM post ORDER BY id"))
	})
}

// TestTriggersTwice proves that Check tells of triggers that are there under two names, as each row
// is counted twice then, and that Init leaves one.
func TestTriggersTwice(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newPosts(t, srv)
		for _, name := range triggersOf(t, tw) {
			var event, body string
			require.NoError(t, tw.Direct.QueryRow("SELECT EVENT_MANIPULATION, ACTION_STATEMENT FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE() AND TRIGGER_NAME = ?", name).Scan(&event, &body))
			harness.Affected(t, tw.Direct, "CREATE TRIGGER "+name+"_x AFTER "+event+" ON comment FOR EACH ROW "+body)
		}
		harness.Affected(t, tw.Direct, "INSERT INTO comment (post_id, amount) VALUES (1, 2)")
		require.Len(t, problems(t, tw), 3)
		require.Contains(t, problems(t, tw)[0], "counts what another does")
		initialized(t, tw.Ours)
		require.Empty(t, problems(t, tw))
		require.Len(t, triggersOf(t, tw), 3)
		harness.Affected(t, tw.Direct, "INSERT INTO comment (post_id, amount) VALUES (1, 2)")
		requireExact(t, tw)
	})
}

// TestInitAgain proves that Init sets the counters where one before has made the triggers and
// gone no further, and that it does not say that it has set what others keep locked.
func TestInitAgain(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, posts())
		broken := errors.New("broken")
		failing := true
		tw.Sent.Meddle(t, func(text string) error {
			if failing && strings.HasPrefix(text, "START TRANSACTION WITH CONSISTENT") {
				return broken
			}
			return nil
		})
		_, err := countermysql.Init(t.Context(), tw.Ours, nil)
		require.ErrorIs(t, err, broken)
		failing = false

		tx, err := tw.Direct.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		defer tx.Rollback()
		harness.Affected(t, tx, "UPDATE post SET title = 'kept' WHERE id = 1")
		_, err = countermysql.Init(context.Background(), tw.Ours, nil)
		require.ErrorContains(t, err, "could not be set, as others lock the rows, row id=1 first")
		require.NoError(t, tx.Rollback())

		require.Empty(t, initialized(t, tw.Ours), "the triggers are there")
		requireExact(t, tw)
	})
}

// TestQuotedFormula proves that triggers with texts which servers show otherwise are known
// again, and are those of this formula.
func TestQuotedFormula(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := posts()
		const formula = `SELECT post_id, COUNT(*) FROM comment WHERE status <> 'won''t fix' AND text <> 'a "b" ? 👍' GROUP BY post_id`
		config.Tables[0].Derived = map[string]string{"comments": formula}
		tw := harness.NewTwin(t, srv, schema, config)
		initialized(t, tw.Ours)
		require.Empty(t, problems(t, tw))
		require.Empty(t, initialized(t, tw.Ours), "made again")
		harness.Affected(t, tw.Direct, "INSERT INTO comment (post_id, status, text) VALUES (3, 'won''t fix', ''), (3, 'public', 'a \"b\" ? 👍'), (3, 'public', '')")
		require.EqualValues(t, 1, comments(t, tw.Ours, 3))

		another := strings.Replace(formula, "👍", "👎", 1)
		config.Tables[0].Derived = map[string]string{"comments": another}
		other, _ := harness.OpenOurs(t, tw.OursDSN, config)
		require.Len(t, initialized(t, other), 8, "the sql_mode, the database, and three that go and come")
		says := harness.Number(t, tw.Direct, "SELECT n FROM ("+strings.Replace(another, "COUNT(*)", "COUNT(*) AS n", 1)+") AS c WHERE post_id = 3") // by some collations the two are equal
		require.Equal(t, says, comments(t, other, 3))
	})
}

// TestOthersTriggers proves that Init leaves the triggers of a table of the same name in
// another database, whose key has a column with this one's name.
func TestOthersTriggers(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newPosts(t, srv)
		database, name := harness.QueriedValue(t, tw.Direct, "SELECT DATABASE()"), harness.NewDatabase(t, srv)
		plain := harness.Open(t, srv.DSN(name))
		harness.Affected(t, plain, "CREATE TABLE post ("+database+" INT PRIMARY KEY, comments INT NOT NULL DEFAULT 0)")
		harness.Affected(t, plain, "CREATE TABLE comment (id INT PRIMARY KEY, "+database+" INT)")
		config := harness.Counters("post", "comments")
		config.Tables[0].Derived = map[string]string{"comments": "SELECT " + database + ", COUNT(*) FROM comment GROUP BY " + database}
		config.CreateSlots = true
		other, _ := harness.OpenOurs(t, srv.DSN(name), config)
		initialized(t, other)
		require.Empty(t, initialized(t, tw.Ours))
		require.Empty(t, initialized(t, other), "its triggers were gone")
	})
}
