package derived

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestFormulasAsWritten proves that triggers and recounts compute what plain MySQL computes of
// the text of a formula, whatever operators and literals it has.
func TestFormulasAsWritten(t *testing.T) {
	formulas := []string{
		"SUM(MOD(a + 1, b + 2))", "SUM(MOD(a, b) * 3)", "SUM(-MOD(a + 1, b))", "SUM(a - (b - 3))", "SUM(a - b - 3)", "SUM(- -a)", "SUM(-(a + b))", "SUM(~(a + b) & 255)", "SUM(- a ^ 2 & 7)", "SUM((a + 7) DIV b DIV 2)",
		"SUM(NOT a = 1)", "SUM((NOT a) = 1)", "SUM(!a + 1)", "SUM(!(a = 1) + 1)", "SUM(NOT a OR b)", "SUM(a OR b AND a)", "SUM(a || b)", "SUM(a = b = 1)", "SUM(a = (1 IS TRUE))", "SUM((a BETWEEN 1 AND 3) = b)",
		"SUM(CASE NOT a WHEN 1 THEN 5 WHEN b - 1 THEN 7 ELSE 2 END)", "SUM((CASE WHEN a THEN 1 END) IS NULL)", "SUM((a & b) = 1)", "SUM((a << 1 + 1) & 255)", "SUM(a + 1.50 > 3.5)",
		"SUM(s LIKE 'x|%' ESCAPE '|')", "SUM(s NOT LIKE CONCAT('%', '''', '%'))", "SUM(s = \"it's\")", "SUM(s = 'it' '''s')", "SUM(s = _utf8mb4'ä')", "SUM(s = _latin1'ä')", "SUM(s = X'78')", "SUM(BINARY s = 'x')", "SUM(BINARY CONCAT(s, 'x') = 'xx')", "SUM(CHAR_LENGTH(TRIM(LEADING 'x' FROM s)))", "SUM(CHAR_LENGTH(SUBSTRING(s FROM 2 FOR 1)))",
		"SUM(d > DATE '2020-06-01')", "SUM(d = TIMESTAMP'2020-06-01 00:00:00')", "SUM(EXTRACT(YEAR FROM d))", "SUM(TIMESTAMPDIFF(DAY, '2020-01-01', d))",
		"COUNT(NOT a)", "COUNT(a AND b)", "COUNT(a = b)", "COUNT(NULLIF(a, b))", "COUNT(a IS NULL)",
		"COUNT(*)" + " FROM c WHERE MOD(a + 1, b + 2) = 1", "COUNT(*) FROM c WHERE NOT (a = 1 AND b = 2)", "COUNT(*) FROM c WHERE a IS NOT TRUE",
	}
	text := func(f string) string {
		if !strings.Contains(f, " FROM c ") {
			f += " FROM c"
		}
		return "SELECT pid, " + f + " GROUP BY pid"
	}
	config := harness.Counters("p")
	config.Tables[0].Derived = map[string]string{}
	columns := "id INT PRIMARY KEY"
	for i, f := range formulas {
		name := fmt.Sprintf("n%d", i)
		columns += ", " + name + " BIGINT NOT NULL DEFAULT 0"
		config.Tables[0].Counters = append(config.Tables[0].Counters, name)
		config.Tables[0].Derived[name] = text(f)
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE p ("+columns+");\nINSERT INTO p (id) VALUES (1);\nCREATE TABLE c (pid INT, a INT, b INT, s VARCHAR(20), d DATETIME) CHARACTER SET utf8mb4;\nINSERT INTO c VALUES (1, 9, 1, 'x', '2020-06-01')", config)
		initialized(t, tw.Ours)
		for _, stmt := range []string{
			"INSERT INTO c VALUES (1, 9, 1, 'x', '2020-06-01'), (1, 0, 0, 'it''s', '2021-02-03'), (1, 1, 2, 'ä', '2020-01-01'), (1, NULL, 3, 'X', NULL), (1, 4, NULL, NULL, '2020-07-01'), (1, -3, 2, 'xä', '2020-06-01')",
			"UPDATE c SET a = a + 1, b = 3 WHERE s = 'x'",
		} {
			harness.Affected(t, tw.Plain, stmt)
			harness.Affected(t, tw.Ours, stmt)
		}
		for i, f := range formulas {
			want := harness.QueriedValue(t, tw.Plain, "SELECT CAST(n AS SIGNED) FROM ("+strings.Replace(text(f), " FROM c", " AS n FROM c", 1)+") AS counted")
			require.Equal(t, want, harness.QueriedValue(t, tw.Ours, fmt.Sprintf("SELECT n%d FROM p", i)), f)
		}
		drifts, err := countermysql.Recount(t.Context(), tw.Ours, nil)
		require.NoError(t, err)
		require.Empty(t, drifts)
	})
}

