package reads

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestColumnTypes proves that columns have plain's names, types, nullability,
// length and scan types, with text and with prepared statements.
func TestColumnTypes(t *testing.T) {
	const schema = `
CREATE TABLE c (id BIGINT UNSIGNED PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20) NOT NULL DEFAULT 'x', t TINYINT NOT NULL DEFAULT 1, s SMALLINT UNSIGNED, m MEDIUMINT, i INT(11) NOT NULL DEFAULT 3,
  b BIGINT UNSIGNED NOT NULL DEFAULT 0, d DECIMAL(12,3) NOT NULL DEFAULT 1.5, e DECIMAL(10,0) NULL, at DATETIME(3) NULL DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP(3));
INSERT INTO c (s, m, e) VALUES (1, 2, 3), (NULL, NULL, NULL);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("c", "t", "s", "m", "i", "b", "d", "e"), "parseTime=true", "timestamp=1700000000")
		for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
			harness.Affected(t, db, "UPDATE c SET t = t + 1, s = s + 1, m = m + 1, i = i + 1, b = b + 1, d = d + 1, e = e + 1 WHERE id = 1")
		}
		for _, query := range []string{
			"SELECT * FROM c", "SELECT * FROM c LIMIT 1", "SELECT c.*, t AS tt, `b` `n`, d FROM c", "SELECT * FROM c WHERE id = 0", "SELECT -b, d * 2, SUM(i), MAX(s), COUNT(e), AVG(d) FROM c GROUP BY t, b, d", "SELECT t + 1, i - 1 FROM c",
			"SELECT x.i, y.* FROM c x LEFT JOIN c y ON y.id = x.id + 1 ORDER BY x.id", "SELECT IFNULL(s, 0), COALESCE(m, i), GREATEST(t, i), CAST(d AS CHAR) FROM c", "SELECT i FROM c UNION SELECT b FROM c ORDER BY 1",
			"SELECT (SELECT b FROM c LIMIT 1) AS b, EXISTS (SELECT i FROM c) FROM c", "WITH w AS (SELECT id, d FROM c) SELECT * FROM w", "SELECT DISTINCT t, i / 2 FROM c", "SELECT i DIV 2, b > 0 FROM c",
		} {
			for _, args := range [][]any{nil, {1}} {
				text := query
				if args != nil {
					if text != "SELECT * FROM c" && text != "SELECT * FROM c LIMIT 1" && text != "SELECT * FROM c WHERE id = 0" {
						continue
					}
					text = "SELECT q.* FROM (" + query + ") q WHERE q.id >= ?" // a prepared statement: another protocol
				}
				want, err := tw.Plain.QueryContext(t.Context(), text, args...)
				require.NoError(t, err, text)
				got, err := tw.Ours.QueryContext(t.Context(), text, args...)
				require.NoError(t, err, text)
				// before and after the first row
				require.Equal(t, harness.Described(t, want), harness.Described(t, got), text)
				if text != "SELECT i FROM c UNION SELECT b FROM c ORDER BY 1" {
					tw.Same(t, text, args...)
				}
			}
		}
	})
}

// TestColumnsOfTheSession proves that columns are plain's where the session has
// its own temporary table, another default database or another sql_mode, and
// where the text writes names in other letters than the table.
func TestColumnsOfTheSession(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, n INT NOT NULL, likes SMALLINT UNSIGNED NOT NULL DEFAULT 0, price DECIMAL(12,2) NULL);
INSERT INTO post VALUES (1, 1, 5, 2.5), (2, 2, 6, NULL);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes", "price"))
		for _, steps := range []string{
			"SELECT LIKES, post.Price, N FROM post ORDER BY id",
			"SELECT LIKES, n AS likes FROM post ORDER BY id",
			"SELECT likes, LIKES FROM post ORDER BY likes",
			"SELECT n AS likes, likes FROM post ORDER BY post.likes",
			"SELECT d.LIKES, d.ID FROM (SELECT * FROM post) AS d ORDER BY 2",
			"CREATE TEMPORARY TABLE recent (n INT PRIMARY KEY)/INSERT INTO recent VALUES (1)/SELECT * FROM recent JOIN post USING (n)/SELECT p.likes FROM post p JOIN recent r ON r.n = p.n WHERE p.id = 1",
			"USE information_schema/SELECT * FROM {db}.post ORDER BY id/SELECT likes FROM {db}.post WHERE id = 2/USE {db}",
			"SET sql_mode = 'ANSI_QUOTES'/SELECT \"likes\", \"LIKES\" + 1 FROM post WHERE id = 1",
		} {
			t.Run(steps, func(t *testing.T) {
				play := func(db *sql.DB) (answers []string) {
					var name string
					require.NoError(t, db.QueryRowContext(t.Context(), "SELECT DATABASE()").Scan(&name))
					conn := harness.Session(t, db)
					harness.Affected(t, conn, "UPDATE post SET likes = likes + 1, price = price + 0.25 WHERE id = 1")
					for _, step := range strings.Split(strings.ReplaceAll(steps, "{db}", name), "/") {
						if !harness.IsQuery.MatchString(step) {
							harness.Affected(t, conn, step)
							continue
						}
						rows, err := conn.QueryContext(t.Context(), step)
						require.NoError(t, err, step)
						answers = append(answers, harness.Described(t, rows)...)
						answers = append(answers, harness.Queried(t.Context(), conn, step))
					}
					return answers
				}
				require.Equal(t, play(tw.Plain), play(tw.Ours))
			})
		}
	})
}

// TestTypesByArguments proves that what is computed from a counter and an
// argument has plain's type and digits, whatever kinds of arguments a prepared
// statement gets one after the other.
func TestTypesByArguments(t *testing.T) {
	const schema = `
CREATE TABLE c (id INT PRIMARY KEY, i INT NOT NULL, u INT UNSIGNED NOT NULL, b BIGINT UNSIGNED NOT NULL, d DECIMAL(12,0) NOT NULL, e DECIMAL(10,2) NULL);
INSERT INTO c VALUES (1, 3, 4, 18446744073709551610, 6, 7.25), (2, -3, 2, 1, 0, NULL);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, interpolated := range []string{"interpolateParams=false", "interpolateParams=true"} {
			tw := harness.NewTwin(t, srv, schema, harness.Counters("c", "i", "u", "b", "d", "e"), interpolated)
			for _, counter := range []string{"i", "u", "b", "d", "e"} {
				for _, form := range []string{"GREATEST(%s, ?)", "LEAST(?, %s)", "COALESCE(%s, ?)", "%s + ?", "NULLIF(%s, ?)", "IF(%s > ?, 1, 0)", "CASE WHEN id = 1 THEN %s ELSE ? END"} {
					text := "SELECT " + fmt.Sprintf(form, counter) + " AS v FROM c ORDER BY id"
					want, err := tw.Plain.PrepareContext(t.Context(), text)
					require.NoError(t, err)
					got, err := tw.Ours.PrepareContext(t.Context(), text)
					require.NoError(t, err)
					for _, arg := range []any{int64(4), uint64(4), int64(5)} {
						require.Equal(t, values(t, want, arg), values(t, got, arg), "%s of %T", text, arg)
						tw.Same(t, text, arg)
					}
					require.NoError(t, want.Close())
					require.NoError(t, got.Close())
				}
			}
		}
	})
}

