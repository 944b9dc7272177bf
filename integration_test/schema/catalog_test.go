package schema

import (
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestSchemaChanges proves that statements, prepared ones too, follow ALTER
// TABLE through us: new columns show, dropped ones go, keys and counters change.
func TestSchemaChanges(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"interpolateParams=true", "interpolateParams=false"} {
			tw := harness.NewBlog(t, srv, harness.BlogCounters(), params)
			type prepared struct{ all, one, count, clamp *sql.Stmt }
			stmts := map[*sql.DB]prepared{}
			for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
				prepare := func(text string) *sql.Stmt {
					stmt, err := db.PrepareContext(t.Context(), text)
					require.NoError(t, err)
					t.Cleanup(func() { stmt.Close() })
					return stmt
				}
				stmts[db] = prepared{prepare("SELECT * FROM post ORDER BY id"), prepare("SELECT * FROM post WHERE id = ?"),
					prepare("UPDATE post SET likes = likes + 1 WHERE id = ?"), prepare("UPDATE post SET likes = GREATEST(likes - 1, 0) WHERE id = ?")}
			}
			for _, change := range []string{
				"SELECT 1",
				"ALTER TABLE post ADD COLUMN subtitle VARCHAR(20) NOT NULL DEFAULT 'sub' AFTER title",
				"ALTER TABLE post DROP COLUMN subtitle, ADD COLUMN dislikes INT NOT NULL DEFAULT 4 FIRST",
				"ALTER TABLE post MODIFY likes BIGINT NOT NULL DEFAULT 0",
				"ALTER TABLE post MODIFY id BIGINT NOT NULL",
				"ALTER TABLE post CHANGE id pid BIGINT NOT NULL",
				"ALTER TABLE post CHANGE pid id INT NOT NULL",
				"ALTER TABLE post DROP PRIMARY KEY, ADD PRIMARY KEY (slug), ADD UNIQUE KEY (id)",
				"ALTER TABLE post DROP PRIMARY KEY, ADD PRIMARY KEY (id)",
				"RENAME TABLE post TO post2, note TO note2",
				"RENAME TABLE post2 TO post, note2 TO note",
			} {
				var answers [2][]string
				for i, db := range []*sql.DB{tw.Plain, tw.Ours} {
					note := func(s string) { answers[i] = append(answers[i], s) }
					_, err := db.ExecContext(t.Context(), change)
					note(harness.Told(err))
					for range 2 {
						for _, s := range []*sql.Stmt{stmts[db].count, stmts[db].clamp} {
							res, err := s.ExecContext(t.Context(), 1)
							note(harness.Told(err))
							if err == nil {
								n, _ := res.RowsAffected()
								require.EqualValues(t, 1, n, change)
							}
						}
						note(harness.Queried(t.Context(), harness.StmtQuerier{Stmt: stmts[db].all}, ""))
						note(harness.Queried(t.Context(), harness.StmtQuerier{Stmt: stmts[db].one}, "", 1))
						note(harness.Queried(t.Context(), db, "SELECT * FROM post ORDER BY 1"))
						note(harness.Queried(t.Context(), db, "SELECT likes FROM post WHERE id = ?", 1))
					}
				}
				require.Equal(t, strings.Join(answers[0], "\n"), strings.Join(answers[1], "\n"), "%s; %s", params, change)
			}
		}
	})
}

// TestMigration proves that a base table may come after sql.Open and go again.
func TestMigration(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "", harness.Counters("late", "n"))
		steps := []string{
			"A: SELECT * FROM late", "A: UPDATE late SET n = n + 1 WHERE id = 1",
			"A: CREATE TABLE late (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0)", "A: INSERT INTO late (id) VALUES (1), (2)",
			"A: UPDATE late SET n = n + 1 WHERE id = 1", "B: UPDATE late SET n = n + 1 WHERE id IN (1, 2)", "A: SELECT * FROM late",
			"A: TRUNCATE late", "A: INSERT INTO late (id) VALUES (1)", "B: SELECT * FROM late", "A: UPDATE late SET n = n + 1 WHERE id = 1",
			"A: DROP TABLE late", "A: SELECT * FROM late", "B: UPDATE late SET n = n + 1 WHERE id = 1",
			"B: CREATE TABLE late (name VARCHAR(10) PRIMARY KEY, n BIGINT UNSIGNED NULL)", "A: INSERT INTO late VALUES ('a', 1)", "A: UPDATE late SET n = n + 1 WHERE name = 'A'", "A: SELECT * FROM late",
		}
		tw.Play(t, steps...)
		require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM late_slots"), "it did not become a counter table")
	})
}

