package reads

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// topTable is a table with an index on its counter.
type topTable struct {
	name, create, key, touch string
	value                    func(r *rand.Rand) string // of the counter
	id, where                func(i int) string        // of a row
}

var topTables = []topTable{
	{
		name: "post", key: "id", id: func(i int) string { return fmt.Sprint(i) }, where: func(i int) string { return fmt.Sprintf("id = %d", i) },
		create: "CREATE TABLE post (id INT PRIMARY KEY, likes INT NULL, title VARCHAR(9) NOT NULL, kind ENUM('a', 'b') NOT NULL, gone DATETIME NULL, KEY (likes))",
		value: func(r *rand.Rand) string {
			if r.IntN(8) == 0 {
				return "NULL"
			}
			return fmt.Sprint(r.IntN(60) - 20)
		},
	},
	{
		name: "page", key: "day, name", id: func(i int) string { return fmt.Sprintf("'2024-01-%02d', '%c'", i%4+1, 'a'+i/4) },
		where:  func(i int) string { return fmt.Sprintf("day = '2024-01-%02d' AND name = '%c'", i%4+1, 'A'+i/4) },
		create: "CREATE TABLE page (day DATE, name VARCHAR(9) COLLATE utf8mb4_general_ci, likes DECIMAL(9,2) NOT NULL, title VARCHAR(9) NOT NULL, kind ENUM('a', 'b') NOT NULL, gone DATETIME NULL, PRIMARY KEY (day, name), KEY (likes))",
		value:  func(r *rand.Rand) string { return fmt.Sprintf("%d.%02d", r.IntN(40), r.IntN(3)*25) },
	},
	{
		name: "item", key: "seen, id", touch: "seen", id: func(i int) string { return fmt.Sprintf("'Key %d'", i) }, where: func(i int) string { return fmt.Sprintf("id = 'kEY %d'", i) },
		create: "CREATE TABLE item (id VARCHAR(9) COLLATE utf8mb4_general_ci PRIMARY KEY, likes BIGINT UNSIGNED NOT NULL, title VARCHAR(9) NOT NULL, kind ENUM('a', 'b') NOT NULL, gone DATETIME NULL, seen DATETIME NULL, KEY (likes, seen))",
		value:  func(r *rand.Rand) string { return fmt.Sprint(9 + r.IntN(30)) },
	},
}

// TestTop proves that the first rows by a counter are those of plain MySQL: with
// slots that lift rows into them and drop rows out of them, in either order, with
// conditions and offsets, as text and prepared. They are read by the index.
func TestTop(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, table := range topTables {
			t.Run(table.name, func(t *testing.T) {
				c := harness.Counters(table.name, "likes")
				if table.touch != "" {
					c.Tables[0].Touch = []string{table.touch}
				}
				tw := harness.NewTwin(t, srv, table.create+";\n", c, "timestamp=1700000000", "sql_mode='ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE'") // both have the same NOW()
				r := rand.New(rand.NewPCG(1, 2))
				for range 6 {
					table.refill(t, tw, r)
					for range 12 {
						table.read(t, tw, r)
					}
				}
			})
		}
	})
}