// TestTypesOfMixedSigns proves that an integer parameter beside a sum has plain's type where
// MySQL computes in DECIMALs for the sum alone: with 30 digits behind the point, for a number
// of no sign beside one that has one.
func TestTypesOfMixedSigns(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := harness.Counters("c", "i", "u", "s", "b")
		config.Rollup = countermysql.RollupNever // it keeps its slots
		tw := harness.NewTwin(t, srv, "CREATE TABLE c (id INT PRIMARY KEY, i INT NOT NULL, u INT UNSIGNED NOT NULL, s SMALLINT UNSIGNED NOT NULL, b BIGINT UNSIGNED NOT NULL);\nINSERT INTO c VALUES (1, 3, 4, 5, 6), (2, 1, 2, 3, 4)", config)
		for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
			harness.Affected(t, db, "UPDATE c SET i = i + 1, u = u + 1, s = s + 1, b = b + 1 WHERE id = 1")
		}
		for _, counter := range []string{"i", "u", "s", "b"} {
			for _, form := range []string{"COALESCE(MAX(%s), 0) + ?", "COALESCE(MIN(%s), -1) - ?", "COALESCE(MAX(%s), 0) * ?", "IF(COUNT(*) > 0, MAX(%s), -1) + ?"} {
				tw.SamePrepared(t, "begin", "SELECT "+fmt.Sprintf(form, counter)+" FROM c", int64(7))
			}
		}
		tw.SamePrepared(t, "begin", "SELECT COALESCE(MAX(s), 0) + ? FROM c", 1.5)
		for _, form := range []string{"SELECT SUM(x) FROM (SELECT COALESCE(MAX(%s), 0) + ? AS x FROM c) d", "SELECT COALESCE(IF(id < 2, %s, -i), ?) FROM c", "SELECT COALESCE(IF(%s <= i, i, u), ?) FROM c WHERE b = 77", "SELECT COALESCE(COALESCE(ABS(4), %s), ?) FROM c WHERE id <> 2"} {
			for _, arg := range []any{int64(7), uint64(7)} {
				for _, counter := range []string{"i", "u", "s", "b"} {
					query := fmt.Sprintf(form+" /* %T */", counter, arg)        // a text of its own: types are asked once
					tw.SameTypes(t, !strings.Contains(form, "SUM"), query, arg) // SUM: TestAcceptedPrecision
					tw.Same(t, query, arg)
				}
			}
		}
	})
}

