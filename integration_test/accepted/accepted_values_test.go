package accepted

import (
	"database/sql"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestAcceptedReadOwnSnapshot pins that under ReadOwnSnapshot a transaction
// reads its snapshot plus its own increments, and locks nothing by that, where
// plain MySQL shows the latest value, locked.
func TestAcceptedReadOwnSnapshot(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.ReadOwnSnapshot(harness.BlogCounters()), "innodb_lock_wait_timeout=1")
		tw.Accepted(t, "A: begin RR", "A: SELECT likes FROM post WHERE id = 1",
			"B: UPDATE post SET likes = likes + 100 WHERE id = 1",
			"A: UPDATE post SET likes = likes + 3 WHERE id = 1",
			"A: SELECT likes FROM post WHERE id = 1 ⇒ [113] ⇒ [13]",
			"B: UPDATE post SET title = 'theirs' WHERE id = 1 ⇒ error 1205 ⇒ affected 1",
			"A: commit", "A: SELECT likes FROM post WHERE id = 1")
	})
}

// TestAcceptedUnknownRows pins that after a write whose rows the driver can't
// name, a transaction under REPEATABLE READ reads all counters of the table as
// they are now, and locks what it reads.
func TestAcceptedUnknownRows(t *testing.T) {
	t.Parallel()
	const trigger = `CREATE TRIGGER note_in AFTER INSERT ON note FOR EACH ROW UPDATE post SET likes = likes + 10 WHERE id = NEW.id`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Blog+trigger, harness.BlogCounters(), "innodb_lock_wait_timeout=1")
		for name, write := range map[string]string{
			"wide WHERE": "A: UPDATE post SET title = 'w' WHERE author = 1",
			"cascade":    "A: DELETE FROM author WHERE id = 1",
			"trigger":    "A: INSERT INTO note VALUES (1, '')",
			"one of two": "A: UPDATE post SET title = 'w' WHERE id IN (1, 3) AND title = ''",
		} {
			t.Run(name, func(t *testing.T) {
				tw.Reset(t)
				tw.Accepted(t, "A: begin RR", "A: SELECT likes FROM post WHERE id = 2",
					"B: UPDATE post SET likes = likes + 100 WHERE id = 2", write,
					"A: SELECT likes FROM post WHERE id = 2 ⇒ [9] ⇒ [109]",
					"B: UPDATE post SET title = 'theirs' WHERE id = 2 ⇒ affected 1 ⇒ error 1205",
					"A: commit", "A: SELECT likes FROM post WHERE id = 2")
			})
		}
		tw.Reset(t) // by key: no difference
		tw.Accepted(t, "A: begin RR", "A: SELECT likes FROM post WHERE id = 2", "B: UPDATE post SET likes = likes + 100 WHERE id IN (1, 2)", "A: UPDATE post SET title = 'w' WHERE id = 1",
			"A: SELECT id, likes FROM post ORDER BY id", "B: UPDATE post SET title = 'theirs' WHERE id = 2", "A: commit")
	})
}

