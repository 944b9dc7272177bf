package writes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestAlikeKeys has keys that differ in their column's collation, but not in the default
// one of its character set. Both servers may read k = 'a' COLLATE c OR k = 'A' COLLATE c
// as k = 'a' COLLATE c alone.
func TestAlikeKeys(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for name, key := range map[string]string{"one column": "path", "two columns": "site, path", "the text first": "path, site"} {
			for _, paths := range [][]string{{"'/about'", "'/About'"}, {"'/cafe'", "'/café'", "'/CAFE'"}} {
				t.Run(name+" "+paths[0], func(t *testing.T) {
					schema := "CREATE TABLE page (site INT NOT NULL, path VARCHAR(50) COLLATE utf8mb4_bin NOT NULL, hits INT NOT NULL DEFAULT 0, PRIMARY KEY (" + key + "))"
					var hits []string
					for _, path := range paths {
						schema += ";\nINSERT INTO page VALUES (7, " + path + ", 1)"
						hits = append(hits, "a: UPDATE page SET hits = hits + 5 WHERE site = 7 AND path = "+path)
					}
					tw := harness.NewTwin(t, srv, schema, harness.Counters("page", "hits"))
					all := "a: SELECT path, hits FROM page ORDER BY path"

					tw.Play(t, append(hits, all)...)
					_, err := countermysql.Rollup(t.Context(), tw.Ours, nil)
					require.NoError(t, err)
					tw.Play(t, all)
					tw.Play(t, append(hits, "a: UPDATE page SET hits = hits * 2 WHERE site = 7", all)...)
					for _, level := range []string{"RR", "RC"} {
						tw.Play(t, append(append([]string{"a: begin " + level}, hits...), all, "a: commit", all)...)
					}
					tw.Play(t, append(hits, "a: DELETE FROM page WHERE site = 7 AND hits > 1000", all)...)
				})
			}
		}
	})
}
