package schema

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// appearance is a listed table or column that a process has seen missing, and that
// another makes and counts in.
type appearance struct {
	schema   string
	config   *countermysql.Config
	made     []string
	values   string            // a query of all that is in the table
	scripts  map[string]string // of the process that has seen nothing yet
	prepared []string
}

func note() string { return "CREATE TABLE note (id INT PRIMARY KEY, n INT, body TEXT);\n" }

// lateTable is a table that a migration makes.
func lateTable() appearance {
	return appearance{
		schema: note() + "CREATE TABLE late (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0, title VARCHAR(20) NOT NULL DEFAULT '');\nINSERT INTO note VALUES (1, 0, '');\n" +
			"CREATE VIEW late_view AS SELECT id, n FROM late;\nCREATE PROCEDURE tell_late() SELECT n FROM late ORDER BY id;\n" +
			"CREATE TRIGGER late_trigger AFTER DELETE ON note FOR EACH ROW UPDATE late SET n = 100 WHERE id = 1;\nDROP TABLE late",
		config: harness.Counters("late", "n"),
		made:   []string{"CREATE TABLE late (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0, title VARCHAR(20) NOT NULL DEFAULT '')", "INSERT INTO late (id) VALUES (1), (2), (3)", "UPDATE late SET n = n + 5 WHERE id = 1"},
		values: "SELECT * FROM late ORDER BY id",
		scripts: map[string]string{
			"read": "A: SELECT n FROM late WHERE id = 1", "star": "A: SELECT * FROM late", "aggregate": "A: SELECT SUM(n), COUNT(*) FROM late",
			"read in a transaction": "A: begin; A: SELECT n FROM late WHERE id = 1; A: commit", "READ COMMITTED": "A: begin RC; A: SELECT n FROM late WHERE id = 1; A: commit",
			"BEGIN":   "A: BEGIN; A: INSERT INTO note VALUES (2, 0, ''); A: SELECT n FROM late WHERE id = 1; A: UPDATE late SET n = n * 2 WHERE id = 1; A: COMMIT",
			"guarded": "A: UPDATE late SET n = n - 3 WHERE id = 1 AND n >= 3", "guarded in a transaction": "A: begin; A: UPDATE late SET n = n - 3 WHERE id = 1 AND n >= 3; A: commit",
			"set": "A: UPDATE late SET n = 100 WHERE id = 1", "set without autocommit": "A: SET autocommit = 0; A: UPDATE late SET n = 100 WHERE id = 1; A: COMMIT; A: SET autocommit = 1",
			"set and rolled back": "A: begin; A: UPDATE late SET n = 100 WHERE id = 1; A: rollback",
			"increment":           "A: UPDATE late SET n = n + 1 WHERE id = 1; A: SELECT n FROM late WHERE id = 1",
			"delete":              "A: DELETE FROM late WHERE id = 1; A: INSERT INTO late (id) VALUES (1)", "delete all": "A: DELETE FROM late; A: INSERT INTO late (id) VALUES (1)",
			"replace": "A: REPLACE INTO late (id) VALUES (1)", "upsert": "A: INSERT INTO late (id, n) VALUES (1, 3) ON DUPLICATE KEY UPDATE n = GREATEST(n, VALUES(n))",
			"rekey": "A: UPDATE late SET id = 9 WHERE id = 1", "lock": "A: begin; A: SELECT n FROM late WHERE id = 1 FOR UPDATE; A: UPDATE late SET n = 6 WHERE id = 1; A: commit",
			"copy": "A: INSERT INTO note SELECT id + 10, n, '' FROM late; A: SELECT * FROM note ORDER BY id", "copied table": "A: CREATE TABLE copy SELECT * FROM late; A: SELECT n FROM copy ORDER BY id",
			"subquery":  "A: UPDATE note SET n = (SELECT n FROM late WHERE id = 1) WHERE id = 1; A: SELECT n FROM note",
			"union":     "A: (SELECT n FROM late WHERE id = 1) UNION (SELECT 3) ORDER BY 1",
			"statement": "A: WITH x AS (SELECT n FROM late WHERE id = 1) SELECT n FROM x",
			"truncate":  "A: TRUNCATE late; A: INSERT INTO late (id) VALUES (1)", "drop": "A: DROP TABLE late; A: CREATE TABLE late (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0); A: INSERT INTO late (id) VALUES (1)",
			"rename": "A: RENAME TABLE late TO later; A: SELECT * FROM later ORDER BY id; A: RENAME TABLE later TO late", "variable": "A: SET @n = (SELECT n FROM late WHERE id = 1); A: SELECT @n",
			"into": "A: SELECT n INTO @n FROM late WHERE id = 1; A: SELECT @n",
			"call": "A: CALL tell_late()", "view": "A: SELECT n FROM late_view ORDER BY id", "trigger": "A: DELETE FROM note", "not parsed": "A: SELECT /*!50000 n */ FROM late WHERE id = 1",
			"prepared text": "A: PREPARE p FROM 'SELECT n FROM late WHERE id = 1'; A: EXECUTE p; A: SELECT 1", "handler": "A: HANDLER late OPEN; A: HANDLER late READ FIRST; A: HANDLER late CLOSE",
			"calls":     "A: SELECT n, HEX(n) FROM late WHERE id = 1; A: SELECT *, HEX(id) FROM late WHERE id = 1",
			"savepoint": "A: BEGIN; A: SAVEPOINT s; A: UPDATE late SET n = 100 WHERE id = 1; A: ROLLBACK TO s; A: SELECT n FROM late WHERE id = 1; A: COMMIT",
		},
		prepared: []string{"SELECT n FROM late WHERE id = ?", "UPDATE late SET n = n - 3 WHERE id = ? AND n >= 3", "UPDATE late SET n = 100 WHERE id = ?", "DELETE FROM late WHERE id = ?"},
	}
}

