package connections

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestSettings proves that settings of sessions which make the server refuse
// statements do not make it refuse the driver's own.
func TestSettings(t *testing.T) {
	add := "A: UPDATE post SET likes = likes + 1 WHERE id IN (1, 2, 3)"
	steps := []string{
		add, "A: UPDATE post SET likes = GREATEST(likes - 1, 0) WHERE id = 1", "A: UPDATE post SET likes = 4 WHERE id = 2 AND likes > 3",
		add, "A: UPDATE post SET title = CONCAT('l', likes) WHERE id IN (1, 2, 3)", "A: SELECT id, likes FROM post WHERE id = 1 FOR UPDATE",
		add, "A: DELETE FROM post WHERE id = 3", "A: REPLACE INTO post (id, slug, likes) VALUES (3, 'c', 1)", add,
		"A: INSERT INTO post (id, slug) VALUES (3, 'c') ON DUPLICATE KEY UPDATE likes = likes + 1",
		"A: BEGIN WORK", "A: COMMIT", "A: begin", add, "A: SELECT likes FROM post WHERE id = 1", "A: UPDATE post SET likes = GREATEST(likes, 3) WHERE id = 2", "A: commit",
		add, "A: UPDATE post SET id = 10 WHERE id = 1", "A: UPDATE post SET views = likes + views WHERE slug = 'b'", "A: SELECT id, slug, title, likes, views FROM post ORDER BY id",
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		settings := []string{"sql_safe_updates=1"}
		if harness.MariaDB(srv) {
			settings = append(settings, "sql_mode='ORACLE'", "sql_safe_updates=1&innodb_snapshot_isolation=1")
		}
		for _, set := range settings {
			t.Run(set, func(t *testing.T) {
				tw := harness.NewBlog(t, srv, harness.BlogCounters())
				plain := harness.Open(t, srv.DSN(harness.DbName(t, tw.Plain), set))
				ours, _ := harness.OpenOurs(t, srv.DSN(harness.DbName(t, tw.Ours), set), tw.Config)
				s := steps
				if set == "sql_mode='ORACLE'" { // BEGIN is the start of a block there
					s = s[:11:11]
					s = append(s, steps[13:]...)
				}
				require.Equal(t, harness.PlayOn(t, plain, s), harness.PlayOn(t, ours, s))
				harness.Affected(t, tw.Direct, "DELETE FROM post WHERE id = 3") // its slots stay behind
				harness.Affected(t, ours, "INSERT INTO post (id, slug) VALUES (3, 'c')")
				require.Zero(t, harness.Number(t, ours, "SELECT likes FROM post WHERE id = 3"))
				_, err := countermysql.Rollup(t.Context(), ours, nil)
				require.NoError(t, err)
			})
		}
	})
}

// TestSettingsStay proves that increments leave a session's innodb_lock_wait_timeout as it is: MariaDB's SET STATEMENT,
// by which they never wait, leaves one with the global value that has InnoDB's default.
func TestSettingsStay(t *testing.T) {
	t.Parallel()
	for _, flavor := range []testserver.Flavor{testserver.MariaDB, testserver.MySQL} {
		t.Run(string(flavor), func(t *testing.T) {
			t.Parallel()
			srv, err := testserver.Start(t.Context(), flavor, testserver.WithArgs("--innodb-lock-wait-timeout=7"))
			require.NoError(t, err)
			t.Cleanup(srv.Stop)
			config := harness.BlogCounters()
			config.Rollup = time.Hour // so that base rows take increments
			tw := harness.NewBlog(t, srv, config)
			const waits, like = "A: SELECT @@innodb_lock_wait_timeout", "A: UPDATE post SET likes = likes + 1 WHERE id = 1"
			for _, own := range []string{"7", "50", "5"} {
				tw.Play(t, waits, "A: SET innodb_lock_wait_timeout = "+own, like, waits, "A: BEGIN", like, "A: UPDATE author SET name = 'x' WHERE id = 1", "A: COMMIT", waits)
			}
		})
	}
}

// TestSafeUpdates proves that a statement which sql_safe_updates refuses is refused,
// whatever is sent in its place.
func TestSafeUpdates(t *testing.T) {
	const schema = "CREATE TABLE site (name VARCHAR(9), hits INT NOT NULL);\nINSERT INTO site VALUES ('a', 5);\n" +
		"CREATE TABLE post (id INT PRIMARY KEY, title VARCHAR(9), n INT NOT NULL);\nINSERT INTO post VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)"
	config := &countermysql.Config{Tables: []countermysql.TableConfig{{Table: "site", Counters: []string{"hits"}}, {Table: "post", Counters: []string{"n"}}}}
	hit, like := "B: UPDATE site SET hits = hits + 1", "B: UPDATE post SET n = n + 1 WHERE id IN (1, 2, 3)"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, level := range []string{"READ COMMITTED", "REPEATABLE READ"} {
			tw := harness.NewTwin(t, srv, schema, config)
			tw.Play(t, "A: SET SESSION TRANSACTION ISOLATION LEVEL "+level, "A: SET sql_safe_updates = 1", hit, like,
				"A: UPDATE site SET hits = hits + 1", "A: UPDATE site SET hits = hits + 1 LIMIT 1", "A: UPDATE site SET hits = hits * 2", hit, "A: UPDATE site SET hits = hits * 2 LIMIT 1", "A: SELECT hits FROM site",
				"A: BEGIN", "A: UPDATE site SET hits = hits + 1", "A: COMMIT", "A: SELECT hits FROM site",
				"A: UPDATE post SET n = n + 1", "A: UPDATE post SET n = 0 WHERE title = 'a'", "A: UPDATE post SET n = 0 WHERE n = 3", like, "A: UPDATE post SET n = n * 2 WHERE n > 3 LIMIT 1", "A: SELECT * FROM post ORDER BY id",
				"A: DELETE FROM post WHERE title = 'a'", "A: DELETE FROM post WHERE n > 2", "A: DELETE FROM post WHERE n > 2 ORDER BY id LIMIT 1", "A: DELETE FROM post WHERE id = 3 AND n > 1", "A: SELECT * FROM post ORDER BY id")
		}
	})
}
