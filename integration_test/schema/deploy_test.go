package schema

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestNewCounterBesideLongTransaction proves that a process with a new counter works
// while a transaction of another keeps the slots table from getting its column: until
// then the counter is an ordinary column.
func TestNewCounterBesideLongTransaction(t *testing.T) {
	const schema = "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, views INT NOT NULL DEFAULT 0, seen DATETIME NULL);\nINSERT INTO post (id) VALUES (1)"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
		harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes + 1 WHERE id = 1")
		reader := harness.Session(t, tw.Ours)
		harness.Affected(t, reader, "BEGIN")
		require.EqualValues(t, 1, harness.Number(t, reader, "SELECT likes FROM post"))

		config := *tw.Config
		config.Tables = []countermysql.TableConfig{{Table: "post", Counters: []string{"likes", "views"}, Touch: []string{"seen"}}}
		newer, _ := harness.OpenOurs(t, tw.OursDSN, &config)
		const count = "UPDATE post SET likes = likes + 1, views = views + 1, seen = NOW() WHERE id = 1"
		const all = "SELECT likes * 100 + views * 10 + (seen IS NOT NULL) FROM post"
		require.EqualValues(t, 1, harness.Affected(t, newer, count))
		require.EqualValues(t, 211, harness.Number(t, newer, all))
		require.EqualValues(t, 1, harness.Number(t, reader, "SELECT likes FROM post"))
		harness.Affected(t, reader, "COMMIT")

		_, err := countermysql.Check(t.Context(), newer) // reads the schema
		require.NoError(t, err)
		require.EqualValues(t, 1, harness.Affected(t, newer, count))
		require.EqualValues(t, 321, harness.Number(t, newer, all))
		require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT SUM(views) FROM post_slots"))
	})
}

// TestRefusedColumnIsLeftAlone proves that a process does not try again with each reading
// of the schema to change a slots table that is in use for long: all statements on the
// table would wait behind it each time.
func TestRefusedColumnIsLeftAlone(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, views INT NOT NULL DEFAULT 0);\nINSERT INTO post (id) VALUES (1)", harness.Counters("post", "likes"))
		harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes + 1 WHERE id = 1")
		reader := harness.Session(t, tw.Ours)
		harness.Affected(t, reader, "BEGIN")
		require.EqualValues(t, 1, harness.Number(t, reader, "SELECT likes FROM post"))

		config := *tw.Config
		config.Tables = harness.Counters("post", "likes", "views").Tables
		var alters, readings int
		for _, s := range tw.Sent.During(func() {
			newer, _ := harness.OpenOurs(t, tw.OursDSN, &config)
			for range 26 {
				harness.Affected(t, newer, "UPDATE post SET likes = likes + 1, views = views + 1 WHERE id = 1")
				time.Sleep(time.Second / 2)
			}
		}) {
			if strings.HasPrefix(s.Text, "ALTER TABLE") {
				alters++
			}
			if strings.Contains(s.Text, "SHOW CREATE TABLE") {
				readings++
			}
		}
		require.Equal(t, 1, alters)
		require.Greater(t, readings, 1)
		harness.Affected(t, reader, "COMMIT")
	})
}

// TestSlotsTableInUse proves that a slots table which can't be changed because a
// transaction reads it for long fails its own table's statements, and those of no other,
// and no longer than it is read.
func TestSlotsTableInUse(t *testing.T) {
	const schema = "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0);\nCREATE TABLE page (id INT PRIMARY KEY, hits INT NOT NULL DEFAULT 0);\nINSERT INTO post (id) VALUES (1);\nINSERT INTO page (id) VALUES (1)"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := harness.Counters("post", "likes")
		config.Tables = append(config.Tables, harness.Counters("page", "hits").Tables...)
		tw := harness.NewTwin(t, srv, schema, config)
		reader := harness.Session(t, tw.Direct)
		harness.Affected(t, tw.Direct, "ALTER TABLE post MODIFY id BIGINT NOT NULL")
		harness.Affected(t, reader, "BEGIN")
		require.Zero(t, harness.Number(t, reader, "SELECT COUNT(*) FROM post_slots"))
		newer, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
		require.EqualValues(t, 1, harness.Affected(t, newer, "UPDATE page SET hits = hits + 1 WHERE id = 1"))
		var misfit *countermysql.SlotsTableError
		_, err := newer.Exec("UPDATE post SET likes = likes + 1 WHERE id = 1")
		require.ErrorAs(t, err, &misfit)
		harness.Affected(t, reader, "COMMIT")
		time.Sleep(time.Second) // one try in a second
		require.EqualValues(t, 1, harness.Affected(t, newer, "UPDATE post SET likes = likes + 1 WHERE id = 1"))
	})
}
