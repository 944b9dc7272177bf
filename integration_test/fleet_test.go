package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestDifferentLists proves that processes which list different counters of one
// table, as during a deploy, lose nothing of each other.
func TestDifferentLists(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, views INT NOT NULL DEFAULT 0, n INT NOT NULL DEFAULT 0, seen DATETIME NULL);
INSERT INTO post (id) VALUES (1), (2)`
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		all := countermysql.TableConfig{Table: "post", Counters: []string{"likes", "views"}, Touch: []string{"seen"}}
		tw := newTwin(t, srv, schema, &countermysql.Config{Tables: []countermysql.TableConfig{all}})
		config := *tw.config
		config.Tables = []countermysql.TableConfig{{Table: "post", Counters: []string{"likes"}}}
		older, _ := openOurs(t, tw.oursDSN, &config)
		for _, stmt := range []string{"UPDATE post SET likes = GREATEST(likes, 0) WHERE id = 1", "UPDATE post SET views = views * 2 WHERE id = 1", "rollup", "SELECT likes, views FROM post WHERE id = 1 FOR UPDATE", "DELETE FROM post WHERE id = 2"} {
			affected(t, tw.plain, "UPDATE post SET likes = likes + 3, views = views + 5, seen = NOW() WHERE id = 1")
			affected(t, tw.ours, "UPDATE post SET likes = likes + 3, views = views + 5, seen = NOW() WHERE id = 1")
			if stmt == "rollup" {
				rollUp(t, older)
			} else {
				want := queried(t.Context(), tw.plain, stmt)
				require.Equal(t, want, queried(t.Context(), older, stmt), stmt)
			}
			const values = "SELECT id, likes, views, n, seen IS NULL FROM post ORDER BY id"
			want := queried(t.Context(), tw.plain, values)
			require.Equal(t, want, queried(t.Context(), older, values), stmt)
			require.Equal(t, want, queried(t.Context(), tw.ours, values), stmt)
		}
	})
}
