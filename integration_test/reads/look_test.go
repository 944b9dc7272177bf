package reads

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// looks tells what is sent to see whether a table has slots at all.
func looks(s harness.Sending) bool {
	return strings.Contains(s.Text, ", (SELECT MIN(countermysql_slots.") || strings.Contains(s.Text, ", (SELECT CONCAT")
}

const lookForum = `
CREATE TABLE user (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL, points INT UNSIGNED NOT NULL DEFAULT 0);
CREATE TABLE post (id INT PRIMARY KEY, user_id INT NOT NULL, title VARCHAR(50) NULL, likes INT NOT NULL DEFAULT 0, score DECIMAL(9,2) NULL,
  views BIGINT UNSIGNED NOT NULL DEFAULT 0, changed DATETIME(3) NULL, KEY likes (likes), KEY (user_id, likes));
CREATE TABLE odd (id INT PRIMARY KEY, ` + "`odd.n`" + ` INT NOT NULL, n INT NOT NULL, m INT NOT NULL);
INSERT INTO odd VALUES (1, 2, 3, 4);
INSERT INTO user VALUES (1, 'ann', 3), (2, 'bob', 1), (3, 'cid', 0);
INSERT INTO post VALUES (1, 1, 'a', 5, 1.50, 7, '2026-01-01'), (2, 1, 'b', 0, NULL, 18446744073709551610, NULL), (3, 2, NULL, 9, 0, 3, '2026-01-03'),
  (4, 2, 'd', 5, -2.25, 0, NULL), (5, 3, 'e', 2, 7, 1, '2026-01-02');
`

func lookCounters() *countermysql.Config {
	return &countermysql.Config{Tables: []countermysql.TableConfig{
		{Table: "post", Counters: []string{"likes", "score", "views"}, Touch: []string{"changed"}}, {Table: "user", Counters: []string{"points"}}, {Table: "odd", Counters: []string{"n", "m"}}}}
}

// lookForms are queries that are sent as they were written where there are no slots, and
// their arguments.
var lookForms = map[string][]any{
	"SELECT * FROM post WHERE id = ?":                                                                                       {3},
	"SELECT*FROM post ORDER BY likes DESC, id LIMIT 2":                                                                      nil,
	"SELECT likes + 1 /* x */ FROM post ORDER BY id":                                                                        nil,
	"SELECT likes AS n, p.* FROM post AS p ORDER BY n, id":                                                                  nil,
	"SELECT id AS next, likes sleep, (SELECT MAX(name) FROM user) FROM post ORDER BY next":                                  nil,
	"SELECT DISTINCT likes FROM post ORDER BY likes":                                                                        nil,
	"SELECT COUNT(*) FROM post WHERE likes = ?":                                                                             {0},
	"SELECT MAX(likes), MIN(views), SUM(score), AVG(likes) FROM post":                                                       nil,
	"SELECT MAX(likes) FROM post WHERE user_id = ? AND views < 9":                                                           {9},
	"SELECT user_id, SUM(likes) s FROM post GROUP BY user_id HAVING s > ? ORDER BY s DESC":                                  {4},
	"SELECT likes, COUNT(*) FROM post GROUP BY likes ORDER BY 1":                                                            nil,
	"SELECT id, likes, RANK() OVER (ORDER BY likes DESC) AS place FROM post ORDER BY place, id":                             nil,
	"SELECT p.id, p.likes, u.name, u.points FROM post p JOIN user u ON u.id = p.user_id ORDER BY p.likes, p.id LIMIT 3":     nil,
	"SELECT u.name, (SELECT SUM(likes) FROM post WHERE user_id = u.id) FROM user u ORDER BY u.id":                           nil,
	"SELECT EXISTS (SELECT 1 FROM post WHERE likes > ?)":                                                                    {8},
	"SELECT EXISTS(SELECT 1 FROM post WHERE likes > 99) AS found; -- any":                                                   nil,
	"SELECT (SELECT likes FROM post WHERE id = 1) + 1":                                                                      nil,
	"SELECT x.likes FROM (SELECT id, likes FROM post ORDER BY likes, id LIMIT 3) x ORDER BY id":                             nil,
	"WITH top AS (SELECT id, likes FROM post WHERE likes > ?) SELECT COUNT(*), MAX(likes) FROM top":                         {2},
	"SELECT id, COALESCE(title, 'none'), DATE_FORMAT(changed, '%Y'), GREATEST(likes, views) FROM post ORDER BY changed, id": nil,
	"SELECT GROUP_CONCAT(likes ORDER BY likes, id) FROM post WHERE id IN (?, ?)":                                            {1, 3},
	"SELECT id FROM post WHERE likes = (SELECT MAX(likes) FROM post) ORDER BY id":                                           nil,
	"SELECT name FROM user WHERE id IN (SELECT user_id FROM post WHERE likes >= 5) ORDER BY id":                             nil,
	"/* c */ SELECT p.likes -- how many\nFROM post p -- of all\nWHERE p.id = 1":                                             nil,
	"SELECT id, likes FROM post WHERE id = 77":                                                                              nil,
	"SELECT p.likes FROM post p LEFT JOIN user u USING (id) WHERE u.name = 'zoe' ORDER BY p.likes":                          nil,
	"SELECT SQL_CALC_FOUND_ROWS id, likes FROM post ORDER BY likes, id LIMIT 1":                                             nil,
}

