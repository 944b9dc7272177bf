package writes

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// withoutDatabase opens our driver and plain on connections without a default database, and gives the texts of their
// databases' names in place of {d}.
func withoutDatabase(t *testing.T, srv *testserver.Server, tw *harness.Twin) (ours, plain *sql.DB, on func(db *sql.DB, stmt string) string) {
	t.Helper()
	names := map[*sql.DB]string{}
	config := *tw.Config
	config.Tables = []countermysql.TableConfig{{Table: harness.DbName(t, tw.Direct) + ".p", Counters: []string{"n"}}}
	cfg, err := mysql.ParseDSN(srv.DSN("", "innodb_lock_wait_timeout=5"))
	require.NoError(t, err)
	connector, err := countermysql.NewConnector(cfg, &config)
	require.NoError(t, err)
	ours, plain = sql.OpenDB(connector), harness.Open(t, srv.DSN("", "innodb_lock_wait_timeout=5"))
	t.Cleanup(func() { require.NoError(t, ours.Close()) })
	names[ours], names[plain] = harness.DbName(t, tw.Direct), harness.DbName(t, tw.Plain)
	return ours, plain, func(db *sql.DB, stmt string) string { return strings.ReplaceAll(stmt, "{d}", names[db]) }
}

// TestNoDatabase proves that what needs a counter's value, rollup, drop and a foreign key work on connections without a
// default database, where both servers refuse a DELETE of a table by its alias (1046).
func TestNoDatabase(t *testing.T) {
	const schema = "CREATE TABLE p (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0);\nINSERT INTO p (id) VALUES (1), (2), (3), (4);\nCREATE TABLE q (id INT PRIMARY KEY, p INT);\nINSERT INTO q VALUES (1, 1);\n" +
		"CREATE VIEW v AS SELECT * FROM p;\nCREATE PROCEDURE pr() UPDATE p SET n = n + 100"
	const increment, all = "UPDATE {d}.p SET n = n + 3 WHERE id = ?", "SELECT * FROM {d}.p ORDER BY id"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("p", "n"))
		ours, plain, on := withoutDatabase(t, srv, tw)
		count := func() {
			for _, db := range []*sql.DB{ours, plain} {
				for id := range 4 {
					harness.Affected(t, db, on(db, increment), id+1)
				}
			}
			require.Positive(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM p_slots"))
		}
		require.NoError(t, ours.Ping())
		for _, stmt := range []string{
			"UPDATE {d}.p SET n = n * 2 WHERE id = 1", "UPDATE {d}.p SET n = 7 WHERE id = 2", "UPDATE {d}.p SET n = n - 1 WHERE id = 3 AND n >= 1", "UPDATE {d}.p SET n = n + 1 WHERE n > 3",
			"UPDATE {d}.p JOIN {d}.q ON q.p = p.id SET p.n = p.n * 3", "INSERT INTO {d}.p (id, n) VALUES (1, 5) ON DUPLICATE KEY UPDATE n = n * 5", "REPLACE INTO {d}.p (id, n) VALUES (2, 9)",
			"DELETE FROM {d}.p WHERE id = 4", "INSERT INTO {d}.p (id, n) VALUES (4, 1)", "DELETE FROM {d}.p WHERE n > 5000", "UPDATE {d}.v SET n = n * 2", "CALL {d}.pr()", "UPDATE {d}.p SET id = 5 WHERE id = 4", "UPDATE {d}.p SET id = 4 WHERE id = 5",
		} {
			for _, begun := range []bool{false, true} {
				if strings.HasPrefix(stmt, "INSERT INTO {d}.p (id, n) VALUES (4") {
					for _, db := range []*sql.DB{ours, plain} {
						harness.Affected(t, db, on(db, "DELETE FROM {d}.p WHERE id = 4"))
					}
					harness.ExecAll(t, tw.Direct, "REPLACE INTO p_slots (id, slot, n) VALUES (4, 1, 50)") // of the row that is gone
				}
				answers := map[*sql.DB]string{}
				for _, db := range []*sql.DB{plain, ours} {
					if begun {
						answers[db] = harness.ToldInTransaction(t, db, on(db, stmt))
					} else {
						answers[db] = harness.Told2(db.Exec(on(db, stmt)))
					}
				}
				require.Equal(t, answers[plain], answers[ours], stmt)
				require.Equal(t, harness.Queried(t.Context(), plain, on(plain, all)), harness.Queried(t.Context(), ours, on(ours, all)), stmt)
				for _, db := range []*sql.DB{ours, plain} {
					_, err := db.Exec(on(db, "INSERT INTO {d}.p (id) VALUES (4) ON DUPLICATE KEY UPDATE n = n + 0"))
					require.NoError(t, err)
				}
				count()
			}
		}
		harness.RollUp(t, ours)
		require.Equal(t, harness.Queried(t.Context(), plain, on(plain, all)), harness.Queried(t.Context(), tw.Direct, "SELECT * FROM p ORDER BY id"))
		harness.ExecAll(t, tw.Direct, "INSERT INTO p_slots (id, slot, n) VALUES (99, 1, 50)")
		_, err := countermysql.Init(t.Context(), ours, &countermysql.InitOptions{ForeignKeys: []string{on(ours, "{d}.p")}})
		require.NoError(t, err)
		require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM p_slots WHERE id = 99"))
		count()
		_, err = countermysql.Drop(t.Context(), ours, &countermysql.DropOptions{Notice: time.Millisecond})
		require.NoError(t, err)
		require.Equal(t, harness.Queried(t.Context(), plain, on(plain, all)), harness.Queried(t.Context(), tw.Direct, "SELECT * FROM p ORDER BY id"))
	})
}
