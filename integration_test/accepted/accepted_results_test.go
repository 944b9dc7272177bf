package accepted

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestAcceptedWarnings pins that SHOW WARNINGS tells nothing after an exact
// statement outside a transaction on MySQL, and of VALUES() in an upsert.
func TestAcceptedWarnings(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		const deprecated = "[Warning 1287 'VALUES function' is deprecated and will be removed in a future release. Please use an alias (INSERT INTO ... VALUES (...) AS alias) and replace VALUES(col) in the ON DUPLICATE KEY UPDATE clause with alias.col instead]"
		const truncated = "[Warning 1264 Out of range value for column 'likes' at row 1]"
		exact, failed, upsert := "A: SHOW WARNINGS ⇒ "+truncated+" ⇒ no rows", "A: SHOW WARNINGS ⇒ [Error 1264 Out of range value for column 'likes' at row 1] ⇒ no rows", "A: SHOW WARNINGS ⇒ "+deprecated+" ⇒ no rows"
		if harness.MariaDB(srv) {
			exact, failed, upsert = "A: SHOW WARNINGS", "A: SHOW WARNINGS", "A: SHOW WARNINGS"
		}
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		tw.Accepted(t, "A: UPDATE post SET likes = likes * 3000000000 WHERE id = 1", failed,
			"A: UPDATE post SET likes = likes * 3000000000 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1")
		tw.Accepted(t, "A: INSERT INTO page (day, name, hits) VALUES ('2026-01-02', 'home', 1) ON DUPLICATE KEY UPDATE hits = hits + VALUES(hits)", upsert,
			"A: INSERT INTO page (day, name, hits) VALUES ('2026-01-09', 'new', 1) ON DUPLICATE KEY UPDATE hits = hits + VALUES(hits)", "A: SHOW WARNINGS")
		tw.Accepted(t, "A: SET sql_mode = ''",
			"A: UPDATE post SET likes = 99999999999 WHERE id = 1", exact,
			"A: UPDATE post SET likes = 99999999998 WHERE id = 3", "A: SHOW WARNINGS", // it has no slots
			"A: begin", "A: UPDATE post SET likes = 99999999999 WHERE id = 2", "A: SHOW WARNINGS", "A: commit")
		tw.Accepted(t, "A: INSERT INTO page (day, name, hits) VALUES ('2026-01-02', 'home', 1) ON DUPLICATE KEY UPDATE hits = hits + VALUES(hits)", upsert,
			"A: INSERT INTO page (day, name, hits) VALUES ('2026-01-10', 'new', 1) ON DUPLICATE KEY UPDATE hits = hits + VALUES(hits)", upsert) // the exact way, as it may be cut
	})
}

// TestAcceptedRowCount pins that ROW_COUNT() tells of what the connection has really sent
// last: of the query that has looked at its session, of COMMIT behind an exact
// statement, of BEGIN while an increment is pending, of what was before it where neither
// BEGIN nor COMMIT was sent. Statements that are sent as they are have their own.
func TestAcceptedRowCount(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		tw.Plain.SetMaxIdleConns(0)
		tw.Ours.SetMaxIdleConns(0)
		tw.Accepted(t, "A: SELECT ROW_COUNT() ⇒ [0] ⇒ [-1]", "A: UPDATE note SET body = 'x' WHERE id = 1", "A: SELECT ROW_COUNT()")
		tw.Accepted(t, "A: UPDATE post SET likes = 7 + likes WHERE id IN (1, 2)",
			"A: UPDATE post SET likes = likes * 2 WHERE id IN (1, 2)", "A: SELECT ROW_COUNT() ⇒ [2] ⇒ [0]",
			"A: UPDATE post SET likes = likes * 3000000000 WHERE id = 1", "A: SELECT ROW_COUNT()",
			"A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: begin", "A: commit", "A: SELECT ROW_COUNT() ⇒ [0] ⇒ [1]",
			"A: begin", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT ROW_COUNT() ⇒ [1] ⇒ [0]",
			"A: INSERT INTO note (id, body) VALUES (7, ''), (8, '')", "A: SELECT ROW_COUNT()", "A: commit", "A: SELECT ROW_COUNT()")
	})
}