// TestLook proves that a query is sent as it was written where its tables have no slots,
// has plain's answer and columns then, and goes over to sums once they have some.
func TestLook(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"interpolateParams=false", "interpolateParams=true", "columnsWithAlias=true&interpolateParams=true"} {
			tw := harness.NewTwin(t, srv, lookForum, lookCounters(), strings.Split(params, "&")...)
			tw.Same(t, "SELECT 1 FROM post") // learns the schema
			sent := func(f func()) (first, others int, texts []string) {
				for _, s := range tw.Sent.During(f) {
					switch {
					case strings.HasPrefix(s.Text, "PREPARE"), strings.Contains(s.Text, "LIMIT 0"), !strings.Contains(s.Text, "post"):
					case strings.Contains(s.Text, "information_schema"), strings.HasPrefix(s.Text, "SHOW CREATE"): // the schema is read beside
					case looks(s):
						first++
					default:
						others++
					}
					texts = append(texts, s.Text)
				}
				return first, others, texts
			}
			for query, args := range lookForms {
				for _, slots := range []string{"none", "some", "none"} {
					if slots == "some" {
						tw.Play(t, "A: UPDATE post SET likes = likes + 4, score = score + 1.25 WHERE id IN (3, 5)", "A: UPDATE user SET points = points + 1 WHERE id = 3")
					} else {
						_, err := countermysql.Rollup(t.Context(), tw.Ours, nil)
						require.NoError(t, err)
					}
					for round := range 3 {
						first, others, texts := sent(func() { tw.Same(t, query, args...) })
						switch {
						case slots == "none":
							require.Equal(t, []int{1, 0}, []int{first, others}, "%s: %q", query, texts)
						case round == 0 && !strings.Contains(query, "77") && !strings.Contains(query, "zoe"): // no row is none, with slots or without
							require.NotZero(t, others, query)
						}
					}
					tw.SameTypes(t, slots == "none", query, args...)
					for _, begin := range []string{"begin RR", "begin RC"} {
						tw.SamePrepared(t, begin, query, args...)
					}
				}
			}
		}
	})
}

// TestLookOnce proves that a query is sent once that does something, or asks for what the
// last statement did.
func TestLookOnce(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, lookForum+`CREATE TABLE seen (id INT PRIMARY KEY AUTO_INCREMENT);
CREATE FUNCTION tell(x INT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN INSERT INTO seen VALUES (); RETURN x; END`, lookCounters())
		for range 2 {
			tw.Play(t, "A: UPDATE post SET likes = likes + 1 WHERE id = 1",
				"A: SELECT tell(likes) FROM post WHERE id = 1", "A: SELECT COUNT(*) FROM seen",
				"A: SELECT `tell` (likes) FROM post WHERE id = 1", "A: SELECT COUNT(*) FROM seen",
				"A: SET @n = 0", "A: SELECT @n := @n + likes FROM post WHERE id = 1", "A: SELECT @n",
				"A: SELECT likes FROM post WHERE id = 1 INTO @n", "A: SELECT @n",
				"A: SELECT id FROM post WHERE id < 4", "A: SELECT likes, ROW_COUNT() FROM post WHERE id = 1",
				"A: SELECT SQL_CALC_FOUND_ROWS likes FROM post ORDER BY id LIMIT 1", "A: SELECT FOUND_ROWS()",
				"A: SELECT likes FROM post WHERE id = 1 FOR UPDATE")
			_, err := countermysql.Rollup(t.Context(), tw.Ours, nil)
			require.NoError(t, err)
		}
	})
}