// refill makes rows, some of which have slots.
func (table topTable) refill(t *testing.T, tw *harness.Twin, r *rand.Rand) {
	t.Helper()
	statements := []string{"DELETE FROM " + table.name}
	for i := range 40 {
		gone := "NULL"
		if r.IntN(4) == 0 {
			gone = "'2024-02-03'"
		}
		cols := strings.ReplaceAll(table.key, "seen, ", "")
		statements = append(statements, fmt.Sprintf("INSERT INTO %s (%s, likes, title, kind, gone) VALUES (%s, %s, 't%d', %d, %s)",
			table.name, cols, table.id(i), table.value(r), r.IntN(3), 1+r.IntN(2), gone))
	}
	for range 1 + r.IntN(25) {
		set := fmt.Sprintf("likes = likes + %d", r.IntN(60))
		if table.name != "item" && r.IntN(2) == 0 { // a decrement of an unsigned counter goes to the base row
			set = fmt.Sprintf("likes = likes - %d", r.IntN(60))
		}
		if table.touch != "" {
			set += ", seen = NOW()"
		}
		statements = append(statements, "UPDATE "+table.name+" SET "+set+" WHERE "+table.where(r.IntN(40)))
	}
	for _, stmt := range statements {
		require.Equal(t, harness.Affected(t, tw.Plain, stmt), harness.Affected(t, tw.Ours, stmt), stmt)
	}
	require.Positive(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM "+table.name+"_slots"))
}

// read compares one query, whose order is total.
func (table topTable) read(t *testing.T, tw *harness.Twin, r *rand.Rand) {
	t.Helper()
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	desc := pick(" DESC", " DESC", "")
	query := "SELECT " + pick("*", table.key+", likes", "likes AS likes, title", "t.*, t.likes + 1", "? AS x, likes") + " FROM " + table.name + " t"
	query += pick("", "", " WHERE gone IS NULL", " WHERE title <> ?", " WHERE (kind = 'b' OR t.likes > ?) AND t.title NOT IN ('x', ?) AND likes <> ?", " WHERE likes >= ? -- many\n")
	query += " ORDER BY t.likes" + desc + ", " + strings.ReplaceAll(table.key, ",", desc+",") + desc
	query += pick(" LIMIT ?", " LIMIT ?, ?", " LIMIT ? OFFSET ?")
	var args []any
	literal := query
	for i := strings.IndexByte(query, '?'); i >= 0; {
		var arg any = r.IntN(9)
		if strings.HasSuffix(query[:i], "title <> ") || strings.HasSuffix(query[:i], "'x', ") {
			arg = fmt.Sprintf("t%d", r.IntN(3))
			literal = strings.Replace(literal, "?", fmt.Sprintf("'%s'", arg), 1)
		} else {
			literal = strings.Replace(literal, "?", fmt.Sprint(arg), 1)
		}
		args = append(args, arg)
		next := strings.IndexByte(query[i+1:], '?')
		if next < 0 {
			break
		}
		i += 1 + next
	}
	sent := tw.Sent.During(func() {
		tw.Same(t, literal)
		tw.Same(t, query, args...)
		tw.SameInTransaction(t, query, args...)
	})
	top, looked := 0, 0
	for _, s := range sent {
		switch {
		case strings.HasPrefix(s.Text, "PREPARE"):
		case strings.Contains(s.Text, "UNION ALL"):
			top++
		case looks(s): // a second later; LIMIT 0 tells nothing, and is the answer
			looked++
		}
	}
	require.LessOrEqual(t, top, 3, "%v", sent)
	require.GreaterOrEqual(t, top+looked, 3, "%v", sent)
}

// TestTopByDates proves that the first rows by a counter are read by the index also
// where the key has dates, and from all rows where one of the first has a date that
// the server does not keep under the sql_mode.
func TestTopByDates(t *testing.T) {
	const schema = `
SET sql_mode = '';
CREATE TABLE page (at TYPE, n INT NOT NULL, hits INT NOT NULL DEFAULT 0, PRIMARY KEY (at, n), KEY (hits));
INSERT INTO page VALUES ('2026-00-00', 1, 30), ('2026-01-00', 1, 20), ('0000-00-00', 1, 90), ('2026-01-02', 1, 80), ('2026-01-02', 2, 5), ('2026-01-03', 1, 70), ('2026-01-04', 1, 60);
SET sql_mode = DEFAULT;
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, mode := range []string{"", "NO_ZERO_IN_DATE", "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"} {
			for _, key := range []string{"DATE", "DATETIME(3)"} {
				tw := harness.NewTwin(t, srv, strings.ReplaceAll(schema, "TYPE", key), harness.Counters("page", "hits"), "sql_mode='"+mode+"'")
				tw.Play(t, "A: UPDATE page SET hits = hits + 60 WHERE at = '2026-01-02' AND n = 2")
				for limit, all := range map[int]bool{2: false, 4: false, 5: mode != "", 7: mode != ""} { // of those without slots
					const query = "SELECT n, hits FROM page ORDER BY hits DESC, at DESC, n DESC LIMIT ?"
					sent := tw.Sent.During(func() {
						tw.Same(t, query, limit)
						tw.Same(t, strings.Replace(query, "?", fmt.Sprint(limit), 1))
						tw.SameInTransaction(t, query, limit)
						_, err := tw.Ours.Exec(query, limit)
						require.NoError(t, err)
					})
					var top, other int
					for _, s := range sent {
						switch {
						case strings.HasPrefix(s.Text, "PREPARE"), looks(s):
						case strings.Contains(s.Text, "UNION ALL"):
							top++
						case strings.HasPrefix(s.Text, "SELECT") && strings.Contains(s.Text, "page_slots") && !strings.Contains(s.Text, "LIMIT 0"):
							other++
						}
					}
					require.Equal(t, []any{4, all}, []any{top, other > 0}, "%s %s %d: %v", mode, key, limit, sent)
				}
			}
		}
	})
}

// TestTopFallsBack proves that a query for the first rows whose LIMIT is no
// number, or large, is answered as it always was.
func TestTopFallsBack(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, topTables[0].create+";\n", harness.Counters("post", "likes"))
		topTables[0].refill(t, tw, rand.New(rand.NewPCG(3, 4)))
		const query = "SELECT id, likes FROM post ORDER BY likes DESC, id DESC LIMIT ?"
		for _, arg := range []any{100000, -1, nil, "3", 2.5, uint64(1 << 63)} {
			tw.Same(t, query, arg)
		}
		tw.Same(t, query)
		tw.Same(t, query, 1, 2)
	})
}

// TestTopJoined proves that the first rows by a counter of joined tables, or by one
// without an index, are those of plain MySQL and made of few: rows with slots and the
// first of the others.
func TestTopJoined(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL, views INT NOT NULL, member INT NULL, gone DATETIME NULL, KEY (likes));
CREATE TABLE member (id INT PRIMARY KEY, points INT NOT NULL, name VARCHAR(9) NOT NULL);
CREATE TABLE tag (post INT NOT NULL, name VARCHAR(9) NOT NULL, PRIMARY KEY (post, name));
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, &countermysql.Config{Tables: []countermysql.TableConfig{{Table: "post", Counters: []string{"likes", "views"}}, {Table: "member", Counters: []string{"points"}}}})
		r := rand.New(rand.NewPCG(7, 7))
		pick := func(of ...string) string { return of[r.IntN(len(of))] }
		for i := range 40 {
			tw.Play(t, fmt.Sprintf("A: INSERT INTO post VALUES (%d, %d, %d, NULLIF(%d, 0), NULL)", i, r.IntN(20), r.IntN(20), r.IntN(8)))
			tw.Play(t, fmt.Sprintf("A: INSERT INTO member VALUES (%d, %d, 'n%d')", i, r.IntN(20), i%3))
			for _, name := range []string{"a", "b", "c"}[:r.IntN(4)] {
				tw.Play(t, fmt.Sprintf("A: INSERT INTO tag VALUES (%d, '%s')", i, name))
			}
		}
		joins := []string{
			"post p", "post p JOIN member m ON m.id = p.member", "post p LEFT JOIN member m ON m.id = p.member", "member m RIGHT JOIN post p ON p.member = m.id",
			"post AS p INNER JOIN (member m JOIN tag g ON g.post = m.id) ON m.id = p.member", "tag g JOIN post p ON (g.post = p.id)", "post p LEFT JOIN tag g ON g.post = p.id",
			"member m JOIN post p ON p.member = m.id AND m.points = m.points", // reads a counter of the other table
			"member m LEFT JOIN post p ON p.member = m.id",                    // may lack the post
		}
		made := map[string]bool{}
		for round := range 60 {
			for range 1 + r.IntN(4) {
				tw.Play(t, fmt.Sprintf("A: UPDATE post SET %s = %[1]s %s %d WHERE id = %d", pick("likes", "views"), pick("+", "-"), r.IntN(30), r.IntN(40)),
					fmt.Sprintf("A: UPDATE member SET points = points + %d WHERE id = %d", r.IntN(30), r.IntN(8)))
			}
			from := joins[round%len(joins)]
			by, desc := pick("likes", "views"), pick(" DESC", "")
			list, order := "p.*", "p."+by+desc+", p.id"+desc
			if strings.HasSuffix(from, "LEFT JOIN post p ON p.member = m.id") {
				order += ", m.id"
			}
			if strings.Contains(from, "member") {
				list += ", m.points, m.name"
			}
			if strings.Contains(from, "tag") {
				list = "p.id, p.likes" // several rows of a post have no order
			}
			query := "SELECT " + list + " FROM " + from + pick("", " WHERE p.gone IS NULL", " WHERE p."+by+" <> ?") + " ORDER BY " + order + pick(" LIMIT 7", " LIMIT ?", " LIMIT ?, 5")
			args := make([]any, strings.Count(query, "?"))
			for i := range args {
				args[i] = r.IntN(9)
			}
			for _, s := range tw.Sent.During(func() { tw.Same(t, query, args...); tw.SameInTransaction(t, query, args...) }) {
				made[from] = made[from] || strings.Contains(s.Text, "AS countermysql_slots STRAIGHT_JOIN")
			}
		}
		for i, from := range joins {
			require.Equal(t, i < len(joins)-2, made[from], from) // the last two may not
		}
	})
}

// TestTopBesideTemporary proves that a join with a temporary table, which MySQL lets no
// statement name twice, is answered.
func TestTopBesideTemporary(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, topTables[0].create+";\n", harness.Counters("post", "likes"))
		tw.Play(t, "A: INSERT INTO post VALUES (1, 5, '', 'a', NULL), (2, 4, '', 'a', NULL), (3, 3, '', 'a', NULL)", "A: UPDATE post SET likes = likes + 9 WHERE id = 3",
			"A: CREATE TEMPORARY TABLE mine (id INT PRIMARY KEY)", "A: INSERT INTO mine VALUES (1), (3)",
			"A: SELECT p.id, p.likes FROM post p JOIN mine ON mine.id = p.id ORDER BY p.likes DESC LIMIT 2")
	})
}
