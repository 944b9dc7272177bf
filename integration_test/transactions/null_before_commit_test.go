package transactions

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestNullBeforeCommit proves that an increment of several counters, one of which another
// client makes NULL before COMMIT, counts the others, also where that gives the row
// another key: as if it had come after that.
func TestNullBeforeCommit(t *testing.T) {
	const schema = `
CREATE TABLE item (id INT PRIMARY KEY, slug VARCHAR(9) UNIQUE, likes INT NULL, views INT NULL, seen DATETIME NULL);
INSERT INTO item VALUES (1, 'a', 1, 2, NULL), (2, 'b', 3, 4, NULL), (3, 'c', 5, 6, NULL);
`
	const read = "SELECT * FROM item ORDER BY id"
	increments := []string{
		"UPDATE item SET likes = likes + 100, views = views + 10 WHERE slug = 'a'",
		"UPDATE item SET likes = likes + 100, seen = NOW() WHERE slug = 'a'",
		"UPDATE item SET likes = likes + 100 WHERE slug = 'a'",
	}
	others := []string{
		"UPDATE item SET likes = NULL WHERE id = 1", "UPDATE item SET id = 50, likes = NULL WHERE id = 1", "UPDATE item SET id = 50, likes = NULL, views = NULL WHERE id = 1", "UPDATE item SET id = 50, views = NULL WHERE id = 1",
		"UPDATE item SET id = 3, likes = NULL WHERE id = 1",
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, increment := range increments {
			for _, other := range others {
				c := harness.Counters("item", "likes", "views")
				c.Tables[0].Touch = []string{"seen"}
				tw := harness.NewTwin(t, srv, schema, c, "timestamp=1700000000")
				tx, err := tw.Ours.Begin()
				require.NoError(t, err)
				defer tx.Rollback()
				const first = "UPDATE item SET views = views + 1000 WHERE id = 3"
				harness.Affected(t, tx, first)
				harness.Affected(t, tx, increment)
				for _, db := range []harness.Execer{tw.Plain, tw.Ours} {
					harness.Affected(t, db, "DELETE FROM item WHERE id = 3")
					harness.Affected(t, db, other)
				}
				harness.Affected(t, tw.Plain, first)
				harness.Affected(t, tw.Plain, increment)
				require.NoError(t, tx.Commit())
				want := harness.Queried(t.Context(), tw.Plain, read)
				require.Equal(t, want, harness.Queried(t.Context(), tw.Ours, read), "%s, %s", increment, other)
				harness.RollUp(t, tw.Ours)
				require.Equal(t, want, harness.Queried(t.Context(), tw.Direct, read), "%s, %s", increment, other)
			}
		}
	})
}
