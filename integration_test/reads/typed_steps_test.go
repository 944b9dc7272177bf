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

const stepsSchema = `
CREATE TABLE c (id INT PRIMARY KEY, i INT NOT NULL, u INT UNSIGNED NOT NULL, b BIGINT UNSIGNED NOT NULL, d DECIMAL(12,2) NOT NULL, title VARCHAR(20) NOT NULL DEFAULT 'x');
CREATE TABLE o (n INT NOT NULL);
INSERT INTO c VALUES (1, 3, 4, 5, 6, 'a'), (2, -3, 0, 1, 0, 'b');
INSERT INTO o VALUES (2);
`

// full is an answer with all that is known of its columns and the Go types of its values.
func full(t *testing.T, q harness.Querier, query string, args ...any) string {
	rows, err := q.QueryContext(t.Context(), query, args...)
	if err != nil {
		return harness.Told(err)
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	require.NoError(t, err)
	var b strings.Builder
	for _, c := range types {
		_, scale, ok := c.DecimalSize() // the precision may be another: TestAcceptedPrecision
		fmt.Fprintf(&b, "%s %s %v %d,%v; ", c.Name(), c.DatabaseTypeName(), c.ScanType(), scale, ok)
	}
	for rows.Next() {
		cells, dest := make([]any, len(types)), make([]any, len(types))
		for i := range cells {
			dest[i] = &cells[i]
		}
		require.NoError(t, rows.Scan(dest...))
		for _, v := range cells {
			if x, ok := v.([]byte); ok {
				fmt.Fprintf(&b, "[bytes %q]", x)
			} else {
				fmt.Fprintf(&b, "[%T %v]", v, v)
			}
		}
	}
	if err := rows.Err(); err != nil {
		return b.String() + harness.Told(err)
	}
	return b.String()
}

// playSteps runs statements on one connection: "P:" prepares, "@@" is followed by arguments.
func playSteps(t *testing.T, tw *harness.Twin, steps []string) {
	t.Helper()
	var all [2][]string
	for i, db := range []*sql.DB{tw.Plain, tw.Ours} {
		conn := harness.Session(t, db)
		for _, step := range steps {
			step, args := step, []any(nil)
			prep := false
			if rest, ok := strings.CutPrefix(step, "P:"); ok {
				step, prep = rest, true
			}
			if s, a, ok := strings.Cut(step, " @@ "); ok {
				step = s
				for _, x := range strings.Split(a, "|") {
					switch {
					case x == "1":
						args = append(args, 1)
					case x == "1.5":
						args = append(args, 1.5)
					case x == "nil":
						args = append(args, nil)
					default:
						args = append(args, x)
					}
				}
			}
			var ans string
			switch {
			case prep:
				stmt, err := conn.PrepareContext(t.Context(), step)
				if err != nil {
					ans = harness.Told(err)
				} else {
					ans = full(t, harness.StmtQuerier{Stmt: stmt}, step, args...)
					stmt.Close()
				}
			case harness.IsQuery.MatchString(step):
				ans = full(t, conn, step, args...)
			default:
				res, err := conn.ExecContext(t.Context(), step, args...)
				if err != nil {
					ans = harness.Told(err)
				} else {
					n, _ := res.RowsAffected()
					ans = fmt.Sprint("affected ", n)
				}
			}
			all[i] = append(all[i], step+" → "+ans)
		}
	}
	require.Equal(t, strings.Join(all[0], "\n"), strings.Join(all[1], "\n"))
}

// TestTypesStepByStep proves that names, types and values are plain's while the
// session's settings, its variables and other tables change.
func TestTypesStepByStep(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, ip := range []string{"interpolateParams=false", "interpolateParams=true"} {
			t.Run(ip, func(t *testing.T) {
				for name, steps := range map[string][]string{
					"NO_UNSIGNED_SUBTRACTION":   {"SELECT u - 1, u + 1 FROM c ORDER BY id DESC LIMIT 1 OFFSET 1", "SET sql_mode = 'NO_UNSIGNED_SUBTRACTION'", "SELECT u - 1, u + 1 FROM c ORDER BY id DESC LIMIT 1 OFFSET 1", "SELECT u - 1 FROM c WHERE id = 2"},
					"NO_UNSIGNED_SUBTRACTION P": {"P:SELECT u - ? FROM c WHERE id = 1 @@ 1", "SET sql_mode = 'NO_UNSIGNED_SUBTRACTION'", "P:SELECT u - ? FROM c WHERE id = 1 @@ 1"},
					"div_precision":             {"SELECT u / 2, d / 4 FROM c WHERE id = 1", "SET div_precision_increment = 8", "SELECT u / 2, d / 4, u / 3 FROM c WHERE id = 1"},
					"div_precision2":            {"SET div_precision_increment = 8", "SELECT u / 2, d / 4, u / 3 FROM c WHERE id = 1"},
					"uservar":                   {"SET @x = 2.5", "SELECT u * @x, i + @x FROM c WHERE id = 1", "SELECT @x := @x + 1, u FROM c WHERE id = 1", "SELECT @x"},
					"uservar2":                  {"SET @x = 2", "SELECT u * @x, i + @x FROM c WHERE id = 1", "P:SELECT u * @x, i + @x FROM c WHERE id = ? @@ 1"},
					"literals":                  {"P:SELECT i + 1.5 FROM c WHERE id = ? @@ 1", "P:SELECT i + 1.25 FROM c WHERE id = ? @@ 1", "P:SELECT i + 1 FROM c WHERE id = ? @@ 1", "SELECT i + 1.5 FROM c WHERE id = ? @@ 1", "SELECT i + 1.125 FROM c WHERE id = ? @@ 1", "SELECT i + 2 FROM c WHERE id = ? @@ 1", "SELECT i + 2.50 FROM c WHERE id = 1", "SELECT u + 2.50 FROM c WHERE id = 1", "P:SELECT u + 7 FROM c WHERE id = 1", "P:SELECT u + 7.5 FROM c WHERE id = 1", "P:SELECT u + '7.5' FROM c WHERE id = 1"},
					"question":                  {"SELECT '?', u + ? FROM c WHERE id = ? @@ 1|1", "SELECT '?', b + ? FROM c WHERE id = ? @@ 1|1", "SELECT u - 1, b /* ? */ FROM c WHERE id = ? AND title <> '?' @@ 1", "SELECT GREATEST(u, ?), '?' FROM c WHERE id = 1 @@ 1", "SELECT GREATEST(b, ?), '?' AS x FROM c WHERE id = 1 @@ 1"},
					"strings":                   {"SELECT u + ? FROM c WHERE id = ? @@ abc|1", "SELECT u + ? FROM c WHERE id = ? @@ 2.5|1", "SELECT u + ? FROM c WHERE id = ? @@ 1.5|1", "SELECT COALESCE(?, u) FROM c WHERE id = 1 @@ nil", "SELECT COALESCE(?, u) FROM c WHERE id = 1 @@ x", "SELECT IF(u > ?, u, ?) FROM c WHERE id = 1 @@ 1|nil"},
					"ddl of another table":      {"SELECT U, o.* FROM c JOIN o WHERE c.id = 1", "ALTER TABLE o CHANGE n m DECIMAL(10,2) NOT NULL", "SELECT U, o.* FROM c JOIN o WHERE c.id = 1", "UPDATE o SET m = 2.5", "SELECT U, o.* FROM c JOIN o WHERE c.id = 1", "ALTER TABLE o CHANGE m n INT NOT NULL"},
					"distinct":                  {"SELECT DISTINCT u - 1, SUM(u), u DIV 2, -u FROM c WHERE id = 1 GROUP BY id", "SELECT b - 1, SUM(b), AVG(u), MAX(u) + 1, u % 2, ABS(u), ROUND(u), u | 1, u << 1, ~u, IF(1, u, NULL), CAST(u AS CHAR), u > 1, u IS NULL FROM c WHERE id = 1 GROUP BY u, b"},
					"union":                     {"SELECT u FROM c UNION ALL SELECT -1", "(SELECT u, 'x' FROM c ORDER BY id LIMIT 1) UNION (SELECT b, NULL FROM c ORDER BY id LIMIT 1) LIMIT 5", "SELECT * FROM (SELECT u, b FROM c ORDER BY u LIMIT 1) q"},
				} {
					t.Run(name, func(t *testing.T) {
						tw := harness.NewTwin(t, srv, stepsSchema, harness.Counters("c", "i", "u", "b", "d"), ip)
						for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
							harness.Affected(t, db, "UPDATE c SET i = i + 1, u = u + 1, b = b + 1, d = d + 1 WHERE id = 1")
						}
						playSteps(t, tw, steps)
					})
				}
			})
		}
	})
}