// TestAcceptedFolded pins that a row whose slots an exact statement has added to it is read
// as it is now under REPEATABLE READ, also if the statement has not changed it, and no
// other row is; and that all are if the slots have added nothing to it, since the server
// does not write a row that stays as it is.
func TestAcceptedFolded(t *testing.T) {
	const guard, all = "A: UPDATE post SET likes = likes - 1 WHERE id = 1 AND likes >= 1000", "A: SELECT id, likes, title FROM post ORDER BY id"
	begin := []string{"A: begin RR", "A: SELECT COUNT(*) FROM note", "B: UPDATE post SET likes = likes + 100, title = 'new' WHERE id = 2", "B: UPDATE post SET likes = likes + 100 WHERE id = 1"}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_lock_wait_timeout=1")
		tw.Accepted(t, slices.Concat(begin, []string{"A: SAVEPOINT s", guard,
			"A: SELECT likes FROM post WHERE id = 1 ⇒ [10] ⇒ [110]", all + " ⇒ [1 10 ][2 9 second][3 0 third] ⇒ [1 110 ][2 9 second][3 0 third]",
			"B: UPDATE post SET title = 'theirs' WHERE id = 2", "A: ROLLBACK TO s", all,
			guard, "A: UPDATE post SET likes = likes + 1 WHERE id = 1", all, "A: commit", all})...)
		for _, nothing := range [][]string{
			{"B: UPDATE post SET likes = GREATEST(likes, 0) WHERE id = 1", "B: UPDATE post SET likes = likes + 7 WHERE id = 1", "B: UPDATE post SET likes = likes - 7 WHERE id = 1"},
			{"B: UPDATE post SET likes = GREATEST(likes, 0) WHERE id = 1", "B: UPDATE post SET views = views + 0, likes = likes + 7 WHERE id = 1", "B: UPDATE post SET likes = likes - 7 WHERE slug = 'a'"},
		} {
			tw.Reset(t)
			tw.Accepted(t, slices.Concat(begin, nothing, []string{"A: SAVEPOINT s", guard,
				all + " ⇒ [1 10 ][2 9 second][3 0 third] ⇒ [1 110 ][2 109 new][3 0 third]",
				"B: UPDATE post SET title = 'theirs' WHERE id = 2 ⇒ affected 1 ⇒ error 1205",
				"A: ROLLBACK TO s", all, "A: commit", all + " ⇒ [1 110 ][2 109 theirs][3 0 third] ⇒ [1 110 ][2 109 new][3 0 third]"})...)
		}
		tw.Reset(t) // an own increment that cancels out the 5 in slots, which are not folded: no difference
		tw.Play(t, "A: begin RR", all, "B: UPDATE post SET likes = 3 WHERE id = 2", "A: UPDATE post SET likes = likes - 5 WHERE id = 1", all, "A: commit", all)
		tw.Reset(t) // NULL has no slots that count
		tw.Accepted(t, "A: begin RR", "A: SELECT hits FROM page ORDER BY day, name", "B: UPDATE page SET hits = hits + 4 WHERE day = '2026-01-01' AND name = 'home'", "O: UPDATE page SET hits = NULL WHERE name = 'home'",
			"A: UPDATE page SET hits = GREATEST(hits, 0) WHERE name = 'home' AND day = '2026-01-01'",
			"A: SELECT hits FROM page ORDER BY day, name ⇒ [<nil>][0][3] ⇒ [<nil>][<nil>][<nil>]", "A: commit", "A: SELECT hits FROM page ORDER BY day, name")
	})
}

// TestAcceptedUntold pins that a transaction under REPEATABLE READ reads all rows as they
// are now behind an UPDATE or upsert of which the server does not tell whether, or which of
// several rows, it has written.
func TestAcceptedUntold(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for write, params := range map[string]string{
			"A: UPDATE post SET title = 'x' WHERE id = 1":                                                                 "clientFoundRows=true",
			"A: UPDATE post SET title = '' WHERE id = 1":                                                                  "clientFoundRows=true",
			"A: INSERT INTO post (id, slug) VALUES (1, 'a') ON DUPLICATE KEY UPDATE title = 'x'":                          "clientFoundRows=false",
			"A: INSERT INTO post (id, slug) VALUES (7, 'z'), (1, 'a') ON DUPLICATE KEY UPDATE title = CONCAT(title, 'x')": "clientFoundRows=false",
		} {
			tw := harness.NewBlog(t, srv, harness.BlogCounters(), params)
			tw.Accepted(t, "A: begin RR", "A: SELECT likes FROM post WHERE id = 2", "B: UPDATE post SET likes = likes + 100 WHERE id = 2", write,
				"A: SELECT likes FROM post WHERE id = 2 ⇒ [9] ⇒ [109]", "A: commit", "A: SELECT id, likes, title FROM post ORDER BY id")
		}
	})
}

