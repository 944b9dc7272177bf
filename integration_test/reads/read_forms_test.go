package reads

import (
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestVariablesInOrder proves that ranks and running sums by a variable follow the
// order of a counter, as they do where that is a column.
func TestVariablesInOrder(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, grp INT NOT NULL, likes INT NOT NULL DEFAULT 0);
INSERT INTO post VALUES (1, 1, 5), (2, 1, 3), (3, 2, 9), (4, 2, 1), (5, 3, 4);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
		rank := []string{"A: UPDATE post SET likes = likes + 10 WHERE id = 4", "A: SET @r = 0, @g = NULL"}
		for _, query := range []string{
			"SELECT @r := @r + 1 AS place, id, likes FROM post ORDER BY likes DESC",
			"SELECT @r := @r + 1 AS place, p.id FROM post p ORDER BY p.likes DESC LIMIT 3",
			"SELECT @s := @s + 1 AS place, id, likes AS l FROM post, (SELECT @s := 0) x ORDER BY l DESC",
			"SELECT id, @r := IF(@g = grp, @r + 1, 1) AS place, @g := grp AS g FROM post ORDER BY grp, likes DESC",
			"SELECT q.* FROM (SELECT id, @r := @r + likes AS running FROM post WHERE grp < 3 ORDER BY likes LIMIT 10) q",
		} {
			tw.Play(t, append(rank, "A: "+query, "A: SELECT @r")...)
		}
	})
}

// TestLocksOfQueries proves that a query locks the tables that it locks on plain
// MySQL: those of its own FROM clause, or of OF, and not those of its subqueries.
func TestLocksOfQueries(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, title VARCHAR(9) NOT NULL DEFAULT '', likes INT NOT NULL DEFAULT 0);
CREATE TABLE job (id INT PRIMARY KEY, post_id INT NOT NULL);
INSERT INTO post (id, likes) VALUES (1, 5), (2, 3), (3, 9);
INSERT INTO job VALUES (1, 1), (2, 1), (3, 2), (4, 9);
`
	both := []string{
		"SELECT j.id, (SELECT likes FROM post p WHERE p.id = j.post_id) l FROM job j ORDER BY j.id FOR UPDATE",
		"SELECT j.id FROM job j WHERE j.post_id IN (SELECT id FROM post WHERE likes > 4) ORDER BY j.id FOR UPDATE NOWAIT",
		"SELECT j.id, q.likes FROM job j JOIN (SELECT id, likes FROM post) q ON q.id = j.post_id ORDER BY j.id FOR UPDATE",
		"SELECT id, likes FROM post WHERE likes = (SELECT MAX(likes) FROM post) ORDER BY id FOR UPDATE SKIP LOCKED",
		"SELECT id, likes FROM post WHERE id = 1 UNION SELECT id, likes FROM post WHERE id = 2 FOR UPDATE",
		"SELECT id, likes FROM post WHERE id = 2 UNION SELECT id, likes FROM post WHERE id = 1 FOR UPDATE SKIP LOCKED",
		"(SELECT id, likes FROM post WHERE id = 2 FOR UPDATE) UNION (SELECT id, likes FROM post WHERE id = 1) ORDER BY id",
		"WITH c AS (SELECT id, likes FROM post) SELECT * FROM c ORDER BY id FOR UPDATE",
		"SELECT j.id, p.likes FROM (job j JOIN post p ON p.id = j.post_id) ORDER BY j.id FOR UPDATE SKIP LOCKED",
		"SELECT * FROM (SELECT id, likes FROM post FOR UPDATE SKIP LOCKED) x ORDER BY id",
		"SELECT id FROM job WHERE id IN (SELECT id FROM post WHERE likes > 1 FOR UPDATE SKIP LOCKED) ORDER BY id",
		"SELECT p.id, p.likes FROM post p WHERE id = 3 FOR UPDATE OF p, p",
	}
	more := map[bool][]string{
		true: {
			"SELECT id, likes FROM post p ORDER BY id LOCK IN SHARE MODE SKIP LOCKED",
			"SELECT id, likes FROM post p WHERE id = 1 LOCK IN SHARE MODE NOWAIT",
			"SELECT id, likes FROM post p WHERE id = 1 FOR UPDATE WAIT 0",
		},
		false: {
			"SELECT j.id, p.likes FROM job j JOIN post p ON p.id = j.post_id ORDER BY j.id FOR UPDATE OF j SKIP LOCKED",
			"SELECT j.id, p.likes FROM job j JOIN post p ON p.id = j.post_id ORDER BY j.id FOR UPDATE OF j NOWAIT",
			"SELECT j.id, p.likes FROM job j JOIN post p ON p.id = j.post_id ORDER BY j.id FOR UPDATE OF p SKIP LOCKED",
			"SELECT j.id, p.likes FROM job j JOIN post p ON p.id = j.post_id ORDER BY j.id FOR SHARE OF p, j SKIP LOCKED",
			"SELECT * FROM `post` WHERE likes > 1 ORDER BY post.id LIMIT 1 FOR UPDATE OF `post` SKIP LOCKED",
			"SELECT * FROM post WHERE id = 1 FOR SHARE OF post NOWAIT",
			"SELECT j.id, p.likes FROM job j JOIN post p ON p.id = j.post_id ORDER BY j.id FOR UPDATE OF p SKIP LOCKED FOR SHARE OF j",
			"SELECT j.id, p.likes FROM job j JOIN post p ON p.id = j.post_id ORDER BY j.id FOR SHARE OF j FOR UPDATE OF p NOWAIT;",
			"SELECT a.likes, b.likes FROM post a JOIN post b ON b.id = a.id + 1 ORDER BY a.id FOR UPDATE OF b SKIP LOCKED FOR SHARE OF a SKIP LOCKED",
			"SELECT a.likes, b.likes FROM post a JOIN post b ON b.id = a.id + 1 ORDER BY a.id FOR UPDATE OF b NOWAIT",
		},
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"), "innodb_lock_wait_timeout=1")
		for _, query := range append(both, more[harness.MariaDB(srv)]...) {
			tw.Play(t, "A: UPDATE post SET likes = likes + 1 WHERE id IN (1, 2)", "A: BEGIN", "A: UPDATE post SET title = 'x' WHERE id = 1",
				"B: "+query, "A: ROLLBACK")
			tw.Play(t, "B: begin RR", "B: SELECT COUNT(*) FROM job", "A: UPDATE post SET likes = likes + 1 WHERE id IN (1, 2)", "B: UPDATE post SET likes = likes + 1 WHERE id = 2",
				"B: "+query, "B: SELECT id, likes FROM post ORDER BY id", "B: commit")
		}
	})
}

// TestModes proves that counters are what they are under any sql_mode of the DSN:
// MariaDB shows names in double quotes under ANSI_QUOTES, and opens a block by BEGIN
// under ORACLE.
func TestModes(t *testing.T) {
	const schema = `