// TestAcceptedFoundRows pins that FOUND_ROWS() may be of a query of the driver's where
// it is not asked right after the application's.
func TestAcceptedFoundRows(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		alone, pending := "A: SELECT FOUND_ROWS() ⇒ [3] ⇒ [1]", "A: SELECT FOUND_ROWS()"
		if !harness.MariaDB(srv) { // which takes the UPDATE for a query as well
			alone, pending = "A: SELECT FOUND_ROWS()", "A: SELECT FOUND_ROWS() ⇒ [1] ⇒ [3]"
		}
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		const query = "A: SELECT SQL_CALC_FOUND_ROWS id, likes FROM post ORDER BY id LIMIT 1"
		tw.Accepted(t, query, "A: SELECT FOUND_ROWS()", query, "A: UPDATE post SET likes = likes + 1 WHERE id = 1", alone,
			query, "A: UPDATE post SET likes = 3 WHERE id = 2", alone,
			"A: begin", query, "A: UPDATE post SET likes = likes + 1 WHERE id = 1", pending, "A: commit")
	})
}

// TestAcceptedView pins what becomes of a query that the server refuses over
// the view: it is answered from the base rows, after a rollup. MariaDB in the
// mode ONLY_FULL_GROUP_BY is more lenient with the view than with the table.
func TestAcceptedView(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Board, harness.Counters("post", "likes"))
		tw.Accepted(t, "A: UPDATE post SET likes = likes + 1 WHERE id = 1",
			"O: SELECT likes FROM post WHERE id = 1 ⇒ [1] ⇒ [0]",
			"A: SELECT _rowid, likes FROM post WHERE id = 1", // which a view does not have
			"O: SELECT likes FROM post WHERE id = 1")
		require.EqualValues(t, map[string]int64{"the server does not accept the view": 1}, harness.Stats(t, tw.Ours).Exact)
		if harness.MariaDB(srv) {
			tw.Accepted(t, "A: SET sql_mode = 'ONLY_FULL_GROUP_BY'",
				"A: SELECT id, likes FROM post WHERE id < 3 GROUP BY id ⇒ error 1055 ⇒ [1 1][2 5]",
				"A: SELECT author, COUNT(likes) FROM post ⇒ error 1140 ⇒ [1 5]",
				"A: SELECT author, likes FROM post GROUP BY id HAVING likes > 3")
		} else {
			tw.Accepted(t, "A: SET sql_mode = 'ONLY_FULL_GROUP_BY'",
				"A: SELECT id, likes FROM post WHERE id < 3 GROUP BY id", "A: SELECT author, COUNT(likes) FROM post", "A: SELECT author, likes FROM post GROUP BY author")
		}
	})
}

// TestAcceptedOrder pins that rows without ORDER BY may come in another order,
// so that LIMIT without it may give others.
func TestAcceptedOrder(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Board, harness.Counters("post", "likes"))
		tw.Accepted(t, "A: UPDATE post SET likes = likes + 100 WHERE id = 1",
			"A: SELECT likes FROM post ⇒ [5][10][15][20][100] ⇒ [100][5][10][15][20]",
			"A: SELECT likes FROM post LIMIT 2 ⇒ [5][10] ⇒ [100][5]",
			"A: SELECT likes FROM post ORDER BY likes LIMIT 2")
		tw = harness.NewTwin(t, srv, "CREATE TABLE word (id INT PRIMARY KEY, w VARCHAR(9) COLLATE utf8mb4_general_ci, n INT NOT NULL, KEY (n));\nINSERT INTO word VALUES (1, 'B', 3), (2, 'b', 5);\n", harness.Counters("word", "n"))
		tw.Accepted(t, "A: UPDATE word SET n = n + 3 WHERE id = 1",
			"A: SELECT DISTINCT w FROM word FORCE INDEX (n) WHERE n >= 4 ⇒ [b] ⇒ [B]",
			"A: SELECT DISTINCT BINARY w FROM word WHERE n >= 4 ORDER BY 1")
	})
}

// TestAcceptedStrings pins that a counter of more than 15 digits may be compared
// with a string or a floating-point number as a floating-point number, and never
// with another number.
func TestAcceptedStrings(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, likes BIGINT NOT NULL);
INSERT INTO post VALUES (1, 9007199254740993);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
		nearly, float := " ⇒ no rows ⇒ [1]", ""
		if harness.MariaDB(srv) {
			nearly, float = float, nearly // by an index
		}
		tw.Accepted(t, "A: SELECT id FROM post WHERE likes = '9007199254740992'"+nearly, "A: SELECT id FROM post WHERE likes = 9007199254740992",
			"A: SELECT id FROM post WHERE likes = 9007199254740993", "A: SELECT id FROM post WHERE likes = '9007199254740993'")
		tw = harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes DECIMAL(40,25) NOT NULL, KEY (likes));\nINSERT INTO post VALUES (1, 0.9999999999999999999999997);\n", harness.Counters("post", "likes"))
		tw.Accepted(t, "A: SELECT id FROM post WHERE likes BETWEEN 1e0 AND 6"+float, "A: SELECT id FROM post WHERE likes BETWEEN 1 AND 6")
	})
}

