package schema

import (
	"slices"
	"strings"
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestDependentsBesideQuotes proves that views, triggers and routines which name a counter
// table between two texts with apostrophes or backslashes do what they do on plain MySQL:
// servers show what is stored with such texts written in another way, or not quoted at all.
func TestDependentsBesideQuotes(t *testing.T) {
	objects := ""
	for name, text := range map[string]string{"apostrophe": "'it''s'", "backslash": `'a\\'`, "doubled": `"it's"`, "slash_quote": `'it\'s'`, "quoted": `'"'`} {
		objects += strings.NewReplacer("{name}", name, "{text}", text).Replace(`
CREATE TABLE {name} (id INT NOT NULL, a VARCHAR(9), n INT, b VARCHAR(9));
CREATE TRIGGER {name}_in BEFORE INSERT ON {name} FOR EACH ROW SET NEW.a = {text}, NEW.n = (SELECT likes FROM post WHERE id = NEW.id), NEW.b = {text};
CREATE VIEW {name}_view AS SELECT {text} AS a, likes, {text} AS b FROM post WHERE title <> {text};
CREATE PROCEDURE {name}_proc(IN k INT) UPDATE {name} SET a = {text}, n = (SELECT likes FROM post WHERE id = k), b = {text};
CREATE FUNCTION {name}_func() RETURNS VARCHAR(99) READS SQL DATA RETURN CONCAT({text}, (SELECT SUM(likes) FROM post), {text});
`)
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Blog+objects, harness.BlogCounters())
		for _, name := range []string{"apostrophe", "backslash", "doubled", "slash_quote", "quoted"} {
			t.Run(name, func(t *testing.T) {
				tw.Reset(t)
				steps := []string{"A: INSERT INTO {name} (id) VALUES (1)", "A: SELECT * FROM {name}", "A: SELECT * FROM {name}_view ORDER BY likes", "A: CALL {name}_proc(2)", "A: SELECT * FROM {name}", "A: SELECT {name}_func()"}
				for i := range steps {
					steps[i] = strings.ReplaceAll(steps[i], "{name}", name)
				}
				increments := []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id IN (1, 2)", "A: COMMIT"}
				var all []string
				for _, step := range steps { // each meets slots
					all = slices.Concat(all, increments, []string{step})
				}
				tw.Play(t, all...)
			})
		}
	})
}
