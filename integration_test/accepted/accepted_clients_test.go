package accepted

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestAcceptedRange pins that a counter's range is checked when a base row has
// to take its sum, and not at the increment.
func TestAcceptedRange(t *testing.T) {
	const schema = `
CREATE TABLE small (id INT PRIMARY KEY, n TINYINT NOT NULL DEFAULT 120, u TINYINT UNSIGNED NOT NULL DEFAULT 250, b BIGINT NOT NULL DEFAULT 9223372036854775800, d DECIMAL(4,2) NOT NULL DEFAULT 99);
INSERT INTO small (id) VALUES (1);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, steps := range [][]string{
			{"A: UPDATE small SET n = n + 10 WHERE id = 1 ⇒ error 1264 ⇒ affected 1", "A: SELECT n FROM small ⇒ [120] ⇒ [130]",
				"A: UPDATE small SET n = GREATEST(n, 0) WHERE id = 1 ⇒ affected 0 ⇒ error 1264",
				harness.RollUpStep, "A: SELECT n FROM small ⇒ [120] ⇒ [130]", "O: SELECT n FROM small ⇒ [120] ⇒ [127]",
				"A: UPDATE small SET n = n - 10 WHERE id = 1", harness.RollUpStep, "O: SELECT n FROM small ⇒ [110] ⇒ [120]"},
			{"A: UPDATE small SET d = d + 10 WHERE id = 1 ⇒ error 1264 ⇒ affected 1", "A: SELECT d FROM small ⇒ [99.00] ⇒ [109.00]"},
			{"A: UPDATE small SET b = b + 10 WHERE id = 1 ⇒ error 1690 ⇒ affected 1", "A: SELECT b FROM small ⇒ [9223372036854775800] ⇒ [9223372036854775807]",
				"A: UPDATE small SET b = b - 10 WHERE id = 1", "A: SELECT b FROM small ⇒ [9223372036854775790] ⇒ [9223372036854775800]"},
			{"A: begin", "A: UPDATE small SET n = n + 10 WHERE id = 1 ⇒ error 1264 ⇒ affected 1",
				"A: SELECT n FROM small ⇒ [120] ⇒ error 1264", "A: rollback", "A: SELECT n FROM small"},
			{"A: UPDATE small SET u = u - 251 WHERE id = 1", "A: UPDATE small SET u = u + 3 WHERE id = 1", "A: UPDATE small SET u = u - 251 WHERE id = 1", "A: SELECT u FROM small"},
			{"A: UPDATE small SET u = u + 10 WHERE id = 1 ⇒ error 1264 ⇒ affected 1", "A: UPDATE small SET u = GREATEST(u, 1) WHERE id = 1 ⇒ affected 0 ⇒ error 1264"},
		} {
			tw := harness.NewTwin(t, srv, schema, harness.Counters("small", "n", "u", "b", "d"))
			tw.Accepted(t, steps...)
		}
	})
}

// TestAcceptedReferencedCounter: MariaDB lets a foreign key reference a column that is not
// unique, so a counter. The children follow the base row. (MySQL refuses such a key.)
func TestAcceptedReferencedCounter(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 5, KEY (likes)) ENGINE=InnoDB;
INSERT INTO post (id) VALUES (1);
`
	const child = "CREATE TABLE child (id INT PRIMARY KEY, likes INT, FOREIGN KEY (likes) REFERENCES post (likes) ON UPDATE CASCADE) ENGINE=InnoDB"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
		if !harness.MariaDB(srv) {
			tw.Play(t, "A: "+child)
			return
		}
		tw.Accepted(t, "A: "+child, "A: INSERT INTO child VALUES (1, 5)", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT likes FROM child ⇒ [6] ⇒ [5]",
			"A: SELECT likes FROM post", harness.RollUpStep, "A: SELECT likes FROM child")
	})
}