// TestAcceptedNumbers pins that MySQL compares a touch column with a number as numbers
// where the driver does not see that it is one.
func TestAcceptedNumbers(t *testing.T) {
	const schema = `
CREATE TABLE page (id INT PRIMARY KEY, hits INT NOT NULL DEFAULT 0, last DATETIME NULL);
INSERT INTO page VALUES (1, 0, '2026-01-02 00:00:00'), (2, 0, '2026-01-03 00:00:00');
`
	config := &countermysql.Config{Tables: []countermysql.TableConfig{{Table: "page", Counters: []string{"hits"}, Touch: []string{"last"}}}}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, config)
		harness.Affected(t, tw.Direct, "INSERT INTO page_slots (id, slot) VALUES (1, 0)")
		more := " ⇒ [2] ⇒ [1][2]"
		if harness.MariaDB(srv) {
			more = ""
		}
		tw.Accepted(t, "A: SELECT id FROM page WHERE last > 20260102 ORDER BY id", "A: SELECT id FROM page WHERE last > ABS(20260102) ORDER BY id"+more,
			"A: SELECT id FROM page WHERE last > (SELECT 20260102) ORDER BY id"+more, "A: SELECT id FROM (SELECT id, last AS l FROM page) p WHERE l > 20260102 ORDER BY id")
	})
}

// TestAcceptedTouch pins that a write of the current time to a touch column, by
// other conditions than a key, counts a row as changed that has this time in a slot.
func TestAcceptedTouch(t *testing.T) {
	const schema = `
CREATE TABLE page (id INT PRIMARY KEY, hits INT NOT NULL DEFAULT 0, last DATETIME NULL, title VARCHAR(9) NOT NULL DEFAULT '');
INSERT INTO page (id) VALUES (1), (2);
`
	config := &countermysql.Config{Tables: []countermysql.TableConfig{{Table: "page", Counters: []string{"hits"}, Touch: []string{"last"}}}}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, config, "timestamp=1700000000")
		tw.Accepted(t, "A: UPDATE page SET hits = hits + 1, last = NOW() WHERE id = 1",
			"A: UPDATE page SET last = CURRENT_TIMESTAMP WHERE title = '' ⇒ affected 1 ⇒ affected 2",
			"A: SELECT * FROM page ORDER BY id")
		tw.Accepted(t, "A: UPDATE page SET hits = hits + 1, last = NOW() WHERE id = 1", "A: UPDATE page SET last = NOW() WHERE id = 1") // which the base row has by now
		tw = harness.NewTwin(t, srv, schema, config, "timestamp=1700000000")
		tw.Accepted(t, "A: UPDATE page SET hits = hits + 1, last = NOW() WHERE id = 1", "A: UPDATE page SET last = NOW() WHERE id = 1 ⇒ affected 0 ⇒ affected 1")
	})
}

var madeName = regexp.MustCompile(`itg_\d+_\d+`)

// TestAcceptedMessages pins that messages name the expression that the server
// got, and that the numbers of errors are the same.
func TestAcceptedMessages(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Board, harness.Counters("post", "likes"))
		message := func(db *sql.DB, query string) string {
			rows, err := db.QueryContext(t.Context(), query)
			if err == nil {
				for rows.Next() {
				}
				err = rows.Err()
				rows.Close()
			}
			require.Equal(t, 1690, harness.ErrorNumber(err), query)
			return madeName.ReplaceAllString(err.Error(), "")
		}
		const sum, other = "SELECT likes + 9223372036854775807 FROM post WHERE id = 3", "SELECT author + 9223372036854775807 FROM post WHERE id = 3"
		require.NotEqual(t, message(tw.Plain, sum), message(tw.Ours, sum))
		require.Equal(t, message(tw.Plain, other), message(tw.Ours, other))
	})
}