CREATE TABLE page (id INT PRIMARY KEY, hits INT NOT NULL DEFAULT 0, seen DATETIME NULL, title VARCHAR(9), CHECK (hits < 20));
CREATE TABLE other (id INT PRIMARY KEY, hits INT NOT NULL DEFAULT 0, seen DATETIME NULL, title VARCHAR(9));
CREATE FUNCTION hits_of() RETURNS INT READS SQL DATA RETURN (SELECT hits FROM "other" WHERE id = 1);
CREATE TRIGGER seen AFTER INSERT ON page FOR EACH ROW UPDATE "other" SET "title" = "hits" WHERE "hits" > 1;
INSERT INTO page (id) VALUES (1), (2);
INSERT INTO other (id) VALUES (1), (2);
`
	config := &countermysql.Config{Tables: []countermysql.TableConfig{
		{Table: "page", Counters: []string{"hits"}, Touch: []string{"seen"}}, {Table: "other", Counters: []string{"hits"}, Touch: []string{"seen"}},
	}}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		modes := []string{"ANSI_QUOTES"}
		if harness.MariaDB(srv) {
			modes = append(modes, "ORACLE")
		}
		for _, mode := range modes {
			statements := schema
			if mode == "ORACLE" { // has another syntax for what is stored
				statements = strings.ReplaceAll(statements, "RETURNS INT READS SQL DATA RETURN (", "RETURN INT AS BEGIN RETURN (")
				statements = strings.ReplaceAll(statements, "id = 1);", "id = 1); END;")
				statements = strings.ReplaceAll(statements, `UPDATE "other"`, `BEGIN UPDATE "other"`)
				statements = strings.ReplaceAll(statements, `"hits" > 1;`, `"hits" > 1; END;`)
			}
			tw := harness.NewTwin(t, srv, "SET sql_mode = '"+mode+"';\n"+statements, config, "sql_mode='"+mode+"'")
			tw.Play(t, "A: UPDATE page SET hits = hits + 15 WHERE id = 1", "A: UPDATE page SET hits = hits + 15 WHERE id = 1", "A: SELECT id, hits FROM page ORDER BY id",
				"A: UPDATE other SET hits = hits + 2 WHERE id = 1", "A: SELECT hits_of()", "A: UPDATE other SET hits = hits + 2 WHERE id IN (1, 2)", "A: INSERT INTO page (id) VALUES (3)",
				"A: SELECT id, hits, title FROM other ORDER BY id", "A: UPDATE other SET hits = hits * 2", "A: DELETE FROM page WHERE hits > 3",
				"A: UPDATE other SET hits = hits + 1 WHERE id = 1", "B: begin RR", "B: SELECT hits FROM other", "B: UPDATE other SET title = 'x' WHERE id = 1",
				"B: SELECT * FROM other ORDER BY id", "B: commit", "A: SELECT MAX(hits) FROM other WHERE hits > 1 FOR UPDATE")
		}
	})
}

// TestNamesakes proves that db.table.column is the table of that database where
// another's has the same name and no counters.
func TestNamesakes(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0);
INSERT INTO post VALUES (1, 5), (2, 3);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
		other := harness.NewDatabase(t, srv)
		harness.ExecAll(t, tw.Direct, "CREATE TABLE "+other+".post (id INT PRIMARY KEY, n INT NOT NULL, likes INT NOT NULL);\nINSERT INTO "+other+".post VALUES (1, 100, 1), (2, 200, 2)")
		var all [2]string
		for i, db := range []*sql.DB{tw.Plain, tw.Ours} {
			harness.Affected(t, db, "UPDATE post SET likes = likes + 10 WHERE id = 1")
			var name string
			require.NoError(t, db.QueryRow("SELECT DATABASE()").Scan(&name))
			for _, query := range []string{
				"SELECT {db}.post.likes, {other}.post.n FROM {db}.post JOIN {other}.post USING (id) ORDER BY {db}.post.likes",
				"SELECT {other}.post.likes, {db}.post.likes FROM post JOIN {other}.post USING (id) ORDER BY 1",
				"SELECT {db}.post.* FROM post, {other}.post WHERE {db}.post.id = {other}.post.id AND {db}.post.likes > 4",
				"SELECT id, (SELECT {db}.post.likes + {other}.post.n FROM {other}.post WHERE {other}.post.id = {db}.post.id) x FROM post ORDER BY id",
				"SELECT {db}.post.likes FROM post JOIN (SELECT 1 AS likes) POST ORDER BY 1",
				"SELECT {db}.post.likes FROM {db}.post ORDER BY {db}.post.likes",
			} {
				all[i] += query + " → " + harness.Queried(t.Context(), db, strings.NewReplacer("{db}", name, "{other}", other).Replace(query)) + "\n"
			}
		}
		require.Equal(t, all[0], all[1])
	})
}

// TestFetchFirst proves that MariaDB's other LIMIT changes no type.
func TestFetchFirst(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, stepsSchema, harness.Counters("c", "i", "u"))
		playSteps(t, tw, []string{"UPDATE c SET i = i + 1, u = u + 1 WHERE id = 1", "SELECT i, u FROM c ORDER BY i FETCH FIRST 2 ROWS ONLY", "SELECT i, u FROM c WHERE id = 1 FETCH FIRST ROW ONLY"})
	})
}

// TestHiddenDefinitions proves that a view or routine shows counters as they are to a
// user who may not see its definition.
func TestHiddenDefinitions(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0);
INSERT INTO post VALUES (1, 5), (2, 3);
CREATE VIEW liked AS SELECT id, likes FROM post WHERE likes > 4;
CREATE FUNCTION likes_of(n INT) RETURNS INT READS SQL DATA RETURN (SELECT likes FROM post WHERE id = n);
CREATE PROCEDURE top() SELECT MAX(likes) FROM post;
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, &countermysql.Config{Tables: []countermysql.TableConfig{{Table: "post", Counters: []string{"likes"}}, {Table: "later", Counters: []string{"hits"}}}})
		harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes + 1 WHERE id = 1") // makes the slots table
		cfg, err := mysql.ParseDSN(tw.OursDSN)
		require.NoError(t, err)
		cfg.User, cfg.Passwd = fmt.Sprintf("itg_hidden_%d", os.Getpid()), "secret"
		host := "'" + cfg.User + "'@'127.0.0.1'"
		for _, stmt := range []string{"DROP USER IF EXISTS " + host, "CREATE USER " + host + " IDENTIFIED BY 'secret'",
			"GRANT SELECT, INSERT, UPDATE, DELETE, TRIGGER, EXECUTE ON " + cfg.DBName + ".* TO " + host} {
			harness.Affected(t, tw.Direct, stmt)
		}
		t.Cleanup(func() {
			admin, err := sql.Open("mysql", srv.DSN(""))
			require.NoError(t, err)
			defer admin.Close()
			_, err = admin.Exec("DROP USER " + host)
			require.NoError(t, err)
		})
		connector, err := countermysql.NewConnector(cfg, tw.Config)
		require.NoError(t, err)
		db := sql.OpenDB(connector)
		defer db.Close()
		for i, query := range []string{"SELECT likes FROM liked WHERE id = 1", "SELECT likes_of(1)", "CALL top()", "SELECT MAX(l.likes) FROM liked l JOIN post USING (id)"} {
			harness.Affected(t, db, "UPDATE post SET likes = likes + 1 WHERE id = 1")
			require.EqualValues(t, 7+i, harness.Number(t, db, query), query)
		}
		findings, err := countermysql.Check(t.Context(), db)
		require.NoError(t, err)
		require.Contains(t, fmt.Sprint(findings), "may not see the definition of liked")

		harness.Affected(t, tw.Direct, "REVOKE UPDATE, DELETE ON "+cfg.DBName+".* FROM "+host)
		harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes + 1 WHERE id = 1")
		reader, err := countermysql.NewConnector(cfg, tw.Config)
		require.NoError(t, err)
		reading := sql.OpenDB(reader)
		defer reading.Close()
		require.EqualValues(t, 11, harness.Number(t, reading, "SELECT MAX(likes) FROM post"))
		_, err = reading.Query("SELECT likes FROM liked WHERE id = 1")
		require.Equal(t, 1142, harness.ErrorNumber(err), "a sum without its slots would be stale")
	})
}

// TestReadAsColumns proves that queries which only a table's columns suit, by their
// names, ROLLUP or variables, are of the transaction's snapshot like all others, write
// nothing, and wait for nobody.
func TestReadAsColumns(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, n INT NOT NULL, likes INT NULL DEFAULT 0, views BIGINT UNSIGNED NOT NULL DEFAULT 0, seen DATETIME NULL);
INSERT INTO post (id, n, likes) VALUES (1, 1, 1), (2, 1, 5), (3, 2, 5);
`
	config := &countermysql.Config{Tables: []countermysql.TableConfig{{Table: "post", Counters: []string{"likes", "views"}, Touch: []string{"seen"}}}}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, config, "innodb_lock_wait_timeout=1")
		queries := []string{
			"SELECT n AS likes, COUNT(*) FROM post GROUP BY likes ORDER BY 1, 2",
			"SELECT likes, post.likes, views, seen FROM post ORDER BY likes, id",
			"SELECT @r := @r + 1 AS place, id, likes, views FROM post ORDER BY likes DESC, id DESC",
			"SELECT id AS likes FROM post p ORDER BY p.likes, id DESC",
		}
		if !harness.MariaDB(srv) {
			queries = append(queries, "SELECT n, SUM(likes), MAX(views), MAX(seen) FROM post GROUP BY n WITH ROLLUP")
		}
		for _, query := range queries {
			tw.Play(t, "A: UPDATE post SET likes = likes + 1, views = views + 2, seen = '2025-01-01 00:00:00' WHERE id = 1", "A: SET @r = 0",
				"B: BEGIN", "B: UPDATE post SET n = n + 0, likes = 7 WHERE id = 2", "A: "+query, "B: ROLLBACK")
			tw.Play(t, "A: SET @r = 0", "A: START TRANSACTION READ ONLY", "A: "+query, "A: COMMIT")
			for _, level := range []string{"RR", "RC"} {
				tw, now := harness.NewTwin(t, srv, schema, config), harness.NewTwin(t, srv, schema, config) // a query that fails may have folded its rows
				tw.PlayFolded(t, now, "A: SET @r = 0", "A: begin "+level, "A: SELECT COUNT(*) FROM post", "B: UPDATE post SET likes = likes + 3, views = views + 1 WHERE id = 3",
					"A: UPDATE post SET likes = likes + 10 WHERE id = 1", "A: UPDATE post SET n = 2 WHERE id = 2", "A: "+query, "A: SELECT id, likes FROM post ORDER BY id", "A: rollback")
			}
		}
	})
}

// TestPackages proves that a function of a package reads counters: MariaDB names it by
// its package, which is what the server lists.
func TestPackages(t *testing.T) {
	const schema = `
SET sql_mode = 'ORACLE';
CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0);
INSERT INTO post VALUES (1, 5), (2, 3);
CREATE PACKAGE counts AS FUNCTION total RETURN INT; END;
CREATE PACKAGE BODY counts AS FUNCTION total RETURN INT AS BEGIN RETURN (SELECT SUM(likes) FROM post); END; END;
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		if !harness.MariaDB(srv) {
			return // MySQL has no packages
		}
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"), "sql_mode=ORACLE")
		tw.Play(t, "A: UPDATE post SET likes = likes + 4 WHERE id = 1", "A: SELECT counts.total()", "A: UPDATE post SET likes = likes + 1 WHERE id = 2", "A: SELECT id, counts.total() FROM post ORDER BY id")
	})
}