// TestAcceptedSettings pins that an increment finds its rows by the settings of the
// session as its last SET has made them: a stored function's, and a trigger's, go unnoticed.
func TestAcceptedSettings(t *testing.T) {
	schema := []string{
		"CREATE TABLE daily (at TIMESTAMP PRIMARY KEY, n INT NOT NULL DEFAULT 0)", "INSERT INTO daily (at) VALUES ('2026-01-02 12:00:00')", "CREATE TABLE note (id INT PRIMARY KEY)",
		"CREATE FUNCTION east() RETURNS INT DETERMINISTIC BEGIN SET SESSION time_zone = '+05:00'; RETURN 1; END",
		"CREATE TRIGGER west BEFORE INSERT ON note FOR EACH ROW SET SESSION time_zone = '-05:00'",
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "DO 1", harness.Counters("daily", "n"), "time_zone='%2B00:00'")
		for _, db := range []*sql.DB{tw.Plain, tw.Direct} {
			for _, stmt := range schema {
				harness.Affected(t, db, stmt)
			}
		}
		at := func(hour string) string {
			return "A: UPDATE daily SET n = n + 1 WHERE at = '2026-01-02 " + hour + ":00:00'"
		}
		tw.Play(t, "A: SELECT n FROM daily", "A: SELECT east()", at("12"), at("17"), "A: SELECT n FROM daily", "A: INSERT INTO note VALUES (1)", at("17"), at("07"), "A: SELECT n FROM daily")
		tw.Accepted(t, "A: BEGIN", "A: SELECT east()", at("12")+" ⇒ affected 0 ⇒ affected 1", "A: ROLLBACK")
	})
}

// TestAcceptedOtherClients pins what is safe for a client that does not use the
// driver, and what is not.
func TestAcceptedOtherClients(t *testing.T) {
	const like, see = "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for name, steps := range map[string][]string{
			"increments": {like, "O: UPDATE post SET likes = likes + 10 WHERE id = 1", see, "O: SELECT likes FROM post WHERE id = 1 ⇒ [11] ⇒ [10]",
				harness.RollUpStep, "O: SELECT likes FROM post WHERE id = 1"},
			"inserts": {"O: INSERT INTO post (id, author, likes) VALUES (9, 1, 3)", "A: UPDATE post SET likes = likes + 1 WHERE id = 9", "A: SELECT likes FROM post WHERE id = 9"},
			"deletes": {like, "O: DELETE FROM post WHERE id = 1", "A: SELECT COUNT(*), SUM(likes) FROM post", like,
				"A: INSERT INTO post (id, author) VALUES (1, 1)", see},
			"deletes, and inserts the key again": {like, "O: DELETE FROM post WHERE id = 1", "O: INSERT INTO post (id, author) VALUES (1, 1)",
				see + " ⇒ [0] ⇒ [1]"},
			"the same after a rollup": {like, "O: DELETE FROM post WHERE id = 1", harness.RollUpStep, "O: INSERT INTO post (id, author) VALUES (1, 1)", see},
			"overwrites": {"O: UPDATE post SET likes = 7 WHERE id = 1", like, "O: UPDATE post SET likes = 0 WHERE id = 1",
				see + " ⇒ [0] ⇒ [1]"},
			"changes the key": {like, "O: UPDATE post SET id = 9 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 9 ⇒ [1] ⇒ [0]"},
		} {
			t.Run(name, func(t *testing.T) {
				harness.NewTwin(t, srv, harness.Board, harness.Counters("post", "likes")).Accepted(t, steps...)
			})
		}
		t.Run("truncates, and an id is generated once more", func(t *testing.T) {
			tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT AUTO_INCREMENT PRIMARY KEY, likes INT NOT NULL);\nINSERT INTO post VALUES (1, 0)", harness.Counters("post", "likes"))
			tw.Accepted(t, like, "O: TRUNCATE TABLE post", "A: INSERT INTO post (likes) VALUES (0)", see+" ⇒ [0] ⇒ [1]",
				"A: UPDATE post SET likes = 7", like, "O: TRUNCATE TABLE post", harness.RollUpStep, "A: INSERT INTO post (likes) VALUES (0)", see)
		})
	})
}

// TestAcceptedForeignTruncate pins that rows which get their ids once more, as another
// client has emptied the table, have what slots are left of the former ones.
func TestAcceptedForeignTruncate(t *testing.T) {
	const schema = "CREATE TABLE visit (id INT PRIMARY KEY AUTO_INCREMENT, n INT NOT NULL DEFAULT 0);\nINSERT INTO visit (n) VALUES (0)"
	const count, anew, see = "A: UPDATE visit SET n = n + 1 WHERE id = 1", "A: INSERT INTO visit (n) VALUES (0)", "A: SELECT * FROM visit"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		harness.NewTwin(t, srv, schema, harness.Counters("visit", "n")).Accepted(t, count, "O: TRUNCATE visit", see, anew, see+" ⇒ [1 0] ⇒ [1 1]")
		harness.NewTwin(t, srv, schema, harness.Counters("visit", "n")).Accepted(t, count, "O: TRUNCATE visit", harness.RollUpStep, anew, see)
		harness.NewTwin(t, srv, schema, harness.Counters("visit", "n")).Accepted(t, count, "O: TRUNCATE visit", "A: INSERT INTO visit VALUES (1, 0)", see)
	})
}

