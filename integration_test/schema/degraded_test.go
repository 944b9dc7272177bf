package schema

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestDegraded proves that a counter table goes on, and counts, when another client has
// changed it so that it could not become one; that it says so; and that it heals.
func TestDegraded(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT NOT NULL, title VARCHAR(20) NOT NULL DEFAULT '', n INT NOT NULL DEFAULT 0, m INT UNSIGNED NOT NULL DEFAULT 0, PRIMARY KEY (id)) ENGINE=InnoDB;
INSERT INTO post (id, n, m) VALUES (1, 10, 5), (2, 20, 6), (3, 30, 7), (4, 40, 8);
CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, post INT, n INT) ENGINE=InnoDB;
CREATE TABLE copy (id INT PRIMARY KEY, n DOUBLE) ENGINE=InnoDB
`
	before := []string{"A: UPDATE post SET n = n + 1 WHERE id IN (1, 2)", "A: UPDATE post SET m = m + 2, n = n - 3 WHERE id = 3", "A: UPDATE post SET n = n + 4 WHERE id = 4"}
	steps := []string{
		"A: SELECT * FROM post ORDER BY id", "A: SELECT id, n + 1, m FROM post WHERE n > 20 ORDER BY n DESC", "A: SELECT SUM(n) FROM post",
		"A: UPDATE post SET n = n + 5 WHERE id = 1", "A: SELECT n FROM post WHERE id = 1", "A: UPDATE post SET n = n + 0 WHERE id = 1", "A: UPDATE post SET n = n + 1 WHERE id = 99",
		"A: UPDATE post SET m = m - 1 WHERE id = 1 AND m >= 1", "A: UPDATE post SET m = m - 100 WHERE id = 2", "A: UPDATE post SET n = GREATEST(n - 2, 0) WHERE id = 2",
		"A: UPDATE post SET n = n * 2, title = 'twice' WHERE n > 25 AND id < 4", "A: SELECT * FROM post ORDER BY id",
		"A: INSERT INTO post (id, n) VALUES (1, 3) ON DUPLICATE KEY UPDATE n = n + VALUES(n)", "A: INSERT INTO post (id, n) VALUES (5, 50)", "A: UPDATE post SET n = n + 1 WHERE id = 5",
		"A: REPLACE INTO post (id, n) VALUES (4, 4)", "A: SELECT n FROM post WHERE id = 4", "A: INSERT INTO copy SELECT id, n FROM post", "A: SELECT * FROM copy ORDER BY id",
		"A: begin RR", "A: SELECT n FROM post WHERE id = 3", "A: UPDATE post SET n = n + 6 WHERE id = 3", "A: SELECT n, m FROM post WHERE id = 3", "A: SELECT n FROM post WHERE id = 2 FOR UPDATE",
		"A: UPDATE post SET n = 1 WHERE id = 1", "A: SELECT * FROM post ORDER BY id", "A: commit", "A: SELECT * FROM post ORDER BY id",
		"A: DELETE FROM post WHERE id = 5", "A: SELECT COUNT(*), SUM(m) FROM post",
	}
	cases := []struct{ name, ddl, reason, remedy string }{
		{"trigger", "CREATE TRIGGER noting AFTER UPDATE ON post FOR EACH ROW SET @noted = NEW.id", "UPDATE trigger", "DROP TRIGGER noting"},
		{"changing trigger", "CREATE TRIGGER noting BEFORE UPDATE ON post FOR EACH ROW SET NEW.title = UPPER(NEW.title)", "UPDATE trigger", "DROP TRIGGER noting"},
		{"unique", "ALTER TABLE post ADD UNIQUE few (title, n, id)", "unique key", "ALTER TABLE post DROP INDEX few"},
		{"unique by itself", "ALTER TABLE post ADD UNIQUE alone (n)", "unique key", "ALTER TABLE post DROP INDEX alone"},
		{"virtual column", "ALTER TABLE post ADD twice INT AS (n * 2) VIRTUAL", "generated column twice", "ALTER TABLE post DROP COLUMN twice"},
		{"stored column", "ALTER TABLE post ADD twice INT AS (n * 2) STORED", "generated column twice", "ALTER TABLE post DROP COLUMN twice"},
		{"zerofill", "ALTER TABLE post MODIFY m INT(6) UNSIGNED ZEROFILL NOT NULL DEFAULT 0", "ZEROFILL", "ALTER TABLE post MODIFY m INT UNSIGNED NOT NULL DEFAULT 0"},
		{"float", "ALTER TABLE post MODIFY n DOUBLE NOT NULL DEFAULT 0", "n is double", "ALTER TABLE post MODIFY n INT NOT NULL DEFAULT 0"},
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		all := cases
		if harness.MariaDB(srv) {
			all = append(all[:len(all):len(all)], struct{ name, ddl, reason, remedy string }{"versioning", "ALTER TABLE post ADD SYSTEM VERSIONING", "versioned", "ALTER TABLE post DROP SYSTEM VERSIONING"})
		}
		for _, c := range all {
			t.Run(c.name, func(t *testing.T) {
				var log strings.Builder
				config := harness.Counters("post", "n", "m")
				tw := harness.NewTwin(t, srv, schema, config)
				own := *tw.Config
				own.Logger = slog.New(slog.NewTextHandler(&log, nil))
				tw.Ours, _ = harness.OpenOurs(t, tw.OursDSN, &own)
				tw.Play(t, before...)
				harness.ExecAll(t, tw.Plain, c.ddl)
				harness.ExecAll(t, tw.Direct, c.ddl)
				found := tw.LearnAnew(t)
				require.Contains(t, said(found), c.reason)
				stats, err := countermysql.Stats(tw.Ours)
				require.NoError(t, err)
				require.Contains(t, strings.Join(stats.Degraded[harness.DbName(t, tw.Ours)+".post"], ", "), c.reason)
				require.Contains(t, log.String(), c.reason)
				read := steps
				if strings.Contains(c.ddl, "twice") {
					read = append([]string{"A: UPDATE post SET title = 'many' WHERE twice > 80", "A: SELECT twice FROM post ORDER BY twice"}, steps...)
				}
				tw.Play(t, read...)
				require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM post_slots WHERE id <> 4"), "no new slots")
				harness.RollUp(t, tw.Ours)
				harness.ExecAll(t, tw.Plain, c.remedy)
				harness.ExecAll(t, tw.Direct, c.remedy)
				found = tw.LearnAnew(t)
				require.NotContains(t, said(found), c.reason)
				tw.Play(t, "A: UPDATE post SET n = n + 1 WHERE id = 1", "A: SELECT * FROM post ORDER BY id")
				require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM post_slots"))
			})
		}
	})
}

// said is what findings say.
func said(found []countermysql.Finding) string {
	var b strings.Builder
	for _, f := range found {
		b.WriteString(f.Problem + "; " + f.Remedy + "\n")
	}
	return b.String()
}

// TestAcceptedNewTrigger pins when an UPDATE trigger that another client makes is fired:
// not by increments of the ten seconds in which it is not noticed, then by all that plain
// fires it for, with the counter's value; and by a rollup.
func TestAcceptedNewTrigger(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0);
INSERT INTO post VALUES (1, 10), (2, 20), (3, 30);
CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, post INT, n INT)
`
	const trigger = "O: CREATE TRIGGER noting AFTER UPDATE ON post FOR EACH ROW INSERT INTO log (post, n) VALUES (NEW.id, NEW.n)"
	const noted = "O: SELECT post, n FROM log ORDER BY id"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "n"))
		tw.Accepted(t, "A: UPDATE post SET n = n + 1 WHERE id = 3", trigger, "A: UPDATE post SET n = n + 1 WHERE id = 1", "A: UPDATE post SET n = n + 1 WHERE id = 1", noted+" ⇒ [1 11][1 12] ⇒ no rows", "O: DELETE FROM log ⇒ affected 2 ⇒ affected 0")
		tw.LearnAnew(t)
		tw.Accepted(t, "A: UPDATE post SET n = n + 1 WHERE id = 1", noted+" ⇒ [1 13] ⇒ [1 12][1 13]", "O: DELETE FROM log ⇒ affected 1 ⇒ affected 2")
		tw.Accepted(t, "A: UPDATE post SET n = n + 1 WHERE id = 1", "A: UPDATE post SET n = n + 1 WHERE id IN (1, 2)", "A: INSERT INTO post (id, n) VALUES (1, 1) ON DUPLICATE KEY UPDATE n = n + 1",
			"A: begin", "A: UPDATE post SET n = n + 1 WHERE id = 2", "A: UPDATE post SET n = n + 1 WHERE id = 2", "A: commit", "A: begin", "A: UPDATE post SET n = n + 1 WHERE id = 2", "A: rollback", noted,
			harness.RollUpStep, noted+" ⇒ [1 14][1 15][2 21][1 16][2 22][2 23] ⇒ [1 14][1 15][2 21][1 16][2 22][2 23][3 31]", "A: SELECT * FROM post ORDER BY id")
	})
}