// TestTypesOfRawMessages: what database/sql takes for text by its bytes, NULL if there
// are none, and of one Go type in both cases.
func TestTypesOfRawMessages(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE c (id INT PRIMARY KEY, n INT NOT NULL);\nINSERT INTO c VALUES (1, 3)", harness.Counters("c", "n"))
		for _, text := range []string{"SELECT id, n, ? AS v FROM c", "SELECT COALESCE(?, n) AS v FROM c", "SELECT n + ? AS v FROM c"} {
			for _, arg := range []any{json.RawMessage("7"), json.RawMessage(nil), json.RawMessage("12.5"), json.RawMessage("longer")} {
				tw.Same(t, text, arg)
			}
		}
	})
}

// values are the cells of a query of one column, with their Go types.
func values(t *testing.T, stmt *sql.Stmt, args ...any) (all []string) {
	t.Helper()
	rows, err := stmt.QueryContext(t.Context(), args...)
	if err != nil {
		return []string{harness.Told(err)}
	}
	defer rows.Close()
	for rows.Next() {
		var v any
		require.NoError(t, rows.Scan(&v))
		all = append(all, fmt.Sprintf("%T %v", v, v))
	}
	if err := rows.Err(); err != nil {
		all = append(all, harness.Told(err))
	}
	return all
}

// TestAcceptedTypes pins the types that differ on MySQL: the size of what is copied.
func TestAcceptedTypes(t *testing.T) {
	const schema = `
CREATE TABLE c (id INT PRIMARY KEY, n INT NOT NULL, likes INT NOT NULL, y YEAR NOT NULL, exact DECIMAL(12,0) NOT NULL);
INSERT INTO c VALUES (1, 3, 4, 2001, 1), (2, 3, 2, 2002, 1);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("c", "likes", "exact"))
		harness.Affected(t, tw.Direct, "INSERT INTO c_slots (id, slot) VALUES (1, 0)")
		pin := func(plain, ours []string) {
			if harness.MariaDB(srv) {
				require.Equal(t, plain, ours)
				return
			}
			require.NotEqual(t, plain, ours)
		}
		for _, query := range []string{"SELECT DISTINCT n, likes > 2 AS popular FROM c", "SELECT y, SUM(likes) FROM c WHERE EXISTS (SELECT 1 FROM c o WHERE o.n = c.n) GROUP BY y WITH ROLLUP"} {
			typesOf := func(db *sql.DB) (all []string) {
				rows, err := db.QueryContext(t.Context(), query)
				require.NoError(t, err)
				return harness.Described(t, rows)
			}
			pin(typesOf(tw.Plain), typesOf(tw.Ours))
		}
	})
}

// TestTypesByStrictness proves that types are those of the session's sql_mode:
// a cast can be NULL where it is not strict.
func TestTypesByStrictness(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0);\nINSERT INTO post (id) VALUES (1)", harness.Counters("post", "likes"))
		play := func(db *sql.DB) (answers []bool) {
			c, err := db.Conn(t.Context())
			require.NoError(t, err)
			defer c.Close()
			for _, mode := range []string{"STRICT_ALL_TABLES", "", "STRICT_ALL_TABLES"} {
				_, err = c.ExecContext(t.Context(), "SET sql_mode = '"+mode+"'")
				require.NoError(t, err)
				rows, err := c.QueryContext(t.Context(), "SELECT CAST(likes AS CHAR) FROM post WHERE id = 1")
				require.NoError(t, err)
				types, err := rows.ColumnTypes()
				require.NoError(t, err)
				nullable, _ := types[0].Nullable()
				answers = append(answers, nullable)
				require.NoError(t, rows.Close())
			}
			return answers
		}
		require.Equal(t, play(tw.Plain), play(tw.Ours))
	})
}

// TestTypesByNames proves that types are those of the session's character set: a text
// is VARBINARY behind SET NAMES binary.
func TestTypesByNames(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, title VARCHAR(20), likes INT NOT NULL DEFAULT 0);\nINSERT INTO post VALUES (1, 'a', 1)", harness.Counters("post", "likes"))
		reads := []string{"A: SELECT * FROM post", "A: SELECT title, likes, CONCAT(title, likes), UPPER(title) FROM post WHERE title = 'a'", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT title, likes FROM post WHERE id = 1"}
		var steps []string
		for _, set := range []string{"DO 1", "SET NAMES binary", "SET NAMES utf8mb4", "SET character_set_results = NULL", "SET CHARACTER SET latin1"} {
			steps = append(append(steps, "A: "+set), reads...)
		}
		tw.Play(t, steps...)
	})
}

// TestUnsignedBesideSmall proves that what is computed from a small counter and an
// UNSIGNED column, of its table or another, has the Go type that it has on plain MySQL.
func TestUnsignedBesideSmall(t *testing.T) {
	const schema = `
CREATE TABLE post (a TINYINT UNSIGNED NOT NULL PRIMARY KEY, y YEAR NOT NULL, bits BIT(3) NOT NULL, likes TINYINT NOT NULL, views MEDIUMINT NULL, n INT NOT NULL);
INSERT INTO post VALUES (1, 2026, 5, 7, 8, 9);
CREATE TABLE tag (id SMALLINT UNSIGNED PRIMARY KEY);
INSERT INTO tag VALUES (1);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes", "views", "n"))
		for _, expr := range []string{"likes + a", "views * a", "n + a", "likes + y", "a + bits + likes", "views + id", "likes - id", "COALESCE(views, a)", "GREATEST(likes, id)", "likes + LENGTH('abc')", "IF(likes > 1, a, likes)"} {
			for _, rest := range []string{"", " FOR UPDATE"} {
				query := "SELECT " + expr + " AS x FROM post, tag" + rest
				answers := func(db *sql.DB) (all []string) {
					for range 2 {
						var x any
						require.NoError(t, db.QueryRowContext(t.Context(), query).Scan(&x), query)
						all = append(all, fmt.Sprintf("%T %v", x, x))
						harness.Affected(t, db, "UPDATE post SET likes = likes + 1, views = views + 1, n = n + 1 WHERE a = 1")
					}
					return all
				}
				require.Equal(t, answers(tw.Plain), answers(tw.Ours), query)
			}
		}
	})
}

