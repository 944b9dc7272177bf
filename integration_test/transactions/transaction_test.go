package transactions

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// transactions are scripts in which plain MySQL never waits for a lock. B and Z
// are other clients; Z looks at the end.
var transactions = []struct {
	name  string
	steps []string
}{
	// Rule 1: RowsAffected is true.
	{"rows affected", []string{"A: BEGIN",
		"A: UPDATE post SET likes = likes + 1 WHERE id = 1",
		"A: UPDATE post SET likes = likes + 1 WHERE id = 77",
		"A: UPDATE post SET likes = likes + 1 WHERE id IN (1, 77, 2, 2)",
		"A: UPDATE post SET likes = likes + 1 WHERE slug = 'A'",
		"A: UPDATE post SET likes = likes + 1 WHERE id = 1 AND title = 'other'",
		"A: UPDATE post SET likes = likes + 0 WHERE id = 1",
		"A: UPDATE page SET hits = hits + 1 WHERE day = '2026-01-01' AND name = 'HOME'",
		"A: UPDATE page SET hits = hits + 1 WHERE day = '2026-01-01' AND name = 'about'",
		"A: INSERT INTO page (day, name, hits) VALUES ('2026-01-02', 'Home', 1) ON DUPLICATE KEY UPDATE hits = hits + 1",
		"A: INSERT INTO page (day, name, hits) VALUES ('2026-01-03', 'new', 1) ON DUPLICATE KEY UPDATE hits = hits + 1",
		"A: INSERT INTO page (day, name, hits) VALUES ('2026-01-03', 'new', 1) ON DUPLICATE KEY UPDATE hits = hits + VALUES(hits)",
		"A: COMMIT"}},
	{"XA ROLLBACK of another transaction", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1",
		"A: XA ROLLBACK 'nosuch'", "A: SELECT likes FROM post WHERE id = 1", "A: UPDATE post SET likes = likes + 1 WHERE id = 2", "A: XA ROLLBACK 'nosuch'", "A: COMMIT"}},
	{"rows of one's own", []string{"A: BEGIN",
		"A: INSERT INTO post (id, slug, likes) VALUES (10, 'j', 4)", "A: UPDATE post SET likes = likes + 1 WHERE id = 10",
		"A: DELETE FROM post WHERE id = 2", "A: UPDATE post SET likes = likes + 1 WHERE id = 2",
		"A: UPDATE post SET slug = 'k' WHERE id = 1", "A: UPDATE post SET likes = likes + 1 WHERE slug = 'a'", "A: UPDATE post SET likes = likes + 1 WHERE slug = 'k'",
		"A: DELETE FROM author WHERE id = 2", "A: UPDATE post SET likes = likes + 1 WHERE id = 3 AND author = 2", "A: UPDATE post SET likes = likes + 1 WHERE id = 3 AND author IS NULL",
		"A: COMMIT"}},
	{"rows of others", []string{"A: BEGIN", "A: SELECT COUNT(*) FROM post",
		"B: INSERT INTO post (id, slug, likes) VALUES (10, 'j', 4)", "A: UPDATE post SET likes = likes + 1 WHERE id = 10",
		"B: DELETE FROM post WHERE id = 2", "A: UPDATE post SET likes = likes + 1 WHERE id = 2",
		"B: UPDATE post SET slug = 'k' WHERE id = 1", "A: UPDATE post SET likes = likes + 1 WHERE slug = 'a'", "A: UPDATE post SET likes = likes + 1 WHERE slug = 'k'",
		"A: SELECT id, likes FROM post ORDER BY id", "A: COMMIT"}},
	{"one's own rows among others", []string{"A: BEGIN", "A: INSERT INTO post (id, slug) VALUES (10, 'j')", "A: UPDATE post SET likes = likes + 1 WHERE id IN (1, 10)", "A: UPDATE post SET slug = 'k' WHERE id = 1",
		"A: UPDATE post SET likes = likes + 10 WHERE slug IN ('b', 'k')", "A: UPDATE post SET likes = likes + 10 WHERE slug IN ('a', 'b')", "A: UPDATE post SET title = 'mine' WHERE id = 3",
		"A: UPDATE post SET likes = likes + 100 WHERE id IN (2, 3) AND title IN ('second', 'mine')", "A: UPDATE post SET likes = likes + 1000 WHERE id IN (2, 3) AND title <> 'mine'", "A: COMMIT"}},
	{"rows brought back by a savepoint", []string{"A: BEGIN", "A: SAVEPOINT a", "A: DELETE FROM post WHERE id = 2", "A: UPDATE post SET title = 'x' WHERE id = 1", "A: ROLLBACK TO a", "A: UPDATE post SET likes = likes + 1 WHERE id IN (1, 2) AND title <> 'x'",
		"A: SAVEPOINT b", "A: INSERT INTO post (id, slug) VALUES (10, 'j')", "A: UPDATE post SET likes = likes + 1 WHERE id IN (2, 10)", "A: ROLLBACK TO b", "A: UPDATE post SET likes = likes + 1 WHERE id IN (2, 10)", "A: COMMIT"}},
	{"replaced rows", []string{"A: BEGIN", "A: REPLACE INTO post (id, slug, likes) VALUES (2, 'bb', 1), (12, 'a', 2)", "A: UPDATE post SET likes = likes + 1 WHERE id IN (1, 2, 12)", "A: UPDATE post SET likes = likes + 1 WHERE slug IN ('a', 'b', 'bb')", "A: COMMIT"}},
	{"deleted and inserted again", []string{"A: BEGIN", "A: DELETE FROM post WHERE id = 1", "A: INSERT INTO post (id, slug, likes) VALUES (1, 'a', 100)", "A: UPDATE post SET likes = likes + 1 WHERE id IN (1, 2)", "A: SELECT likes FROM post WHERE id = 1", "A: COMMIT", "A: UPDATE post SET likes = likes + 1 WHERE id = 1"}},
	{"temporary state", []string{"A: BEGIN", "A: SET @id = 1", "A: UPDATE post SET likes = likes + 1 WHERE id = @id", "A: UPDATE post SET likes = likes + 1 WHERE id = 1 AND @id = 1", "A: UPDATE post SET likes = likes + @id WHERE id = 1",
		"A: UPDATE post SET likes = likes + 1 WHERE id = (@id := @id + 1)", "A: SELECT @id", "A: UPDATE post SET likes = likes + 1 WHERE id = LAST_INSERT_ID(3)", "A: SELECT LAST_INSERT_ID()", "A: COMMIT"}},
	{"names in every spelling", []string{"A: begin work", "A: update `post` set `likes`=`post`.`likes`+1 where `post`.`id`=1", "A: UPDATE post p SET p.likes = p.likes + 1 WHERE p.id = 1", "A: UPDATE post AS p SET likes = 1 + likes WHERE 1 = p.id",
		"A: UPDATE LOW_PRIORITY post SET likes = likes - -1 WHERE (id) = (1)", "A: UPDATE IGNORE post SET likes = (likes + 1) WHERE id = 1 LIMIT 1", "A: UPDATE post SET likes = likes + 1 WHERE id = 1 ORDER BY id", "A: UPDATE post SET likes = likes + 1 WHERE id = '1'", "A: UPDATE post SET likes = likes + 1 WHERE id = 1.0", "A: COMMIT"}},
	{"decrements and many", []string{"A: BEGIN", "A: UPDATE post SET likes = likes - 3, views = views + 2 WHERE id = 1", "A: UPDATE post SET likes = likes - 1 WHERE id = 2",
		"A: UPDATE post SET views = views - 1 WHERE id = 1", "A: UPDATE post SET views = views - 5 WHERE id = 1", "A: UPDATE post SET likes = likes + 3 WHERE id = 1", "A: COMMIT"}},

	// Rule 2: reads of what was incremented.
	{"read of one's own", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 3 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1",
		"A: UPDATE post SET likes = likes + 4 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1", "A: SELECT SUM(likes) FROM post", "A: COMMIT"}},
	{"read locks", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 3 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1",
		"B: UPDATE post SET likes = likes + 10 WHERE id = 1", "B: UPDATE post SET title = 'theirs' WHERE id = 1", "B: UPDATE post SET likes = likes + 10 WHERE id = 2",
		"A: SELECT likes FROM post WHERE id = 1", "A: COMMIT", "B: UPDATE post SET likes = likes + 10 WHERE id = 1"}},
	{"latest before the snapshot", []string{"A: BEGIN", "B: UPDATE post SET likes = likes + 10 WHERE id = 1", "A: UPDATE post SET likes = likes + 3 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1", "A: COMMIT"}},
	{"exact after increment", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 3 WHERE id = 1", "A: UPDATE post SET likes = likes * 2 WHERE id = 1",
		"A: UPDATE post SET likes = likes - 1 WHERE id = 1 AND likes >= 26", "A: UPDATE post SET likes = likes - 1 WHERE id = 1 AND likes >= 26", "A: SELECT likes FROM post WHERE id = 1 FOR UPDATE", "A: COMMIT"}},
	{"delete after increment", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 3 WHERE id = 1", "A: DELETE FROM post WHERE id = 1", "A: COMMIT"}},
	{"delete all after increment", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 3 WHERE id = 1", "A: DELETE FROM post", "A: INSERT INTO post (id, slug) VALUES (1, 'a')", "A: COMMIT"}},
	{"replace after increment", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 3 WHERE id = 1", "A: REPLACE INTO post (id, slug, likes) VALUES (1, 'a', 1)", "A: COMMIT"}},
	{"another key after increment", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 3 WHERE id = 1", "A: UPDATE post SET id = 60 WHERE id = 1", "A: UPDATE post SET likes = likes + 1 WHERE id = 60", "A: COMMIT"}},
	{"two rows trade places", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 3 WHERE id = 1", "A: UPDATE post SET likes = likes + 30 WHERE id = 2", "A: UPDATE post SET id = 60 WHERE id = 1",
		"A: UPDATE post SET id = 1 WHERE id = 2", "A: UPDATE post SET id = 2 WHERE id = 60", "A: COMMIT"}},
	{"insert from a query", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 3 WHERE id = 1", "A: INSERT INTO note SELECT id, likes FROM post", "A: COMMIT"}},

	// Rule 3: ROLLBACK.
	{"rollback", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 3 WHERE id = 1", "A: ROLLBACK", "A: UPDATE post SET likes = likes + 1 WHERE id = 1"}},
	{"rollback of what was read", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 3 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1", "A: ROLLBACK"}},
	{"rollback and chain", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 3 WHERE id = 1", "A: ROLLBACK AND CHAIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: INSERT INTO note VALUES (1, '')", "Z: SELECT likes FROM post WHERE id = 1", "A: COMMIT"}},
	{"error of a statement", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 3 WHERE id = 1", "A: INSERT INTO author VALUES (1, 'twice')", "A: UPDATE post SET nosuch = 1 WHERE id = 1", "A: COMMIT"}},

	// Rule 4: savepoints.
	{"savepoint", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SAVEPOINT s", "A: UPDATE post SET likes = likes + 10 WHERE id = 1", "A: ROLLBACK TO s", "A: COMMIT"}},
	{"savepoints nested", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SAVEPOINT a", "A: UPDATE post SET likes = likes + 10 WHERE id = 1", "A: SAVEPOINT `b`",
		"A: UPDATE post SET likes = likes + 100 WHERE id = 1", "A: ROLLBACK WORK TO SAVEPOINT b", "A: UPDATE post SET likes = likes + 1000 WHERE id = 1", "A: ROLLBACK TO B", "A: ROLLBACK TO A", "A: ROLLBACK TO b", "A: COMMIT"}},
	{"savepoint released", []string{"A: BEGIN", "A: SAVEPOINT a", "A: UPDATE post SET likes = likes + 10 WHERE id = 1", "A: SAVEPOINT b", "A: UPDATE post SET likes = likes + 100 WHERE id = 1",
		"A: RELEASE SAVEPOINT a", "A: ROLLBACK TO a", "A: ROLLBACK TO b", "A: COMMIT"}},
	{"savepoint set twice", []string{"A: BEGIN", "A: SAVEPOINT a", "A: UPDATE post SET likes = likes + 10 WHERE id = 1", "A: SAVEPOINT b", "A: SAVEPOINT a", "A: UPDATE post SET likes = likes + 100 WHERE id = 1",
		"A: ROLLBACK TO a", "A: SELECT likes FROM post WHERE id = 1", "A: ROLLBACK TO b", "A: ROLLBACK TO a", "A: COMMIT"}},
	{"savepoint, then read", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SAVEPOINT a", "A: UPDATE post SET likes = likes + 10 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1",
		"A: ROLLBACK TO a", "A: SELECT likes FROM post WHERE id = 1", "A: UPDATE post SET likes = likes + 100 WHERE id = 1", "A: COMMIT"}},
	{"read, then savepoint", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1", "A: SAVEPOINT a", "A: UPDATE post SET likes = 0 WHERE id = 1",
		"A: ROLLBACK TO a", "A: SELECT likes FROM post WHERE id = 1", "A: UPDATE post SET likes = likes + 100 WHERE id = 1", "A: COMMIT"}},
	{"savepoint and delete", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SAVEPOINT a", "A: DELETE FROM post WHERE id = 1", "A: ROLLBACK TO a", "A: COMMIT"}},
	{"savepoint outside", []string{"A: SAVEPOINT a", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: ROLLBACK TO a"}},

	// Rule 5: text and implicit commits.
	{"BEGIN WORK", []string{"A: BEGIN WORK", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: COMMIT WORK", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: ROLLBACK"}},
	{"begin twice", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: START TRANSACTION", "A: UPDATE post SET likes = likes + 10 WHERE id = 1", "A: ROLLBACK"}},
	{"commented", []string{"A: /* app */ begin", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: -- done\nROLLBACK;", "A: # x\nSTART /* y */ TRANSACTION", "A: UPDATE post SET likes = likes + 10 WHERE id = 1", "A: /*!40000 COMMIT */"}},
	{"COMMIT AND CHAIN", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: COMMIT AND CHAIN", "A: UPDATE post SET likes = likes + 10 WHERE id = 1", "Z: SELECT likes FROM post WHERE id = 1", "A: ROLLBACK", "A: UPDATE post SET likes = likes + 100 WHERE id = 1"}},
	{"autocommit off", []string{"A: SET autocommit = 0", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "Z: SELECT likes FROM post WHERE id = 1", "A: COMMIT", "A: UPDATE post SET likes = likes + 10 WHERE id = 1", "A: ROLLBACK",
		"A: UPDATE post SET likes = likes + 100 WHERE id = 1", "A: SET autocommit = 1", "A: ROLLBACK"}},
	{"autocommit off in other words", []string{"A: SET @@session.autocommit = OFF, @x = 1", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SET AUTOCOMMIT = ON", "A: ROLLBACK"}},
	{"autocommit set again", []string{"A: SET autocommit = 0", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SET autocommit = 0", "A: ROLLBACK", "A: SET autocommit = 1"}},
	{"autocommit on inside", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SET autocommit = 1", "A: ROLLBACK"}},
	{"autocommit by expression", []string{"A: SET autocommit = 1 - 1", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SET autocommit = 2 - 1", "A: ROLLBACK"}},
	{"CREATE TABLE commits", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: CREATE TABLE other (id INT)", "A: ROLLBACK", "A: DROP TABLE other"}},
	{"ALTER TABLE commits", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: ALTER TABLE note ADD COLUMN n INT", "A: ROLLBACK", "A: ALTER TABLE note DROP COLUMN n"}},
	{"ALTER TABLE of the counters commits", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id IN (1, 2, 3)", "A: ALTER TABLE post ADD COLUMN n INT", "A: ROLLBACK", "A: BEGIN", "A: UPDATE post SET likes = likes + 10 WHERE id = 1",
		"A: ALTER TABLE post DROP COLUMN n", "A: BEGIN", "A: UPDATE post SET likes = likes + 100 WHERE id = 1", "A: RENAME TABLE post TO post2", "A: RENAME TABLE post2 TO post", "A: UPDATE post SET likes = likes + 1000 WHERE id = 1"}},
	{"copy of the counters commits", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id IN (1, 2, 3)", "A: CREATE TABLE copy AS SELECT id, likes FROM post", "A: ROLLBACK", "A: SELECT * FROM copy ORDER BY id", "A: DROP TABLE copy"}},
	{"failing DDL commits", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: CREATE TABLE post (id INT)", "A: ROLLBACK"}},
	{"TRUNCATE commits", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: TRUNCATE TABLE page", "A: ROLLBACK", "A: INSERT INTO page VALUES ('2026-01-01', 'home', 1)"}},
	{"LOCK TABLES commits", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: LOCK TABLES note WRITE", "A: ROLLBACK", "A: UNLOCK TABLES"}},
	{"BEGIN unlocks tables", []string{"A: LOCK TABLES note WRITE", "A: BEGIN", "B: UPDATE post SET likes = likes + 7 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1", "A: UPDATE post SET likes = likes * 2 WHERE id = 1", "A: COMMIT", "A: UNLOCK TABLES"}},
	{"BeginTx unlocks tables", []string{"A: LOCK TABLES note WRITE", "A: begin", "B: UPDATE post SET likes = likes + 7 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1", "A: UPDATE post SET likes = likes * 2 WHERE id = 1", "A: commit"}},
	{"LOCK TABLES again", []string{"A: LOCK TABLES note WRITE", "A: LOCK TABLES note READ", "B: UPDATE post SET likes = likes + 7 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1", "A: UNLOCK TABLES", "A: UPDATE post SET likes = likes * 2 WHERE id = 1"}},
	{"LOCK TABLES with a tail", []string{"A: LOCK TABLES note WRITE -- now", "A: SELECT likes FROM post WHERE id = 1", "A: UNLOCK TABLES", "A: LOCK TABLES note WRITE; # now", "A: SELECT likes FROM post WHERE id = 1", "A: UNLOCK TABLES",
		"A: LOCK TABLES note READ, author WRITE WAIT 2", "A: UNLOCK TABLES", "A: LOCK TABLES note WRITE NOWAIT", "A: UNLOCK TABLES"}},
	{"everything commits", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: CREATE INDEX i ON note (body)", "A: BEGIN", "A: UPDATE post SET likes = likes + 10 WHERE id = 1", "A: DROP INDEX i ON note",
		"A: BEGIN", "A: UPDATE post SET likes = likes + 100 WHERE id = 1", "A: CREATE OR REPLACE VIEW v AS SELECT 1", "A: BEGIN", "A: UPDATE post SET likes = likes + 1000 WHERE id = 1", "A: DROP VIEW v",
		"A: BEGIN", "A: UPDATE post SET likes = likes + 10000 WHERE id = 1", "A: ANALYZE TABLE note", "A: ROLLBACK", "A: BEGIN", "A: UPDATE post SET likes = likes + 100000 WHERE id = 1", "A: CHECK TABLE note", "A: ROLLBACK",
		"A: BEGIN", "A: UPDATE post SET likes = likes + 1000000 WHERE id = 1", "A: OPTIMIZE TABLE note", "A: ROLLBACK"}},
	{"procedures commit", []string{"A: CREATE PROCEDURE done() COMMIT", "A: CREATE PROCEDURE undone() ROLLBACK", "A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: CALL done()", "A: ROLLBACK",
		"A: BEGIN", "A: UPDATE post SET likes = likes + 10 WHERE id = 1", "A: CALL undone()", "A: UPDATE post SET likes = likes + 100 WHERE id = 1", "A: COMMIT", "A: DROP PROCEDURE done", "A: DROP PROCEDURE undone"}},
	{"prepared texts commit", []string{"A: PREPARE s FROM 'COMMIT'", "A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: EXECUTE s", "A: ROLLBACK", "A: UPDATE post SET likes = likes + 1 WHERE id = 1"}},
	{"COMMIT inside database/sql", []string{"A: begin", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: COMMIT", "A: UPDATE post SET likes = likes + 10 WHERE id = 1", "Z: SELECT likes FROM post WHERE id = 1", "A: rollback"}},
	{"BEGIN inside database/sql", []string{"A: begin", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: BEGIN", "A: UPDATE post SET likes = likes + 10 WHERE id = 1", "A: rollback"}},
	{"database/sql inside BEGIN", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: begin", "A: UPDATE post SET likes = likes + 10 WHERE id = 1", "A: rollback"}},
	{"ROLLBACK inside database/sql", []string{"A: begin", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: ROLLBACK", "A: UPDATE post SET likes = likes + 10 WHERE id = 1", "A: commit"}},
	{"temporary table does not commit", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: CREATE TEMPORARY TABLE tmp (id INT)", "A: DROP TEMPORARY TABLE tmp", "A: ROLLBACK"}},
	{"SET TRANSACTION is for one", []string{"A: SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "A: BEGIN", "A: SELECT likes FROM post WHERE id = 1", "B: UPDATE post SET likes = likes + 10 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1", "A: COMMIT",
		"A: BEGIN", "A: SELECT likes FROM post WHERE id = 1", "B: UPDATE post SET likes = likes + 10 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1", "A: UPDATE post SET title = 'x' WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1", "A: COMMIT"}},
	{"SET TRANSACTION is for a statement alone", []string{"A: SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "A: SELECT COUNT(*) FROM note", "A: BEGIN", "A: SELECT likes FROM post WHERE id = 1", rollUp1, "A: UPDATE post SET title = 'x' WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1", "A: COMMIT",
		"A: SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: BEGIN", "A: SELECT likes FROM post WHERE id = 1", rollUp1, "A: UPDATE post SET title = 'x' WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1", "A: COMMIT",
		"A: SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "A: SELECT 1", "A: BEGIN", "A: SELECT likes FROM post WHERE id = 1", rollUp1, "A: UPDATE post SET title = 'x' WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1", "A: COMMIT"}},
	{"AND CHAIN keeps the level", []string{"A: SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "A: SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "A: BEGIN", "A: COMMIT AND CHAIN",
		"A: SELECT likes FROM post WHERE id = 1", rollUp1, "A: UPDATE post SET title = 'x' WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1", "A: COMMIT", "A: SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "B: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: BEGIN", "A: ROLLBACK WORK AND CHAIN", "A: SELECT likes FROM post WHERE id = 1", rollUp1, "A: UPDATE post SET title = 'x' WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1", "A: COMMIT", "A: SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"}},
	{"isolation of the session", []string{"A: SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE", "A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1", "A: COMMIT", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"}},
	{"read only", []string{"A: START TRANSACTION READ ONLY", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1", "A: UPDATE post SET likes = 0 WHERE id = 1", "A: COMMIT"}},
	{"XA", []string{"A: XA START " + harness.Xid, "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: INSERT INTO note VALUES (1, '')", "A: XA END " + harness.Xid, "A: XA PREPARE " + harness.Xid, "A: XA COMMIT " + harness.Xid, "A: UPDATE post SET likes = likes + 10 WHERE id = 1"}},
	{"XA ended", []string{"A: XA START " + harness.Xid, "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: XA END " + harness.Xid, "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1", "A: XA COMMIT " + harness.Xid + " ONE PHASE", "A: UPDATE post SET likes = likes + 10 WHERE id = 1"}},
	{"XA rolled back", []string{"A: XA BEGIN " + harness.Xid, "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: INSERT INTO note VALUES (1, '')", "A: XA END " + harness.Xid, "A: XA ROLLBACK " + harness.Xid, "A: UPDATE post SET likes = likes + 10 WHERE id = 1"}},
	{"XA in one phase", []string{"A: XA START " + harness.Xid, "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1", "A: UPDATE post SET likes = likes + 1 WHERE id = 2", "A: XA END " + harness.Xid, "A: XA COMMIT " + harness.Xid + " ONE PHASE"}},
	{"sql_select_limit meanwhile", []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SET sql_select_limit = 1", "A: UPDATE post SET likes = likes * 3 WHERE id = 2",
		"A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SET sql_select_limit = DEFAULT", "A: SET autocommit = 1", "A: SELECT id FROM author ORDER BY id", "A: COMMIT", "A: SELECT id, likes FROM post ORDER BY id"}},
	{"sql_select_limit", []string{"A: SET sql_select_limit = 1", "A: UPDATE post SET likes = 0 WHERE id IN (1, 2)", "A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id IN (1, 2, 3)", "A: SELECT id, likes FROM post ORDER BY id",
		"A: UPDATE post SET likes = likes * 3 WHERE id IN (1, 2, 3)", "A: SAVEPOINT s", "A: SET sql_select_limit = 0", "A: UPDATE post SET likes = likes + 1 WHERE id IN (1, 2)", "A: SELECT likes FROM post", "A: COMMIT", "A: SELECT likes FROM post", "A: SET sql_select_limit = DEFAULT"}},
}

// TestTransactions proves rules 1 to 5 of the transactions by playing scripts on
// both drivers: with text and with database/sql, at both levels, with both DSNs.
func TestTransactions(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_lock_wait_timeout=1")
		for _, c := range transactions {
			t.Run(c.name, func(t *testing.T) {
				tw.Reset(t)
				tw.Play(t, slices.Concat(c.steps, harness.Everything)...)
				require.Zero(t, tw.Orphans(t))
			})
			for _, level := range []string{"RC", "S", "RU"} {
				if steps, ok := byTx(c.steps, level); ok && (level == "RC" || strings.HasPrefix(c.name, "rows")) {
					t.Run(c.name+"/BeginTx "+level, func(t *testing.T) {
						tw.Reset(t)
						tw.Play(t, slices.Concat(steps, harness.Everything)...)
						require.Zero(t, tw.Orphans(t))
					})
				}
			}
		}
	})
}

// byTx replaces BEGIN, COMMIT and ROLLBACK by calls of database/sql.
func byTx(steps []string, level string) ([]string, bool) {
	if steps[0] != "A: BEGIN" {
		return nil, false
	}
	steps = slices.Clone(steps)
	steps[0] = "A: begin " + level
	for i, s := range steps {
		switch s {
		case "A: COMMIT":
			steps[i] = "A: commit"
		case "A: ROLLBACK":
			steps[i] = "A: rollback"
		default:
			continue
		}
		return steps, !slices.Contains(steps[i+1:], "A: BEGIN")
	}
	return nil, false
}
