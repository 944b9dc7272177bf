package writes

import (
	"testing"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestSenselessKeys proves that an exact statement by a key that makes no sense fails,
// or finds what it finds, as on plain MySQL: the queries that lock its rows fail
// otherwise.
func TestSenselessKeys(t *testing.T) {
	const schema = `
CREATE TABLE daily (day DATE PRIMARY KEY, at DATETIME UNIQUE, n INT NOT NULL);
CREATE TABLE page (k VARCHAR(20) PRIMARY KEY, n INT NOT NULL);
INSERT INTO daily VALUES ('2024-01-01', '2024-01-01', 1), ('2024-01-02', '2024-01-02', 2);
INSERT INTO page VALUES ('a', 1), ('b', 2);
`
	config := &countermysql.Config{Tables: []countermysql.TableConfig{{Table: "daily", Counters: []string{"n"}}, {Table: "page", Counters: []string{"n"}}}}
	const bad = "'\xff\xfe'"
	writes := []string{
		"A: DELETE FROM daily WHERE day = 'abc'", "A: UPDATE daily SET n = 0 WHERE day = 'abc'", "A: UPDATE daily SET n = 0 WHERE at = '2024-02-31'",
		"A: UPDATE daily SET n = 0 WHERE day IN ('abc', '2024-01-01')", "A: DELETE FROM daily WHERE day = 'abc' OR n = 1", "A: DELETE FROM daily WHERE day > 'abc' AND n = 1",
		"A: REPLACE INTO daily VALUES ('abc', NULL, 1)", "A: INSERT INTO daily VALUES ('abc', NULL, 1) ON DUPLICATE KEY UPDATE n = 0",
		"A: DELETE FROM page WHERE k = " + bad, "A: UPDATE page SET n = 0 WHERE k = " + bad, "A: UPDATE page SET n = 5 WHERE k IN (" + bad + ", 'a')", "A: DELETE FROM page WHERE k = " + bad + " OR n = 9",
		"A: REPLACE INTO page VALUES (" + bad + ", 1)", "A: INSERT INTO page VALUES (" + bad + ", 1) ON DUPLICATE KEY UPDATE n = 0", "A: DELETE FROM page WHERE k IN (" + bad + ", 'b')",
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, level := range []string{"READ COMMITTED", "REPEATABLE READ"} {
			for _, begin := range []bool{false, true} {
				tw := harness.NewTwin(t, srv, schema, config)
				steps := []string{"A: SET SESSION TRANSACTION ISOLATION LEVEL " + level}
				for _, write := range writes {
					steps = append(steps, "B: UPDATE daily SET n = n + 7 WHERE day = '2024-01-01'", "B: UPDATE page SET n = n + 7 WHERE k IN ('a', 'b')")
					if begin {
						steps = append(steps, "A: BEGIN", write, "A: COMMIT")
					} else {
						steps = append(steps, write)
					}
					steps = append(steps, "A: SELECT * FROM daily ORDER BY day", "A: SELECT * FROM page ORDER BY k")
				}
				tw.Play(t, steps...)
			}
		}
	})
}

// TestKeysOutsideTheirCharacterSet proves that an INSERT of a text that the key's character
// set can't hold fails, or stores what it makes of it, as on plain MySQL, and leaves no
// slots standing: to compare such a text with the key fails otherwise.
func TestKeysOutsideTheirCharacterSet(t *testing.T) {
	const schema = `
CREATE TABLE word (k VARCHAR(20) CHARACTER SET latin1 PRIMARY KEY, u VARCHAR(20) CHARACTER SET ascii UNIQUE, n INT NOT NULL);
INSERT INTO word VALUES ('a', 'u1', 1), ('?', 'u2', 2), ('c', '?', 3);
`
	config := &countermysql.Config{Tables: []countermysql.TableConfig{{Table: "word", Counters: []string{"n"}}}}
	writes := []string{
		"A: INSERT INTO word VALUES ('日', NULL, 10)", "A: INSERT IGNORE INTO word VALUES ('日', NULL, 10), ('d', '日', 11)",
		"A: INSERT INTO word VALUES ('日', 'u4', 20) ON DUPLICATE KEY UPDATE n = 21", "A: INSERT INTO word VALUES ('a', '日', 30) ON DUPLICATE KEY UPDATE n = n + 31",
		"A: INSERT INTO word VALUES ('日', NULL, 20), ('a', NULL, 20) ON DUPLICATE KEY UPDATE n = n + 40", "A: REPLACE INTO word VALUES ('日', 'u5', 50), ('e', '日', 51)",
		"A: UPDATE word SET k = '日' WHERE k = 'a'", "A: UPDATE word SET n = 60 WHERE k = '日'", "A: DELETE FROM word WHERE u = '日'",
		"A: UPDATE word SET n = n + 70 WHERE k = '日'", "A: UPDATE word SET n = n + 80 WHERE u IN ('日', 'u2')",
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, set := range []string{"SET sql_mode = 'STRICT_ALL_TABLES'", "SET sql_mode = ''", "SET NAMES cp1251"} { // Cyrillic, of which latin1 has nothing, nor the other way round
			for _, begin := range []bool{false, true} {
				tw := harness.NewTwin(t, srv, schema, config)
				steps := []string{"A: " + set}
				for _, write := range writes {
					steps = append(steps, "B: UPDATE word SET n = n + 7 WHERE k IN ('a', 'c')", "B: UPDATE word SET n = n + 7 WHERE k = '?'")
					if begin {
						steps = append(steps, "A: BEGIN", write, "A: COMMIT")
					} else {
						steps = append(steps, write)
					}
					steps = append(steps, "A: SELECT * FROM word ORDER BY k")
				}
				tw.Play(t, steps...)
			}
		}
	})
}
