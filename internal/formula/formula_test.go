package formula

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestParse proves what a trigger adds for a row of a formula, and which query it is.
func TestParse(t *testing.T) {
	for _, test := range []struct {
		text, db, part, query string
		key, columns          []string
	}{
		{"SELECT post_id, COUNT(*) FROM comment WHERE status = 'public' GROUP BY post_id;", "forum",
			"IF(NEW.`status` = 'public', 1, 0)",
			"SELECT `countermysql_row`.`post_id`, COUNT(*) FROM `forum`.`comment` AS `countermysql_row` WHERE `countermysql_row`.`status` = 'public' GROUP BY `countermysql_row`.`post_id`",
			[]string{"post_id"}, []string{"status", "post_id"}},
		{"select c.blog, c.post, count(c.mail) from blog.comment c group by c.blog, c.post", "forum",
			"IF(NEW.`mail` IS NULL, 0, 1)",
			"SELECT `countermysql_row`.`blog`, `countermysql_row`.`post`, COUNT(`countermysql_row`.`mail`) FROM `blog`.`comment` AS `countermysql_row` GROUP BY `countermysql_row`.`blog`, `countermysql_row`.`post`",
			[]string{"blog", "post"}, []string{"mail", "blog", "post"}},
		{"SELECT `account`, SUM(IF(kind = 'in', amount, -amount)) FROM booking WHERE NOT deleted AND at >= '2020-01-01' GROUP BY account", "bank",
			"IF((NOT NEW.`deleted`) AND (NEW.`at` >= '2020-01-01'), COALESCE(CAST(IF(NEW.`kind` = 'in', NEW.`amount`, -NEW.`amount`) AS SIGNED), 0), 0)",
			"SELECT `countermysql_row`.`account`, SUM(IF(`countermysql_row`.`kind` = 'in', `countermysql_row`.`amount`, -`countermysql_row`.`amount`)) FROM `bank`.`booking` AS `countermysql_row` WHERE (NOT `countermysql_row`.`deleted`) AND (`countermysql_row`.`at` >= '2020-01-01') GROUP BY `countermysql_row`.`account`",
			[]string{"account"}, []string{"kind", "amount", "deleted", "at", "account"}},
		{`SELECT a, COUNT(*) FROM t WHERE b LIKE 'it''s_%' OR c IN (1, 2) OR d IS NULL OR e BETWEEN 1 AND 2 GROUP BY a`, "x",
			"IF((NEW.`b` LIKE 'it''s_%') OR (NEW.`c` IN (1,2)) OR (NEW.`d` IS NULL) OR (NEW.`e` BETWEEN 1 AND 2), 1, 0)",
			"SELECT `countermysql_row`.`a`, COUNT(*) FROM `x`.`t` AS `countermysql_row` WHERE (`countermysql_row`.`b` LIKE 'it''s_%') OR (`countermysql_row`.`c` IN (1,2)) OR (`countermysql_row`.`d` IS NULL) OR (`countermysql_row`.`e` BETWEEN 1 AND 2) GROUP BY `countermysql_row`.`a`",
			[]string{"a"}, []string{"b", "c", "d", "e", "a"}},
	} {
		f, err := Parse(test.text)
		require.NoError(t, err, test.text)
		f = f.In(test.db)
		require.Equal(t, test.part, f.Part("NEW", "SIGNED"))
		require.Equal(t, test.query, f.Query())
		require.Equal(t, test.key, f.Key)
		require.Equal(t, test.columns, f.Columns)
		again, err := Parse(f.Query())
		require.NoError(t, err)
		require.Equal(t, f, again)
	}
}

