package operations

import (
	"database/sql"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

const explained = `
CREATE TABLE author (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL);
INSERT INTO author VALUES (1, 'a'), (2, 'b');
CREATE TABLE post (id INT PRIMARY KEY, slug VARCHAR(20) NOT NULL UNIQUE, title VARCHAR(20) NOT NULL DEFAULT '', author INT NOT NULL DEFAULT 1,
  likes INT NOT NULL DEFAULT 0, stock INT UNSIGNED NOT NULL DEFAULT 9, seen DATETIME NULL, KEY (likes));
INSERT INTO post (id, slug) VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd');
CREATE TABLE page (name VARCHAR(20) PRIMARY KEY, hits BIGINT NOT NULL DEFAULT 0, size DECIMAL(8,2) NOT NULL DEFAULT 0);
INSERT INTO page (name) VALUES ('home'), ('about');
CREATE TABLE site (visits INT NOT NULL DEFAULT 0);
INSERT INTO site VALUES (0);
`

// explainedStatements are each by what becomes of it: where no row has slots, and where all have.
var explainedStatements = []struct {
	cold, hot string
	text      string
	args      []any
}{
	{"increment", "increment", "UPDATE post SET likes = likes + 1 WHERE id = 1", nil},
	{"increment", "increment", "UPDATE post SET likes = likes + ? WHERE id = ?", []any{2, 1}},
	{"increment", "increment", "UPDATE post SET likes = likes - 1 WHERE id = 1", nil},
	{"increment", "increment", "UPDATE post SET likes = 1 + likes WHERE slug = 'a'", nil},
	{"increment", "increment", "UPDATE post SET likes = likes + 1, stock = stock + 1 WHERE id = 1", nil},
	{"increment", "increment", "UPDATE post SET likes = likes + 1 WHERE id IN (1, 2)", nil},
	{"increment", "increment", "UPDATE post SET likes = likes + 1 WHERE id = 1 AND title = ''", nil},
	{"increment", "increment", "UPDATE post SET likes = likes + 1, seen = NOW() WHERE id = 1", nil},
	{"increment", "increment", "UPDATE page SET hits = hits + 1 WHERE name = 'home'", nil},
	{"increment", "increment", "UPDATE page SET size = size + 1.25 WHERE name = ?", []any{"home"}},
	{"increment", "increment", "UPDATE site SET visits = visits + 1", nil},
	{"increment", "increment", "INSERT INTO page (name, hits) VALUES ('home', 1) ON DUPLICATE KEY UPDATE hits = hits + 1", nil},
	{"increment", "increment", "INSERT INTO page (name, hits) VALUES ('home', 1), ('about', 2) ON DUPLICATE KEY UPDATE hits = hits + VALUES(hits)", nil},
	{"increment", "increment", "UPDATE page SET hits = hits + 1 WHERE name = 'none'", nil},

	{"verbatim", "verbatim", "UPDATE post SET likes = likes + 1 WHERE id = '01'", nil},
	{"verbatim", "verbatim", "UPDATE post SET likes = likes + 0 WHERE id = 1", nil},
	{"verbatim", "verbatim", "UPDATE post SET likes = likes + 1, title = 'x' WHERE id = 1", nil},
	{"verbatim", "verbatim", "UPDATE post SET likes = likes + 1 WHERE id = 1 LIMIT 1", nil},
	{"verbatim", "verbatim", "UPDATE post SET likes = likes + 1 WHERE title = ''", nil},
	{"verbatim", "verbatim", "UPDATE post SET likes = likes + 1", nil},
	{"verbatim", "verbatim", "UPDATE post SET likes = likes + 1 WHERE id > 1", nil},
	{"verbatim", "verbatim", "UPDATE IGNORE post SET stock = stock + 1 WHERE id = 1", nil},
	{"verbatim", "verbatim", "UPDATE post USE INDEX (PRIMARY) SET likes = likes + 1 WHERE id = 1", nil},
	{"verbatim", "verbatim", "UPDATE post SET title = 'y' WHERE id = 1", nil},
	{"verbatim", "verbatim", "SELECT title FROM post WHERE id = 1", nil},
	{"verbatim", "verbatim", "SELECT name FROM author", nil},
	{"verbatim", "verbatim", "UPDATE author SET name = 'c' WHERE id = 1", nil},
	{"verbatim", "verbatim", "UPDATE author SET name = 'c' WHERE id = (SELECT author FROM post WHERE id = 1)", nil},
	{"verbatim", "verbatim", "INSERT INTO page (name, hits) VALUES ('a', 1)", nil},

	{"exact", "exact", "UPDATE IGNORE post SET likes = likes + 1 WHERE id = 1", nil},
	{"exact", "exact", "UPDATE post SET stock = stock - 1 WHERE id = 1", nil},
	{"exact", "exact", "UPDATE post SET stock = stock + ? WHERE id = 1", []any{-1}},
	{"exact", "exact", "UPDATE post SET stock = stock - ? WHERE id = ? AND stock >= ?", []any{1, 1, 1}},
	{"exact", "exact", "UPDATE post SET likes = likes - 1 WHERE id = 1 AND likes > 0", nil},
	{"exact", "exact", "UPDATE post SET likes = 0 WHERE id = 1", nil},
	{"exact", "exact", "UPDATE post SET likes = ? WHERE id = ?", []any{7, 1}},
	{"exact", "exact", "UPDATE post SET likes = likes * 2 WHERE id = 1", nil},
	{"exact", "exact", "UPDATE post SET likes = GREATEST(likes - 1, 0) WHERE id = 1", nil},
	{"exact", "exact", "UPDATE post SET likes = likes + '1' WHERE id = 1", nil},
	{"exact", "exact", "UPDATE post SET likes = likes + 1, seen = '2026-01-02 03:04:05' WHERE id = 1", nil},
	{"exact", "exact", "UPDATE post SET likes = 0 WHERE likes < 0", nil},
	{"exact", "exact", "UPDATE post SET title = 'z' WHERE likes > 100", nil},
	{"exact", "exact", "UPDATE post SET likes = 0 ORDER BY likes LIMIT 1", nil},
	{"exact", "exact", "UPDATE post SET id = 9 WHERE id = 1", nil},
	{"exact", "exact", "DELETE FROM post WHERE id = 1", nil},
	{"exact", "exact", "DELETE FROM post WHERE likes > 100", nil},
	{"exact", "exact", "REPLACE INTO page (name, hits) VALUES ('home', 3)", nil},
	{"exact", "exact", "INSERT INTO page (name, hits) VALUES ('home', 1) ON DUPLICATE KEY UPDATE hits = 5", nil},

	{"sum", "sum", "SELECT likes FROM post WHERE id = 1", nil},
	{"sum", "sum", "SELECT likes FROM post WHERE id = ?", []any{1}},
	{"sum", "sum", "SELECT * FROM post WHERE id = 1", nil},
	{"sum", "sum", "SELECT likes, stock FROM post WHERE slug = 'a'", nil},
	{"sum", "sum", "SELECT id, likes FROM post WHERE id IN (1, 2, 3)", nil},
	{"sum", "sum", "SELECT id FROM post WHERE likes >= 0", nil},
	{"sum", "sum", "SELECT id, likes FROM post ORDER BY likes DESC LIMIT 2", nil},
	{"sum", "sum", "SELECT SUM(likes), COUNT(*) FROM post", nil},
	{"sum", "sum", "SELECT p.likes, a.name FROM post p JOIN author a ON a.id = p.author WHERE p.id = 1", nil},
	{"sum", "sum", "SELECT likes FROM post WHERE id = 1 UNION SELECT hits FROM page WHERE name = 'home'", nil},
	{"sum", "sum", "SELECT COUNT(*) FROM post WHERE likes = 0", nil},
	{"sum", "sum", "SELECT a.name, (SELECT SUM(likes) FROM post p WHERE p.author = a.id) FROM author a", nil},
	{"sum", "sum", "SELECT visits FROM site", nil},
	{"sum", "sum", "SELECT size FROM page WHERE name = 'home'", nil},
}

// lookup looks for the rows of an increment.
var lookup = regexp.MustCompile("^SELECT .* IS NULL")

// own are texts of the driver that belong to any exact statement.
var own = regexp.MustCompile("^(START TRANSACTION|SAVEPOINT countermysql_between$|COMMIT AND|ROLLBACK AND|UPDATE .* CASE |DELETE `\\w+`[.]`\\w+_slots` |(SET STATEMENT .* FOR )?(SELECT .*|DELETE FROM .*|UPDATE .*)_slots`|SELECT .* FORCE INDEX \\(`PRIMARY`\\) WHERE .* FOR UPDATE$)")

// TestExplainedIsSent proves that Explain says what is sent: the same route decides.
func TestExplainedIsSent(t *testing.T) {
	require.GreaterOrEqual(t, len(explainedStatements), 60)
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := harness.Counters("post", "likes", "stock")
		config.Slots = 1 // a random one would be in the text
		config.Tables[0].Touch = []string{"seen"}
		config.Tables = append(config.Tables, countermysql.TableConfig{Table: "page", Counters: []string{"hits", "size"}}, countermysql.TableConfig{Table: "site", Counters: []string{"visits"}})
		for _, hot := range []bool{false, true} {
			tw := harness.NewTwin(t, srv, explained, config, "interpolateParams=true")
			_, err := tw.Ours.Exec("SELECT likes, hits, visits FROM post, page, site LIMIT 0") // its tables are known
			require.NoError(t, err)
			for _, s := range explainedStatements {
				want := s.cold
				if hot {
					want = s.hot
				}
				fill(t, tw, hot)
				e, err := countermysql.Explain(t.Context(), tw.Ours, s.text, s.args...)
				require.NoError(t, err, s.text)
				require.EqualValues(t, want, e.Class, "%s\n%s", s.text, e)
				require.Equal(t, e.Class == "exact" || e.Class == "verbatim" && strings.Contains(e.String(), "on the base row"), e.Reason != "", "%s\n%s", s.text, e)
				sent := execute(t, tw, s.text, s.args)
				sameAsExplained(t, s.text, e, sent, hot)
			}
		}
	})
}

