package integration_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestNewCounterBesideLongTransaction proves that a process with a new counter works
// while a transaction of another keeps the slots table from getting its column: until
// then the counter is an ordinary column.
func TestNewCounterBesideLongTransaction(t *testing.T) {
	const schema = "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, views INT NOT NULL DEFAULT 0, seen DATETIME NULL);\nINSERT INTO post (id) VALUES (1)"
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, schema, counters("post", "likes"))
		affected(t, tw.ours, "UPDATE post SET likes = likes + 1 WHERE id = 1")
		reader := session(t, tw.ours)
		affected(t, reader, "BEGIN")
		require.EqualValues(t, 1, number(t, reader, "SELECT likes FROM post"))

		config := *tw.config
		config.Tables = []countermysql.TableConfig{{Table: "post", Counters: []string{"likes", "views"}, Touch: []string{"seen"}}}
		newer, _ := openOurs(t, tw.oursDSN, &config)
		const count = "UPDATE post SET likes = likes + 1, views = views + 1, seen = NOW() WHERE id = 1"
		const all = "SELECT likes * 100 + views * 10 + (seen IS NOT NULL) FROM post"
		require.EqualValues(t, 1, affected(t, newer, count))
		require.EqualValues(t, 211, number(t, newer, all))
		require.EqualValues(t, 1, number(t, reader, "SELECT likes FROM post"))
		affected(t, reader, "COMMIT")

		_, err := countermysql.Check(t.Context(), newer) // reads the schema
		require.NoError(t, err)
		require.EqualValues(t, 1, affected(t, newer, count))
		require.EqualValues(t, 321, number(t, newer, all))
		require.EqualValues(t, 1, number(t, tw.direct, "SELECT SUM(views) FROM post_slots"))
	})
}

// TestRefusedColumnIsLeftAlone proves that a process does not try again with each reading
// of the schema to change a slots table that is in use for long: all statements on the
// table would wait behind it each time.
func TestRefusedColumnIsLeftAlone(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, views INT NOT NULL DEFAULT 0);\nINSERT INTO post (id) VALUES (1)", counters("post", "likes"))
		affected(t, tw.ours, "UPDATE post SET likes = likes + 1 WHERE id = 1")
		reader := session(t, tw.ours)
		affected(t, reader, "BEGIN")
		require.EqualValues(t, 1, number(t, reader, "SELECT likes FROM post"))

		config := *tw.config
		config.Tables = counters("post", "likes", "views").Tables
		var alters, readings int
		for _, s := range tw.sent.during(func() {
			newer, _ := openOurs(t, tw.oursDSN, &config)
			for range 26 {
				affected(t, newer, "UPDATE post SET likes = likes + 1, views = views + 1 WHERE id = 1")
				time.Sleep(time.Second / 2)
			}
		}) {
			if strings.HasPrefix(s.text, "ALTER TABLE") {
				alters++
			}
			if strings.HasPrefix(s.text, "SHOW CREATE TABLE") {
				readings++
			}
		}
		require.Equal(t, 1, alters)
		require.Greater(t, readings, 1)
		affected(t, reader, "COMMIT")
	})
}

// TestSlotsTableInUse proves that a slots table which can't be changed because a
// transaction reads it for long fails its own table's statements, and those of no other.
func TestSlotsTableInUse(t *testing.T) {
	const schema = "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0);\nCREATE TABLE page (id INT PRIMARY KEY, hits INT NOT NULL DEFAULT 0);\nINSERT INTO post (id) VALUES (1);\nINSERT INTO page (id) VALUES (1)"
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := counters("post", "likes")
		config.Tables = append(config.Tables, counters("page", "hits").Tables...)
		tw := newTwin(t, srv, schema, config)
		reader := session(t, tw.direct)
		affected(t, tw.direct, "ALTER TABLE post MODIFY id BIGINT NOT NULL")
		affected(t, reader, "BEGIN")
		require.Zero(t, number(t, reader, "SELECT COUNT(*) FROM post_slots"))
		newer, _ := openOurs(t, tw.oursDSN, tw.config)
		require.EqualValues(t, 1, affected(t, newer, "UPDATE page SET hits = hits + 1 WHERE id = 1"))
		var misfit *countermysql.SlotsTableError
		_, err := newer.Exec("UPDATE post SET likes = likes + 1 WHERE id = 1")
		require.ErrorAs(t, err, &misfit)
		affected(t, reader, "COMMIT")
		_, err = countermysql.Check(t.Context(), newer) // reads the schema
		require.NoError(t, err)
		require.EqualValues(t, 1, affected(t, newer, "UPDATE post SET likes = likes + 1 WHERE id = 1"))
	})
}
