package schema

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestUnrelatedDDL proves that DDL of tables that are not listed sends nothing but itself,
// also where it names a counter table, and that what matters is known at once.
func TestUnrelatedDDL(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, ddlTable, harness.Counters("post", "likes"))
		const count, see = "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT * FROM post ORDER BY id"
		tw.Play(t, count, see)
		for _, ddl := range []string{
			"CREATE TABLE post_like (id INT PRIMARY KEY, post_id INT, FOREIGN KEY (post_id) REFERENCES post (id))",
			"CREATE INDEX post_post ON post_like (post_id, id)", "ALTER TABLE post_like ADD COLUMN posted INT", "CREATE TABLE post_copy LIKE post",
			"RENAME TABLE post_like TO post_liked", "DROP TABLE post_liked, post_copy", "TRUNCATE TABLE post",
		} {
			harness.Affected(t, tw.Plain, ddl)
			for _, s := range tw.Sent.During(func() { harness.Affected(t, tw.Ours, ddl) }) {
				require.True(t, s.Text == ddl || strings.HasPrefix(ddl, "TRUNCATE") && !strings.Contains(s.Text, "information_schema"), "%s: %s", ddl, s.Text)
			}
		}
		tw.Play(t, "A: INSERT INTO post (id) VALUES (1)", count, see)
		for _, ddl := range []string{
			"CREATE VIEW best AS SELECT * FROM post", "CREATE VIEW better AS SELECT * FROM best",
			"CREATE FUNCTION likes() RETURNS INT READS SQL DATA RETURN (SELECT SUM(likes) FROM better)",
			"ALTER TABLE post ADD COLUMN title INT", "CREATE TRIGGER refuses BEFORE UPDATE ON post FOR EACH ROW SET NEW.title = 1", "DROP TRIGGER refuses",
		} {
			harness.Affected(t, tw.Plain, ddl)
			read := 0
			for _, s := range tw.Sent.During(func() { harness.Affected(t, tw.Ours, ddl) }) {
				if strings.Contains(s.Text, "TABLE_TYPE = 'VIEW'") {
					read++
				}
			}
			require.Positive(t, read, ddl)
		}
		for _, dumped := range []string{"/*!50003 CREATE TRIGGER refuses BEFORE UPDATE ON post FOR EACH ROW SET NEW.title = 1 */", "/*!50001 DROP TRIGGER refuses */"} { // as mysqldump writes it
			harness.Affected(t, tw.Plain, dumped)
			harness.Affected(t, tw.Ours, dumped)
			read := tw.Sent.During(func() { harness.Number(t, tw.Ours, "SELECT COUNT(*) FROM post") })
			require.True(t, slices.ContainsFunc(read, func(s harness.Sending) bool { return strings.Contains(s.Text, "TABLE_TYPE = 'VIEW'") }), dumped)
		}
		tw.Play(t, count, see, "A: SELECT likes FROM best", "A: SELECT likes FROM better", "A: SELECT likes()")
		tw.Play(t, "A: CREATE TABLE later (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0)", "A: DROP VIEW better, best", "A: DROP TABLE post", "A: RENAME TABLE later TO post",
			"A: INSERT INTO post VALUES (1, 1)", count, count, see)
	})
}