// TestAcceptedCall pins that a CALL outside a transaction may miss increments
// that arrive while it runs.
func TestAcceptedCall(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		for i, db := range []*sql.DB{tw.Plain, tw.Ours} {
			direct := tw.DirectTo(db)
			var lock string
			require.NoError(t, direct.QueryRow("SELECT DATABASE()").Scan(&lock))
			harness.Affected(t, db, "CREATE PROCEDURE waits() BEGIN DO GET_LOCK('"+lock+"', 20); SELECT likes FROM post WHERE id = 1; END")
			harness.Affected(t, db, harness.LikeOne) // is seen
			holder, caller := harness.Session(t, direct), harness.Session(t, db)
			require.EqualValues(t, 1, harness.Number(t, holder, "SELECT GET_LOCK('"+lock+"', 0)"))
			answer := make(chan string, 1)
			go func() { answer <- harness.Queried(context.WithoutCancel(t.Context()), caller, "CALL waits()") }()
			require.Eventually(t, func() bool {
				return harness.Number(t, direct, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND STATE LIKE 'User lock%'") == 1
			}, 5*time.Second, 10*time.Millisecond)
			harness.Affected(t, db, harness.LikeOne)
			require.EqualValues(t, 1, harness.Number(t, holder, "SELECT RELEASE_LOCK('"+lock+"')"))
			require.Equal(t, []string{"likes INT, [12]", "likes INT, [11]"}[i], harness.Soon(t, answer))
		}
	})
}

// TestAcceptedForeignSchema pins that DDL of another client is noticed within
// ten seconds by who goes on, and by the first statement of who was idle for
// half a minute.
func TestAcceptedForeignSchema(t *testing.T) {
	t.Parallel()
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		idle, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
		columns := func(db *sql.DB) int {
			rows, err := db.QueryContext(t.Context(), "SELECT * FROM post WHERE id = 1 AND likes >= 0")
			require.NoError(t, err)
			defer rows.Close()
			names, err := rows.Columns()
			require.NoError(t, err)
			return len(names)
		}
		require.Equal(t, 6, columns(tw.Ours))
		require.Equal(t, 6, columns(idle))
		harness.Affected(t, tw.Direct, "ALTER TABLE post ADD COLUMN extra INT")
		altered := time.Now()
		require.Equal(t, 6, columns(tw.Ours), "there is no difference to plain MySQL")
		require.Eventually(t, func() bool { return columns(tw.Ours) == 7 }, 12*time.Second, 50*time.Millisecond)
		time.Sleep(time.Until(altered.Add(31 * time.Second)))
		require.Equal(t, 7, columns(idle))
	})
}

// TestAcceptedSavepointAfterIncrements: what a procedure does with savepoints where the
// application has one that is behind increments.
func TestAcceptedSavepointAfterIncrements(t *testing.T) {
	const like, look = "A: UPDATE post SET likes = likes + 100 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		tw.Play(t, "A: CREATE PROCEDURE sets() SAVEPOINT a", "A: CREATE PROCEDURE goesback() ROLLBACK TO a", "A: CREATE PROCEDURE asks() BEGIN SELECT 1; SELECT 2; END")
		tw.Accepted(t, "A: BEGIN", like, "A: SAVEPOINT a", like,
			"A: CALL goesback() ⇒ affected 0 ⇒ countermysql: a routine went back to a savepoint that was set after increments; the transaction is rolled back",
			look+" ⇒ [110] ⇒ [10]", "A: COMMIT", look+" ⇒ [110] ⇒ [10]")
		tw.Reset(t)
		tw.Accepted(t, "A: BEGIN", like, "A: SAVEPOINT b", like, "A: CALL asks()", "A: CALL sets()", look, like, "A: ROLLBACK TO a ⇒ affected 0 ⇒ error 1305", "A: ROLLBACK TO b", look, "A: COMMIT", look)
	})
}
