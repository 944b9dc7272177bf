package transactions

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// shapes tells statements by their kind.
func shapes(sent []harness.Sending) string {
	var all []string
	for _, s := range sent {
		word := strings.Fields(s.Text)[0]
		switch {
		case harness.InsertsSlots.MatchString(s.Text):
			word = "slots"
		case strings.Contains(s.Text, "information_schema"):
			continue
		}
		all = append(all, word)
	}
	return strings.Join(all, " ")
}

// TestNoBegin proves what is sent for transactions of nothing but increments:
// look-ups, and one statement at COMMIT; nothing for those that are rolled back.
func TestNoBegin(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"interpolateParams=true", "interpolateParams=false"} {
			tw := harness.NewBlog(t, srv, harness.BlogCounters(), params)
			like := func(tx *sql.Tx, d, id int) {
				require.EqualValues(t, 1, harness.Affected(t, tx, "UPDATE post SET likes = likes + ? WHERE id = ?", d, id))
			}
			for _, c := range []struct {
				name, want string
				added      int64
				body       func(tx *sql.Tx) error
			}{
				{"nothing", "", 0, func(tx *sql.Tx) error { return tx.Commit() }},
				{"nothing, rolled back", "", 0, func(tx *sql.Tx) error { return tx.Rollback() }},
				{"one", "SELECT slots", 1, func(tx *sql.Tx) error { like(tx, 1, 1); return tx.Commit() }},
				{"several", "SELECT SELECT SELECT slots", 6, func(tx *sql.Tx) error { like(tx, 1, 1); like(tx, 2, 2); like(tx, 3, 1); return tx.Commit() }},
				{"rolled back", "SELECT SELECT", 0, func(tx *sql.Tx) error { like(tx, 1, 1); like(tx, 2, 2); return tx.Rollback() }},
				{"cancelled out", "SELECT SELECT", 0, func(tx *sql.Tx) error { like(tx, 1, 1); like(tx, -1, 1); return tx.Commit() }},
				{"a list", "SELECT slots", 2, func(tx *sql.Tx) error {
					require.EqualValues(t, 2, harness.Affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id IN (1, 2)"))
					return tx.Commit()
				}},
				{"a missing row", "SELECT BEGIN UPDATE slots COMMIT", 1, func(tx *sql.Tx) error {
					require.EqualValues(t, 0, harness.Affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id = 77"))
					like(tx, 1, 1)
					return tx.Commit()
				}},
			} {
				before := harness.Number(t, tw.Ours, "SELECT SUM(likes) FROM post")
				sent := tw.Sent.During(func() {
					tx, err := tw.Ours.BeginTx(t.Context(), nil)
					require.NoError(t, err)
					require.NoError(t, c.body(tx))
				})
				got := shapes(sent)
				if c.name == "a missing row" { // prepared first or not, looked up again or not
					require.Equal(t, 1, strings.Count(got, "BEGIN"), got)
					require.Regexp(t, "^SELECT BEGIN .*slots COMMIT$", got)
				} else {
					require.Equal(t, c.want, got, c.name)
				}
				require.Equal(t, before+c.added, harness.Number(t, tw.Ours, "SELECT SUM(likes) FROM post"), c.name)
			}
		}
	})
}