// TestLookInTransactions proves that a transaction sees counters as on plain whether
// there are slots now, or were in its snapshot, and whatever it has written.
func TestLookInTransactions(t *testing.T) {
	const read, list = "A: SELECT likes FROM post WHERE id = 1", "A: SELECT id, likes FROM post ORDER BY likes DESC, id LIMIT 3"
	fill := "A: " + lookForum[strings.Index(lookForum, "INSERT INTO post"):strings.LastIndex(lookForum, ";")]
	const increments, folds = "B: UPDATE post SET likes = likes + 10 WHERE id = 1", "B: UPDATE post SET likes = GREATEST(likes, 0)"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, lookForum, lookCounters())
		for _, level := range []string{"RR", "RC", "S", "RU"} {
			for _, start := range []string{"B: SELECT 1", increments} {
				for _, own := range []string{"A: SELECT 1", "A: UPDATE post SET title = 'x' WHERE id = 1", "A: UPDATE post SET likes = likes + 1 WHERE id = 1",
					"A: UPDATE post SET likes = 3 WHERE id = 1", "A: INSERT INTO post (id, user_id, likes) VALUES (6, 1, 8)", "A: DELETE FROM post WHERE id = 3"} {
					for _, others := range [][]string{{increments}, {folds}, {increments, folds}, {increments, folds, increments}} {
						if level == "S" {
							others = nil // they would wait
						}
						steps := append([]string{start, "A: begin " + level, read, list}, others...)
						tw.Play(t, append(steps, read, list, own, read, list, "A: commit", read, list, "A: DELETE FROM post", fill)...)
						_, err := countermysql.Rollup(t.Context(), tw.Ours, nil)
						require.NoError(t, err)
						if level == "S" {
							break
						}
					}
				}
			}
		}
	})
}

// TestLookRows proves that rows may be left unread, read as raw bytes, asked for their
// types first and for a next result set, and that an error among them is the query's.
func TestLookRows(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"interpolateParams=false", "interpolateParams=true"} {
			tw := harness.NewTwin(t, srv, lookForum, lookCounters(), params)
			var all [2][]string
			for i, db := range []*sql.DB{tw.Plain, tw.Ours} {
				note := func(v any) { all[i] = append(all[i], fmt.Sprint(v)) }
				for _, query := range []string{"SELECT id, likes, title FROM post WHERE id > ? ORDER BY id", "SELECT id, likes, title FROM post WHERE id > ? + 90"} {
					c := harness.Session(t, db)
					for read := range 4 {
						rows, err := c.QueryContext(t.Context(), query, 0)
						require.NoError(t, err)
						names, err := rows.Columns()
						require.NoError(t, err)
						note(names)
						for range read {
							var id, likes, title sql.RawBytes
							if rows.Next() {
								require.NoError(t, rows.Scan(&id, &likes, &title))
								note(string(id) + string(likes) + string(title))
							}
						}
						if read == 2 {
							note(rows.NextResultSet())
						}
						require.NoError(t, rows.Close())
						require.NoError(t, rows.Err())
						require.NoError(t, c.PingContext(t.Context()))
					}
					require.NoError(t, c.Close())
				}
				note(harness.Queried(t.Context(), db, "SELECT id, likes * 9223372036854775807 FROM post ORDER BY id"))
				note(harness.Queried(t.Context(), db, "SELECT id, (SELECT 1 FROM user WHERE points < likes) FROM post ORDER BY id DESC"))
				ctx, cancel := context.WithCancel(t.Context())
				rows, err := db.QueryContext(ctx, "SELECT likes FROM post")
				require.NoError(t, err)
				cancel()
				rows.Close()
				note(harness.Queried(t.Context(), db, "SELECT likes FROM post WHERE id = 1"))
			}
			require.Equal(t, all[0], all[1])
		}
	})
}