// lateColumn is a column that a migration adds to a table, which may have other counters.
func lateColumn(others ...string) appearance {
	a := lateTable()
	a.schema = note() + "CREATE TABLE late (id INT PRIMARY KEY, title VARCHAR(20) NOT NULL DEFAULT '', wins INT NOT NULL DEFAULT 0);\nINSERT INTO late (id) VALUES (1), (2), (3);\nINSERT INTO note VALUES (1, 0, '')"
	a.config = harness.Counters("late", append(others, "n")...)
	a.made = []string{"ALTER TABLE late ADD COLUMN n INT NOT NULL DEFAULT 0", "UPDATE late SET n = n + 5 WHERE id = 1"}
	for _, name := range []string{"call", "view", "trigger", "handler"} {
		delete(a.scripts, name)
	}
	a.scripts["edit"] = "A: UPDATE late SET title = 'x' WHERE id = 1"
	a.scripts["values"] = "A: REPLACE INTO late VALUES (1, 'x', 3, 4)"
	a.scripts["copy of all"] = "A: CREATE TABLE note2 (id INT, title TEXT, wins INT, n INT); A: INSERT INTO note2 SELECT * FROM late; A: SELECT * FROM note2 ORDER BY id"
	if others != nil { // a column that another process adds shows later
		delete(a.scripts, "star")
		a.scripts["calls"] = "A: SELECT n, HEX(n) FROM late WHERE id = 1"
		delete(a.scripts, "copy of all")
	}
	return a
}

func (a *appearance) Run(t *testing.T, srv *testserver.Server, params string, play func(t *testing.T, tw *harness.Twin, db *sql.DB) []string) {
	t.Helper()
	tw := harness.NewTwin(t, srv, a.schema, a.config, params)
	second, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
	for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
		for _, stmt := range a.made {
			harness.Affected(t, db, stmt)
		}
	}
	require.Zero(t, harness.Number(t, tw.Direct, "SELECT COALESCE(SUM(n), 0) FROM late"), "it is in the slots")
	want := play(t, tw, tw.Plain)
	require.Equal(t, strings.Join(want, "\n"), strings.Join(play(t, tw, second), "\n"))
	values := harness.Queried(t.Context(), tw.Plain, a.values)
	require.Equal(t, values, harness.Queried(t.Context(), second, a.values))
	require.Equal(t, values, harness.Queried(t.Context(), tw.Ours, a.values))
}