// TestMissingSlotsTable proves that without CreateSlots the error holds the DDL
// that heals it, and nothing is counted until then.
func TestMissingSlotsTable(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		own := *harness.BlogCounters()
		own.Logger = tw.Config.Logger
		var want string
		name := ""
		require.NoError(t, tw.Direct.QueryRow("SHOW CREATE TABLE post_slots").Scan(&name, &want))
		for _, broken := range []string{"DROP TABLE post_slots", "ALTER TABLE post_slots DROP COLUMN views", "DROP TABLE post_slots; CREATE TABLE post_slots (id INT PRIMARY KEY)"} {
			for _, stmt := range strings.Split(broken, "; ") {
				harness.Affected(t, tw.Direct, stmt)
			}
			db, _ := harness.OpenOurs(t, tw.OursDSN, &own)
			var ddl string
			for _, stmt := range []string{"UPDATE post SET likes = likes + 1 WHERE id = 1", "SELECT * FROM post", "UPDATE post SET likes = 0", "DELETE FROM post"} {
				_, err := db.ExecContext(t.Context(), stmt)
				var missing *countermysql.SlotsTableError
				require.ErrorAs(t, err, &missing, stmt)
				require.Contains(t, err.Error(), missing.DDL)
				require.Contains(t, missing.DDL, "`post_slots`")
				ddl = missing.DDL
			}
			if broken == "DROP TABLE post_slots" {
				require.True(t, strings.HasPrefix(ddl, "CREATE TABLE "), ddl)
			}
			require.EqualValues(t, 1, harness.Affected(t, db, "UPDATE page SET hits = hits + 1 WHERE day = '2026-01-02' AND name = 'home'"), "another table")
			for _, stmt := range strings.Split(ddl, "; ") {
				harness.Affected(t, db, stmt)
			}
			const counted = "SELECT COALESCE(SUM(likes), 0) FROM post_slots"
			before := harness.Number(t, tw.Direct, counted)
			require.EqualValues(t, 1, harness.Affected(t, db, "UPDATE post SET likes = likes + 1 WHERE id = 1"))
			require.Equal(t, before+1, harness.Number(t, tw.Direct, counted))
			var got string
			require.NoError(t, tw.Direct.QueryRow("SHOW CREATE TABLE post_slots").Scan(&name, &got))
			columns := func(ddl string) []string {
				lines := strings.Split(ddl, "\n")
				slices.Sort(lines)
				return lines
			}
			for i, line := range columns(want) {
				require.Equal(t, strings.Trim(line, ","), strings.Trim(columns(got)[i], ","))
			}
			require.NoError(t, db.Close())
		}
	})
}

