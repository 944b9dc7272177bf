package accepted

import (
	"database/sql"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestAcceptedPool pins that a connection which goes back to the pool inside a
// transaction begun by text is closed, where go-sql-driver hands the open
// transaction to the next user. With autocommit off a session is always in one:
// then it is closed if increments are pending.
func TestAcceptedPool(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, c := range []struct {
			begin, write string
			closed       bool
		}{
			{"BEGIN", "INSERT INTO note VALUES (1, '')", true},
			{"BEGIN", harness.LikeOne, true},
			{"SET autocommit = 0", harness.LikeOne, true},
			{"SET autocommit = 0", "INSERT INTO note VALUES (1, '')", false},
		} {
			tw := harness.NewBlog(t, srv, harness.BlogCounters())
			for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
				db.SetMaxOpenConns(1)
				conn, err := db.Conn(t.Context())
				require.NoError(t, err)
				first := harness.Number(t, conn, "SELECT CONNECTION_ID()")
				harness.Affected(t, conn, c.begin)
				require.EqualValues(t, 1, harness.Affected(t, conn, c.write))
				require.NoError(t, conn.Close())
				next := harness.Number(t, db, "SELECT CONNECTION_ID()")
				seen := harness.Number(t, db, "SELECT (SELECT COUNT(*) FROM note) + (SELECT likes FROM post WHERE id = 1)")
				if db == tw.Ours && c.closed {
					require.NotEqual(t, first, next, "%v", c)
					require.EqualValues(t, 10, seen, "%v", c)
				} else {
					require.Equal(t, first, next, "%v", c)
					require.EqualValues(t, 11, seen, "%v", c)
				}
			}
		}
	})
}

// TestAcceptedLookups pins that a sql.DB has up to eight connections more, for
// look-ups.
func TestAcceptedLookups(t *testing.T) {
	const pool, clients, lookups = 20, 20, 8
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
			db.SetMaxOpenConns(pool)
			db.SetMaxIdleConns(pool)
			direct := tw.DirectTo(db)
			var working sync.WaitGroup
			for id := range clients {
				working.Go(func() { // each of them needs a look-up: its transaction has a snapshot
					for range 10 {
						tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
						if err != nil {
							t.Error(err)
							return
						}
						_, err = tx.ExecContext(t.Context(), "INSERT INTO note VALUES (?, '')", id+100)
						if err == nil {
							_, err = tx.ExecContext(t.Context(), "UPDATE post SET likes = likes + 1 WHERE id = ?", id%3+1)
						}
						if err != nil {
							t.Error(err)
						}
						tx.Rollback()
					}
				})
			}
			working.Wait()
			open := harness.Number(t, direct, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND ID <> CONNECTION_ID()")
			if db == tw.Plain {
				require.LessOrEqual(t, open, int64(pool))
				continue
			}
			more := open - int64(db.Stats().OpenConnections)
			require.Positive(t, more)
			require.LessOrEqual(t, more, int64(lookups))
		}
	})
}

// TestAcceptedTemporaryTable pins that no temporary table gets the name of a listed table,
// there or not, or of a slots table, in whatever way, be it in version comments, and that others are what
// they are, and forgotten once they are dropped or renamed.
func TestAcceptedTemporaryTable(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := harness.Counters("post", "likes")
		config.Tables = append(config.Tables, countermysql.TableConfig{Table: "later", Counters: []string{"n"}})
		tw := harness.NewTwin(t, srv, harness.Board, config, "multiStatements=true")
		db := harness.DbName(t, tw.Ours)
		for _, ddl := range []string{"CREATE TEMPORARY TABLE post (id INT PRIMARY KEY, likes INT)", "CREATE TEMPORARY TABLE IF NOT EXISTS `post` SELECT * FROM post", "create temporary table " + db + ".post LIKE author",
			"CREATE TEMPORARY TABLE later (id INT PRIMARY KEY, n INT)", "CREATE TEMPORARY TABLE post_slots (id INT)",
			"CREATE /*!50000 TEMPORARY */ TABLE post (id INT)", "CREATE OR REPLACE /*M!100100 TEMPORARY*/ TABLE post (id INT)", "/*!50000 CREATE TEMPORARY */ TABLE post (id INT)", "CREATE TEMPORARY TABLE /*! post */ (id INT)",
			"DO 1; CREATE TEMPORARY TABLE post (id INT)", "RENAME TABLE author TO writer, mine TO post"} {
			conn := harness.Session(t, tw.Ours)
			harness.Affected(t, conn, "CREATE TEMPORARY TABLE mine (id INT)")
			_, err := conn.ExecContext(t.Context(), ddl)
			var refused *countermysql.RefusedError
			require.ErrorAs(t, err, &refused, ddl)
			require.Contains(t, []string{db + ".post", db + ".later"}, refused.Table)
		}
		copied := "0"
		if !harness.MariaDB(srv) {
			copied = "1" // row, to rename a temporary table
		}
		const like, likes = "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1"
		tw.Accepted(t, "A: BEGIN", like, "A: CREATE TEMPORARY TABLE post (id INT PRIMARY KEY, likes INT) ⇒ affected 0 ⇒ refused", "A: DROP TEMPORARY TABLE post ⇒ affected 0 ⇒ error 1051", like, "A: COMMIT", likes,
			"A: CREATE TEMPORARY TABLE mine (id INT PRIMARY KEY, a INT)", "A: INSERT INTO mine VALUES (1, 7)", "A: ALTER TABLE mine RENAME COLUMN a TO likes", "A: ALTER TABLE mine RENAME TO yours", "A: SELECT p.likes, y.likes FROM post p JOIN yours y USING (id)",
			"A: ALTER TABLE yours RENAME TO post ⇒ affected "+copied+" ⇒ refused", likes+" ⇒ [7] ⇒ [2]", "A: DROP TEMPORARY TABLE post ⇒ affected 0 ⇒ error 1051", likes)
		for _, end := range []string{"DROP TABLE IF EXISTS mine, other", "DROP TEMPORARY TABLE mine", "ALTER TABLE mine RENAME his"} {
			tw.Play(t, "A: CREATE TEMPORARY TABLE mine (id INT)", "A: "+end, "A: CREATE TABLE mine (id INT PRIMARY KEY, n INT)", "A: ALTER TABLE mine RENAME later", "A: SELECT COUNT(*) FROM later", "A: DROP TABLE later")
		}
	})
}

