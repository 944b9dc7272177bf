package reads

import (
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestNumbersByEarlierArguments proves that a prepared statement's numbers are plain's
// whatever arguments its earlier executions had, and a counter's Go type is: MySQL takes a
// parameter for what it was last time, as long as it can, and the driver sends other texts
// at first than later on.
func TestNumbersByEarlierArguments(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, n INT NOT NULL, i INT NOT NULL, u SMALLINT UNSIGNED NOT NULL, b BIGINT UNSIGNED NOT NULL, d DECIMAL(10,2) NOT NULL, e DECIMAL(20,0) UNSIGNED NULL);
INSERT INTO post VALUES (1, 2, 3, 4, 5, 6.5, 7), (2, 9, 8, 7, 6, 5.5, NULL);
`
	arguments := [][]any{{int64(1), int64(2)}, {uint64(1), int64(2)}, {1.5, int64(2)}, {nil, int64(2)}, {"7", int64(2)}, {"1.5", "2"}, {int64(-1), uint64(3)}, {int64(1), 2.5}, {nil, nil}}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "i", "u", "b", "d", "e"))
		plain, ours := harness.Session(t, tw.Plain), harness.Session(t, tw.Ours)
		for _, db := range []*sql.Conn{plain, ours} {
			harness.Affected(t, db, "UPDATE post SET i = i + 1, u = u + 1, b = b + 1, d = d + 1, e = e + 1 WHERE id = 1")
		}
		for _, query := range []string{
			"SELECT d + ? AS total, u AS counter FROM post WHERE id >= ? ORDER BY id", "SELECT i + ?, n FROM post WHERE id >= ?", "SELECT u - ? FROM post WHERE id >= ?", "SELECT e * ? FROM post ORDER BY id LIMIT ?",
			"SELECT b + ?, n + ?, i counter FROM post ORDER BY id", "SELECT GREATEST(i, ?), LEAST(b, ?) FROM post ORDER BY id", "SELECT COALESCE(e, ?), d + 1 FROM post WHERE id = ?", "SELECT CASE WHEN i > ? THEN u ELSE ? END FROM post ORDER BY id",
			"SELECT IF(i > 1, ?, d), ? + 1 FROM post", "SELECT NULLIF(d, ?), ? FROM post ORDER BY id", "WITH q AS (SELECT d AS v FROM post WHERE u <=> ? GROUP BY d) SELECT COALESCE(MAX(v), 0) + ? FROM post LEFT JOIN q ON v IN (1, 2)",
			"SELECT (SELECT MAX(o.i) FROM post o WHERE o.n <= p.d), d + ? AS total FROM post p ORDER BY i + 0 LIMIT ?", "SELECT q.v + ? FROM (SELECT SUM(d) AS v FROM post WHERE n > ?) q",
			"SELECT u + ? FROM post USE INDEX (PRIMARY) WHERE (n + 1) DIV (1) > (SELECT MIN(n) - 1 FROM post o) ORDER BY id LIMIT ?",
		} {
			for first := range arguments {
				x, err := plain.PrepareContext(t.Context(), query)
				require.NoError(t, err)
				y, err := ours.PrepareContext(t.Context(), query)
				require.NoError(t, err)
				for i := range 2 * len(arguments) {
					at := (first + i*(first+1)) % len(arguments)
					args := arguments[at][:strings.Count(query, "?")]
					if _, float := args[len(args)-1].(float64); float && strings.HasSuffix(query, "LIMIT ?") {
						continue // the server takes it or not, by what came before
					}
					require.Equal(t, answered(t, x, args), answered(t, y, args), "%s: execution %d from %v: %v", query, i, arguments[first], args)
				}
				require.NoError(t, x.Close())
				require.NoError(t, y.Close())
			}
		}
	})
}

// answered are the rows of a prepared query: integers with their Go types, and other
// numbers as what they are, however many digits say so.
func answered(t *testing.T, stmt *sql.Stmt, args []any) string {
	rows, err := stmt.QueryContext(t.Context(), args...)
	if err != nil {
		return harness.Told(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	require.NoError(t, err)
	all := fmt.Sprint(columns)
	for rows.Next() {
		cells, dest := make([]any, len(columns)), make([]any, len(columns))
		for i := range cells {
			dest[i] = &cells[i]
		}
		require.NoError(t, rows.Scan(dest...))
		for i, v := range cells {
			if b, ok := v.([]byte); ok {
				v = string(b)
			}
			f, err := strconv.ParseFloat(fmt.Sprint(v), 64)
			switch {
			case columns[i] == "counter", err != nil:
				all += fmt.Sprintf("[%T %v]", v, v)
			default:
				all += fmt.Sprintf("[%.9g]", f)
			}
		}
	}
	return all + harness.Told(rows.Err())
}

// TestNumbersByEarlierArgumentsInside proves it inside a transaction, where another text is
// sent for the same query once it has incremented.
func TestNumbersByEarlierArgumentsInside(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, i INT NOT NULL, d DECIMAL(10,2) NOT NULL, f FLOAT NULL);
INSERT INTO post VALUES (1, 3, 6.5, 0.1), (2, 8, 5.1, NULL);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "i", "d"))
		for _, query := range []string{"SELECT d + ? AS n FROM post WHERE id >= ? ORDER BY id", "SELECT i * ? FROM post WHERE id = ?", "SELECT GREATEST(i, ?), COALESCE(d, ?), f + i FROM post", "SELECT CASE WHEN i > ? THEN d ELSE ? END FROM post", "SELECT ? - i, -d / ? FROM post ORDER BY id LIMIT 2"} {
			for _, args := range [][]any{{1.5, 2}, {int64(3), uint64(1)}, {"1.25", 1}, {uint64(7), 1.0}} {
				play := func(db *sql.DB) (answers []string) {
					conn := harness.Session(t, db)
					stmt, err := conn.PrepareContext(t.Context(), query)
					require.NoError(t, err)
					defer stmt.Close()
					answers = append(answers, answered(t, stmt, args))
					harness.Affected(t, conn, "BEGIN")
					for range 3 {
						harness.Affected(t, conn, "UPDATE post SET i = i + 1, d = d + 0.25 WHERE id = 1")
						answers = append(answers, answered(t, stmt, []any{int64(2), int64(1)}))
						harness.Affected(t, conn, "UPDATE post SET f = f + 1 WHERE id = 2")
						answers = append(answers, answered(t, stmt, args))
					}
					harness.Affected(t, conn, "COMMIT")
					return append(answers, answered(t, stmt, []any{int64(2), int64(1)}))
				}
				require.Equal(t, play(tw.Plain), play(tw.Ours), "%s %v", query, args)
			}
		}
	})
}
