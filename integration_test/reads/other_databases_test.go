package reads

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestNamesOfOtherDatabases proves that statements which can't be parsed reach what their
// names mean: with a trigger, a view or a counter table of that name in another database,
// they locked, and waited for, all rows of the counter tables.
func TestNamesOfOtherDatabases(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw, other := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_lock_wait_timeout=1"), harness.NewDatabase(t, srv)
		db := harness.Open(t, srv.DSN(other))
		harness.ExecAll(t, db, "CREATE TABLE note (id INT PRIMARY KEY, body VARCHAR(20) NOT NULL);\nCREATE TABLE post (id INT PRIMARY KEY, likes INT);\n"+
			"CREATE TRIGGER counted AFTER INSERT ON note FOR EACH ROW UPDATE post SET likes = likes * 2;\nCREATE VIEW author AS SELECT id FROM post")
		harness.RollUp(t, tw.Ours) // reads the schema anew
		queries := []string{
			"CHECKSUM TABLE note", "SELECT COUNT(*) FROM note INTO @x", "CHECKSUM TABLE " + other + ".post",
			"SET @x = (SELECT COUNT(*) FROM " + other + ".post)",
		}
		if harness.MariaDB(srv) {
			queries = append(queries, "VALUES ((SELECT COUNT(*) FROM note))", "SELECT * FROM author FOR SYSTEM_TIME ALL", "/* sent by Exec */ ANALYZE SELECT COUNT(*) FROM note")
		} else {
			queries = append(queries, "VALUES ROW((SELECT COUNT(*) FROM note))", "SELECT n FROM JSON_TABLE('[1]', '$[*]' COLUMNS (n INT PATH '$')) j, author")
		}
		for _, query := range queries {
			tw.Reset(t)
			tw.Play(t, "A: begin", "A: UPDATE post SET title = 'held' WHERE id = 1", "B: begin", "B: "+query, "B: rollback", "A: rollback")
		}
		// those of the default database, and qualified ones, are meant
		named := []string{"SELECT /*!50000 likes */ FROM post WHERE id = 1", "SET @x = (SELECT SUM(p.likes) FROM `post` p)", "SELECT @x"}
		if harness.MariaDB(srv) {
			named = append(named, "SELECT likes FROM .post WHERE id = 1", "SELECT likes FROM author a, .post p WHERE p.id = 1 AND a.id = 1")
		}
		for _, query := range named {
			tw.Play(t, "B: "+query)
			tw.Reset(t)
		}
	})
}
