package schema

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestRekeyedTable proves that increments that are pending while the table gets
// another primary key are counted on the right rows, or not at all: then the
// transaction is rolled back with 1213, to be tried again. Behind a savepoint the ALTER waits, as on plain
// MySQL.
func TestRekeyedTable(t *testing.T) {
	const schema = `
CREATE TABLE p (id INT NOT NULL, x INT NOT NULL, n INT NOT NULL DEFAULT 0, PRIMARY KEY (id), UNIQUE (x));
INSERT INTO p VALUES (1, 2, 0), (2, 1, 0);
CREATE TABLE note (id INT PRIMARY KEY);
`
	increment, note := "A: UPDATE p SET n = n + 1 WHERE id = 1", "A: INSERT INTO note VALUES (1)"
	ends := map[string][]string{
		"commit":         {"A: COMMIT"},
		"read":           {"A: SELECT n FROM p WHERE id = 1", "A: COMMIT"},
		"increment":      {"A: UPDATE p SET n = n + 1 WHERE id = 1", "A: COMMIT"},
		"rolled back":    {"A: ROLLBACK"},
		"rolled back to": {"A: ROLLBACK TO s", "A: COMMIT"},
		"exact":          {"A: UPDATE p SET n = 0 WHERE x = 2", "A: COMMIT"},
		"other table":    {"A: SELECT COUNT(*) FROM note", "A: COMMIT"},
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, c := range []struct {
			alter string
			keeps bool
		}{
			{"ALTER TABLE p DROP PRIMARY KEY, ADD PRIMARY KEY (id, x)", false},
			{"ALTER TABLE p DROP PRIMARY KEY, ADD PRIMARY KEY (x)", false},
			{"ALTER TABLE p MODIFY id VARCHAR(20) NOT NULL", false},
			{"ALTER TABLE p MODIFY n DECIMAL(10,2) NOT NULL DEFAULT 0", false},
			{"ALTER TABLE p CHANGE id no INT NOT NULL", false},
			{"ALTER TABLE p MODIFY id BIGINT NOT NULL", true},
			{"ALTER TABLE p ADD COLUMN y INT NOT NULL DEFAULT 0", true},
		} {
			for name, end := range ends {
				for _, level := range []string{"BEGIN", "begin"} {
					for _, more := range []bool{false, true} {
						if more && name != "commit" || level == "begin" && name == "rolled back to" {
							continue
						}
						t.Run(strings.Join([]string{c.alter, name, level, map[bool]string{true: "more"}[more]}, "/"), func(t *testing.T) {
							wait := "lock_wait_timeout=5"
							if name == "rolled back to" {
								wait = "lock_wait_timeout=1"
							}
							tw := harness.NewTwin(t, srv, schema, harness.Counters("p", "n"), wait)
							end := slices.Clone(end)
							if level == "begin" {
								for i := range end {
									end[i] = strings.NewReplacer("A: COMMIT", "A: commit", "A: ROLLBACK TO", "A: ROLLBACK TO", "A: ROLLBACK", "A: rollback").Replace(end[i])
								}
							}
							steps := []string{"A: " + level, increment}
							if name == "rolled back to" {
								steps = []string{"A: BEGIN", increment, "A: SAVEPOINT s", increment}
							}
							if more {
								steps = append(steps, note)
							}
							steps = slices.Concat(steps, []string{"B: " + c.alter}, end)
							answers := strings.Join(harness.PlayOn(t, tw.Ours, steps), "\n")
							want := int64(1)
							switch {
							case name == "rolled back to":
								require.Equal(t, strings.Join(harness.PlayOn(t, tw.Plain, steps), "\n"), answers)
								require.Contains(t, answers, "error 1205")
							case name == "rolled back":
								require.NotContains(t, answers, "error")
								want = 0
							case c.keeps && name == "increment":
								want = 2
							case c.keeps && name == "exact":
								want = 0
							case !c.keeps:
								require.Equal(t, 1, strings.Count(answers, "error 1213"), answers)
								want = 0
								require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM note"), answers)
							default:
								require.NotContains(t, answers, "error", answers)
							}
							require.EqualValues(t, want, harness.Number(t, tw.Ours, "SELECT CAST(n AS SIGNED) FROM p WHERE x = 2"), answers)
							require.Zero(t, harness.Number(t, tw.Ours, "SELECT CAST(n AS SIGNED) FROM p WHERE x = 1"))
						})
					}
				}
			}
		}
	})
}

// TestRenamedKeyBesideOthers proves that a table whose slots no longer fit its key
// fails its own statements, and those of no other table.
func TestRenamedKeyBesideOthers(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := harness.Counters("p", "n")
		config.Tables = append(config.Tables, harness.Counters("q", "n").Tables...)
		tw := harness.NewTwin(t, srv, "CREATE TABLE p (id INT PRIMARY KEY, n INT NOT NULL);\nINSERT INTO p VALUES (1, 0);\n"+
			"CREATE TABLE q (id INT PRIMARY KEY, n INT NOT NULL);\nINSERT INTO q VALUES (1, 0);\nCREATE TABLE note (id INT PRIMARY KEY);\n", config)
		tw.Play(t, "A: UPDATE p SET n = n + 1 WHERE id = 1", "A: UPDATE q SET n = n + 1 WHERE id = 1")
		const rename = "ALTER TABLE p CHANGE id no INT NOT NULL"
		harness.Affected(t, tw.Plain, rename)
		harness.Affected(t, tw.Direct, rename)
		_, err := countermysql.Check(t.Context(), tw.Ours) // notices it
		require.NoError(t, err)
		tw.Play(t, "A: INSERT INTO note VALUES (1)", "A: UPDATE q SET n = n + 1 WHERE id = 1", "A: SELECT * FROM q")
		_, err = tw.Ours.Exec("UPDATE p SET n = n + 1 WHERE no = 1")
		var unfit *countermysql.SlotsTableError
		require.ErrorAs(t, err, &unfit)
		require.ErrorContains(t, err, "add what it holds to the base rows")
		require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT SUM(n) FROM p_slots"))

		harness.Affected(t, tw.Direct, "UPDATE p SET n = n + (SELECT SUM(n) FROM p_slots)")
		harness.Affected(t, tw.Direct, "DELETE FROM p_slots")
		_, err = countermysql.Check(t.Context(), tw.Ours)
		require.NoError(t, err)
		tw.Play(t, "A: UPDATE p SET n = n + 1 WHERE no = 1", "A: SELECT n FROM p")
	})
}
