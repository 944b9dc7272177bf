package schema

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestUnknownTable proves that a listed table or column that is not there, perhaps a misspelled
// one, is told: once in the log, and to who initializes, rolls up or leaves all listed tables.
func TestUnknownTable(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Shop, harness.Counters("item", "stock"))
		var log bytes.Buffer
		config := *tw.Config
		config.Logger = slog.New(slog.NewTextHandler(&log, nil))
		config.Tables = []countermysql.TableConfig{{Table: "itm", Counters: []string{"stock"}}, {Table: "item", Counters: []string{"stock", "slod"}}}
		db, _ := harness.OpenOurs(t, tw.OursDSN, &config)
		harness.Affected(t, db, "UPDATE item SET stock = stock + 5 WHERE id = 1")

		const remedy = "correct the list of counters"
		_, err := countermysql.Init(t.Context(), db, nil)
		require.ErrorContains(t, err, remedy)
		require.ErrorContains(t, err, "itm: it does not exist")
		require.ErrorContains(t, err, "it has no column slod")
		_, err = countermysql.Drop(t.Context(), db, &countermysql.DropOptions{Notice: 1})
		require.ErrorContains(t, err, remedy)
		require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM item_slots"), "it has begun to leave")
		done, err := countermysql.Rollup(t.Context(), db, nil)
		require.ErrorContains(t, err, remedy)
		require.Len(t, done, 1)
		require.EqualValues(t, 5, harness.Number(t, tw.Direct, "SELECT stock FROM item WHERE id = 1"))
		_, err = countermysql.Rollup(t.Context(), db, &countermysql.RollupOptions{Tables: []string{"item"}})
		require.NoError(t, err)
		harness.Affected(t, db, "CREATE TABLE note (id INT)") // has the schema read again
		harness.Affected(t, db, "ALTER TABLE item ADD COLUMN size INT")
		harness.Affected(t, db, "UPDATE item SET stock = stock + 5 WHERE id = 1")
		require.Equal(t, 1, strings.Count(log.String(), "itm"), log.String())

		harness.Affected(t, db, "ALTER TABLE item ADD COLUMN slod INT NOT NULL DEFAULT 0")
		harness.Affected(t, db, "CREATE TABLE itm (id INT PRIMARY KEY, stock INT NOT NULL)")
		_, err = countermysql.Init(t.Context(), db, nil)
		require.NoError(t, err)
		harness.Affected(t, db, "INSERT INTO itm VALUES (1, 1)")
		harness.Affected(t, db, "UPDATE itm SET stock = stock + 1 WHERE id = 1")
		require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM itm_slots"))
		_, err = countermysql.Drop(t.Context(), db, &countermysql.DropOptions{Notice: 1})
		require.NoError(t, err)
		require.EqualValues(t, 2, harness.Number(t, tw.Direct, "SELECT stock FROM itm"))
	})
}