// TestDegradedEngine proves that in a table whose engine has got no row locks increments go
// on and are read, that what would have to add slots to base rows fails, and that the way
// back is open.
func TestDegradedEngine(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0, title VARCHAR(5) NOT NULL DEFAULT '') ENGINE=InnoDB;\nINSERT INTO post (id, n) VALUES (1, 10), (2, 20)", harness.Counters("post", "n"))
		tw.Play(t, "A: UPDATE post SET n = n + 1 WHERE id = 1")
		const there, back = "ALTER TABLE post ENGINE=MyISAM", "ALTER TABLE post ENGINE=InnoDB"
		harness.ExecAll(t, tw.Plain, there)
		harness.ExecAll(t, tw.Direct, there)
		require.Contains(t, said(tw.LearnAnew(t)), "MyISAM")
		tw.Play(t, "A: SELECT * FROM post ORDER BY id", "A: UPDATE post SET n = n + 5 WHERE id = 1", "A: INSERT INTO post (id, n) VALUES (3, 30)", "A: UPDATE post SET title = 'x'", "A: SELECT * FROM post ORDER BY id",
			"A: UPDATE post SET n = GREATEST(n - 3, 0) WHERE id = 2", "A: DELETE FROM post WHERE id = 3")
		for _, stmt := range []string{"UPDATE post SET n = n * 2", "DELETE FROM post WHERE id = 1"} {
			_, err := tw.Ours.Exec(stmt)
			var unfit *countermysql.UnfitError
			require.ErrorAs(t, err, &unfit)
		}
		_, err := countermysql.Rollup(t.Context(), tw.Ours, nil)
		require.ErrorContains(t, err, "MyISAM")
		tw.Play(t, "A: SELECT * FROM post ORDER BY id", "A: "+back, "A: UPDATE post SET n = n * 2", "A: UPDATE post SET n = n + 1 WHERE id = 1", "A: SELECT * FROM post ORDER BY id")
		require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM post_slots"))
	})
}