// TestAcceptedExactReads pins that a query which can't be parsed shows the latest
// values of its rows under REPEATABLE READ, as what comes after it does where it has
// added slots to them.
func TestAcceptedExactReads(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_lock_wait_timeout=1")
		tw.Accepted(t, "A: begin RR", "A: SELECT likes FROM post WHERE id = 1",
			"B: UPDATE post SET likes = likes + 100 WHERE id = 1",
			"A: SELECT /*!40001 SQL_NO_CACHE */ likes FROM post WHERE id = 1 ⇒ [10] ⇒ [110]",
			"A: SELECT id, likes FROM post ORDER BY id ⇒ [1 10][2 9][3 0] ⇒ [1 110][2 9][3 0]",
			"B: UPDATE post SET title = 'theirs' WHERE id = 1 ⇒ affected 1 ⇒ error 1205",
			"A: commit", "A: SELECT likes FROM post WHERE id = 1")
	})
}

// TestAcceptedSnapshotIsolation pins what MariaDB's innodb_snapshot_isolation
// refuses and lets pass: a rollup is a change of the row, and an exact statement
// acts on the latest value.
func TestAcceptedSnapshotIsolation(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		if !harness.MariaDB(srv) {
			return // MySQL has no such variable
		}
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_snapshot_isolation=ON")
		tw.Accepted(t, "A: begin RR", "A: SELECT likes FROM post WHERE id = 1", harness.RollUpStep,
			"A: UPDATE post SET title = 'x' WHERE id = 1 ⇒ affected 1 ⇒ error 1020", "A: rollback")
		tw.Reset(t)
		tw.Accepted(t, "A: begin RR", "A: SELECT likes FROM post WHERE id = 1", harness.RollUpStep,
			"A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: commit", "A: SELECT likes FROM post WHERE id = 1")
		tw.Reset(t)
		tw.Accepted(t, "A: begin RR", "A: SELECT likes FROM post WHERE id = 1", "O: UPDATE post SET title = 'theirs' WHERE id = 1",
			"A: UPDATE post SET likes = GREATEST(likes - 1, 0) WHERE id = 1 ⇒ error 1020 ⇒ affected 1",
			"A: commit", "A: SELECT likes FROM post WHERE id = 1 ⇒ [10] ⇒ [9]")
	})
}

// TestAcceptedOtherColumns pins that under ReadOwnSnapshot the other columns of a
// row which the transaction has only incremented are read as of the snapshot.
func TestAcceptedOtherColumns(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		begin := []string{"A: begin RR", "A: SELECT title FROM post WHERE id = 1", "O: UPDATE post SET title = 'theirs' WHERE id = 1", "A: UPDATE post SET likes = likes + 1 WHERE id = 1"}
		tw.Accepted(t, slices.Concat(begin, []string{"A: SELECT title FROM post WHERE id = 2", "A: SELECT title FROM post WHERE id = 1",
			"A: SELECT title, likes FROM post WHERE id = 1", "A: commit"})...)
		for _, first := range []string{"A: START TRANSACTION WITH CONSISTENT SNAPSHOT", "A: SET @n = (SELECT COUNT(*) FROM note)", "A: DO (SELECT COUNT(*) FROM note)"} {
			tw.Reset(t)
			tw.Accepted(t, "A: SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "A: START TRANSACTION", first, "O: UPDATE post SET title = 'theirs' WHERE id = 1", "A: UPDATE post SET likes = likes + 1 WHERE id = 1",
				"A: SELECT title FROM post WHERE id = 1", "A: COMMIT")
		}
		tw = harness.NewBlog(t, srv, harness.ReadOwnSnapshot(harness.BlogCounters()))
		tw.Accepted(t, slices.Concat(begin, []string{"A: SELECT title, likes FROM post WHERE id = 1 ⇒ [theirs 11] ⇒ [ 11]", "A: commit"})...)
	})
}