// TestAppearing proves that a process which has seen a listed table or column missing
// takes it for what it is with the first statement that meets it, whatever that does.
func TestAppearing(t *testing.T) {
	t.Parallel()
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for name, a := range map[string]appearance{"table": lateTable(), "column": lateColumn(), "second column": lateColumn("wins")} {
			t.Run(name, func(t *testing.T) {
				for script, steps := range a.scripts {
					t.Run(script, func(t *testing.T) {
						a.Run(t, srv, "multiStatements=false", func(t *testing.T, _ *harness.Twin, db *sql.DB) []string {
							return harness.PlayOn(t, db, slices.Concat(strings.Split(steps, "; "), []string{"A: SELECT id, n FROM late ORDER BY id"}))
						})
					})
				}
				for _, script := range []string{"guarded", "set", "delete"} {
					a.Run(t, srv, "multiStatements=true", func(t *testing.T, _ *harness.Twin, db *sql.DB) []string {
						_, err := db.Exec("DO 1; " + strings.ReplaceAll(a.scripts[script], "A: ", ""))
						return []string{harness.Told(err)}
					})
				}
				for i, stmt := range a.prepared {
					t.Run(stmt, func(t *testing.T) {
						for _, params := range []string{[]string{"interpolateParams=true", "interpolateParams=false"}[(i+len(name))%2]} { // one of them
							a.Run(t, srv, params, func(t *testing.T, _ *harness.Twin, db *sql.DB) []string {
								if harness.IsQuery.MatchString(stmt) {
									return []string{harness.Queried(t.Context(), db, stmt, 1)}
								}
								res, err := db.Exec(stmt, 1)
								require.NoError(t, err)
								n, err := res.RowsAffected()
								require.NoError(t, err)
								return []string{string(rune('0' + n))}
							})
						}
					})
				}
			})
		}
	})
}

// TestStillAbsent proves that what is listed and not there changes no answer.
func TestStillAbsent(t *testing.T) {
	t.Parallel()
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for name, a := range map[string]appearance{"table": lateTable(), "column": lateColumn("wins")} {
			for script, steps := range a.scripts {
				if script == "drop" || script == "rename" && name == "table" {
					continue // it makes it
				}
				t.Run(name+"/"+script, func(t *testing.T) {
					tw := harness.NewTwin(t, srv, a.schema, a.config)
					tw.Play(t, strings.Split(steps, "; ")...)
					for _, stmt := range a.made {
						harness.Affected(t, tw.Plain, stmt)
						harness.Affected(t, tw.Ours, stmt)
					}
					tw.Same(t, a.values)
				})
			}
		}
	})
}

// TestAbsentColumnCostsNothing proves that the statements which a table in use mostly
// meets are sent alone and as they are while a listed column is still to be added.
func TestAbsentColumnCostsNothing(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		a := lateColumn()
		tw := harness.NewTwin(t, srv, a.schema, a.config)
		conn := harness.Session(t, tw.Ours)
		for _, begin := range []string{"COMMIT", "BEGIN"} {
			harness.Affected(t, conn, begin)
			for i, stmt := range []string{
				"SELECT title FROM late WHERE id = 1", "SELECT * FROM late", "SELECT l.*, o.id FROM late l JOIN note o USING (id)", "SELECT wins * 2, COUNT(*) FROM late WHERE title > HEX(3) GROUP BY 1", "SELECT COUNT(*) FROM late",
				"INSERT INTO late (id, title) VALUES (%d, 'x')", "UPDATE late SET title = 'y' WHERE id = 1", "UPDATE late SET wins = wins + 1 WHERE id = 1",
				"INSERT INTO late (id) VALUES (1) ON DUPLICATE KEY UPDATE title = 'z'",
			} {
				if strings.Contains(stmt, "%d") {
					stmt = fmt.Sprintf(stmt, 100*len(begin)+i)
				}
				sent := tw.Sent.During(func() { harness.Queried(t.Context(), conn, stmt) })
				require.Len(t, sent, 1, stmt)
				require.Equal(t, stmt, sent[0].Text)
			}
		}
		harness.Affected(t, conn, "COMMIT")
	})
}