// TestUnfit proves that a table that can't have counters says why, for every
// reason, and that it heals when the reason goes.
func TestUnfit(t *testing.T) {
	type unfit struct{ name, ddl, reason, remedy string }
	versioned := unfit{"system versioning", "CREATE TABLE u (id INT PRIMARY KEY, n INT) WITH SYSTEM VERSIONING", "versioned", "ALTER TABLE u DROP SYSTEM VERSIONING"}
	cases := []unfit{
		{"no key", "CREATE TABLE u (id INT, n INT); INSERT INTO u VALUES (1, 1), (2, 2)", "primary key", "ALTER TABLE u ADD PRIMARY KEY (id)"},
		{"unique counter", "CREATE TABLE u (id INT PRIMARY KEY, n INT UNIQUE)", "unique key", "ALTER TABLE u DROP INDEX n"},
		{"unique with a part of a text", "CREATE TABLE u (id INT PRIMARY KEY, n INT, slug VARCHAR(20), UNIQUE `both` (slug(5), n))", "unique key `both`", "ALTER TABLE u DROP INDEX `both`, DROP COLUMN slug"},
		{"key counter", "CREATE TABLE u (id INT, n INT, PRIMARY KEY (n))", "part of the key", "ALTER TABLE u DROP PRIMARY KEY, ADD PRIMARY KEY (id)"},
		{"key that is touched", "CREATE TABLE u (id INT, n INT, at DATETIME NOT NULL DEFAULT '2020-01-01' ON UPDATE CURRENT_TIMESTAMP, PRIMARY KEY (id, at))", "part of the key", "DROP TABLE u; CREATE TABLE u (id INT PRIMARY KEY, n INT)"},
		{"generated reads it", "CREATE TABLE u (id INT PRIMARY KEY, n INT, m INT AS (n + 1) STORED)", "generated column m", "ALTER TABLE u DROP COLUMN m"},
		{"generated with texts", `CREATE TABLE u (id INT PRIMARY KEY, n INT, m VARCHAR(40) AS (CONCAT('it''s ', n, '\\', 'b')) VIRTUAL)`, "generated column m", "ALTER TABLE u DROP COLUMN m"},
		{"generated", "CREATE TABLE u (id INT PRIMARY KEY, n INT AS (id + 1) STORED)", "generated", "ALTER TABLE u DROP COLUMN n, ADD COLUMN n INT"},
		{"partitioned by it", "CREATE TABLE u (id INT, n INT, PRIMARY KEY (id, n)) PARTITION BY HASH (n) PARTITIONS 2", "part", "ALTER TABLE u REMOVE PARTITIONING; ALTER TABLE u DROP PRIMARY KEY, ADD PRIMARY KEY (id)"},
		{"update trigger", "CREATE TABLE u (id INT PRIMARY KEY, n INT); CREATE TRIGGER u_t BEFORE UPDATE ON u FOR EACH ROW SET NEW.n = NEW.n", "trigger", "DROP TRIGGER u_t"},
		{"float", "CREATE TABLE u (id INT PRIMARY KEY, n DOUBLE)", "double", "ALTER TABLE u MODIFY n INT"},
		{"text", "CREATE TABLE u (id INT PRIMARY KEY, n VARCHAR(10))", "varchar", "ALTER TABLE u MODIFY n INT"},
		{"engine", "CREATE TABLE u (id INT PRIMARY KEY, n INT) ENGINE=MyISAM", "MyISAM", "ALTER TABLE u ENGINE=InnoDB"},
		{"view", "CREATE TABLE below (id INT PRIMARY KEY, n INT); CREATE VIEW u AS SELECT * FROM below", "view", "DROP VIEW u; CREATE TABLE u (id INT PRIMARY KEY, n INT)"},
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		cases := cases
		if harness.MariaDB(srv) {
			cases = append(slices.Clone(cases), versioned)
		} else { // MariaDB has no keys of expressions
			cases = append(slices.Clone(cases), unfit{"unique by an expression", "CREATE TABLE u (id INT PRIMARY KEY, n INT, UNIQUE twice ((n * 2)))", "unique key `twice`", "ALTER TABLE u DROP INDEX twice"})
		}
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				tw := harness.NewTwin(t, srv, strings.ReplaceAll(c.ddl, "; ", ";\n"), harness.Counters("u", "n"))
				for _, stmt := range []string{"UPDATE u SET n = n + 1 WHERE id = 1", "SELECT n FROM u", "INSERT INTO u VALUES (9, 9)", "UPDATE u SET n = 0"} {
					_, err := tw.Ours.ExecContext(t.Context(), stmt)
					var unfit *countermysql.UnfitError
					require.True(t, errors.As(err, &unfit), "%s: %v", stmt, err)
					require.NotEmpty(t, unfit.Reasons)
					require.Contains(t, err.Error(), c.reason)
					require.Contains(t, unfit.Table, ".u")
				}
				require.EqualValues(t, 1, harness.Number(t, tw.Ours, "SELECT 1"))
				for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
					for _, stmt := range strings.Split(c.remedy, "; ") {
						harness.Affected(t, db, stmt)
					}
				}
				tw.Play(t, "A: INSERT INTO u (id, n) VALUES (7, 1)", "A: UPDATE u SET n = n + 1 WHERE id = 7", "A: SELECT n FROM u WHERE id = 7")
				require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT n FROM u_slots"))
			})
		}
	})
}