// TestLookFails proves that a query which fails over base rows without their slots, but
// not over the counters, does not fail; and that an empty answer is that of the counters.
func TestLookFails(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, lookForum, lookCounters())
		for range 3 {
			tw.Play(t, "A: UPDATE post SET likes = likes + 10 WHERE id = 2", "A: UPDATE user SET points = points + 5 WHERE id = 3")
			tw.Same(t, "SELECT id, CAST(likes AS UNSIGNED) - CAST(9 AS UNSIGNED) FROM post WHERE id = 2")
			tw.Same(t, "SELECT points - 4 FROM user WHERE id = 3")
			tw.Same(t, "SELECT id FROM post WHERE likes = 10")
			tw.Same(t, "SELECT id FROM user HAVING (SELECT points FROM user WHERE id = 3) > 4 ORDER BY id")
			_, err := countermysql.Rollup(t.Context(), tw.Ours, nil)
			require.NoError(t, err)
			harness.Affected(t, tw.Plain, "UPDATE post SET likes = 0 WHERE id = 2")
			harness.Affected(t, tw.Direct, "UPDATE post SET likes = 0 WHERE id = 2")
		}
	})
}

// TestLookBesideFolds proves that what is read beside increments and folds is never less
// than was counted before, nor more than was begun by its end, whichever text is sent.
func TestLookBesideFolds(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, lookForum, lookCounters(), "interpolateParams=true")
		harness.Affected(t, tw.Direct, "UPDATE post SET likes = -1 WHERE id <> 2")
		var begun, counted atomic.Int64
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		done := make(chan error, 8)
		for range 2 {
			go func() {
				for ctx.Err() == nil {
					begun.Add(1)
					if _, err := tw.Ours.Exec("UPDATE post SET likes = likes + 1 WHERE id = 2"); err != nil {
						done <- err
						return
					}
					counted.Add(1)
					if counted.Load()%7 == 0 {
						time.Sleep(2 * time.Millisecond)
					}
				}
				done <- nil
			}()
		}
		go func() {
			for ctx.Err() == nil {
				if _, err := countermysql.Rollup(context.Background(), tw.Ours, nil); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
		var reads atomic.Int64
		for i, query := range []string{"SELECT likes FROM post WHERE id = 2", "SELECT likes, views FROM post ORDER BY likes DESC LIMIT 1", "SELECT SUM(likes) + 4 FROM post",
			"SELECT MAX(likes) FROM post p JOIN user u ON u.id = 1 WHERE p.id = 2", "SELECT likes FROM post WHERE id = 2"} {
			go func() {
				for ctx.Err() == nil {
					err := read(ctx, tw.Ours, i == 4, query, &begun, &counted)
					if err != nil && ctx.Err() == nil {
						done <- err
						return
					}
					reads.Add(1)
				}
				done <- nil
			}()
		}
		for range 8 {
			require.NoError(t, <-done)
		}
		var first, sums int
		for _, s := range tw.Sent.All {
			switch {
			case looks(s):
				first++
			case strings.HasPrefix(s.Text, "SELECT") && strings.Contains(s.Text, "SUM(countermysql_slots"):
				sums++
			}
		}
		t.Logf("%d reads, %d looks, %d sums, %d increments", reads.Load(), first, sums, counted.Load())
		require.Greater(t, first, sums/1000)
	})
}