// orders are those in which the steps and what makes the table or column may go, beside a
// transaction where its locks allow that.
func (a *appearance) orders(steps []string, table bool) (all [][]string) {
	transaction := strings.EqualFold(steps[0], "A: BEGIN")
	var merge func(done, steps, made []string)
	merge = func(done, steps, made []string) {
		done = slices.Clip(done)
		if len(steps)+len(made) == 0 {
			all = append(all, done)
		}
		if len(steps) > 0 {
			merge(append(done, steps[0]), steps[1:], made)
		}
		if len(made) == 0 || transaction && len(steps) > 0 && strings.Contains(strings.Join(done, ""), map[bool]string{true: "UPDATE late", false: "late"}[table]) {
			return
		}
		if transaction {
			for _, stmt := range made {
				done = append(done, "M: "+stmt)
			}
			merge(done, steps, nil)
		} else {
			merge(append(done, "M: "+made[0]), steps, made[1:])
		}
	}
	merge(nil, steps, a.made)
	return all
}

// TestAppearingMeanwhile proves that it makes no difference at which moment of a statement
// a table or column appears: all is as if it had been before a statement or behind it, or
// the transaction is a deadlock's victim.
func TestAppearingMeanwhile(t *testing.T) {
	t.Parallel()
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for name, a := range map[string]appearance{"table": lateTable(), "column": lateColumn("wins")} {
			for _, what := range []string{"read", "set", "guarded", "delete", "guarded in a transaction", "BEGIN"} {
				t.Run(name+"/"+what, func(t *testing.T) {
					steps := strings.Split(a.scripts[what], "; ")
					outcomes := map[string]bool{}
					for _, order := range a.orders(steps, name == "table") {
						tw := harness.NewTwin(t, srv, a.schema, a.config)
						answers := slices.DeleteFunc(harness.PlayOn(t, tw.Plain, order), func(answer string) bool { return strings.HasPrefix(answer, "M: ") })
						outcomes[strings.Join(answers, "\n")+"\n"+harness.Queried(t.Context(), tw.Plain, a.values)] = true
					}
					for at := range 12 {
						tw := harness.NewTwin(t, srv, a.schema, a.config)
						config, sent := *tw.Config, harness.NewRecorder()
						config.Interceptor = sent
						second, _ := harness.OpenOurs(t, tw.OursDSN, &config)
						seen, done := 0, make(chan struct{})
						var log []string
						sent.Meddle(t, func(query string) error {
							if !strings.Contains(query, "SCHEMA") {
								log = append(log, query)
							}
							if seen++; seen != at+1 {
								return nil
							}
							go func() {
								defer close(done)
								for _, stmt := range a.made {
									if _, err := tw.Ours.Exec(stmt); err != nil {
										t.Error(stmt, err)
									}
								}
							}()
							for waits := 0; waits < 5; { // it waits for us
								select {
								case <-done:
									return nil
								case <-time.After(10 * time.Millisecond):
								}
								if waits++; !tw.Waits(t) {
									waits = 0
								}
							}
							return nil
						})
						answers := strings.Join(harness.PlayOn(t, second, steps), "\n")
						if seen <= at {
							break
						}
						<-done
						got := answers + "\n" + harness.Queried(t.Context(), tw.Ours, a.values)
						if strings.Contains(answers, "error 1213") {
							continue
						}
						require.Contains(t, slices.Sorted(maps.Keys(outcomes)), got, "before statement %d of %s", at+1, strings.Join(log, "\n"))
						const values = "SELECT id, n FROM late ORDER BY id"
						require.Equal(t, harness.Queried(t.Context(), tw.Ours, values), harness.Queried(t.Context(), second, values))
					}
				})
			}
		}
	})
}

