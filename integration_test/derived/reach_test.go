package derived

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestReachedOtherwise proves that a formula's table may be in another database, with a key of
// several columns and a foreign key to the counter's, and that a transaction sees what it has
// written there through a view, a procedure and another table's trigger, behind a snapshot that
// is older than a rollup.
func TestReachedOtherwise(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		other := harness.NewDatabase(t, srv)
		config := harness.Counters("page", "notes")
		config.Tables[0].Derived = map[string]string{"notes": "SELECT n.site, n.path, COUNT(n.text) FROM " + other + ".note n GROUP BY n.site, n.path"}
		tw := harness.NewTwin(t, srv, `CREATE TABLE page (site INT NOT NULL, path VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, notes BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (site, path));
INSERT INTO page (site, path) VALUES (1, 'a'), (1, 'A')`, config)
		database := harness.QueriedValue(t, tw.Direct, "SELECT DATABASE()")
		for _, stmt := range []string{
			"CREATE TABLE {other}.note (id BIGINT AUTO_INCREMENT PRIMARY KEY, site INT NULL, path VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL, text VARCHAR(20) NULL, FOREIGN KEY (site, path) REFERENCES {db}.page (site, path))",
			"CREATE VIEW {other}.seen AS SELECT id, site, path, text FROM {other}.note",
			"CREATE PROCEDURE {other}.jot(s INT, p VARCHAR(20)) INSERT INTO {other}.note (site, path, text) VALUES (s, p, 'x')",
			"CREATE TABLE {other}.draft (path VARCHAR(20))",
			"CREATE TRIGGER {other}.publish AFTER INSERT ON {other}.draft FOR EACH ROW INSERT INTO {other}.note (site, path, text) VALUES (1, NEW.path, 'x')",
			"INSERT INTO {other}.note (site, path, text) VALUES (1, 'a', 'x'), (1, 'A', 'x'), (1, 'a', NULL), (1, NULL, 'x')",
		} {
			harness.Affected(t, tw.Direct, strings.NewReplacer("{other}", other, "{db}", database).Replace(stmt))
		}
		t.Cleanup(func() {
			_, err := tw.Direct.Exec("DROP TABLE " + other + ".note") // whose foreign key keeps the other database
			require.NoError(t, err)
		})
		initialized(t, tw.Ours)
		notes := func(db harness.Querier, path string) int64 {
			return harness.Number(t, db, "SELECT notes FROM page WHERE site = 1 AND path = '"+path+"'")
		}
		require.EqualValues(t, 1, notes(tw.Ours, "a"))
		require.EqualValues(t, 1, notes(tw.Ours, "A"))
		for _, stmt := range []string{
			"INSERT INTO " + other + ".note (site, path, text) VALUES (1, 'a', 'x')",
			"INSERT INTO " + other + ".seen (site, path, text) VALUES (1, 'a', 'x')",
			"CALL " + other + ".jot(1, 'a')",
			"INSERT INTO " + other + ".draft VALUES ('a')",
		} {
			was := notes(tw.Ours, "a")
			harness.Affected(t, tw.Direct, "INSERT INTO "+other+".note (site, path, text) VALUES (1, 'a', 'x')") // is in a slot
			tx, err := tw.Ours.Begin()
			require.NoError(t, err)
			require.Equal(t, was+1, notes(tx, "a"))
			_, err = countermysql.Rollup(t.Context(), tw.Ours, nil)
			require.NoError(t, err)
			harness.Affected(t, tx, stmt)
			require.Equal(t, was+2, notes(tx, "a"), stmt)
			require.NoError(t, tx.Commit())
			require.Equal(t, was+2, notes(tw.Ours, "a"), stmt)
		}
		harness.Affected(t, tw.Direct, "UPDATE "+other+".note SET path = 'A' WHERE path = 'a' AND text IS NOT NULL LIMIT 3")
		require.EqualValues(t, 4, notes(tw.Ours, "A"))
		require.Equal(t, harness.Number(t, tw.Direct, "SELECT COUNT(text) FROM "+other+".note WHERE path = 'a'"), notes(tw.Ours, "a"))
	})
}