// read requires that a query gives a count between its bounds; in a transaction twice the
// same.
func read(ctx context.Context, db *sql.DB, twice bool, query string, begun, counted *atomic.Int64) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{})
	if !twice && err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return err
	}
	var on harness.Querier = db
	if twice {
		defer tx.Rollback()
		on = tx
	}
	least := counted.Load()
	var n [2]int64
	for i := range n {
		rows, err := on.QueryContext(ctx, query)
		if err != nil {
			return err
		}
		for rows.Next() {
			dest := []any{&n[i], new(any)}
			names, _ := rows.Columns()
			if err := rows.Scan(dest[:len(names)]...); err != nil {
				rows.Close()
				return err
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
		if most := begun.Load(); n[i] < least && !(twice && i == 1) || n[i] > most {
			return fmt.Errorf("%s: %d is not between %d and %d", query, n[i], least, most)
		}
		if twice && i == 1 && n[0] != n[1] {
			return fmt.Errorf("%s: %d, and then %d in one transaction", query, n[0], n[1])
		}
	}
	return nil
}

// TestRowsLooked proves that beside slots of other rows a query of several counters is sent
// as it was written, with a look at each row's slots, and is answered as on plain: with
// and without slots in some row, NULLs of an outer join, more rows than are read ahead.
func TestRowsLooked(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"interpolateParams=false", "interpolateParams=true"} {
			tw := harness.NewTwin(t, srv, lookForum, lookCounters(), params)
			tw.Play(t, "A: UPDATE post SET likes = likes + 4, score = score + 1.25, views = views + 1 WHERE id = 3", "A: UPDATE user SET points = points + 1 WHERE id = 2",
				"A: INSERT INTO user (id, name) VALUES (9, 'zoe')")
			harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1") // learns that there are slots
			harness.Number(t, tw.Ours, "SELECT points FROM user WHERE id = 1")
			tw.Play(t, "A: UPDATE odd SET n = n + 10 WHERE id = 1")
			harness.Number(t, tw.Ours, "SELECT n FROM odd WHERE id = 1")
			for query, slots := range map[string]bool{ // that can't be added to a column of the answer
				"SELECT * FROM post WHERE id = 1":                                                                      false,
				"SELECT likes, views, likes AS again FROM post WHERE user_id = 2 ORDER BY id":                          false,
				"SELECT p.likes, u.points, p.title FROM post p JOIN user u ON u.id = p.user_id WHERE p.id = ? + 2":     false,
				"SELECT p.likes, p.views, u.name FROM user u LEFT JOIN post p ON u.id = p.user_id ORDER BY u.id, p.id": false,
				"SELECT likes + 1, views FROM post WHERE user_id = 2 ORDER BY id":                                      true,
				"SELECT u.name, p.likes, p.views FROM user u LEFT JOIN post p USING (id) ORDER BY id LIMIT 3":          false,
				"SELECT a.likes, b.views FROM post a JOIN post b USING (id) ORDER BY id":                               false,
				"SELECT u.id AS uid, p.likes, p.views FROM user u JOIN post p USING (id) ORDER BY id":                  false,
				"SELECT * FROM odd": false,
				"SELECT*FROM post p WHERE p.id IN (1, 2, 4) ORDER BY p.id LIMIT 2":                                                 false,
				"SELECT likes, score, changed FROM post WHERE user_id = 2 ORDER BY id":                                             true,
				"SELECT p.likes, u.points, p.title FROM post p JOIN user u ON u.id = p.user_id WHERE p.id = ?":                     false,
				"SELECT p.likes + 1 AS n, u.points, u.name FROM user u LEFT JOIN post p ON u.id = p.user_id ORDER BY u.id LIMIT 2": false,
				"SELECT p.*, u.name FROM user u LEFT JOIN post p ON u.id = p.user_id WHERE u.name = 'zoe'":                         false,
			} {
				var args []any
				if strings.Contains(query, "?") {
					args = []any{1}
				}
				for learned, rounds := 0, 0; rounds < 3; rounds++ {
					texts := []string{}
					for _, s := range tw.Sent.During(func() { tw.Same(t, query, args...) }) {
						if strings.Contains(s.Text, "_slots") && !strings.HasPrefix(s.Text, "PREPARE") && !strings.Contains(s.Text, "LIMIT 0") && !strings.HasPrefix(s.Text, "SELECT COUNT(*) < ") {
							texts = append(texts, s.Text)
						}
					}
					ofRow := strings.Contains(texts[0], "MIN(") && strings.Contains(texts[0], "WHERE countermysql_slots.")
					if !slots && strings.Contains(texts[0], "MIN(") && !ofRow { // a second has passed: it learns anew that there are slots
						learned++
						require.Less(t, learned, 4, "%q", texts)
						rounds--
						continue
					}
					if !slots {
						require.Len(t, texts, 1, query)
						require.True(t, ofRow || strings.Contains(texts[0], "CONCAT_WS("), query)
					} else {
						require.NotContains(t, texts[len(texts)-1], "CONCAT_WS(", query)
					}
				}
				tw.SameTypes(t, false, query, args...)
				tw.SamePrepared(t, "begin RR", query, args...)
			}
			ways := map[string]bool{}
			for range 50 { // a row that has slots: it is asked first whether it has, until that was in vain too often
				texts := ""
				for _, s := range tw.Sent.During(func() { tw.Same(t, "SELECT likes, views FROM post WHERE id = 3") }) {
					if strings.Contains(s.Text, "_slots") && !strings.HasPrefix(s.Text, "PREPARE") {
						texts += map[bool]string{true: "asked, ", false: "added"}[strings.Contains(s.Text, "MIN(") && strings.Contains(s.Text, "WHERE countermysql_slots.")]
					}
				}
				ways[texts] = true
			}
			require.True(t, ways["asked, added"] && ways["added"], "%v", ways)
			values := make([]string, 120)
			for i := range values {
				values[i] = fmt.Sprintf("(%d, 1, 'x', %d, 1.5, 3, NULL)", 100+i, i)
			}
			tw.Play(t, "A: INSERT INTO post VALUES "+strings.Join(values, ", "))
			for range 2 {
				tw.Same(t, "SELECT likes, views FROM post ORDER BY id")
				tw.Same(t, "SELECT likes, views FROM post WHERE id >= 100 ORDER BY id LIMIT 100")
			}
		}
	})
}