// TestAcceptedNextID pins that MySQL skips an AUTO_INCREMENT id when a table is
// opened once more after an INSERT that named the next id and failed by another
// unique key: by a query for the first rows, or by any client's self-join.
func TestAcceptedNextID(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT AUTO_INCREMENT PRIMARY KEY, slug VARCHAR(9) NULL, likes INT NOT NULL DEFAULT 0, UNIQUE KEY (slug), KEY (likes));
INSERT INTO post (id, slug) VALUES (1, 'a'), (5, 'b');
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
		harness.Affected(t, tw.Direct, "INSERT INTO post_slots (id, slot) VALUES (1, 0)")
		skips := " ⇒ affected 1, id 6 ⇒ affected 1, id 7"
		if harness.MariaDB(srv) {
			skips = ""
		}
		const anew = "O: FLUSH TABLES post" // each INSERT below opens it once
		tw.Accepted(t, anew, "A: INSERT INTO post (id, slug) VALUES (6, 'a')", "A: SELECT likes FROM post ORDER BY likes DESC LIMIT 1", "A: INSERT INTO post (slug) VALUES ('c')"+skips,
			anew, "A: INSERT INTO post (id, slug) VALUES (20, 'd')",
			"A: INSERT INTO post (id, slug) VALUES (21, 'a')", "A: SELECT COUNT(*) FROM post JOIN post p", "A: INSERT INTO post (slug) VALUES ('e')",
			"A: ALTER TABLE post AUTO_INCREMENT = 40", "A: UPDATE post SET likes = 5 WHERE id = 1", // an upsert beyond the base row's range is sent twice
			"A: INSERT INTO post (id, likes) VALUES (NULL, 1), (1, 2147483647) ON DUPLICATE KEY UPDATE likes = likes + VALUES(likes)",
			"A: INSERT INTO post (slug) VALUES ('f') ⇒ affected 1, id 42 ⇒ affected 1, id 44")
	})
}

// TestAcceptedIndex pins that an index on a counter serves neither conditions nor orders
// on it while there are slots, but for the first rows, by the rows that the server reads;
// EXPLAIN tells of the statement as it is written.
func TestAcceptedIndex(t *testing.T) {
	const rows = 500
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Board, harness.Counters("post", "likes"))
		fill := "INSERT INTO post (id, author, likes) VALUES (10, 3, 1000)"
		for id := 11; id < 10+rows; id++ {
			fill += fmt.Sprintf(", (%d, 3, %d)", id, 990+id)
		}
		for _, db := range []*sql.DB{tw.Plain, tw.Direct} {
			harness.Affected(t, db, fill)
			harness.Affected(t, db, "ANALYZE TABLE post")
		}
		for _, query := range []string{
			"SELECT id, likes FROM post FORCE INDEX (likes) ORDER BY likes DESC LIMIT 3",
			"SELECT id, likes FROM post WHERE likes BETWEEN 5 AND 10 ORDER BY likes",
		} {
			tw.Same(t, query)
			tw.Same(t, "EXPLAIN "+query)
			require.Less(t, handled(t, tw.Plain, query), int64(10), query)
			require.Less(t, handled(t, tw.Ours, query), int64(20), query)
			harness.Affected(t, tw.Direct, "INSERT INTO post_slots (id, slot) VALUES (10, 0)")
			require.Greater(t, handled(t, tw.Ours, query), int64(rows), query)
			_, err := countermysql.Rollup(t.Context(), tw.Ours, nil)
			require.NoError(t, err)
		}
		const first = "SELECT id, likes FROM post ORDER BY likes DESC LIMIT 3"
		tw.Same(t, first)
		require.Less(t, handled(t, tw.Ours, first), int64(50))
	})
}

// handled is how many rows the server reads for a query.
func handled(t *testing.T, db *sql.DB, query string) (reads int64) {
	t.Helper()
	conn := harness.Session(t, db)
	read := func() (sum int64) {
		rows, err := conn.QueryContext(context.WithoutCancel(t.Context()), "SHOW SESSION STATUS LIKE 'Handler_read%'")
		require.NoError(t, err)
		defer rows.Close()
		for rows.Next() {
			var name string
			var n int64
			require.NoError(t, rows.Scan(&name, &n))
			sum += n
		}
		require.NoError(t, rows.Err())
		return sum
	}
	harness.Queried(t.Context(), conn, query)
	before := read()
	between := read() - before // what it costs to ask
	before = read()
	harness.Queried(t.Context(), conn, query)
	return read() - before - between
}

// TestAcceptedDigits pins that MySQL writes a number that IF or CASE chooses with all the
// digits of the others where it copies rows, as it does to order them by a sum.
func TestAcceptedDigits(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		ordered := "A: SELECT IF(likes > 0, likes, 1.50) AS n FROM post ORDER BY likes + 0, id"
		if !harness.MariaDB(srv) {
			ordered += " ⇒ [1.50][9][10] ⇒ [1.50][9.00][10.00]"
		}
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		tw.Accepted(t, ordered, "A: SELECT IF(likes > 0, likes, 1.50) AS n FROM post WHERE id = 1")
	})
}