// TestGoneAgain proves that a query which meets a table that a process has seen missing is
// answered with all that was counted, also where the table is gone again right after it.
func TestGoneAgain(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		a := lateTable()
		for _, query := range []string{"SELECT n FROM late WHERE id = 1", "SELECT SUM(n), COUNT(*) FROM late"} {
			tw := harness.NewTwin(t, srv, a.schema, a.config)
			for _, stmt := range a.made {
				harness.Affected(t, tw.Plain, stmt)
				harness.Affected(t, tw.Ours, stmt)
			}
			harness.Affected(t, tw.Direct, "RENAME TABLE late TO away")
			config, sent := *tw.Config, harness.NewRecorder()
			config.Interceptor = sent
			second, _ := harness.OpenOurs(t, tw.OursDSN, &config)
			require.Contains(t, harness.Queried(t.Context(), second, query), "1146")
			renamed := 0
			sent.Meddle(t, func(text string) error {
				switch {
				case renamed == 0 && text == query:
					renamed++
					harness.Affected(t, tw.Direct, "RENAME TABLE away TO late")
				case renamed == 1:
					renamed++
					harness.Affected(t, tw.Direct, "RENAME TABLE late TO away")
				}
				return nil
			})
			require.Contains(t, []string{harness.Queried(t.Context(), tw.Plain, query), "error 1146"}, harness.Queried(t.Context(), second, query))
			require.Equal(t, 2, renamed)
		}
	})
}

// TestAppearingSlots proves that a process for which a counter was an ordinary column, as
// the slots table could get no column for it, notices when another process adds that.
func TestAppearingSlots(t *testing.T) {
	const schema = "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, views INT NOT NULL DEFAULT 0);\nINSERT INTO post (id) VALUES (1)"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, steps := range [][]string{
			{"A: SELECT views FROM post WHERE id = 1"}, {"A: begin", "A: SELECT views FROM post WHERE id = 1", "A: commit"}, {"A: UPDATE post SET views = 100 WHERE id = 1"},
			{"A: UPDATE post SET views = views - 3 WHERE id = 1 AND views >= 3"}, {"A: begin", "A: UPDATE post SET views = views * 2 WHERE id = 1", "A: commit"},
			{"A: DELETE FROM post WHERE id = 1"}, {"A: SELECT * FROM post"},
		} {
			tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
			reader := harness.Session(t, tw.Ours)
			harness.Affected(t, reader, "BEGIN")
			require.Zero(t, harness.Number(t, reader, "SELECT likes FROM post"))
			config := *tw.Config
			config.Tables = harness.Counters("post", "likes", "views").Tables
			early, _ := harness.OpenOurs(t, tw.OursDSN, &config)
			require.EqualValues(t, 1, harness.Affected(t, early, "UPDATE post SET views = views + 1 WHERE id = 1"))
			require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT views FROM post"), "it is no counter yet")
			harness.Affected(t, reader, "COMMIT")
			late, _ := harness.OpenOurs(t, tw.OursDSN, &config)
			harness.Affected(t, late, "UPDATE post SET views = views + 5 WHERE id = 1")
			require.EqualValues(t, 5, harness.Number(t, tw.Direct, "SELECT SUM(views) FROM post_slots"))
			harness.Affected(t, tw.Plain, "UPDATE post SET views = views + 6 WHERE id = 1")
			require.Equal(t, harness.PlayOn(t, tw.Plain, steps), harness.PlayOn(t, early, steps))
			tw.Same(t, "SELECT id, likes FROM post")
			require.Equal(t, harness.Queried(t.Context(), tw.Plain, "SELECT * FROM post"), harness.Queried(t.Context(), early, "SELECT * FROM post"))
		}
	})
}