// TestAcceptedHalfRollup pins that READ UNCOMMITTED may see a rollup half done,
// and no other level does.
func TestAcceptedHalfRollup(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, level := range []sql.IsolationLevel{sql.LevelReadUncommitted, sql.LevelReadCommitted} {
			tw := harness.NewBlog(t, srv, harness.BlogCounters())
			config := *tw.Config
			sent := harness.NewRecorder()
			config.Interceptor = sent
			roller, _ := harness.OpenOurs(t, tw.OursDSN, &config)
			var seen []int64
			sent.Meddle(t, func(string) error { // before each statement of the rollup
				tx, err := tw.Ours.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
				require.NoError(t, err)
				seen = append(seen, harness.Number(t, tx, "SELECT likes FROM post WHERE id = 1"))
				require.NoError(t, tx.Rollback())
				return nil
			})
			harness.RollUp(t, roller)
			sent.Before.Store(nil)
			seen = slices.Compact(seen)
			if level == sql.LevelReadCommitted {
				require.Equal(t, []int64{10}, seen)
			} else {
				require.Equal(t, []int64{10, 15, 10}, seen)
			}
		}
	})
}

// TestAcceptedZoneBehindSavepoint pins that a time which an increment gave a TIMESTAMP
// touch column, and which ROLLBACK TO makes pending again after another time zone was set,
// is taken for one of that zone.
func TestAcceptedZoneBehindSavepoint(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := harness.Counters("post", "likes")
		config.Tables[0].Touch = []string{"at"}
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, at TIMESTAMP NULL, likes INT NOT NULL DEFAULT 0);\nINSERT INTO post (id) VALUES (1)", config)
		const increment = "A: UPDATE post SET likes = likes + 1, at = NOW() WHERE id = 1"
		tw.Accepted(t, "A: SET time_zone = '+00:00'", "A: SET timestamp = 1790000000", "A: BEGIN", increment, "A: SET time_zone = '+05:00'", "A: COMMIT", "A: SELECT HOUR(at), likes FROM post",
			"A: SET time_zone = '+00:00'", "A: SET timestamp = 1790003600", "A: BEGIN", increment, "A: SAVEPOINT s", "A: SET time_zone = '+03:00'", "A: ROLLBACK TO s", "A: COMMIT", "A: SELECT HOUR(at), likes FROM post ⇒ [18 2] ⇒ [17 2]")
	})
}

// TestAcceptedZeroDates pins that MySQL, with NO_ZERO_IN_DATE, makes 0000-00-00 of a date
// without a month where it copies rows, as it does where the driver needs a copy.
func TestAcceptedZeroDates(t *testing.T) {
	const schema = `
CREATE TABLE page (day DATE PRIMARY KEY, hits INT NOT NULL DEFAULT 0, born DATE, KEY (hits));
SET sql_mode = '';
INSERT INTO page VALUES ('2026-00-00', 9, '1980-00-00'), ('2026-01-01', 1, '1981-01-01');
SET sql_mode = DEFAULT;
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("page", "hits"))
		harness.Affected(t, tw.Direct, "INSERT INTO page_slots (day, slot) VALUES ('2026-01-01', 0)")
		first, born := " ⇒ [2026-00-00 9] ⇒ [0000-00-00 9]", " ⇒ [1981-01-01 -1][1980-00-00 -9] ⇒ [1981-01-01 -1][0000-00-00 -9]"
		if harness.MariaDB(srv) {
			first, born = "", ""
		}
		tw.Accepted(t, "A: SELECT day, hits FROM page ORDER BY hits DESC LIMIT 1"+first,
			"A: SELECT born, -hits AS hits FROM page ORDER BY page.hits"+born, // a table's column suits, and no view's expression
			"A: SELECT day, hits, born FROM page ORDER BY day",
			"A: SELECT c.born FROM (SELECT born, hits FROM page LIMIT 2) c ORDER BY c.hits") // a copy on plain MySQL, too
	})
}

// TestAcceptedZeroTouch pins that MySQL, in strict mode with NO_ZERO_DATE, takes a zero date for NULL where it is
// that of an expression, as a touch column is while its table has slots; not where it is read, or compared by itself.
func TestAcceptedZeroTouch(t *testing.T) {
	const schema = `
SET @mode = @@sql_mode;
SET sql_mode = '';
CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, seen_at DATETIME NOT NULL DEFAULT '0000-00-00 00:00:00');
CREATE TABLE day (at DATETIME);
INSERT INTO post (id) VALUES (1), (2);
INSERT INTO day VALUES ('0000-00-00 00:00:00');
SET sql_mode = @mode;
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := harness.Counters("post", "likes")
		config.Tables[0].Touch = []string{"seen_at"}
		tw := harness.NewTwin(t, srv, schema, config)
		harness.Affected(t, tw.Plain, "UPDATE post SET seen_at = '2026-01-02' WHERE id = 2")
		harness.Affected(t, tw.Direct, "INSERT INTO post_slots (id, slot, seen_at) VALUES (2, 0, '2026-01-02')")
		joined, highest := " ⇒ [1] ⇒ no rows", " ⇒ [0000-00-00 00:00:00] ⇒ [<nil>]"
		if harness.MariaDB(srv) {
			joined, highest = "", ""
		}
		tw.Accepted(t, "A: SELECT id, seen_at FROM post ORDER BY id", "A: SELECT id FROM post WHERE seen_at < '2020-01-01'", "A: SELECT MIN(seen_at), MAX(seen_at) FROM post",
			"A: SELECT id FROM post JOIN day ON day.at = post.seen_at"+joined,
			"A: SELECT (SELECT MAX(p.seen_at) FROM post p WHERE p.id <= d.id) FROM (SELECT 1 AS id) d"+highest)
	})
}