// TestKeyRetyped proves that what rows have in slots is not missed where another client has given their
// key another type.
func TestKeyRetyped(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, as := range []string{"DECIMAL(12,2)", "DOUBLE", "BIGINT UNSIGNED", "VARCHAR(9)", "INT(8) ZEROFILL"} {
			const query = "SELECT likes, views FROM page WHERE kind = 1"
			tw := harness.NewTwin(t, srv, "CREATE TABLE page (id INT PRIMARY KEY, kind INT NOT NULL, likes INT NOT NULL, views INT NOT NULL);\nINSERT INTO page VALUES (7, 1, 10, 20)", harness.Counters("page", "likes", "views"))
			tw.Play(t, "A: UPDATE page SET likes = likes + 41 WHERE id = 7")
			harness.Number(t, tw.Ours, "SELECT likes FROM page WHERE id = 7") // learns that there are slots
			tw.Same(t, query)                                                 // learns that they are few
			require.Len(t, tw.Sent.During(func() { tw.Same(t, query) }), 1)
			for _, db := range []*sql.DB{tw.Plain, tw.Direct} {
				harness.Affected(t, db, "ALTER TABLE page MODIFY id "+as)
			}
			tw.Same(t, query)
		}
	})
}

// TestLookedTypes proves that what is asked of the columns of rows to which slots have been added is
// as on plain, also of a DECIMAL with thirty digits behind the point, the most that there are: with
// many rows in slots, MySQL, it ended in a nil pointer.
func TestLookedTypes(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"interpolateParams=false", "interpolateParams=true"} {
			tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, views INT UNSIGNED NULL DEFAULT 0, exactly DECIMAL(40,30) NOT NULL DEFAULT 0.5)", harness.Counters("post", "likes", "views"), params)
			tw.Play(t, "A: INSERT INTO post (id) VALUES (1), (2), (3)", "A: UPDATE post SET likes = likes + 1 WHERE id IN (1, 2)")
			harness.ExecAll(t, tw.Direct, "INSERT INTO post_slots (id, slot, likes) WITH RECURSIVE n AS (SELECT 10 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT 3, i, 0 FROM n")
			harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1") // learns that there are slots
			for range 12 {                                                    // prepared from the ninth time on
				tw.Same(t, "SELECT * FROM post WHERE id < 5")
				tw.SameTypes(t, false, "SELECT * FROM post WHERE id < 5")
				tw.SameTypes(t, false, "SELECT likes, views, exactly FROM post WHERE id < ?", 7)
			}
		}
	})
}
