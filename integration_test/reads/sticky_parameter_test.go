package reads

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestStickyParameters proves that a prepared statement adds what it adds on plain MySQL
// where an earlier argument was a floating-point number: its parameter stays one.
func TestStickyParameters(t *testing.T) {
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
		for _, first := range []any{4.0, float32(0.5), "4", []byte("4"), "4.5", uint64(4), true, nil, int64(4)} {
			for _, update := range updates {
				for _, begin := range []bool{false, true} {
					tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes", "views"))
					var answers [2][]string
					for i, db := range []*sql.DB{tw.Plain, tw.Ours} {
						conn := harness.Session(t, db)
						stmt, err := conn.PrepareContext(t.Context(), update)
						require.NoError(t, err)
						harness.Affected(t, conn, "UPDATE post SET likes = likes + 6, views = views + 2 WHERE id = 1")
						if begin {
							harness.Affected(t, conn, "BEGIN")
						}
						for _, arg := range []any{first, int64(3), uint64(2), int64(9)} {
							res, err := stmt.ExecContext(t.Context(), arg)
							n := int64(-1)
							if err == nil {
								n, err = res.RowsAffected()
							}
							answers[i] = append(answers[i], fmt.Sprint(n, " ", harness.ErrorNumber(err), " ", harness.Queried(t.Context(), conn, "SELECT id, likes, views FROM post ORDER BY id")))
							if !begin {
								harness.Affected(t, conn, "UPDATE post SET likes = likes + 1 WHERE id = 1")
							}
						}
						require.NoError(t, stmt.Close())
					}
					require.Equal(t, answers[0], answers[1], "%T, %s, begin %v", first, update, begin)
				}
			}
		}
	})
}

// TestStickyInOtherTexts proves the same where the driver sends other texts at first than
// later on: the parameters of each are what those of the application's statement are.
func TestStickyInOtherTexts(t *testing.T) {
	const schema = "CREATE TABLE post (id INT PRIMARY KEY, title VARCHAR(10), likes BIGINT NOT NULL, views TINYINT UNSIGNED NOT NULL)"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, text := range []string{
			"UPDATE post SET views = views + ? WHERE title <> 'x' ORDER BY id DESC LIMIT 2",
			"UPDATE post SET views = views + ? WHERE title <> 'x'",
			"UPDATE post SET views = views + ? WHERE id = 1",
			"UPDATE post SET views = GREATEST(views + ?, 0) WHERE id IN (1, 2)",
			"UPDATE post SET views = views + 1 ORDER BY id LIMIT ?",
			"SELECT CONCAT(likes + ?) FROM post",
		} {
			for _, level := range []string{"READ COMMITTED", "REPEATABLE READ"} {
				for _, args := range [][]any{{-1.0, int64(-1), int64(3)}, {2.5, "1", int64(-1), uint64(3)}, {int64(2), 2.5, nil, true, int64(9007199254740993)}, {"x", int64(-1), int64(2)}} {
					tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes", "views"))
					var answers [2][]string
					for i, db := range []*sql.DB{tw.Plain, tw.Ours} {
						conn := harness.Session(t, db)
						harness.Affected(t, conn, "SET SESSION TRANSACTION ISOLATION LEVEL "+level)
						stmt, err := conn.PrepareContext(t.Context(), text)
						require.NoError(t, err)
						say := func(arg any) {
							if strings.HasPrefix(text, "SELECT") {
								answers[i] = append(answers[i], queriedStmt(t, stmt, arg))
								return
							}
							answers[i] = append(answers[i], harness.Told2(stmt.ExecContext(t.Context(), arg)), harness.Queried(t.Context(), conn, "SELECT * FROM post ORDER BY id"))
						}
						say(args[0])
						harness.Affected(t, conn, "INSERT INTO post VALUES (1, 'a', 0, 0), (2, 'b', 5, 7)")
						harness.Affected(t, conn, "UPDATE post SET likes = likes + 6 WHERE id = 1")
						for n, arg := range args[1:] {
							say(arg)
							if n == 0 {
								harness.Affected(t, conn, "BEGIN")
								harness.Affected(t, conn, "UPDATE post SET likes = likes + 1 WHERE id = 2")
							}
						}
						harness.Affected(t, conn, "ROLLBACK")
						require.NoError(t, stmt.Close())
					}
					require.Equal(t, answers[0], answers[1], "%s, %s, %v", text, level, args)
				}
			}
		}
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
		all = append(all, fmt.Sprintf("%T %s", v, v))
	}
	return fmt.Sprint(all, harness.Told(rows.Err()))
}

// TestAcceptedFloatingLater pins that a parameter of a locking query that is sent in other
// texts may be an integer again: to have given each the earlier argument would lock rows.
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
		exact, rounded := "[[]uint8 9007199254741000]done", "[[]uint8 9.007199254741e15]done"
		if srv.Flavor() == testserver.MySQL {
			require.Equal(t, []string{rounded, exact}, answers)
		} else {
			require.Equal(t, []string{exact, exact}, answers)
		}
	})
}

// TestFloatsLockNoOtherRows proves that a floating-point argument of a prepared update
// keeps nobody from other rows.
func TestFloatsLockNoOtherRows(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_lock_wait_timeout=1")
		for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
			for _, text := range []string{"UPDATE post SET views = views + ? + 1 WHERE slug = 'a'", "UPDATE post SET likes = GREATEST(likes + ?, 0) WHERE slug = 'gone'"} {
				conn, other := harness.Session(t, db), harness.Session(t, db)
				stmt, err := conn.PrepareContext(t.Context(), text)
				require.NoError(t, err)
				harness.Affected(t, conn, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
				harness.Affected(t, conn, "BEGIN")
				_, err = stmt.ExecContext(t.Context(), 1.0)
				require.NoError(t, err)
				require.EqualValues(t, 1, harness.Affected(t, other, "UPDATE post SET likes = GREATEST(likes, 0) + 1 WHERE id = 2"))
				harness.Affected(t, conn, "ROLLBACK")
				require.NoError(t, stmt.Close())
			}
		}
	})
}
