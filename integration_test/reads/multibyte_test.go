package reads

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestNamesInCharset proves that a table whose name the connection's character set
// writes otherwise is a mistake that is told: it was not found, and base rows answered.
func TestNamesInCharset(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		const schema = "CREATE TABLE `café` (id INT PRIMARY KEY, hits INT NOT NULL DEFAULT 0);\nINSERT INTO `café` VALUES (1, 0);\n"
		tw := harness.NewTwin(t, srv, schema, harness.Counters("café", "hits"))
		tw.Play(t, "A: UPDATE `café` SET hits = hits + 1 WHERE id = 1", "A: SELECT hits FROM café")
		cfg, err := mysql.ParseDSN(tw.OursDSN + "&charset=latin1")
		require.NoError(t, err)
		connector, err := countermysql.NewConnector(cfg, tw.Config)
		require.NoError(t, err)
		db := sql.OpenDB(connector)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		_, err = db.ExecContext(t.Context(), "UPDATE `caf\xe9` SET hits = hits + 1 WHERE id = 1")
		var mistake *countermysql.ConfigError
		require.ErrorAs(t, err, &mistake)
		require.ErrorContains(t, err, "latin1")
	})
}

// TestCharactersOfNoKey proves that an increment by a text that the key's character set
// can't hold fails as the statement itself does, not as the query that looks its row up.
func TestCharactersOfNoKey(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"interpolateParams=false", "interpolateParams=true"} {
			tw := harness.NewTwin(t, srv, `CREATE TABLE page (slug VARCHAR(20) CHARACTER SET latin1 PRIMARY KEY, hits INT NOT NULL DEFAULT 0);
CREATE TABLE note (id INT PRIMARY KEY AUTO_INCREMENT);
INSERT INTO page (slug) VALUES ('home'), ('über');
`, harness.Counters("page", "hits"), params)
			answers := map[*sql.DB][]string{}
			for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
				for _, begins := range []string{"INSERT INTO note VALUES ()", "SELECT COUNT(*) FROM note", ""} {
					for _, text := range []string{"日本", "über", "ÜBER", "ω", "home"} {
						for _, where := range []string{"slug = ?", "slug IN (?, 'home')", "slug = ? AND hits < 1000"} {
							tx, err := db.BeginTx(t.Context(), nil)
							require.NoError(t, err)
							if begins != "" {
								harness.Affected(t, tx, begins)
							}
							res, err := tx.ExecContext(t.Context(), "UPDATE page SET hits = hits + 1 WHERE "+where, text)
							answer := harness.Told(err)
							if err == nil {
								n, err := res.RowsAffected()
								require.NoError(t, err)
								answer = fmt.Sprint(n)
							}
							answers[db] = append(answers[db], begins+" "+text+" "+where+": "+answer+", "+harness.Told(tx.Commit()))
						}
					}
				}
			}
			require.Equal(t, answers[tw.Plain], answers[tw.Ours], params)
			tw.Same(t, "SELECT slug, hits FROM page ORDER BY slug")
		}
	})
}