// TestFloatsOfOtherTables proves it for a FLOAT of another table of the query.
func TestFloatsOfOtherTables(t *testing.T) {
	const schema = "CREATE TABLE c (id INT PRIMARY KEY, n SMALLINT NOT NULL DEFAULT 0);\nINSERT INTO c VALUES (1, 0), (2, 7);\nCREATE TABLE price (id INT PRIMARY KEY, f FLOAT NULL);\nINSERT INTO price VALUES (1, 0.1), (2, NULL)"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("c", "n"))
		for _, query := range []string{"SELECT n + f AS x FROM c JOIN price USING (id) ORDER BY c.id", "SELECT COALESCE(f, n) AS x FROM c, price WHERE c.id = price.id ORDER BY c.id",
			"SELECT IF(n > 0, n, (SELECT f FROM price WHERE price.id = c.id)) AS x FROM c ORDER BY id", "SELECT n FROM c WHERE id = 1 UNION ALL SELECT f FROM price WHERE id = 1", "SELECT n + CAST(f AS CHAR) AS x FROM c JOIN price p ON p.id = c.id WHERE c.id = 1"} {
			tw.Same(t, query)
			tw.Play(t, "A: SET @a = 1", "A: "+query)
			plain, err := tw.Plain.Prepare(query)
			require.NoError(t, err)
			ours, err := tw.Ours.Prepare(query)
			require.NoError(t, err)
			require.Equal(t, harness.Queried(t.Context(), harness.StmtQuerier{Stmt: plain}, query), harness.Queried(t.Context(), harness.StmtQuerier{Stmt: ours}, query), query)
		}
	})
}