// TestAcceptedDigitsOfParameters pins that to MySQL a parameter which a derived table adds to
// an UNSIGNED counter or another number is a DECIMAL of all digits, where another argument is no
// integer, and beside a DECIMAL that has digits always: there plain's type has them all too, but
// not its rows, which it does not copy. Interpolated it is what it is.
func TestAcceptedDigitsOfParameters(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		const query = "SELECT SUM(c) FROM (SELECT COALESCE(MAX(likes), 0) + ? AS c FROM hits WHERE 'a' <> ?) d"
		for _, interpolate := range []string{"true", "false"} {
			tw := harness.NewTwin(t, srv, "CREATE TABLE hits (id INT PRIMARY KEY, likes MEDIUMINT UNSIGNED NOT NULL);\nINSERT INTO hits VALUES (1, 4)", harness.Counters("hits", "likes"), "interpolateParams="+interpolate)
			harness.Affected(t, tw.Direct, "INSERT INTO hits_slots (id, slot) VALUES (1, 0)")
			want := harness.Queried(t.Context(), tw.Plain, query, 3, "b")
			require.Equal(t, "SUM(c) DECIMAL, [7]", want)
			if interpolate == "false" && !harness.MariaDB(srv) {
				want = "SUM(c) DECIMAL, [7.000000000000000000000000000000]"
			}
			require.Equal(t, want, harness.Queried(t.Context(), tw.Ours, query, 3, "b"))

			tw = harness.NewTwin(t, srv, "CREATE TABLE item (id INT PRIMARY KEY, price DECIMAL(10,2) NOT NULL);\nINSERT INTO item VALUES (1, 4)", harness.Counters("item", "price"), "interpolateParams="+interpolate)
			harness.Affected(t, tw.Direct, "INSERT INTO item_slots (id, slot) VALUES (1, 0)")
			for _, query := range []string{"SELECT c FROM (SELECT NULLIF(?, price) AS c FROM item) d", "WITH d AS (SELECT NULLIF(?, price) AS c FROM item) SELECT c FROM d"} {
				want := harness.Queried(t.Context(), tw.Plain, query, 3)
				if interpolate == "false" && !harness.MariaDB(srv) {
					require.Equal(t, "c DECIMAL, [3]", want)
					want = "c DECIMAL, [3.000000000000000000000000000000]"
				}
				require.Equal(t, want, harness.Queried(t.Context(), tw.Ours, query, 3))
			}
		}
	})
}

// TestAcceptedTableNames: with columnsWithAlias, MariaDB leaves a table's name out or not,
// depending on the rows, and MySQL, depending on its plan; ours is always there.
func TestAcceptedTableNames(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL);\nINSERT INTO post VALUES (1, 2);\n", harness.Counters("post", "likes"), "columnsWithAlias=true")
		of := func(id, group string) string {
			return "SELECT d.n FROM (SELECT ABS(likes) AS n FROM post WHERE id = " + id + ") d" + group
		}
		harness.Affected(t, tw.Direct, "INSERT INTO post_slots (id, slot) VALUES (1, 0)")
		tw.Same(t, of("1", ""))
		tw.Same(t, of("2", " GROUP BY d.n"))
		want := "d.n BIGINT, [2]"
		require.Equal(t, want, harness.Queried(t.Context(), tw.Ours, of("1", " GROUP BY d.n")))
		if harness.MariaDB(srv) {
			want = "n BIGINT, [2]"
		}
		require.Equal(t, want, harness.Queried(t.Context(), tw.Plain, of("1", " GROUP BY d.n")))

		const joined = "SELECT DISTINCT d.n FROM (SELECT (SELECT COUNT(*) FROM post WHERE likes > 1) AS n FROM post p CROSS JOIN post q) d"
		want = "d.n BIGINT, [1]"
		require.Equal(t, want, harness.Queried(t.Context(), tw.Ours, joined))
		if !harness.MariaDB(srv) {
			want = "n BIGINT, [1]"
		}
		require.Equal(t, want, harness.Queried(t.Context(), tw.Plain, joined))
	})
}

// TestAcceptedPacket pins that an exact statement which nearly fills a packet fails, and does nothing:
// what locks its rows has its condition, too, and is longer.
func TestAcceptedPacket(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "maxAllowedPacket=2000")
		fails := func(stmt, plain string) {
			list := strings.Repeat(", 99", (1990-len(stmt))/len(", 99"))
			stmt = "A: " + strings.Replace(stmt, "99", "99"+list, 1)
			tw.Accepted(t, stmt+" ⇒ "+plain+" ⇒ "+mysql.ErrPktTooLarge.Error())
			tw.Reset(t)
		}
		fails("DELETE FROM post WHERE likes IN (10, 99)", "affected 1")
		fails("SELECT likes FROM post WHERE id IN (1, 99) FOR UPDATE", "[10]")
	})
}
