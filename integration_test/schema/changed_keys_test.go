package schema

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// changedKey is a key column that another client gives another type, by which two
// values are two keys that were one, or were none.
type changedKey struct {
	from, to, one, two string
	compared           bool // the server itself takes them for one where it compares both types
}

func (k changedKey) String() string { return k.from + " to " + k.to + " " + k.one + " " + k.two }

func changedKeys(srv *testserver.Server) []changedKey {
	nopad, none := "utf8mb4_0900_bin", "utf8mb4_0900_ai_ci"
	if srv.Flavor() == testserver.MariaDB {
		nopad, none = "utf8mb4_nopad_bin", "utf8mb4_unicode_nopad_ci"
	}
	text := func(kind, collation string) string { return kind + " CHARACTER SET utf8mb4 COLLATE " + collation }
	return []changedKey{
		{text("VARCHAR(10)", "utf8mb4_general_ci"), text("VARCHAR(10)", "utf8mb4_bin"), "'A'", "'a'", false},
		{text("VARCHAR(10)", "utf8mb4_unicode_ci"), text("VARCHAR(10)", "utf8mb4_general_ci"), "'ss'", "'ß'", false},
		{text("CHAR(10)", none), text("CHAR(10)", nopad), "'é'", "'e'", false},
		{text("CHAR(10)", nopad), text("VARCHAR(10)", nopad), "'a'", "'a '", false},
		{text("VARCHAR(3)", nopad), text("VARCHAR(5)", nopad), "'abc'", "'abc  '", false},
		{text("VARCHAR(3)", "utf8mb4_bin"), text("VARCHAR(5)", "utf8mb4_bin"), "'abc'", "'abcd'", false},
		{"VARCHAR(10) CHARACTER SET utf8mb3", "VARCHAR(10) CHARACTER SET utf8mb4", "'?'", "'😀'", false},
		{"VARCHAR(10) CHARACTER SET latin1 COLLATE latin1_bin", text("VARCHAR(10)", "utf8mb4_bin"), "'?'", "'ж'", false},
		{"BINARY(3)", "VARBINARY(3)", "'a\\0\\0'", "'a'", false},
		{"VARBINARY(2)", "VARBINARY(4)", "'ab'", "'ab  '", false},
		{"VARBINARY(2)", "VARBINARY(4)", "'ab'", "'abcd'", false},
		{"INT", "BIGINT", "2147483647", "3000000000", false},
		{"TINYINT UNSIGNED", "INT", "0", "-7", false},
		{"INT", "DECIMAL(10,1)", "6", "5.5", false},
		{"INT", "VARCHAR(10)", "7", "'05'", false},
		{"DECIMAL(10,1)", "DECIMAL(10,3)", "1.2", "1.23", false},
		{"DECIMAL(3,0)", "DECIMAL(6,0)", "999", "1000", false},
		{"DATE", "DATETIME", "'2020-01-02'", "'2020-01-02 10:00:00'", false},
		{"DATETIME", "DATETIME(3)", "'2020-01-02 10:00:00'", "'2020-01-02 10:00:00.25'", false},
		{"DATETIME", "VARCHAR(30)", "'2020-01-02 00:00:00'", "'2020-01-02'", true},
		{"TIMESTAMP", "TIMESTAMP(3)", "'2020-01-02 10:00:00'", "'2020-01-02 10:00:00.25'", false},
		{"TIME", "TIME(3)", "'10:00:00'", "'10:00:00.25'", true},
		{"YEAR", "SMALLINT", "1970", "70", false},
		{"ENUM('a','b')", "ENUM('a','b','1')", "'a'", "'1'", false},
		{"ENUM('a','b')", "ENUM('a','b','c')", "'a'", "'c'", false},
		{"ENUM('a','b')", "ENUM('b','a')", "'a'", "'b'", false},
		{"SET('a','b')", "SET('a','b','c')", "'a'", "'a,c'", false},
		{"SET('a','b')", "SET('a','b','3')", "'a,b'", "'3'", false},
	}
}