// TestDependents proves that statements that reach a counter table through
// views, triggers, routines and foreign keys do what they do on plain MySQL.
func TestDependents(t *testing.T) {
	const objects = `
CREATE VIEW popular AS SELECT id, likes FROM post WHERE likes > 8;
CREATE VIEW above AS SELECT SUM(likes) AS n FROM popular;
CREATE VIEW notes AS SELECT * FROM note;
CREATE TRIGGER note_in AFTER INSERT ON note FOR EACH ROW UPDATE post SET likes = likes + 10 WHERE id = NEW.id;
CREATE TRIGGER note_up AFTER UPDATE ON note FOR EACH ROW UPDATE post SET likes = likes * 2 WHERE id = NEW.id;
CREATE TRIGGER note_del AFTER DELETE ON note FOR EACH ROW DELETE FROM post WHERE id = OLD.id;
CREATE PROCEDURE likes_of(IN k INT) SELECT likes FROM post WHERE id = k;
CREATE PROCEDURE double_all() UPDATE post SET likes = likes * 2;
CREATE FUNCTION total() RETURNS INT READS SQL DATA RETURN (SELECT SUM(likes) FROM post);
CREATE TABLE child (post INT NOT NULL PRIMARY KEY, n INT NOT NULL DEFAULT 0, FOREIGN KEY (post) REFERENCES post (id) ON DELETE CASCADE ON UPDATE CASCADE);
`
	config := harness.BlogCounters()
	config.Tables = append(config.Tables, countermysql.TableConfig{Table: "child", Counters: []string{"n"}})
	look := []string{"Z: SELECT id, title, author, likes FROM post ORDER BY id", "Z: SELECT * FROM child ORDER BY post"}
	cases := [][]string{
		{"A: SELECT * FROM popular ORDER BY id", "A: SELECT * FROM above", "A: SELECT p.likes FROM popular p JOIN post q ON q.id = p.id ORDER BY 1"},
		{"A: UPDATE popular SET likes = likes + 1 WHERE id = 1", "A: UPDATE popular SET likes = 0", "A: SELECT * FROM popular"},
		{"A: DELETE FROM popular WHERE id = 2"},
		{"A: INSERT INTO note VALUES (1, ''), (2, '')"}, {"A: INSERT INTO notes VALUES (1, '')"},
		{"A: INSERT INTO note VALUES (1, '')", "A: UPDATE note SET body = 'x'"},
		{"A: INSERT INTO note VALUES (1, '')", "A: UPDATE notes SET body = 'x' WHERE id = 1"},
		{"A: INSERT INTO note VALUES (1, '')", "A: DELETE FROM note", "A: INSERT INTO post (id, slug) VALUES (1, 'a')"},
		{"A: CALL double_all()"}, {"A: SELECT total()"}, {"A: SELECT total() + likes FROM post WHERE id = 1"},
		{"A: UPDATE post SET likes = total() WHERE id = 3"},
		{"A: DO total()", "A: SET @n = total()", "A: SELECT @n"}, {"A: SET @n = (SELECT SUM(likes) FROM post)", "A: SELECT @n"},
		{"A: PREPARE s FROM 'SELECT likes FROM post WHERE id = 1'", "A: EXECUTE s"},
		{"A: SET @q = CONCAT('UPDATE po', 'st SET likes = likes * 3')", "A: PREPARE s FROM @q", "A: EXECUTE s", "A: DEALLOCATE PREPARE s"},
		{"A: UPDATE child SET n = n + 1 WHERE post IN (1, 2)", "A: UPDATE post SET id = 9 WHERE id = 1", "A: UPDATE child SET n = n + 1 WHERE post IN (9, 2)"},
		{"A: UPDATE child SET n = n + 1 WHERE post IN (1, 2)", "A: DELETE FROM post WHERE id = 1", "A: INSERT INTO post (id, slug) VALUES (1, 'a')", "A: INSERT INTO child (post) VALUES (1)"},
		{"A: UPDATE child SET n = n + 1 WHERE post IN (1, 2)", "A: REPLACE INTO post (id, slug) VALUES (1, 'a')", "A: INSERT INTO child (post) VALUES (1)"},
		{"A: DELETE FROM author WHERE id = 1"}, {"A: UPDATE author SET id = 5 WHERE id = 2"},
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Blog+objects, config)
		for _, steps := range cases {
			for _, inside := range []bool{false, true} {
				if inside {
					steps = slices.Concat([]string{"A: BEGIN", "A: SELECT COUNT(*) FROM note", "A: UPDATE post SET likes = likes + 1 WHERE id IN (1, 2)", "A: UPDATE child SET n = n + 1 WHERE post = 2"},
						steps, []string{"A: SELECT likes FROM post ORDER BY id", "A: COMMIT"})
				}
				t.Run(strings.Join(steps, "/"), func(t *testing.T) {
					for _, db := range []*sql.DB{tw.Plain, tw.Direct} {
						harness.Affected(t, db, "DELETE FROM note")
					}
					harness.Affected(t, tw.Direct, "DELETE FROM child_slots")
					tw.Reset(t)
					for _, db := range []*sql.DB{tw.Plain, tw.Direct} {
						harness.Affected(t, db, "INSERT INTO child (post) VALUES (1), (2)")
					}
					tw.Play(t, slices.Concat(steps, look)...)
					require.Zero(t, tw.Orphans(t))
				})
			}
		}
		require.Equal(t, routine(t, tw.Plain), routine(t, tw.Ours))
	})
}

// routine calls a procedure that returns rows.
func routine(t *testing.T, db *sql.DB) string {
	t.Helper()
	harness.Affected(t, db, "UPDATE post SET likes = likes + 1 WHERE id = 3")
	return harness.Queried(t.Context(), db, "CALL likes_of(3)")
}

// TestSequenceAsDefault proves that an upsert draws from the sequence that is
// another column's default as often as on plain MariaDB: even where the row exists.
func TestSequenceAsDefault(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		if !harness.MariaDB(srv) {
			return // MySQL has no sequences
		}
		tw := harness.NewTwin(t, srv, "CREATE SEQUENCE s;\nCREATE TABLE u (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0, m INT NOT NULL DEFAULT (NEXT VALUE FOR s))", harness.Counters("u", "n"))
		const upsert = "A: INSERT INTO u (id, n) VALUES (1, 1) ON DUPLICATE KEY UPDATE n = n + 1"
		tw.Play(t, upsert, upsert, upsert, "A: INSERT INTO u (id) VALUES (2)", "A: SELECT * FROM u ORDER BY id")
	})
}
