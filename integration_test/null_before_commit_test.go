package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"

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
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, increment := range increments {
			for _, other := range others {
				c := counters("item", "likes", "views")
				c.Tables[0].Touch = []string{"seen"}
				tw := newTwin(t, srv, schema, c, "timestamp=1700000000")
				tx, err := tw.ours.Begin()
				require.NoError(t, err)
				defer tx.Rollback()
				const first = "UPDATE item SET views = views + 1000 WHERE id = 3"
				affected(t, tx, first)
				affected(t, tx, increment)
				for _, db := range []execer{tw.plain, tw.ours} {
					affected(t, db, "DELETE FROM item WHERE id = 3")
					affected(t, db, other)
				}
				affected(t, tw.plain, first)
				affected(t, tw.plain, increment)
				require.NoError(t, tx.Commit())
				want := queried(t.Context(), tw.plain, read)
				require.Equal(t, want, queried(t.Context(), tw.ours, read), "%s, %s", increment, other)
				rollUp(t, tw.ours)
				require.Equal(t, want, queried(t.Context(), tw.direct, read), "%s, %s", increment, other)
			}
		}
	})
}
