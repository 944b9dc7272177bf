package writes

import (
	"context"
	"database/sql"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

func quoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// TestHostileNames proves that tables and columns may have any name: wherever
// SQL is built, each is a name and nothing else.
func TestHostileNames(t *testing.T) {
	names := []string{"select", "a b", "a.b", "it's", `say "x"`, "tick`", "Größe", "計数", `back\slash`, "x-- y", "/* c */", "a;b", "?", "rank", "slot", "key", "100", "1e5", "n,m", "(n)", "%s", "$1", "countermysql_k0", "@v", "*", "#"}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for i, name := range names {
			t.Run(name, func(t *testing.T) {
				table, id, second, n, m, at, other := name, name, names[(i+1)%len(names)], names[(i+2)%len(names)], names[(i+3)%len(names)], names[(i+4)%len(names)], names[(i+5)%len(names)]
				q := quoted
				schema := fmt.Sprintf("CREATE TABLE %s (%s INT NOT NULL, %s VARCHAR(20) NOT NULL, %s INT NOT NULL DEFAULT 5, %s DECIMAL(10,2) NULL DEFAULT 0, %s DATETIME(6) NULL, %s VARCHAR(20) NULL, PRIMARY KEY (%s, %s), UNIQUE KEY (%s));\n"+
					"INSERT INTO %s (%s, %s, %s) VALUES (1, 'a', 'x'), (2, 'b', NULL), (3, 'c', 'x');\n", q(table), q(id), q(second), q(n), q(m), q(at), q(other), q(id), q(second), q(second), q(table), q(id), q(second), q(other))
				config := &countermysql.Config{Tables: []countermysql.TableConfig{{Table: quoted(table), Counters: []string{quoted(n), quoted(m)}, Touch: []string{quoted(at)}, SlotsTable: quoted(names[(i+6)%len(names)])}}}
				tw := harness.NewTwin(t, srv, schema, config, "interpolateParams=true")
				fill := strings.NewReplacer("{t}", q(table), "{id}", q(id), "{key}", q(second), "{n}", q(n), "{m}", q(m), "{at}", q(at), "{other}", q(other))
				steps := []string{
					"A: UPDATE {t} SET {n} = {n} + 1 WHERE {id} = 1 AND {key} = 'a'",
					"A: UPDATE {t} SET {n} = {n} + 1, {m} = {m} - 0.5 WHERE {t}.{id} = 1 AND {t}.{key} = 'a' AND {t}.{other} IS NOT NULL",
					"A: UPDATE {t} SET {n} = {n} + 1 WHERE {key} = 'b'", "A: UPDATE {t} AS x SET x.{n} = x.{n} + 1 WHERE x.{key} IN ('a', 'c', 'd')",
					"A: UPDATE {t} SET {n} = {n} + 1, {at} = NOW(6) WHERE {key} = 'b'",
					"A: UPDATE {t} SET {n} = {n} + 1 WHERE {id} = 9 AND {key} = 'a'",
					"A: SELECT {id}, {n}, {m} FROM {t} ORDER BY {id}", "A: SELECT {t}.{n} + {t}.{m} FROM {t} WHERE {t}.{n} > 5 ORDER BY {t}.{n}, {t}.{id}", "A: SELECT SUM({n}), MAX({m}) FROM {t}",
					"A: begin", "A: UPDATE {t} SET {n} = {n} + 10 WHERE {id} IN (1, 2, 3) AND {key} IN ('a', 'b', 'c')", "A: SELECT {n} FROM {t} WHERE {key} = 'a'", "A: SAVEPOINT s", "A: UPDATE {t} SET {m} = {m} + 1.25 WHERE {key} = 'c'", "A: ROLLBACK TO s", "A: commit",
					"A: begin", "A: UPDATE {t} SET {n} = {n} + 10 WHERE {key} = 'a'", "A: UPDATE {t} SET {n} = {n} + 10 WHERE {key} = 'b'", "A: commit",
					"A: UPDATE {t} SET {n} = GREATEST({n} - 100, 0) WHERE {key} = 'b'", "A: SELECT {n} FROM {t} WHERE {key} = 'c' FOR UPDATE",
					"A: UPDATE {t} SET {other} = 'z' WHERE {n} > 10", "A: DELETE FROM {t} WHERE {key} = 'c'", "A: INSERT INTO {t} ({id}, {key}) VALUES (3, 'c')",
					"A: UPDATE {t} SET {key} = 'aa' WHERE {key} = 'a'", "Z: SELECT {id}, {key}, {n}, {m}, {other}, {at} IS NULL FROM {t} ORDER BY {id}",
				}
				for i, s := range steps {
					steps[i] = fill.Replace(s)
				}
				require.NotContains(t, strings.Join(tw.Play(t, steps...), "\n"), "error")
				_, err := countermysql.Rollup(t.Context(), tw.Ours, nil)
				require.NoError(t, err)
				last := strings.TrimPrefix(steps[len(steps)-1], "Z: ")
				require.Equal(t, harness.Queried(t.Context(), tw.Plain, last), harness.Queried(t.Context(), tw.Direct, last), "in the base rows")
				var clients [8]*sql.Conn // a batch
				for i := range clients {
					clients[i] = harness.Session(t, tw.Ours)
				}
				g := harness.NewGateOn(t, tw.Sent, func(query string) bool {
					return strings.HasPrefix(query, "INSERT INTO") || strings.HasPrefix(query, "SET STATEMENT")
				})
				like := fill.Replace("UPDATE {t} SET {n} = {n} + 1 WHERE {key} = ")
				answers := []<-chan string{harness.Later(t, clients[0], like+"'b'")}
				select {
				case <-g.Reached:
				case a := <-answers[0]:
					require.Fail(t, "it did not go to a slot", a)
				}
				for i, c := range clients[1:] {
					answers = append(answers, harness.Later(t, c, like+[]string{"'b'", "'c'"}[i%2]))
				}
				require.Eventually(t, func() bool { return tw.Ours.Stats().InUse == len(clients) }, 5*time.Second, time.Millisecond)
				g.Open()
				for _, a := range answers {
					require.Equal(t, "affected 1", harness.Soon(t, a))
				}
				for range 5 {
					harness.Affected(t, tw.Plain, like+"'b'")
				}
				for range 3 {
					harness.Affected(t, tw.Plain, like+"'c'")
				}
				tw.Same(t, last)
			})
		}
	})
}

