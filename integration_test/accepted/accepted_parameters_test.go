package accepted

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestAcceptedFloating pins that a prepared increment which has had a floating-point
// argument adds as one that is prepared for each execution: an integer counts exactly. To
// plain MySQL the parameter stays what it was, and what an integer is added to is rounded.
func TestAcceptedFloating(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, likes BIGINT NOT NULL, views BIGINT UNSIGNED NOT NULL);
INSERT INTO post VALUES (1, 1152921504606846977, 9223372036854775813), (2, 3, 4);
`
	updates := []string{
		"UPDATE post SET likes = likes + ? WHERE id = 1", "UPDATE post SET likes = ? + likes", "UPDATE post SET views = views - ? WHERE id = 2",
		"UPDATE post SET views = COALESCE(views, 0) + ? WHERE id IN (1, 2)",
		"INSERT INTO post VALUES (1, 1, 1) ON DUPLICATE KEY UPDATE likes = likes + ?",
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes", "views"))
		_, rows, _ := strings.Cut(schema, ";")
		for _, first := range []any{4.0, float32(0.5), "4", []byte("4"), "4.5", uint64(4), true, nil, int64(4)} {
			for _, update := range updates {
				for _, begin := range []bool{false, true} {
					for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
						harness.Affected(t, db, "DELETE FROM post")
						harness.Affected(t, db, strings.Trim(rows, ";\n"))
					}
					play := func(db *sql.DB, execute func(*sql.Conn, *sql.Stmt, any) (sql.Result, error)) (answers []string) {
						conn := harness.Session(t, db)
						stmt, err := conn.PrepareContext(t.Context(), update)
						require.NoError(t, err)
						harness.Affected(t, conn, "UPDATE post SET likes = likes + 6, views = views + 2 WHERE id = 1")
						if begin {
							harness.Affected(t, conn, "BEGIN")
						}
						for _, arg := range []any{first, int64(3), uint64(2), int64(9)} {
							answers = append(answers, harness.Told2(execute(conn, stmt, arg)), harness.Queried(t.Context(), conn, "SELECT id, likes, views FROM post ORDER BY id"))
							if !begin {
								harness.Affected(t, conn, "UPDATE post SET likes = likes + 1 WHERE id = 1")
							}
						}
						require.NoError(t, stmt.Close())
						if begin {
							harness.Affected(t, conn, "ROLLBACK")
						}
						require.NoError(t, conn.Close())
						return answers
					}
					prepared := func(_ *sql.Conn, stmt *sql.Stmt, arg any) (sql.Result, error) {
						return stmt.ExecContext(t.Context(), arg)
					}
					plain := prepared
					switch first.(type) {
					case float32, float64:
						plain = func(conn *sql.Conn, _ *sql.Stmt, arg any) (sql.Result, error) {
							return conn.ExecContext(t.Context(), update, arg)
						}
					}
					require.Equal(t, play(tw.Plain, plain), play(tw.Ours, prepared), "%T, %s, begin %v", first, update, begin)
				}
			}
		}
		tw = harness.NewTwin(t, srv, schema, harness.Counters("post", "likes", "views"))
		var counts []int64
		for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
			stmt, err := harness.Session(t, db).PrepareContext(t.Context(), updates[0])
			require.NoError(t, err)
			for _, arg := range []any{7.0, int64(3), uint64(2)} {
				_, err := stmt.ExecContext(t.Context(), arg)
				require.NoError(t, err)
			}
			require.NoError(t, stmt.Close())
			counts = append(counts, harness.Number(t, db, "SELECT likes FROM post WHERE id = 1"))
		}
		const rounded = 1152921504606846976
		if srv.Flavor() == testserver.MySQL {
			require.Equal(t, []int64{rounded, rounded + 5}, counts)
		} else {
			require.Equal(t, counts[0], counts[1])
		}
	})
}

// TestAcceptedFloatingLater pins that a parameter of a query that is sent in another text
// than before is what its own argument makes of it.
func TestAcceptedFloatingLater(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes BIGINT NOT NULL);\nINSERT INTO post VALUES (1, 0)", harness.Counters("post", "likes"))
		var answers []string
		for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
			conn := harness.Session(t, db)
			harness.Affected(t, conn, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
			harness.Affected(t, conn, "UPDATE post SET likes = likes + 6 WHERE id = 1")
			stmt, err := conn.PrepareContext(t.Context(), "SELECT CONCAT(likes + ?) FROM post WHERE id = 1 FOR UPDATE")
			require.NoError(t, err)
			queriedStmt(t, stmt, 2.5)
			harness.Affected(t, conn, "BEGIN")
			harness.Affected(t, conn, "UPDATE post SET likes = likes + 1 WHERE id = 1")
			answers = append(answers, queriedStmt(t, stmt, int64(9007199254740993)))
			harness.Affected(t, conn, "ROLLBACK")
			require.NoError(t, stmt.Close())
		}
		exact, rounded := "[string 9007199254741000]done", "[string 9.007199254741e15]done"
		if srv.Flavor() == testserver.MySQL {
			require.Equal(t, []string{rounded, exact}, answers)
		} else {
			require.Equal(t, []string{exact, exact}, answers)
		}
	})
}

// TestAcceptedFloatingError pins that of the two errors of a number that is out of range, 1264 and 1690,
// MySQL chooses by the types that a statement's parameters have had before: with floating-point
// arguments ours is one that is prepared for that execution alone.
func TestAcceptedFloatingError(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT UNSIGNED NOT NULL, n INT NULL);\nINSERT INTO post VALUES (1, 1, 0)", harness.Counters("post", "likes"))
		numbers := lastErrors(t, tw, "UPDATE post SET likes = likes + ?, n = ? WHERE id = ?", [][]any{{"-1", 4, 1}, {-1, 4.0, 5}, {-1, 2, 1}})
		if harness.MariaDB(srv) {
			require.Equal(t, []int{1690, 1690}, numbers)
		} else {
			require.Equal(t, []int{1690, 1264}, numbers)
		}
	})
}

// lastErrors are the errors, or 0, of a prepared statement's last execution, on plain and on ours,
// behind other statements of the session.
func lastErrors(t *testing.T, tw *harness.Twin, text string, executions [][]any, before ...string) (numbers []int) {
	t.Helper()
	for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
		conn := harness.Session(t, db)
		for _, query := range before {
			harness.Affected(t, conn, query)
		}
		stmt, err := conn.PrepareContext(t.Context(), text)
		require.NoError(t, err)
		for i, args := range executions {
			res, err := stmt.ExecContext(t.Context(), args...)
			if i == len(executions)-1 {
				numbers = append(numbers, harness.ErrorNumber(err))
				break
			}
			require.NoError(t, err)
			_, err = res.RowsAffected()
			require.NoError(t, err)
		}
		require.NoError(t, stmt.Close())
		harness.Affected(t, conn, "ROLLBACK")
	}
	return numbers
}

// TestAcceptedEarlierTypes pins that what a prepared query computes from a parameter has
// the type that its own argument makes of it where another text is sent than before: to
// plain MySQL the parameter stays what it was. The number is the same.
func TestAcceptedEarlierTypes(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT UNSIGNED NOT NULL);\nINSERT INTO post VALUES (1, 0)", harness.Counters("post", "likes"))
		var answers []string
		for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
			conn := harness.Session(t, db)
			stmt, err := conn.PrepareContext(t.Context(), "SELECT likes + ? FROM post WHERE id = 1")
			require.NoError(t, err)
			queriedStmt(t, stmt, 2.5)
			harness.Affected(t, conn, "BEGIN")
			harness.Affected(t, conn, "UPDATE post SET likes = likes + 6 WHERE id = 1")
			answers = append(answers, queriedStmt(t, stmt, int64(3)))
			require.NoError(t, stmt.Close())
			harness.Affected(t, conn, "ROLLBACK")
		}
		of := "int64"
		if srv.Flavor() == testserver.MySQL {
			of = "float64"
		}
		require.Equal(t, []string{"[" + of + " 9]done", "[int64 9]done"}, answers)
	})
}

// TestAcceptedPrecision pins that an expression's types are asked once: with other
// arguments or settings than those of the first who asked, a DECIMAL's precision may be the
// sum's. Its digits are plain's.
func TestAcceptedPrecision(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT UNSIGNED NOT NULL);\nINSERT INTO post VALUES (1, 5)", harness.Counters("post", "likes"), "interpolateParams=true")
		harness.Affected(t, tw.Direct, "INSERT INTO post_slots (id, slot) VALUES (1, 0)")
		answers := func(db *sql.DB) (values []string, precisions []int64) {
			conn := harness.Session(t, db)
			for _, step := range []struct {
				set, query string
				args       []any
			}{
				{"DO 1", "SELECT likes / 3, likes FROM post", nil},
				{"SET div_precision_increment = 8", "SELECT likes / 3, likes FROM post", nil},
				{"DO 1", "SELECT likes + ?, likes FROM post", []any{"x"}},
				{"DO 1", "SELECT likes + ?, likes FROM post", []any{1.5}},
			} {
				harness.Affected(t, conn, step.set)
				rows, err := conn.QueryContext(t.Context(), step.query, step.args...)
				require.NoError(t, err)
				types, err := rows.ColumnTypes()
				require.NoError(t, err)
				precision, scale, _ := types[0].DecimalSize()
				precisions = append(precisions, precision)
				for rows.Next() {
					var x, likes any
					require.NoError(t, rows.Scan(&x, &likes))
					values = append(values, fmt.Sprintf("%s %d: %T %s, %T %v", types[0].DatabaseTypeName(), scale, x, x, likes, likes))
				}
				require.NoError(t, rows.Err())
			}
			return values, precisions
		}
		want, plain := answers(tw.Plain)
		got, ours := answers(tw.Ours)
		require.Equal(t, want, got)
		require.Equal(t, []int64{plain[0], plain[2]}, []int64{ours[0], ours[2]})
		require.Less(t, plain[1], ours[1])
		require.Less(t, plain[3], ours[3])
	})
}

// TestAcceptedOtherArguments pins that what an expression gives for an argument of another
// kind than the first is the same number, but may be of the Go type that it had for that.
func TestAcceptedOtherArguments(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes SMALLINT NOT NULL);\nINSERT INTO post VALUES (1, 5)", harness.Counters("post", "likes"))
		harness.Affected(t, tw.Direct, "INSERT INTO post_slots (id, slot) VALUES (1, 0)")
		var answers []string
		for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
			for _, arg := range []any{int64(1), uint64(1)} {
				stmt, err := db.PrepareContext(t.Context(), "SELECT COALESCE(likes, ?) FROM post")
				require.NoError(t, err)
				answers = append(answers, queriedStmt(t, stmt, arg))
				require.NoError(t, stmt.Close())
			}
		}
		require.Equal(t, []string{"[int64 5]done", "[string 5]done", "[int64 5]done", "[int64 5]done"}, answers)
	})
}

// queriedStmt is what a prepared query answers.
func queriedStmt(t *testing.T, stmt *sql.Stmt, args ...any) string {
	t.Helper()
	rows, err := stmt.QueryContext(t.Context(), args...)
	if err != nil {
		return harness.Told(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var v any
		require.NoError(t, rows.Scan(&v))
		if b, ok := v.([]byte); ok {
			v = string(b)
		}
		all = append(all, fmt.Sprintf("%T %v", v, v))
	}
	return fmt.Sprint(all, harness.Told(rows.Err()))
}

// TestAcceptedEarlierSigns pins that to MySQL a text is a number with or without a sign, as the last
// number was that a prepared statement was executed with: of one that was counted without it
// nothing is known.
func TestAcceptedEarlierSigns(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes SMALLINT NOT NULL, n INT NULL, title VARCHAR(9) NOT NULL);\nINSERT INTO post VALUES (1, 2, 3, 'x')", harness.Counters("post", "likes"))
		numbers := lastErrors(t, tw, "UPDATE post SET likes = likes - ? WHERE id = 1 AND (n > 1 OR title LIKE ?)",
			[][]any{{uint64(2), []byte("%a%")}, {5, sql.NullString{String: "%a%", Valid: true}}, {[]byte("1"), "%a%"}},
			"SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "BEGIN")
		if harness.MariaDB(srv) {
			require.Equal(t, []int{0, 0}, numbers)
		} else {
			require.Equal(t, []int{0, 1690}, numbers)
		}
	})
}

// TestAcceptedUnion pins that MySQL takes NULLIF of a derived table's number for UNSIGNED, as the
// counter behind it is, which a sum is not: a UNION with a number that has a sign is a DECIMAL.
func TestAcceptedUnion(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE hits (id INT PRIMARY KEY, views BIGINT UNSIGNED NOT NULL);\nINSERT INTO hits VALUES (4, 7)", harness.Counters("hits", "views"))
		harness.Affected(t, tw.Direct, "INSERT INTO hits_slots (id, slot) VALUES (4, 0)")
		const query = "SELECT NULLIF(d.n, views) AS c FROM (SELECT 3 AS n FROM hits h) d CROSS JOIN hits"
		tw.Same(t, query)
		want := harness.Queried(t.Context(), tw.Plain, query+" UNION ALL SELECT COUNT(*) FROM hits")
		if !harness.MariaDB(srv) {
			require.Equal(t, "c DECIMAL, [3][1]", want)
			want = "c BIGINT, [3][1]"
		}
		require.Equal(t, want, harness.Queried(t.Context(), tw.Ours, query+" UNION ALL SELECT COUNT(*) FROM hits"))
	})
}
