package schema

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestKeysChangedBackAndForth proves that increments stay with their rows where the base
// table's key has the type that a process knows, and the slots table, which another process
// has fitted to another type meanwhile, has not.
func TestKeysChangedBackAndForth(t *testing.T) {
	t.Parallel()
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for i, k := range changedKeys(srv) {
			for _, params := range [][][]string{{{"interpolateParams=true"}}, {{"sql_mode=%27%27", "multiStatements=true"}}}[i%2] { // one of them
				t.Run(k.String()+" "+params[0], func(t *testing.T) {
					schema := "CREATE TABLE p (id " + k.to + " NOT NULL, slug INT NOT NULL UNIQUE, n INT NOT NULL DEFAULT 0, PRIMARY KEY (id));\n" +
						"INSERT INTO p VALUES (" + k.one + ", 1, 0);\nCREATE TABLE note (id INT AUTO_INCREMENT PRIMARY KEY)"
					tw := harness.NewTwin(t, srv, schema, harness.Counters("p", "n"), params...)
					count := func(by string) string { return "A: UPDATE p SET n = n + 1 WHERE " + by }
					one, two := count("id = "+k.one), count("id = "+k.two)
					both := count("id IN (" + k.one + ", " + k.two + ")")
					const first, second, slugs = "slug = 1", "slug = 2", "slug IN (1, 2)"
					const show = "A: SELECT slug, n FROM p ORDER BY slug"
					tw.Play(t, one, count(first), show)
					for _, db := range []harness.Execer{tw.Plain, tw.Direct} {
						harness.Affected(t, db, "ALTER TABLE p MODIFY id "+k.from+" NOT NULL")
					}
					newer, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
					harness.Affected(t, newer, "UPDATE p SET n = n + 1 WHERE slug = 1")
					harness.Affected(t, tw.Plain, "UPDATE p SET n = n + 1 WHERE slug = 1")
					for _, db := range []harness.Execer{tw.Plain, tw.Direct} {
						harness.Affected(t, db, "ALTER TABLE p MODIFY id "+k.to+" NOT NULL")
						harness.Affected(t, db, "INSERT INTO p VALUES ("+k.two+", 2, 0)")
					}
					tw.Play(t, two, count(second), both, count(slugs), one, count(first),
						"A: begin", two, "A: commit", "A: begin", two, one, "A: commit", "A: begin", count(second), "A: commit", "A: begin", both, count(slugs), "A: commit",
						"A: begin", "A: INSERT INTO note VALUES ()", two, one, "A: commit", "A: begin", "A: INSERT INTO note VALUES ()", both, count(second), "A: commit")
					if !k.compared {
						tw.Play(t, show, "A: SELECT n FROM p WHERE id = "+k.two, "A: SELECT SUM(n) FROM p WHERE slug < 3")
					}
					tw.Play(t, "A: UPDATE p SET n = GREATEST(n - 1, 0) WHERE slug = 2", two, one)
					last, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
					const bySlug = "SELECT slug, n FROM p ORDER BY slug"
					require.Equal(t, harness.Queried(t.Context(), tw.Plain, bySlug), harness.Queried(t.Context(), last, bySlug), harness.Queried(t.Context(), tw.Direct, "SELECT * FROM p_slots"))
					harness.RollUp(t, last)
					require.Equal(t, harness.Queried(t.Context(), tw.Plain, bySlug), harness.Queried(t.Context(), tw.Direct, bySlug))
				})
			}
		}
	})
}

// TestRollupOfOtherKeys proves that a process rolls up what is in a slots table that
// another has fitted to another key since it has read the schema.
func TestRollupOfOtherKeys(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, alter := range []string{"ALTER TABLE p MODIFY id BIGINT NOT NULL", "ALTER TABLE p DROP PRIMARY KEY, ADD PRIMARY KEY (id, lang)", "ALTER TABLE p DROP PRIMARY KEY, ADD PRIMARY KEY (lang)"} {
			tw := harness.NewTwin(t, srv, "CREATE TABLE p (id INT NOT NULL, lang INT NOT NULL, n INT NOT NULL DEFAULT 0, PRIMARY KEY (id));\nINSERT INTO p VALUES (1, 2, 0)", harness.Counters("p", "n"))
			harness.Affected(t, tw.Direct, alter)
			newer, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
			harness.Affected(t, newer, "UPDATE p SET n = n + 3 WHERE id = 1 AND lang = 2")
			harness.Affected(t, newer, "UPDATE p SET n = n + 4 WHERE lang = 2")
			done := harness.RollUp(t, tw.Ours)["p"]
			require.Empty(t, done.Left, alter)
			require.EqualValues(t, 7, harness.Number(t, tw.Direct, "SELECT n FROM p"), alter)
			require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM p_slots"), alter)
		}
	})
}

// TestRollupLeavesOtherKeys proves that such a rollup names the rows that it leaves by the
// key that they have now.
func TestRollupLeavesOtherKeys(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for key, to := range map[string][2]string{"id, lang": {"id", "id=1"}, "lang": {"id, lang", "id=1 lang=2"}} {
			tw := harness.NewTwin(t, srv, "CREATE TABLE p (id INT NOT NULL, lang INT NOT NULL, n TINYINT NOT NULL DEFAULT 0, PRIMARY KEY ("+key+"));\nINSERT INTO p VALUES (1, 2, 100)", harness.Counters("p", "n"))
			harness.Affected(t, tw.Ours, "UPDATE p SET n = n + 0") // it knows the table
			harness.Affected(t, tw.Direct, "ALTER TABLE p DROP PRIMARY KEY, ADD PRIMARY KEY ("+to[0]+")")
			newer, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
			harness.Affected(t, newer, "UPDATE p SET n = n + 100 WHERE id = 1 AND lang = 2")
			left := harness.RollUp(t, tw.Ours)["p"].Left
			require.Len(t, left, 1)
			require.Equal(t, to[1], left[0].Key)
		}
	})
}