// TestKeysChangedByAnotherClient proves that increments stay with their rows when another
// client changes the type of a key column, before the driver notices and after, by
// whatever statement and in every sql_mode: a slots table with keys of the old type can't
// hold them all.
func TestKeysChangedByAnotherClient(t *testing.T) {
	t.Parallel()
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		settings := [][]string{{"interpolateParams=true"}, {"sql_mode=%27%27", "interpolateParams=true"}, {"multiStatements=true"}, {"sql_mode=%27%27", "multiStatements=true"}}
		for i, k := range changedKeys(srv) {
			strict, lax := settings[2*(i%2)], settings[1+2*(i%2)]
			for n, params := range [][]string{strict, lax} {
				if n == i/2%2 { // an ALTER takes its time
					continue
				}
				rollup := countermysql.RollupNever
				if n == 0 && i%3 == 0 {
					rollup = time.Hour // goes to base rows, in strict sessions alone
				}
				t.Run(fmt.Sprint(k, " ", strings.Join(params, "&"), " ", rollup), func(t *testing.T) {
					schema := "CREATE TABLE p (id " + k.from + " NOT NULL, slug INT NOT NULL UNIQUE, n INT NOT NULL DEFAULT 0, PRIMARY KEY (id));\n" +
						"INSERT INTO p VALUES (" + k.one + ", 1, 0);\nCREATE TABLE note (id INT AUTO_INCREMENT PRIMARY KEY)"
					config := harness.Counters("p", "n")
					config.Rollup = rollup
					tw := harness.NewTwin(t, srv, schema, config, params...)
					count := func(by string) string { return "A: UPDATE p SET n = n + 1 WHERE " + by }
					one, two := count("id = "+k.one), count("id = "+k.two)
					both := count("id IN (" + k.one + ", " + k.two + ")")
					const first, second, slugs = "slug = 1", "slug = 2", "slug IN (1, 2)"
					const show = "SELECT slug, n FROM p ORDER BY slug"
					tw.Play(t, one, one, count(first), count(second))
					for _, db := range []harness.Execer{tw.Plain, tw.Direct} {
						harness.Affected(t, db, "ALTER TABLE p MODIFY id "+k.to+" NOT NULL")
						harness.Affected(t, db, "INSERT INTO p VALUES ("+k.two+", 2, 0)")
					}
					reads := []string{"A: " + show, "A: SELECT n FROM p WHERE id = " + k.two, "A: SELECT SUM(n) FROM p WHERE slug < 3", "A: SELECT n FROM p WHERE slug = 2 FOR UPDATE"}
					if k.compared {
						reads = []string{two, two, two, two}
					}
					tw.Play(t, two, two, two, reads[0], reads[1], reads[2], reads[3])
					tw.Play(t, one, both, count(first), count(second), count(slugs),
						"A: begin", two, "A: commit", "A: begin", two, one, "A: commit", "A: begin", count(second), "A: commit", "A: begin", both, count(slugs), "A: commit",
						"A: begin", "A: INSERT INTO note VALUES ()", two, "A: commit", "A: begin", "A: INSERT INTO note VALUES ()", two, one, "A: commit",
						"A: begin", "A: INSERT INTO note VALUES ()", both, count(slugs), "A: commit",
						"A: begin", "A: INSERT INTO note VALUES ()", count(second), "A: commit",
						"A: UPDATE p SET n = GREATEST(n - 1, 0) WHERE slug = 2", reads[0], "A: UPDATE p SET n = n - 1 WHERE n > 0", reads[0], "A: UPDATE p SET n = GREATEST(n - 1, 0) WHERE slug = 1", two, one)
					want := harness.Queried(t.Context(), tw.Plain, show)
					newer, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
					require.Equal(t, want, harness.Queried(t.Context(), newer, show), harness.Queried(t.Context(), tw.Direct, "SELECT * FROM p_slots"))
					tw.Play(t, two, one, both, count(slugs))
					harness.RollUp(t, newer)
					require.Equal(t, harness.Queried(t.Context(), tw.Plain, show), harness.Queried(t.Context(), tw.Direct, show))
				})
			}
		}
	})
}