// TestAssignedOnce proves that a variable assigned in a derived table or subquery
// is assigned once: asking for the types of the columns does not do it again.
func TestAssignedOnce(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, stepsSchema, harness.Counters("c", "i"))
		conn := harness.Session(t, tw.Ours)
		harness.Affected(t, conn, "SET @n = 0")
		full(t, conn, "SELECT i, x.n FROM c, (SELECT @n := @n + 1 AS n) x WHERE id = 1")
		require.EqualValues(t, 1, harness.Number(t, conn, "SELECT @n"))
		require.EqualValues(t, 5, harness.Number(t, conn, "SELECT i + (SELECT @n := @n + 1) FROM c WHERE id = 1"))
		require.EqualValues(t, 2, harness.Number(t, conn, "SELECT @n"))
	})
}

// TestEvaluatedOnce proves that an exact statement that changes nothing assigns its
// variables, and calls its functions, once.
func TestEvaluatedOnce(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, stepsSchema, harness.Counters("c", "i", "u"))
		playSteps(t, tw, []string{"SET @n = 0", "UPDATE c SET i = 3, title = IF(@n := @n + 1, title, '') WHERE id = 1", "SELECT @n",
			"DELETE FROM c WHERE id = 1 AND GET_LOCK(" + harness.Xid + ", 0) = 1 AND title = 'no'", "SELECT RELEASE_LOCK(" + harness.Xid + ")", "SELECT RELEASE_LOCK(" + harness.Xid + ")"})
	})
}