// TestHostileValues proves that values that look like SQL, and texts and lists
// of any size, are taken as on plain MySQL.
func TestHostileValues(t *testing.T) {
	values := []any{"'", "''", `\`, `\'`, "' OR '1'='1", "'; DROP TABLE post; -- ", "\x00", "a\x00b", "/*! x */", "?", "%", "_", "\n", "\x1a", `"`, "`", "\xff", "é\xff", "ａ", strings.Repeat("x", 20), strings.Repeat("x", 1<<20), []byte("'"), []byte{0, 1, 255}, []byte{}, ""}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range [][]string{{"interpolateParams=true"}, {"interpolateParams=false"}, {"interpolateParams=true", "sql_mode=%27NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES%27"}} {
			tw := harness.NewTwin(t, srv, "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(30) NULL UNIQUE, b VARBINARY(30) NOT NULL UNIQUE, title VARCHAR(30) NOT NULL DEFAULT '', n INT NOT NULL DEFAULT 0);\n", harness.Counters("t", "n"), params...)
			for i, v := range values {
				text := asText(v)
				if len(text) > 30 {
					continue
				}
				for _, db := range []*sql.DB{tw.Plain, tw.Direct} {
					_, err := db.Exec(fmt.Sprintf("INSERT IGNORE INTO t (id, s, b, title) VALUES (%d, IF(%d, X'%x', NULL), X'%x', '')", i, map[bool]int{true: 1}[strings.ToValidUTF8(text, "") == text], text, text))
					require.NoError(t, err)
				}
			}
			for _, stmt := range []string{"UPDATE t SET n = n + 1 WHERE s = ?", "UPDATE t SET n = n + 1 WHERE b = ?", "UPDATE t SET n = n + 1 WHERE id = 1 AND title <> ?", "UPDATE t SET n = n + 1 WHERE s IN (?, 'x')", "UPDATE t SET n = n + 1, title = LEFT(?, 5) WHERE id = 2"} {
				for _, v := range values {
					if !utf8.ValidString(asText(v)) && strings.Contains(stmt, "title") {
						continue // no text: in a condition beside the key, or a value, the two servers read it in their ways
					}
					for _, tx := range []bool{false, true} {
						run := func(db *sql.DB) string {
							if !tx {
								return harness.Told2(db.Exec(stmt, v))
							}
							x, err := db.Begin()
							require.NoError(t, err)
							defer x.Rollback()
							answer := harness.Told2(x.Exec(stmt, v))
							return answer + harness.Told(x.Commit())
						}
						require.Equal(t, run(tw.Plain), run(tw.Ours), "%s with %.40q, %v, in a transaction %v", stmt, v, params, tx)
					}
				}
			}
			tw.Same(t, "SELECT id, n FROM t ORDER BY id")
		}
	})
}