// TestKeysChangedInTransactions proves that what transactions have counted stays with its
// rows, or is rolled back with an error that asks for another try, when another client
// changes the type of a key column between an increment and COMMIT: and then reads and
// exact statements of the row as well.
func TestKeysChangedInTransactions(t *testing.T) {
	t.Parallel()
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for n, params := range [][]string{{"interpolateParams=true"}, {"sql_mode=%27%27", "multiStatements=true"}} {
			rollup := []time.Duration{time.Hour, countermysql.RollupNever}[n] // the first go to base rows, the others to slots
			for i, k := range changedKeys(srv) {                              // each with one of the kinds of BEGIN and of the parameters: an ALTER takes its time
				if i%2 == n {
					continue
				}
				for _, begin := range []string{[]string{"BEGIN", "begin", "begin RC"}[i%3]} {
					t.Run(k.String()+" "+begin+" "+params[0], func(t *testing.T) {
						schema := "CREATE TABLE p (id " + k.from + " NOT NULL, slug INT NOT NULL UNIQUE, n INT NOT NULL DEFAULT 0, PRIMARY KEY (id));\n" +
							"INSERT INTO p VALUES (" + k.one + ", 1, 0);\nCREATE TABLE note (id INT AUTO_INCREMENT PRIMARY KEY)"
						config := harness.Counters("p", "n")
						config.Rollup = rollup
						tw := harness.NewTwin(t, srv, schema, config, append([]string{"lock_wait_timeout=1"}, params...)...)
						const first, second = "UPDATE p SET n = n + 1 WHERE slug = 1", "UPDATE p SET n = n + 10 WHERE slug = 2"
						one, two := "UPDATE p SET n = n + 1 WHERE id = "+k.one, "UPDATE p SET n = n + 10 WHERE id = "+k.two
						const show = "SELECT slug, n FROM p ORDER BY slug"
						harness.Affected(t, tw.Ours, one)
						commit := "commit"
						if begin == "BEGIN" {
							commit = "COMMIT"
						}
						transactions := [][]string{{one}, {first, one}, {"INSERT INTO note VALUES ()", one}, {"INSERT INTO note VALUES ()", first, one}}
						var pending []*harness.Script
						for _, x := range transactions {
							s := &harness.Script{Db: tw.Ours, Clients: map[string]*harness.Client{}}
							defer s.End()
							s.Do(t, "A: "+begin)
							for _, stmt := range x {
								s.Do(t, "A: "+stmt)
							}
							pending = append(pending, s)
						}
						if _, err := harness.Open(t, tw.OursDSN).Exec("ALTER TABLE p MODIFY id " + k.to + " NOT NULL"); err != nil {
							require.EqualValues(t, 1205, harness.ErrorNumber(err)) // increments by such a key are verbatim: it waits for them, as on plain MySQL
							return
						}
						harness.Affected(t, tw.Direct, "INSERT INTO p VALUES ("+k.two+", 2, 0)")
						want := map[string]int64{first: 1, one: 1}
						sum, other := int64(1), int64(0)
						counted := func(steps []string) {
							for _, stmt := range steps {
								sum += want[stmt]
								if stmt == two || stmt == second {
									other += 10
								}
							}
						}
						for i, s := range pending {
							more := [][]string{{}, {two}, {second}, {second, one}}[i]
							rolledBack := false
							for _, stmt := range append(more, commit) {
								s.Do(t, "A: "+stmt)
								last := s.Answers[len(s.Answers)-1]
								if rolledBack = strings.HasSuffix(last, "error 1213") || strings.Contains(last, "the transaction is rolled back"); rolledBack {
									break
								}
							}
							s.End()
							if !rolledBack {
								require.NotContains(t, strings.Join(s.Answers, "\n"), "error")
								counted(append(transactions[i], more...))
							}
						}
						tries := 0
						for _, x := range [][]string{{two, show}, {one, show, second, show}, {"INSERT INTO note VALUES ()", two, "SELECT n FROM p WHERE slug = 2", "UPDATE p SET n = GREATEST(n, 0) WHERE slug = 2"}, {"UPDATE p SET n = GREATEST(n, 0)", one, show}} {
							for {
								s := &harness.Script{Db: tw.Ours, Clients: map[string]*harness.Client{}}
								s.Do(t, "A: "+begin)
								failed := false
								for _, stmt := range append(x, commit) {
									s.Do(t, "A: "+stmt)
									if failed = strings.HasSuffix(s.Answers[len(s.Answers)-1], "error 1213"); failed {
										break
									}
								}
								s.End()
								if !failed {
									require.NotContains(t, strings.Join(s.Answers, "\n"), "error")
									counted(x)
									break
								}
								tries++
								require.LessOrEqual(t, tries, 4)
							}
						}
						newer, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
						require.Equal(t, sum, harness.Number(t, newer, "SELECT n FROM p WHERE slug = 1"))
						require.Equal(t, other, harness.Number(t, newer, "SELECT n FROM p WHERE slug = 2"))
						harness.RollUp(t, newer)
						require.Equal(t, sum, harness.Number(t, tw.Direct, "SELECT n FROM p WHERE slug = 1"))
						require.Equal(t, other, harness.Number(t, tw.Direct, "SELECT n FROM p WHERE slug = 2"))
					})
				}
			}
		}
	})
}

// TestKeysChangedBeforeOwnReads proves that a transaction which is the first to meet a key
// that the known type can't hold, and reads what it has counted for it, is answered as on
// plain MySQL, or asked for another try.
func TestKeysChangedBeforeOwnReads(t *testing.T) {
	t.Parallel()
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for i, k := range changedKeys(srv) {
			t.Run(k.String(), func(t *testing.T) {
				config := harness.Counters("p", "n")
				config.Rollup = []time.Duration{countermysql.RollupNever, time.Hour}[i%2]
				tw := harness.NewTwin(t, srv, "CREATE TABLE p (id "+k.from+" NOT NULL, slug INT NOT NULL UNIQUE, n INT NOT NULL DEFAULT 0, PRIMARY KEY (id));\n"+
					"INSERT INTO p VALUES ("+k.one+", 1, 0)", config)
				tw.Play(t, "A: UPDATE p SET n = n + 1 WHERE slug = 1")
				for _, db := range []harness.Execer{tw.Plain, tw.Direct} {
					harness.Affected(t, db, "ALTER TABLE p MODIFY id "+k.to+" NOT NULL")
					harness.Affected(t, db, "INSERT INTO p VALUES ("+k.two+", 2, 0)")
				}
				steps := []string{"A: begin", "A: UPDATE p SET n = n + 10 WHERE id = " + k.two, "A: SELECT slug, n FROM p ORDER BY slug", "A: commit"}
				want := harness.PlayOn(t, tw.Plain, steps)
				got := harness.PlayOn(t, tw.Ours, steps)
				if strings.Contains(strings.Join(got, "\n"), "error 1213") {
					got = harness.PlayOn(t, tw.Ours, steps)
				}
				require.Equal(t, want, got)
			})
		}
	})
}