// fill brings the rows back, with slots or without.
func fill(t *testing.T, tw *harness.Twin, hot bool) {
	t.Helper()
	for _, table := range []string{"post", "page", "site", "author"} {
		harness.ExecAll(t, tw.Ours, "DELETE FROM "+table)
	}
	for _, stmt := range strings.Split(explained, ";\n") {
		if strings.HasPrefix(strings.TrimSpace(stmt), "INSERT") {
			harness.ExecAll(t, tw.Ours, stmt)
		}
	}
	if hot {
		harness.ExecAll(t, tw.Ours, "UPDATE post SET likes = likes + 1, stock = stock + 1 WHERE id IN (1, 2, 3, 4);\nUPDATE page SET hits = hits + 1 WHERE name IN ('home', 'about');\nUPDATE site SET visits = visits + 1")
	}
}

// execute returns what is sent for a statement on its connection.
func execute(t *testing.T, tw *harness.Twin, text string, args []any) []string {
	t.Helper()
	conn := harness.Session(t, tw.Ours)
	defer conn.Close()
	sent := tw.Sent.During(func() {
		if !harness.IsQuery.MatchString(text) {
			_, err := conn.ExecContext(t.Context(), text, args...)
			require.NoError(t, err, text)
			return
		}
		rows, err := conn.QueryContext(t.Context(), text, args...)
		require.NoError(t, err, text)
		defer rows.Close()
		for rows.Next() {
			cells := make([]any, len(must(rows.Columns())))
			for i := range cells {
				cells[i] = new(sql.RawBytes)
			}
			require.NoError(t, rows.Scan(cells...))
		}
		require.NoError(t, rows.Err())
	})
	return tw.Sent.OnlyOn(t, conn, sent)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func sameAsExplained(t *testing.T, text string, e *countermysql.Explanation, sent []string, hot bool) {
	t.Helper()
	var steps []string
	for _, s := range e.Steps {
		if s.SQL != "" {
			steps = append(steps, s.SQL)
		}
	}
	told := "%s\nexplained:\n" + e.String() + "\nsent:\n" + strings.Join(sent, "\n")
	switch e.Class {
	case "verbatim":
		require.Equal(t, steps[len(steps)-1], sent[len(sent)-1], told, text)
		for _, s := range sent[:len(sent)-1] { // left-over slots are looked for, or an increment was tried
			require.Contains(t, s, "_slots", told, text)
		}
	case "increment":
		sent = slices.DeleteFunc(sent, lookup.MatchString)
		require.LessOrEqual(t, len(sent), len(steps), told, text)
		require.Equal(t, steps[:len(sent)], sent, told, text)
	case "sum":
		require.Equal(t, hot, slices.Contains(steps[1:], sent[len(sent)-1]) || len(steps) == 1 && hot, told, text)
		for _, s := range sent {
			require.Contains(t, steps, s, told, text)
		}
	case "exact":
		for _, s := range sent {
			require.True(t, own.MatchString(s) || slices.Contains(steps, s), told+"\n"+s, text)
		}
		require.True(t, slices.ContainsFunc(sent, func(s string) bool { return slices.Contains(steps, s) }), told, text)
		require.True(t, steps[0] == text || !slices.Equal([]string{text}, sent), told, text)
	}
}
