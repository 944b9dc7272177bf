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

// TestListChangesMeanwhile proves that a process loses nothing of a counter that
// another process has listed since it learned the schema, whatever takes the slots
// away: its next statement, in a transaction or not, or its rollup.
func TestListChangesMeanwhile(t *testing.T) {
	const schema = "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, views INT NOT NULL DEFAULT 0);\nINSERT INTO post (id) VALUES (1), (2), (3)"
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for name, steps := range map[string][]string{
			"exact":       {"A: UPDATE post SET likes = likes * 2 WHERE id = 1", "A: UPDATE post SET likes = 0 WHERE id = 2"},
			"delete":      {"A: DELETE FROM post WHERE id = 1"},
			"upsert":      {"A: INSERT INTO post (id) VALUES (1) ON DUPLICATE KEY UPDATE likes = likes * 2"},
			"lock":        {"A: begin", "A: SELECT likes FROM post WHERE id = 1 FOR UPDATE", "A: UPDATE post SET likes = likes - 1 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1", "A: commit"},
			"own":         {"A: begin", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT likes, views FROM post WHERE id = 1", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: commit"},
			"old, RC":     {"A: begin RC", "A: UPDATE post SET likes = likes * 2", "A: SELECT likes, views FROM post ORDER BY id", "A: commit"},
			"LOCK TABLES": {"A: LOCK TABLES post WRITE", "A: SELECT likes, views FROM post ORDER BY id", "A: UNLOCK TABLES"},
			"several":     {"A: UPDATE post SET likes = likes + 1 WHERE id = 2; UPDATE post SET likes = likes * 2 WHERE id = 1; UPDATE post SET likes = likes + 1 WHERE id = 2"},
			"rollup":      nil,
		} {
			t.Run(name, func(t *testing.T) {
				tw := newTwin(t, srv, schema, counters("post", "likes"), "multiStatements=true")
				config := *tw.config
				config.Tables = []countermysql.TableConfig{{Table: "post", Counters: []string{"likes", "views"}}}
				newer, _ := openOurs(t, tw.oursDSN, &config)
				for _, stmt := range []string{"UPDATE post SET likes = likes + 3, views = views + 5 WHERE id = 1", "UPDATE post SET views = views + 7 WHERE id IN (1, 2)"} {
					affected(t, tw.plain, stmt)
					affected(t, newer, stmt)
				}
				tw.play(t, steps...)
				if steps == nil {
					require.EqualValues(t, 2, rollUp(t, tw.ours)["post"].Keys)
				}
				const values = "SELECT id, likes, views FROM post ORDER BY id"
				want := queried(t.Context(), tw.plain, values)
				require.Equal(t, want, queried(t.Context(), newer, values))
				require.Equal(t, want, queried(t.Context(), tw.ours, values))
			})
		}
	})
}