// TestBeginIsSent proves that BEGIN is sent, once, with the first statement that
// needs it, whatever that is, and at once where it can be told.
func TestBeginIsSent(t *testing.T) {
	type body func(t *testing.T, raw driver.Conn, tx *sql.Tx)
	exec := func(stmts ...string) body {
		return func(t *testing.T, _ driver.Conn, tx *sql.Tx) {
			for _, s := range stmts {
				_, err := tx.ExecContext(t.Context(), s)
				require.NoError(t, err, s)
			}
		}
	}
	bodies := map[string]body{
		"a write":              exec("INSERT INTO note VALUES (1, 'x')"),
		"a write of the table": exec("UPDATE post SET title = 'x' WHERE id = 3"),
		"an exact statement":   exec("UPDATE post SET likes = GREATEST(likes, 0) WHERE id = 3"),
		"a savepoint":          exec("SAVEPOINT a"),
		"a variable":           exec("SET @x = 1"),
		"a query":              func(t *testing.T, _ driver.Conn, tx *sql.Tx) { harness.Number(t, tx, "SELECT COUNT(*) FROM note") },
		"a sum": func(t *testing.T, _ driver.Conn, tx *sql.Tx) {
			harness.Number(t, tx, "SELECT likes FROM post WHERE id = 3")
		},
		"a sum of one's own": func(t *testing.T, _ driver.Conn, tx *sql.Tx) {
			harness.Number(t, tx, "SELECT likes FROM post WHERE id = 1")
		},
		"an argument": func(t *testing.T, _ driver.Conn, tx *sql.Tx) {
			harness.Number(t, tx, "SELECT COUNT(*) FROM note WHERE id = ?", 1)
		},
		"prepared": func(t *testing.T, _ driver.Conn, tx *sql.Tx) {
			stmt, err := tx.PrepareContext(t.Context(), "SELECT COUNT(*) FROM note WHERE id = ?")
			require.NoError(t, err)
			harness.Number(t, harness.StmtQuerier{Stmt: stmt}, "", 1)
			require.NoError(t, stmt.Close())
		},
		"prepared write": func(t *testing.T, _ driver.Conn, tx *sql.Tx) {
			stmt, err := tx.PrepareContext(t.Context(), "INSERT INTO note VALUES (?, 'x')")
			require.NoError(t, err)
			_, err = stmt.ExecContext(t.Context(), 1)
			require.NoError(t, err)
			require.NoError(t, stmt.Close())
		},
		"Raw": func(t *testing.T, raw driver.Conn, _ *sql.Tx) {
			if ours, ok := raw.(interface{ Unwrap() driver.Conn }); ok {
				raw = ours.Unwrap()
			}
			_, err := raw.(driver.ExecerContext).ExecContext(t.Context(), "INSERT INTO note VALUES (1, 'x')", nil)
			require.NoError(t, err)
		},
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		for name, other := range bodies {
			for _, commit := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/commit %v", name, commit), func(t *testing.T) {
					tw.Reset(t)
					var answers [2]string
					for i, db := range []*sql.DB{tw.Plain, tw.Ours} {
						conn, err := db.Conn(t.Context())
						require.NoError(t, err)
						defer conn.Close()
						var raw driver.Conn // database/sql lends it out between transactions only
						require.NoError(t, conn.Raw(func(c any) error {
							raw = c.(driver.Conn)
							return nil
						}))
						sent := tw.Sent.During(func() {
							tx, err := conn.BeginTx(t.Context(), nil)
							require.NoError(t, err)
							harness.Affected(t, tx, harness.LikeOne)
							other(t, raw, tx)
							harness.Affected(t, tx, "UPDATE post SET likes = likes + 2 WHERE id = 2")
							if commit {
								require.NoError(t, tx.Commit())
							} else {
								require.NoError(t, tx.Rollback())
							}
						})
						if db == tw.Ours {
							texts := tw.Sent.OnlyOn(t, conn, sent)
							begins := 0
							for k, text := range texts {
								if text == "BEGIN" {
									begins++
									continue
								}
								if begins == 0 && !strings.HasPrefix(text, "PREPARE ") {
									require.True(t, strings.HasPrefix(text, "SELECT ") && strings.Contains(text, "`post`"), "before BEGIN: %d %s", k, text)
								}
							}
							require.Equal(t, 1, begins, "%q", texts)
							require.Equal(t, map[bool]string{true: "COMMIT", false: "ROLLBACK"}[commit], texts[len(texts)-1])
						}
						answers[i] = harness.Queried(t.Context(), db, "SELECT id, title, likes FROM post ORDER BY id") + harness.Queried(t.Context(), db, "SELECT * FROM note ORDER BY id")
					}
					require.Equal(t, answers[0], answers[1])
				})
			}
		}
		tw = harness.NewBlog(t, srv, harness.BlogCounters()) // whose sessions nobody has changed
		for _, c := range []struct {
			opts  sql.TxOptions
			begin bool
		}{
			{sql.TxOptions{}, false}, {sql.TxOptions{Isolation: sql.LevelReadCommitted}, false}, {sql.TxOptions{Isolation: sql.LevelReadUncommitted}, false},
			{sql.TxOptions{Isolation: sql.LevelRepeatableRead}, false}, {sql.TxOptions{Isolation: sql.LevelSerializable}, true}, {sql.TxOptions{ReadOnly: true}, true},
		} {
			sent := tw.Sent.During(func() {
				tx, err := tw.Ours.BeginTx(t.Context(), &c.opts)
				require.NoError(t, err)
				require.NoError(t, tx.Commit())
			})
			require.Equal(t, c.begin, strings.Contains(shapes(sent), "BEGIN"), "%v", c.opts)
		}
		for _, level := range []sql.IsolationLevel{sql.LevelSnapshot, sql.LevelLinearizable, sql.LevelWriteCommitted, 42} {
			_, want := tw.Plain.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
			_, got := tw.Ours.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
			require.Error(t, want)
			require.Equal(t, want.Error(), got.Error())
		}
	})
}

