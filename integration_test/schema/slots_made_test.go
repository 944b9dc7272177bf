package schema

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestAlteredWhileSlotsAreMade proves that what another client does to a table while its
// slots table is made is seen by the next look at the schema, although the driver, which
// reads not all once more then, counts its own DDL itself.
func TestAlteredWhileSlotsAreMade(t *testing.T) {
	t.Parallel()
	const table = "CREATE TABLE p (id INT PRIMARY KEY, slug INT NOT NULL UNIQUE, n INT NOT NULL DEFAULT 0, m INT NOT NULL DEFAULT 0)"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, ddl := range []string{
			"", "ALTER TABLE p DROP PRIMARY KEY, ADD PRIMARY KEY (slug)", "ALTER TABLE p DROP COLUMN m", "ALTER TABLE p MODIFY n TINYINT NOT NULL",
			"CREATE TRIGGER counts BEFORE UPDATE ON p FOR EACH ROW SET NEW.m = NEW.m + 1", "CREATE VIEW v AS SELECT n AS c FROM p", "DROP TABLE p",
		} {
			t.Run(ddl, func(t *testing.T) {
				tw := harness.NewTwin(t, srv, "CREATE TABLE other (id INT PRIMARY KEY)", harness.Counters("p", "n"))
				harness.Affected(t, tw.Plain, table)
				if ddl != "" {
					harness.Affected(t, tw.Plain, ddl)
				}
				var meddled atomic.Bool
				tw.Sent.Meddle(t, func(query string) error {
					if ddl != "" && strings.HasPrefix(query, "CREATE TABLE IF NOT EXISTS") && !meddled.Swap(true) {
						harness.Affected(t, tw.Direct, ddl)
					}
					return nil
				})
				harness.Affected(t, tw.Ours, table)
				require.Equal(t, ddl != "", meddled.Load())
				_, err := countermysql.Check(t.Context(), tw.Ours) // reads it
				require.NoError(t, err)
				tw.Play(t, "A: INSERT INTO p (id, slug) VALUES (1, 7), (2, 8)", "A: UPDATE p SET n = n + 1 WHERE id = 1", "A: UPDATE p SET n = n + 100 WHERE slug = 7", "A: UPDATE p SET n = n + 100 WHERE slug = 7",
					"A: SELECT * FROM p ORDER BY slug", "A: SELECT * FROM v ORDER BY c", "A: UPDATE p SET id = 3 WHERE slug = 8", "A: SELECT * FROM p ORDER BY slug")
			})
		}
	})
}
