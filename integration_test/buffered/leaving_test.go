package buffered

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestLeavingFlushes proves that Drop drops countermysql_flushes with the last buffered table, but not
// while a process has a row there, of whatever table, which it tells; and that what this one has
// acknowledged is stored.
func TestLeavingFlushes(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := pages(1000)
		config.Tables = append(config.Tables, countermysql.TableConfig{Table: "post", Counters: []string{"n"}, Buffered: &countermysql.Buffered{}})
		tw := harness.NewTwin(t, srv, schema+";\nCREATE TABLE post (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0)", config)
		own, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
		acknowledged := func() int64 { return harness.Stats(t, own).Buffered[harness.DbName(t, tw.Direct)+".page"].Acknowledged }
		require.Eventually(t, func() bool { harness.Affected(t, own, hit, 9); return acknowledged() > 0 }, 30*time.Second, 20*time.Millisecond)
		require.NoError(t, countermysql.Flush(t.Context(), own))
		harness.Affected(t, own, hit, 9)
		flushes := func() int64 {
			return harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'countermysql_flushes'")
		}
		stay := map[string]string{}
		drop := func(tables ...string) {
			t.Helper()
			clear(stay)
			_, err := countermysql.Drop(t.Context(), tw.Ours, &countermysql.DropOptions{Notice: 1, Tables: tables, Stays: func(table, statement string) { stay[table] = statement }})
			require.NoError(t, err)
		}
		db := harness.DbName(t, tw.Direct)
		drop("post")
		require.Empty(t, stay, "page is buffered")
		require.EqualValues(t, 1, flushes())
		before := stored(t, tw, 9)
		_, err := countermysql.Drop(t.Context(), tw.Ours, &countermysql.DropOptions{Notice: 1, Tables: []string{"page"}, StopOnly: true})
		require.NoError(t, err)
		require.NoError(t, own.Close())
		require.Equal(t, before+1, stored(t, tw, 9))

		harness.ExecAll(t, tw.Direct, "INSERT INTO countermysql_flushes (flusher, of_table, batch) VALUES ('another', 'elsewhere', 1)")
		drop()
		require.Equal(t, map[string]string{db + ".countermysql_flushes": "DROP TABLE `" + db + "`.countermysql_flushes"}, stay)
		require.EqualValues(t, 1, flushes())
		harness.Affected(t, tw.Direct, "DELETE FROM countermysql_flushes")
		drop()
		require.Empty(t, stay)
		require.Zero(t, flushes())
		drop() // nothing is left
	})
}