// TestParseMistakes proves what is refused, and that it is said why.
func TestParseMistakes(t *testing.T) {
	for text, problem := range map[string]string{
		"":                                     "it is no query that can be read",
		"SELECT":                               "it is no query that can be read",
		"DELETE FROM comment":                  "it is no query that can be read",
		"SELECT a, COUNT(*) FROM t":            "it has no GROUP BY of the counter's key",
		"SELECT COUNT(*) FROM t GROUP BY a":    "its GROUP BY is not by what it selects first, in that order",
		"SELECT a, COUNT(*) FROM t GROUP BY b": "its GROUP BY is not by what it selects first, in that order",
		"SELECT a, b, COUNT(*) FROM t GROUP BY b, a":                                   "its GROUP BY is not by what it selects first, in that order",
		"SELECT a + 1, COUNT(*) FROM t GROUP BY a":                                     "what it selects first are not the columns of the key",
		"SELECT a, MAX(b) FROM t GROUP BY a":                                           "what it selects last is neither COUNT nor SUM",
		"SELECT a, COUNT(*) + 1 FROM t GROUP BY a":                                     "what it selects last is neither COUNT nor SUM",
		`SELECT a, COUNT(*) FROM t WHERE b = 'x\\y' GROUP BY a`:                        "it has a backslash in a text, which is another text under NO_BACKSLASH_ESCAPES (LIKE has ESCAPE '|')",
		"SELECT a, COUNT(DISTINCT b) FROM t GROUP BY a":                                "it has DISTINCT, for which one row does not tell its part",
		"SELECT DISTINCT a, COUNT(*) FROM t GROUP BY a":                                "it has DISTINCT, for which one row does not tell its part",
		"SELECT a, COUNT(*) FROM t GROUP BY a HAVING COUNT(*) > 1":                     "it has HAVING, for which one row does not tell its part",
		"SELECT a, COUNT(*) FROM t GROUP BY a ORDER BY a":                              "it is more than a SELECT of groups of one table",
		"SELECT a, COUNT(*) FROM t GROUP BY a LIMIT 1":                                 "it is more than a SELECT of groups of one table",
		"SELECT a, COUNT(*) FROM t JOIN u USING (a) GROUP BY a":                        "it reads more than one table",
		"SELECT a, COUNT(*) FROM (SELECT 1 AS a) t GROUP BY a":                         "it reads a query",
		"SELECT a, COUNT(*) FROM t WHERE b IN (SELECT 1) GROUP BY a":                   "it has a subquery",
		"SELECT a, COUNT(*) FROM t WHERE EXISTS (SELECT 1) GROUP BY a":                 "it has a subquery",
		"SELECT a, COUNT(*) FROM t WHERE b < NOW() GROUP BY a":                         "it calls NOW, which is not known to depend on its arguments alone",
		"SELECT a, COUNT(*) FROM t WHERE RAND() < 1 GROUP BY a":                        "it calls RAND, which is not known to depend on its arguments alone",
		"SELECT a, SUM(mine(b)) FROM t GROUP BY a":                                     "it calls MINE, which is not known to depend on its arguments alone",
		"SELECT a, COUNT(*) FROM t WHERE b = UUID() GROUP BY a":                        "it calls UUID, which is not known to depend on its arguments alone",
		"SELECT a, COUNT(*) FROM t WHERE b = CURRENT_USER() GROUP BY a":                "it calls CURRENT_USER, which is not known to depend on its arguments alone",
		"SELECT a, COUNT(*) FROM t WHERE b = @x GROUP BY a":                            "it reads a variable, which is another in each session",
		"SELECT a, COUNT(*) FROM t WHERE b = @@sql_mode GROUP BY a":                    "it reads a variable, which is another in each session",
		"SELECT a, COUNT(*) FROM t WHERE b = ? GROUP BY a":                             "it has a parameter",
		"SELECT a, COUNT(*) FROM t WHERE b > '2020-01-01 00:00:00.5+02:00' GROUP BY a": "it has a time with an offset, which is another time in each session's time zone",
		"SELECT a, COUNT(*) FROM t WHERE u.b = 1 GROUP BY a":                           "it reads u, which is not its table",
		"SELECT a, COUNT(*) FROM t GROUP BY a WITH ROLLUP":                             "it has no GROUP BY of the counter's key",
		"SELECT a, COUNT(*) FROM t GROUP BY a FOR UPDATE":                              "it is more than a SELECT of groups of one table",
		"SELECT a, COUNT(*) FROM t WHERE b = DEFAULT(b) GROUP BY a":                    "it has an expression that can't be followed",
		"SELECT a, COUNT(*) /*!50000 , 1 */ FROM t GROUP BY a":                         "it has a comment that servers read",
		"SELECT a, COUNT(*) FROM t GROUP BY a UNION SELECT 1, 2":                       "it is no query that can be read",
		"SELECT a, COUNT(*) FROM t PARTITION (p) GROUP BY a":                           "its FROM has more than a table",
		"WITH x AS (SELECT 1) SELECT a, COUNT(*) FROM t GROUP BY a":                    "it is more than a SELECT of groups of one table",
		"SELECT a, SUM(b / c) FROM t GROUP BY a":                                       "it divides, by digits that each session sets; DIV has none",
		"SELECT a, SUM(COUNT(*)) FROM t GROUP BY a":                                    "it has an aggregate within another, or in its WHERE",
		"SELECT a, COUNT(*) OVER () FROM t GROUP BY a":                                 "what it selects last is neither COUNT nor SUM",
		"SELECT a, COUNT(*) FROM t GROUP BY a; SELECT 1":                               "it is no query that can be read",
	} {
		_, err := Parse(text)
		var mistake *Error
		require.ErrorAs(t, err, &mistake, text)
		require.Equal(t, problem, mistake.Problem, text)
		require.Equal(t, Form, mistake.Remedy)
	}
}