// TestAcceptedFractions pins that MySQL finds a time in a copy of rows by one that has more digits.
func TestAcceptedFractions(t *testing.T) {
	const schema = `
CREATE TABLE visit (at DATETIME PRIMARY KEY, likes INT NOT NULL DEFAULT 0);
INSERT INTO visit VALUES ('2026-01-01', 5), ('2026-01-02', 7);
`
	const (
		grouped = "A: SELECT likes, COUNT(*) FROM visit WHERE at = '2026-01-01 00:00:00.25' GROUP BY likes WITH ROLLUP"
		copied  = "SELECT likes, COUNT(*) FROM (SELECT * FROM visit LIMIT 9) v WHERE at = '2026-01-01 00:00:00.25' GROUP BY likes WITH ROLLUP"
	)
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("visit", "likes"))
		found := " ⇒ [<nil> 0] ⇒ [5 1][<nil> 1]"
		if harness.MariaDB(srv) {
			found = ""
		} else {
			require.Contains(t, harness.Queried(t.Context(), tw.Plain, copied), "[5 1][<nil> 1]", "plain finds it, too, in a copy")
		}
		harness.Affected(t, tw.Direct, "INSERT INTO visit_slots (at, slot) VALUES ('2026-01-02', 0)")
		tw.Accepted(t, grouped+found,
			"A: SELECT likes FROM visit WHERE at = '2026-01-01 00:00:00.25'",
			"A: SELECT likes, COUNT(*) FROM visit WHERE at = '2026-01-01' GROUP BY likes WITH ROLLUP")
	})
}

// TestAcceptedDefaults pins that a column's default which is an expression of a counter is made by the base row alone.
func TestAcceptedDefaults(t *testing.T) {
	t.Parallel()
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, cap INT NOT NULL DEFAULT (likes * 2));\nINSERT INTO post VALUES (1, 3, 6)",
			harness.Counters("post", "likes"))
		harness.Number(t, tw.Ours, "SELECT likes FROM post") // makes the slots table
		harness.Affected(t, tw.Direct, "INSERT INTO post_slots (id, slot, likes) VALUES (1, 3, 2)")
		harness.Affected(t, tw.Plain, "UPDATE post SET likes = likes + 2 WHERE id = 1")
		tw.Accepted(t, "A: SELECT likes FROM post WHERE id = 1", "A: UPDATE post SET cap = DEFAULT WHERE id = 1 ⇒ affected 1 ⇒ affected 0",
			"A: SELECT likes, cap FROM post ⇒ [5 10] ⇒ [5 6]")
	})
}