// TestFloatsBesideCounters proves that a FLOAT which an expression has beside a small
// counter stays one: it was a DOUBLE, and 0.1 was 0.10000000149011612.
func TestFloatsBesideCounters(t *testing.T) {
	const schema = `
CREATE TABLE c (id INT PRIMARY KEY, t TINYINT NOT NULL, s SMALLINT NULL, m MEDIUMINT UNSIGNED NOT NULL, d DECIMAL(4,1) NOT NULL, price FLOAT NULL, cost DOUBLE(10,2) NOT NULL DEFAULT 0.5);
INSERT INTO c (id, t, s, m, d, price) VALUES (1, 1, 2, 3, 1.5, 0.1), (2, 4, NULL, 6, 2.5, NULL);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, interpolated := range []string{"interpolateParams=false", "interpolateParams=true"} {
			tw := harness.NewTwin(t, srv, schema, harness.Counters("c", "t", "s", "m", "d"), interpolated)
			for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
				harness.Affected(t, db, "UPDATE c SET t = t + 1, s = s + 1, m = m + 1, d = d + 1 WHERE id = 1")
			}
			for _, query := range []string{
				"SELECT COALESCE(price, t), COALESCE(price, m), IFNULL(s, price), COALESCE(price, d) FROM c WHERE id >= ? ORDER BY id",
				"SELECT IF(id = 1, price, t), CASE WHEN id > 1 THEN m ELSE price END, GREATEST(price, t), LEAST(s, price), price + t, price FROM c WHERE id >= ? ORDER BY id",
				"SELECT t FROM c UNION SELECT price FROM c WHERE id >= ? ORDER BY 1",
			} {
				tw.Same(t, query, 1)
			}
			for _, expr := range []string{"cost", "cost + t", "COALESCE(cost, m)", "IF(id = 1, cost, t + 1)", "GREATEST(cost, m / 2)", "COALESCE(m, -1) + ? + cost", "COALESCE(IF(id < 2, m, -t), ?) + cost", "cost - (m - ?)"} {
				var types [2][]string
				for i, db := range []*sql.DB{tw.Plain, tw.Ours} {
					stmt, err := db.PrepareContext(t.Context(), "SELECT "+expr+" FROM c ORDER BY id")
					require.NoError(t, err)
					types[i] = values(t, stmt, []any{int64(1)}[:strings.Count(expr, "?")]...)
					require.NoError(t, stmt.Close())
				}
				require.Equal(t, types[0], types[1], expr)
			}
		}
	})
}

// TestColumnsInParentheses proves that a query in parentheses has plain's columns: on
// MariaDB columnsWithAlias told the name of a table that the server makes of it.
func TestColumnsInParentheses(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, likes SMALLINT UNSIGNED NOT NULL DEFAULT 0);
INSERT INTO post VALUES (1, 5), (2, 7);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"), "columnsWithAlias=true")
		tw.Play(t, "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: (SELECT id, likes FROM post ORDER BY likes, id LIMIT 1)", "A: ((SELECT p.id, p.likes + 1 FROM post p ORDER BY likes LIMIT 1));",
			"A: ((SELECT likes FROM post) UNION (SELECT id FROM post)) ORDER BY 1", "A: (SELECT likes FROM post ORDER BY id) ORDER BY likes LIMIT 1")
		tw.Same(t, "(SELECT likes, ? AS x FROM post WHERE id = ?)", 5, 1)
	})
}

// TestTypesOfJoins proves that types are asked when they are wanted, whatever the
// arguments stand for: each such query was two.
func TestTypesOfJoins(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0);
CREATE TABLE liked (post_id INT, name VARCHAR(10));
INSERT INTO post VALUES (1, 5), (2, 3);
INSERT INTO liked VALUES (1, 'ann');
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"), "interpolateParams=true")
		harness.Affected(t, tw.Direct, "INSERT INTO post_slots (id, slot) VALUES (1, 0)")
		for _, query := range []string{
			"SELECT p.id, p.likes, l.post_id FROM post p LEFT JOIN liked l ON l.post_id = p.id AND l.name = ? ORDER BY p.id",
			"SELECT p.id, p.likes FROM post p JOIN liked l ON l.name IN (SELECT name FROM liked WHERE name = ?) JOIN liked m ON m.post_id = p.id",
			"SELECT p.id, p.likes, l.n FROM post p LEFT JOIN liked k ON k.post_id = p.id JOIN (SELECT ? AS n) l ON l.n > '' ORDER BY p.id",
			"SELECT p.id, p.likes, l.n FROM post p JOIN liked k ON k.post_id = p.id, (SELECT ? AS n) l ORDER BY p.id",
			"SELECT p.id, p.likes + q.n FROM post p JOIN (SELECT id, likes AS n FROM post JOIN liked ON name = ? AND post_id = id) q ON q.id > 0 ORDER BY p.id",
		} {
			_ = tw.Same(t, query, "ann") // knows the schema by then
			require.Len(t, slices.DeleteFunc(tw.Sent.During(func() {
				rows, err := tw.Ours.QueryContext(t.Context(), query, "ann")
				require.NoError(t, err)
				for rows.Next() {
				}
				require.NoError(t, rows.Close())
			}), looks), 1, query)
		}
	})
}