// TestHostileTexts proves that bytes which are no character of the text are
// taken as by the server, which reads none of them as a space.
func TestHostileTexts(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0);\nINSERT INTO t (id) VALUES (1)", harness.Counters("t", "n"))
		for _, between := range []string{"\x85", "\xa0", " \x85", " \xa0", "\u00a0", " \u0085 ", "\u3000", "\xff "} {
			for _, stmt := range []string{"UPDATE%st SET n = n + 1 WHERE id = 1", "UPDATE t SET n =%sn + 1 WHERE id = 1", "UPDATE t SET n = n + 1 WHERE%sid = 1", "SELECT n FROM%st", "DELETE FROM t WHERE%sn > 99"} {
				text := fmt.Sprintf(stmt, between)
				run := func(db *sql.DB) string { return harness.Told2(db.Exec(text)) }
				require.Equal(t, run(tw.Plain), run(tw.Ours), "%q", text)
			}
		}
		tw.Same(t, "SELECT id, n FROM t")
	})
}

func asText(v any) string {
	if bytes, ok := v.([]byte); ok {
		return string(bytes)
	}
	return v.(string)
}

// TestBigStatements proves that texts of a megabyte and lists of 64 kB are
// taken as on plain MySQL, and that many texts do not fill the memory.
func TestBigStatements(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "interpolateParams=true")
		var ids strings.Builder
		for id := 1; ids.Len() < 1<<16; id++ {
			fmt.Fprintf(&ids, "%d, ", id)
		}
		list := "(" + ids.String() + "1)"
		mb := strings.Repeat("x", 1<<20)
		var or []string
		for i := range 5000 {
			or = append(or, fmt.Sprintf("title <> 't%d'", i))
		}
		tw.Play(t,
			"A: UPDATE post SET likes = likes + 1 WHERE id IN "+list,
			"A: UPDATE post SET likes = likes + 1 WHERE id = 1 AND title <> '"+mb+"'",
			"A: UPDATE post SET likes = likes + 1 /* "+mb+" */ WHERE id = 1",
			"A: UPDATE post SET likes = likes + 1 WHERE id IN (1, 2) AND "+strings.Join(or, " AND "),
			"A: SELECT id, likes FROM post WHERE id IN "+list+" ORDER BY id",
			"A: SELECT COUNT(*), SUM(likes) FROM post WHERE title <> '"+mb+"'",
			"A: begin", "A: UPDATE post SET likes = likes + 1 WHERE id IN "+list, "A: UPDATE post SET likes = likes + 1 WHERE id = 1 AND title <> '"+mb+"'", "A: SELECT likes FROM post WHERE id IN "+list+" ORDER BY id", "A: commit",
			"A: INSERT INTO note VALUES (1, ''), "+manyNotes(20000), "A: SELECT COUNT(*) FROM note",
			"Z: SELECT * FROM post ORDER BY id")
		conn := harness.Session(t, tw.Ours)
		measure := func() uint64 {
			tw.Sent.Mu.Lock()
			tw.Sent.All = nil // the test's own memory
			tw.Sent.Mu.Unlock()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		many := func(from int) {
			for i := from; i < from+2500; i++ {
				_, err := conn.ExecContext(context.Background(), fmt.Sprintf("UPDATE post SET likes = likes + 1 WHERE id = 1 AND title <> 'a%d' /* %d */", i, i))
				require.NoError(t, err)
			}
		}
		many(0)
		first := measure()
		many(2500)
		second := measure()
		require.Less(t, second, first+8<<20, "2500 more texts took %d bytes", int64(second)-int64(first))
	})
}

func manyNotes(n int) string {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf("(%d, 'n')", i+2)
	}
	return strings.Join(rows, ", ")
}
