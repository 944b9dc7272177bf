package writes

import (
	"slices"
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// beyond has rows whose counters have left their columns' range as sums: n of 1 and 3 is
// 130 on ours, which plain refuses; that of 3 is all in slots.
const beyond = `
CREATE TABLE small (id INT PRIMARY KEY, slug VARCHAR(5) NOT NULL UNIQUE, n TINYINT NOT NULL DEFAULT 120, m INT NOT NULL DEFAULT 0, title VARCHAR(10) NOT NULL DEFAULT '',
  at TIMESTAMP(6) NOT NULL DEFAULT '2001-01-01 00:00:00' ON UPDATE CURRENT_TIMESTAMP(6));
INSERT INTO small (id, slug, n) VALUES (1, 'a', 120), (2, 'b', 5), (3, 'c', 0);
CREATE TABLE child (id INT PRIMARY KEY, small INT NOT NULL, FOREIGN KEY (small) REFERENCES small (id));
INSERT INTO child VALUES (1, 3);
CREATE TABLE other (id INT PRIMARY KEY, n INT NOT NULL);
INSERT INTO other VALUES (1, 7), (2, 8);
`

var beyondSteps = []string{
	"A: UPDATE small SET n = n + 10 WHERE id = 1 ⇒ error 1264 ⇒ affected 1",
	"A: UPDATE small SET n = n + 100, m = m + 1 WHERE id = 3",
	"A: UPDATE small SET n = n + 30 WHERE id = 3 ⇒ error 1264 ⇒ affected 1",
	"A: UPDATE small SET m = m + 2 WHERE id IN (1, 2)",
}

// TestDiscardBeyondRange proves that what only discards a counter's value does not fail
// because the column can't hold it.
func TestDiscardBeyondRange(t *testing.T) {
	t.Parallel()
	const see, slots = "A: SELECT id, slug, n, m, title FROM small ORDER BY id", "O: SELECT id, n, m, title FROM small ORDER BY id"
	left := func(n string) string {
		return "A: SELECT n FROM small WHERE id = 1 ⇒ [120] ⇒ [" + n + "]"
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for name, steps := range map[string][]string{
			"row":               {"A: DELETE FROM small WHERE id = 1", "A: INSERT INTO small (id, slug, n) VALUES (1, 'a', 1)", "A: UPDATE small SET n = 3 WHERE id = 3", see},
			"by another key":    {"A: DELETE FROM small WHERE slug = 'a'", "A: UPDATE small SET n = 3 WHERE slug = 'c'", see},
			"all rows":          {"A: DELETE FROM child", "A: DELETE FROM small", see, "A: INSERT INTO small (id, slug, n) VALUES (1, 'a', 1), (3, 'c', 1)", see},
			"all set":           {"A: UPDATE small SET n = 0", see, "A: UPDATE small SET n = 0", see},
			"some":              {"A: DELETE FROM child", "A: DELETE FROM small WHERE title = '' AND id > 0 ORDER BY id LIMIT 2", "A: UPDATE small SET n = 9 WHERE title = ''", see},
			"set":               {"A: UPDATE small SET n = 0 WHERE id = 1", "A: UPDATE small SET n = 0 WHERE id = 3", see},
			"set to the end":    {"A: UPDATE small SET n = 127 WHERE id = 1", "A: UPDATE small SET n = -128 WHERE id = 3", see},
			"set and changed":   {"A: UPDATE small SET n = 0, m = m + 10, title = 'x' WHERE id = 1 AND title = ''", "A: UPDATE small SET m = m + 1, n = DEFAULT WHERE id = 3", see},
			"set to another":    {"A: UPDATE small SET n = m WHERE id = 1", "A: UPDATE small SET n = (SELECT COUNT(*) FROM other WHERE id < 9) WHERE id = 3", see},
			"with another key":  {"A: UPDATE small SET n = 1, id = 9 WHERE id = 1", "A: UPDATE small SET n = 3 WHERE id = 3", see},
			"replaced":          {"A: REPLACE INTO small (id, slug, n) VALUES (1, 'a', 4)", "A: REPLACE INTO small (id, slug, n) VALUES (7, 'a', 4)", "A: UPDATE small SET n = 3 WHERE id = 3", see},
			"by its other key":  {"A: REPLACE INTO small (id, slug) VALUES (8, 'a')", "A: UPDATE small SET n = 3 WHERE id = 3", see},
			"replaced by query": {"A: UPDATE small SET n = 3 WHERE id = 3", "A: REPLACE INTO small (id, slug, n) SELECT 1, 'a', id FROM other WHERE id = 2", see},
			"overwritten": {"A: INSERT INTO small (id, slug, n) VALUES (1, 'a', 4) ON DUPLICATE KEY UPDATE n = VALUES(n), title = 'y'",
				"A: INSERT INTO small (id, slug, n) VALUES (3, 'c', 4) ON DUPLICATE KEY UPDATE n = 1", see},
			"several tables":     {"A: UPDATE small SET n = 3 WHERE id = 3", "A: DELETE small FROM small JOIN other ON other.id = small.id", see},
			"not all of several": {"A: DELETE small FROM small JOIN other ON other.id = small.id", "A: SELECT n FROM small WHERE id = 1"},
			"joined":             {"A: UPDATE small JOIN other ON other.id = 1 SET small.n = other.id", see},
			"no such row":        {"A: DELETE FROM small WHERE id = 1 AND title = 'y'", "A: UPDATE small SET n = 0 WHERE id = 1 AND title = 'y'", "A: DELETE FROM small WHERE id = 77", left("130")},
			"left alone":         {"A: UPDATE small SET n = 1 WHERE id IN (1, 2) ORDER BY id DESC LIMIT 1", left("130"), "A: DELETE FROM small WHERE id IN (1, 2) ORDER BY id DESC LIMIT 1", left("130")},
			"just incremented": {"A: UPDATE small SET n = n + 100 WHERE id = 2", "A: UPDATE small SET n = n + 100 WHERE id = 2 ⇒ error 1264 ⇒ affected 1", "A: SAVEPOINT s", "A: DELETE FROM small WHERE id = 2",
				"A: INSERT INTO small (id, slug, n) VALUES (2, 'b', 1)", "A: UPDATE small SET n = n + 1 WHERE id = 1", "A: UPDATE small SET n = 1 WHERE id IN (1, 3)", see},
			"refused": {"A: DELETE FROM small WHERE id = 3", "A: SELECT n, m FROM small WHERE id = 3 ⇒ [100 1] ⇒ [130 1]", "A: UPDATE small SET n = 0, title = 'far too long a title' WHERE id = 1", left("130")},
			"needed": {"A: UPDATE small SET n = 0 WHERE id = 1 AND n > 3 ⇒ affected 1 ⇒ error 1264", "A: UPDATE small SET n = 0, m = m + n WHERE id = 3 ⇒ affected 1 ⇒ error 1264",
				"A: DELETE FROM small WHERE id = 1 AND n > -5 ⇒ affected 1 ⇒ error 1264", "A: SELECT n FROM small WHERE id = 1 ⇒ no rows ⇒ [130]"},
		} {
			for _, ends := range [][2]string{{"", ""}, {"A: begin RR", "A: commit"}, {"A: begin RC", "A: commit"}} {
				t.Run(name+" "+ends[0], func(t *testing.T) {
					tw := harness.NewTwin(t, srv, beyond, harness.Counters("small", "n", "m"))
					all := slices.Clone(beyondSteps)
					if ends[0] != "" {
						all = append(all, ends[0], "A: SELECT m FROM small WHERE id = 2")
					}
					all = append(all, steps...)
					if ends[0] != "" {
						all = append(all, ends[1])
					}
					all = append(all, steps[len(steps)-1], harness.RollUpStep)
					if last := steps[len(steps)-1]; last == see {
						all = append(all, slots)
					}
					tw.Accepted(t, all...)
				})
			}
		}
	})
}