// deferred are scripts of transactions whose BEGIN may be sent late, in which
// plain MySQL never waits.
var deferred = map[string][]string{
	"level":                 {"A: begin RC", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT COUNT(*) FROM note", "B: INSERT INTO note VALUES (1, '')", "A: SELECT COUNT(*) FROM note", "A: commit"},
	"snapshot":              {"A: begin RR", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "B: INSERT INTO note VALUES (1, '')", "A: SELECT COUNT(*) FROM note", "B: INSERT INTO note VALUES (2, '')", "A: SELECT COUNT(*) FROM note", "A: commit"},
	"dirty":                 {"A: begin RU", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "B: begin", "B: INSERT INTO note VALUES (1, '')", "A: SELECT COUNT(*) FROM note", "B: rollback", "A: commit"},
	"serializable":          {"A: begin S", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1", "A: commit"},
	"level of the next":     {"A: SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "A: begin", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT COUNT(*) FROM note", "B: INSERT INTO note VALUES (1, '')", "A: SELECT COUNT(*) FROM note", "A: commit", "A: begin", "A: SELECT COUNT(*) FROM note", "B: INSERT INTO note VALUES (2, '')", "A: SELECT COUNT(*) FROM note", "A: commit"},
	"the next is read only": {"A: SET TRANSACTION READ ONLY", "A: begin", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: commit", "A: begin", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: commit"},
	"one is read only":      {"A: SET TRANSACTION READ ONLY", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: UPDATE post SET likes = likes + 1 WHERE id = 1"},
	"all are read only":     {"A: SET SESSION TRANSACTION READ ONLY", "A: begin", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: commit", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SET SESSION TRANSACTION READ WRITE", "A: UPDATE post SET likes = likes + 1 WHERE id = 1"},
	"read only inside":      {"A: begin", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SET TRANSACTION READ ONLY", "A: commit"},
	"missing":               {"A: begin", "A: UPDATE post SET likes = likes + 1 WHERE id = 77", "A: UPDATE post SET likes = likes + 1 WHERE id IN (1, 77)", "A: UPDATE post SET likes = likes + 1 WHERE id = 1 AND title = 'no'", "A: commit"},
	"missing, then there":   {"A: begin", "A: UPDATE post SET likes = likes + 1 WHERE id = 77", "A: INSERT INTO post (id, slug) VALUES (77, 'z')", "A: UPDATE post SET likes = likes + 1 WHERE id = 77", "A: commit"},
	"upserts":               {"A: begin", "A: INSERT INTO page (day, name, hits) VALUES ('2026-01-02', 'HOME', 1) ON DUPLICATE KEY UPDATE hits = hits + 1", "A: INSERT INTO page (day, name, hits) VALUES ('2026-01-05', 'new', 1) ON DUPLICATE KEY UPDATE hits = hits + 1", "A: INSERT INTO page (day, name, hits) VALUES ('2026-01-05', 'new', 1) ON DUPLICATE KEY UPDATE hits = hits + 1", "A: commit"},
	"savepoints":            {"A: begin", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SAVEPOINT a", "A: UPDATE post SET likes = likes + 10 WHERE id = 1", "A: ROLLBACK TO a", "A: UPDATE post SET likes = likes + 100 WHERE id = 2", "A: commit"},
	"unknown savepoint":     {"A: begin", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: ROLLBACK TO a", "A: commit"},
	"a mistake":             {"A: begin", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELEC 1", "A: UPDATE post SET nolikes = 1", "A: UPDATE post SET likes = likes + 1 WHERE nocol = 1", "A: commit"},
	"several tables":        {"A: begin", "A: UPDATE post SET likes = likes + 1 WHERE id IN (1, 2)", "A: UPDATE page SET hits = hits + 1 WHERE day = '2026-01-02' AND name = 'home'", "A: commit"},
	"several, rolled back":  {"A: begin", "A: UPDATE post SET likes = likes + 1 WHERE id IN (1, 2)", "A: UPDATE page SET hits = hits + 1 WHERE day = '2026-01-02' AND name = 'home'", "A: rollback"},
	"one after another":     {"A: begin", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: commit", "A: begin", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: rollback", "A: begin", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: commit", "A: UPDATE post SET likes = likes + 1 WHERE id = 1"},
	"DDL":                   {"A: begin", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: CREATE TABLE made (id INT)", "A: rollback", "A: DROP TABLE made"},
	"text inside":           {"A: begin", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: COMMIT", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: rollback"},
	"text rolls back":       {"A: begin", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: ROLLBACK", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: commit"},
	"consumed level":        {"A: SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "A: SELECT COUNT(*) FROM note", "A: BEGIN", "A: SELECT likes FROM post WHERE id = 1", "B: UPDATE post SET likes = likes + 10, title = 'b' WHERE id = 1", "A: UPDATE post SET likes = likes + 1 WHERE id = 2", "A: SELECT id, likes, title FROM post ORDER BY id", "A: COMMIT"},
}

// TestDeferredBegin proves that it can't be told when BEGIN is sent.
func TestDeferredBegin(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, config := range []*countermysql.Config{harness.BlogCounters(), {Tables: harness.BlogCounters().Tables, NoGroupCommit: true}, harness.ReadOwnSnapshot(harness.BlogCounters())} {
			tw := harness.NewBlog(t, srv, config, "innodb_lock_wait_timeout=1")
			tw.Plain.SetMaxIdleConns(-1) // what SET TRANSACTION leaves is not for the next case
			tw.Ours.SetMaxIdleConns(-1)
			for name, steps := range deferred {
				t.Run(name, func(t *testing.T) {
					tw.Reset(t)
					tw.Play(t, slices.Concat(steps, harness.Everything)...)
				})
			}
		}
	})
}

// TestManyKeysInTransaction proves that a transaction of more increments than a
// batch holds, in several tables, is committed as a whole or not at all.
func TestManyKeysInTransaction(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "interpolateParams=true")
		for from := 1000; from < 2100; from += 100 {
			var rows []string
			for id := from; id < from+100; id++ {
				rows = append(rows, fmt.Sprintf("(%d, 's%d', 0)", id, id))
			}
			harness.Affected(t, tw.Direct, "INSERT INTO post (id, slug, likes) VALUES "+strings.Join(rows, ", "))
		}
		for _, keys := range []int{499, 500, 501, 1100} {
			for _, missing := range []bool{false, true} {
				before := harness.Number(t, tw.Ours, "SELECT SUM(likes) FROM post WHERE id >= 1000")
				tx, err := tw.Ours.BeginTx(t.Context(), nil)
				require.NoError(t, err)
				for from := 1000; from < 1000+keys; from += 100 {
					var ids []string
					for id := from; id < min(from+100, 1000+keys); id++ {
						ids = append(ids, fmt.Sprint(id))
					}
					require.EqualValues(t, len(ids), harness.Affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id IN ("+strings.Join(ids, ", ")+")"))
				}
				want := before + int64(keys)
				if missing { // deleted by somebody: the increment goes with the row
					want -= 1 + harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1007")
					harness.Affected(t, tw.Ours, "DELETE FROM post WHERE id = 1007")
				}
				require.NoError(t, tx.Commit())
				require.Equal(t, want, harness.Number(t, tw.Ours, "SELECT SUM(likes) FROM post WHERE id >= 1000"))
				if missing {
					harness.Affected(t, tw.Ours, "INSERT INTO post (id, slug, likes) VALUES (1007, 's1007', 0)")
				}
			}
		}
	})
}

// TestMovedRows proves that increments of a transaction find a row that others
// re-keyed meanwhile by the condition they were made with, and go with a row
// that others deleted.
func TestMovedRows(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, c := range []struct{ increment, between, want string }{
			{"UPDATE post SET likes = likes + 100 WHERE slug = 'a'", "UPDATE post SET id = 9 WHERE id = 1", "9 110"},
			{"UPDATE post SET likes = likes + 100 WHERE id = 1", "UPDATE post SET id = 9 WHERE id = 1", "9 10"},
			{"UPDATE post SET likes = likes + 100 WHERE id = 1", "UPDATE post SET slug = 'z' WHERE id = 1", "1 110"},
			{"UPDATE post SET likes = likes + 100 WHERE id = 1", "DELETE FROM post WHERE id = 1", ""},
			{"UPDATE post SET likes = likes + 100 WHERE slug = 'a'", "DELETE FROM post WHERE id = 1", ""},
			{"UPDATE post SET likes = likes + 100 WHERE id = 1", "DELETE FROM post WHERE id = 1; INSERT INTO post (id, slug, likes) VALUES (1, 'a', 5)", "1 105"},
			{"UPDATE post SET likes = likes + 100 WHERE id = 1", "UPDATE post SET likes = 7 WHERE id = 1", "1 107"},
			{"UPDATE post SET likes = likes + 100 WHERE id IN (1, 2)", "DELETE FROM post WHERE id = 2", "1 110"},
		} {
			for _, begun := range []bool{false, true} {
				tw := harness.NewBlog(t, srv, harness.BlogCounters())
				tx, err := tw.Ours.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
				require.NoError(t, err)
				if begun {
					harness.Affected(t, tx, "INSERT INTO note VALUES (1, '')")
				}
				harness.Affected(t, tx, c.increment)
				for _, s := range strings.Split(c.between, "; ") {
					harness.Affected(t, tw.Ours, s)
				}
				require.NoError(t, tx.Commit())
				var got []string
				rows, err := tw.Ours.Query("SELECT id, likes FROM post WHERE id IN (1, 9) ORDER BY id")
				require.NoError(t, err)
				for rows.Next() {
					var id, likes int
					require.NoError(t, rows.Scan(&id, &likes))
					got = append(got, fmt.Sprint(id, " ", likes))
				}
				rows.Close()
				require.Equal(t, c.want, strings.Join(got, ", "), "%v, begun %v", c, begun)
				require.Zero(t, tw.Orphans(t))
			}
		}
	})
}

// TestBeginCancelled proves that a transaction whose context ends counts nothing.
func TestBeginCancelled(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		before := harness.Number(t, tw.Ours, "SELECT SUM(likes) FROM post")
		for _, begun := range []bool{false, true} {
			ctx, cancel := context.WithCancel(t.Context())
			tx, err := tw.Ours.BeginTx(ctx, nil)
			require.NoError(t, err)
			if begun {
				harness.Number(t, tx, "SELECT COUNT(*) FROM note")
			}
			harness.Affected(t, tx, harness.LikeOne)
			cancel()
			require.Eventually(t, func() bool { return tw.Ours.Stats().InUse == 0 }, 5*time.Second, time.Millisecond)
			require.Error(t, tx.Commit())
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := tw.Ours.BeginTx(ctx, nil)
		require.ErrorIs(t, err, context.Canceled)
		for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
			_, err = harness.Session(t, db).BeginTx(ctx, nil)
			require.ErrorIs(t, err, context.Canceled, "on a connection that is held")
		}
		require.Equal(t, before, harness.Number(t, tw.Ours, "SELECT SUM(likes) FROM post"))
	})
}