// TestSummedTypes proves that a trigger adds the number that SUM takes a value for, of types
// that are texts to other functions, or that Init refuses the sum.
func TestSummedTypes(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, of := range []string{"e", "st", "tm", "y", "b", "0x10", "IF(pid > 0, e, NULL)", "COALESCE(tm, '00:00:00')"} {
			t.Run(of, func(t *testing.T) {
				config := harness.Counters("p", "n")
				config.Tables[0].Derived = map[string]string{"n": "SELECT pid, SUM(" + of + ") FROM c GROUP BY pid"}
				tw := harness.NewTwin(t, srv, "CREATE TABLE p (id INT PRIMARY KEY, n BIGINT NOT NULL DEFAULT 0);\nINSERT INTO p (id) VALUES (1);\nCREATE TABLE c (pid INT, e ENUM('five','six'), st SET('5','6'), tm TIME, y YEAR, b BIT(4))", config)
				if _, err := countermysql.Init(t.Context(), tw.Ours, nil); err != nil {
					require.ErrorContains(t, err, "its formula's sum is a ")
					return
				}
				harness.Affected(t, tw.Ours, "INSERT INTO c VALUES (1, 'six', '5,6', '10:20:30', 2020, b'101'), (1, NULL, NULL, NULL, NULL, NULL)")
				want := harness.QueriedValue(t, tw.Direct, "SELECT CAST(SUM("+of+") AS SIGNED) FROM c")
				require.Equal(t, want, harness.QueriedValue(t, tw.Ours, "SELECT n FROM p"))
				drifts, err := countermysql.Recount(t.Context(), tw.Ours, nil)
				require.NoError(t, err)
				require.Empty(t, drifts)
			})
		}
	})
}

// TestFailingFormulas proves that a formula is refused, with what to write, by Init and Check,
// if its trigger could fail a write that plain MySQL takes: a query only warns of a text that
// is no number. What is to be written instead fails none.
func TestFailingFormulas(t *testing.T) {
	const number, moment, unsigned = "its formula takes the text %s for a number", "its formula takes the text %s for a time", "its formula subtracts with %s, which is UNSIGNED"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, test := range [][2]string{
			{"COUNT(*) FROM c WHERE kind = 0", fmt.Sprintf(number, "`kind`")},
			{"COUNT(*) FROM c WHERE kind IN ('a', 0)", fmt.Sprintf(number, "`kind`")},
			{"COUNT(*) FROM c WHERE up = 'x'", fmt.Sprintf(number, "'x'")},
			{"COUNT(*) FROM c WHERE up > 0 AND kind", fmt.Sprintf(number, "`kind`")},
			{"COUNT(*) FROM c WHERE kind", fmt.Sprintf(number, "`kind`")},
			{"SUM(CAST(kind AS SIGNED)) FROM c", fmt.Sprintf(number, "`kind`")},
			{"SUM(IF(kind, 1, 0)) FROM c", fmt.Sprintf(number, "`kind`")},
			{"SUM(CASE kind WHEN 1 THEN 2 ELSE 0 END) FROM c", fmt.Sprintf(number, "`kind`")},
			{"COUNT(*) FROM c WHERE at = kind", fmt.Sprintf(moment, "`kind`")},
			{"SUM(YEAR(kind)) FROM c", fmt.Sprintf(moment, "`kind`")},
			{"SUM(up - down) FROM c", fmt.Sprintf(unsigned, "`up`")},
			{"SUM(1 - down) FROM c", fmt.Sprintf(unsigned, "`down`")},
			{"SUM(CAST(up AS SIGNED) - CAST(down AS SIGNED)) FROM c WHERE kind <> '0' AND up <> '7' AND at > '2020-01-01' AND kind NOT LIKE 1", ""},
		} {
			t.Run(test[0], func(t *testing.T) {
				config := harness.Counters("p", "n")
				config.Tables[0].Derived = map[string]string{"n": "SELECT pid, " + test[0] + " GROUP BY pid"}
				tw := harness.NewTwin(t, srv, "CREATE TABLE p (id INT PRIMARY KEY, n BIGINT NOT NULL DEFAULT 0);\nINSERT INTO p (id) VALUES (1);\nCREATE TABLE c (pid INT, kind VARCHAR(20), up INT UNSIGNED, down INT UNSIGNED, at DATETIME)", config)
				_, err := countermysql.Init(t.Context(), tw.Ours, nil)
				if test[1] != "" {
					require.ErrorContains(t, err, test[1])
					require.Contains(t, strings.Join(problems(t, tw), "\n"), test[1])
					return
				}
				require.NoError(t, err)
				for _, mode := range []string{"", "STRICT_TRANS_TABLES,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO"} {
					conn, err := tw.Direct.Conn(t.Context())
					require.NoError(t, err)
					defer conn.Close()
					harness.Affected(t, conn, "SET SESSION sql_mode = '"+mode+"'")
					harness.Affected(t, conn, "INSERT INTO c VALUES (1, 'public', 2, 5, '2020-02-03')")
				}
				require.EqualValues(t, -6, harness.Number(t, tw.Ours, "SELECT n FROM p"))
			})
		}
	})
}