// TestDiscardRefused proves that a statement which would have discarded a counter's value,
// but fails, leaves it as it is, with what the transaction has added.
func TestDiscardRefused(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, beyond, harness.Counters("small", "n", "m"))
		tw.Accepted(t, append(slices.Clone(beyondSteps), "A: begin RR", "A: SELECT n FROM small WHERE id = 2", "A: UPDATE small SET n = n + 5 WHERE id = 3", "A: UPDATE small SET title = 'x' WHERE id = 3",
			"A: DELETE FROM small WHERE id = 3", "A: UPDATE small SET n = n + 1, m = m + 1 WHERE id = 3", "A: commit", "A: SELECT n, m, title FROM small WHERE id = 3 ⇒ [106 2 x] ⇒ [136 2 x]",
			"A: UPDATE small SET n = n - 20 WHERE id = 3", harness.RollUpStep, "O: SELECT n, m, title FROM small WHERE id = 3 ⇒ [86 2 x] ⇒ [116 2 x]")...)
	})
}

// TestDiscardForms: rows found count where the DSN says so, RETURNING of other columns is
// no reading, and of the counter it is; a trigger may read what goes.
func TestDiscardForms(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, beyond, harness.Counters("small", "n", "m"), "clientFoundRows=true")
		tw.Accepted(t, append(slices.Clone(beyondSteps), "A: UPDATE small SET n = 0 WHERE id = 3", "A: UPDATE small SET n = 0 WHERE id = 3", "A: UPDATE small SET n = 0 WHERE id IN (1, 2) AND title = 'y'",
			"A: SELECT n FROM small ORDER BY id ⇒ [120][5][0] ⇒ [130][5][0]")...)
		asked := "DELETE FROM small WHERE id = 1"
		if harness.MariaDB(srv) {
			asked += " RETURNING title"
		}
		tw.Same(t, asked)
		tw.Same(t, "SELECT id, n FROM small ORDER BY id")
		if harness.MariaDB(srv) {
			tw = harness.NewTwin(t, srv, beyond, harness.Counters("small", "n", "m"))
			tw.Accepted(t, append(slices.Clone(beyondSteps), "A: DELETE FROM small WHERE id = 1 RETURNING n ⇒ affected 0 ⇒ error 1264", "O: DELETE FROM small WHERE id = 1 ⇒ affected 0 ⇒ affected 1",
				"A: INSERT INTO small (id, slug) VALUES (1, 'a')", "A: UPDATE small SET n = n + 10 WHERE id = 1 ⇒ error 1264 ⇒ affected 1", "A: DELETE FROM small WHERE id = 1 RETURNING title", "A: SELECT n FROM small WHERE id = 1")...)
		}
		tw = harness.NewTwin(t, srv, beyond+";\nCREATE TRIGGER gone BEFORE DELETE ON small FOR EACH ROW INSERT INTO other VALUES (9, OLD.n)", harness.Counters("small", "n", "m"))
		tw.Accepted(t, append(slices.Clone(beyondSteps), "A: DELETE FROM small WHERE id = 1 ⇒ affected 1 ⇒ error 1264", "A: UPDATE small SET n = 0 WHERE id = 3", "A: SELECT n FROM other ⇒ [7][8][120] ⇒ [7][8]")...)
	})
}