// TestAcceptedCharsets pins that a connection does not open in a character set whose
// characters may hold a backslash as their second byte, and that a session which goes over
// to one can't use counter tables until it comes back; all else it can, and nothing is lost.
func TestAcceptedCharsets(t *testing.T) {
	charsets := map[string]string{"gbk": "\xd5\x5c", "big5": "\xa5\x5c", "sjis": "\x95\x5c", "cp932": "\x95\x5c", "gb18030": "\xd5\x5c"} // each ends with a backslash
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for charset, char := range charsets {
			if charset == "gb18030" && harness.MariaDB(srv) {
				continue // which does not know it
			}
			tw := harness.NewTwin(t, srv, harness.Board+";\nCREATE TABLE log (note VARCHAR(20) CHARACTER SET utf8mb4 NOT NULL)", harness.Counters("post", "likes"), "multiStatements=true", "interpolateParams=true")
			cfg, err := mysql.ParseDSN(tw.OursDSN + "&charset=" + charset)
			require.NoError(t, err)
			connector, err := countermysql.NewConnector(cfg, tw.Config)
			require.NoError(t, err)
			db := sql.OpenDB(connector)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			err = db.PingContext(t.Context())
			require.Equal(t, "refused", harness.Told(err))
			require.ErrorContains(t, err, charset)
			require.ErrorContains(t, err, "charset=utf8mb4")
			const like, likes = "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1"
			log := "INSERT INTO log VALUES ('" + char + "')"
			tw.Accepted(t, like, "A: BEGIN", like, "A: SET NAMES "+charset, "A: "+log, "A: SELECT HEX(note) FROM log", "A: COMMIT",
				like+" ⇒ affected 1 ⇒ refused", likes+" ⇒ [3] ⇒ refused", "A: "+log+"; UPDATE post SET likes = likes + 1 WHERE id = 1 ⇒ affected 1 ⇒ refused",
				"A: SET NAMES utf8mb4", likes+" ⇒ [4] ⇒ [2]", like, "A: BEGIN", "A: INSERT INTO log VALUES ('')", "A: SET character_set_client = "+charset, "A: SET NAMES utf8mb4", like, "A: COMMIT", likes+" ⇒ [6] ⇒ [4]")
		}
	})
}

// TestAcceptedBeginOfPartition: an exact statement looks for its row in all partitions, and
// of a sum MySQL does not know that it can't be NULL.
func TestAcceptedBeginOfPartition(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0) PARTITION BY HASH (id) PARTITIONS 3;\nINSERT INTO post (id) VALUES (4)", harness.Counters("post", "likes"))
		set := "A: SET TRANSACTION ISOLATION LEVEL READ COMMITTED"
		tw.Play(t, "A: SET autocommit = 0", "A: UPDATE post PARTITION (p0, p2) SET likes = likes + 1 WHERE id = 4", set, "A: UPDATE post PARTITION (p1) SET likes = likes + 1 WHERE id = 4", set, "A: COMMIT")
		tw.Play(t, "A: UPDATE post PARTITION (p0, p2) SET likes = 0 WHERE id = 4", set, "A: COMMIT")
		if !harness.MariaDB(srv) {
			set += " ⇒ affected 0 ⇒ error 1568"
		}
		tw.Accepted(t, "A: SET autocommit = 0", "A: UPDATE post PARTITION (p0, p2) SET likes = likes * 2 WHERE id = 4", set, "A: COMMIT",
			"A: SELECT likes FROM post WHERE likes IS NULL", set, "A: COMMIT", "A: SELECT * FROM post")
	})
}

// TestAcceptedBeginOfRefused: an exact statement has locked its rows before MySQL refuses
// it, which begins no transaction then.
func TestAcceptedBeginOfRefused(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, views INT NOT NULL);\nINSERT INTO post (id, views) VALUES (1, 0)", harness.Counters("post", "likes", "views"))
		const own = "A: DELETE FROM post WHERE id = 1 AND EXISTS (SELECT id FROM post AS own WHERE post.likes > 2)"
		set := "A: SET TRANSACTION ISOLATION LEVEL READ COMMITTED"
		const begun = " ⇒ affected 0 ⇒ error 1568"
		refused, noDefault := set, set
		if !harness.MariaDB(srv) {
			refused += begun
		}
		if !harness.MariaDB(srv) || harness.MariaDB11(srv) {
			noDefault += begun
		}
		tw.Accepted(t, "A: SET autocommit = 0", own, refused, "A: ROLLBACK", "A: UPDATE post SET likes = nowhere * 2 WHERE id = 1", set, "A: ROLLBACK",
			"A: UPDATE post SET views = DEFAULT(views) WHERE id = 1", noDefault, "A: ROLLBACK", "A: SELECT * FROM post")
	})
}
