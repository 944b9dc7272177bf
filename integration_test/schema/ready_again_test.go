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

// TestReadyAgain proves that a table whose statements fail, because it had no slots table for a moment, or could
// not have counters, is looked at again with them, a tenth of a second later at most, in a transaction and prepared too.
func TestReadyAgain(t *testing.T) {
	t.Parallel()
	const schema = "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0);\nINSERT INTO post (id) VALUES (1)"
	gaps := []struct {
		name, opens, closes string
		want                any
	}{
		{"no slots table", "RENAME TABLE post_slots TO kept", "RENAME TABLE kept TO post_slots", new(*countermysql.SlotsTableError)},
		{"a slots table that does not fit", "ALTER TABLE post_slots CHANGE likes likes_ INT NOT NULL DEFAULT 0", "ALTER TABLE post_slots CHANGE likes_ likes INT NOT NULL DEFAULT 0", new(*countermysql.SlotsTableError)},
		{"no key", "ALTER TABLE post DROP PRIMARY KEY", "ALTER TABLE post ADD PRIMARY KEY (id)", new(*countermysql.SlotsTableError)},
		{"a view", "RENAME TABLE post TO kept;\nCREATE VIEW post AS SELECT * FROM kept", "DROP VIEW post;\nRENAME TABLE kept TO post", new(*countermysql.UnfitError)},
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, gap := range gaps {
			t.Run(gap.name, func(t *testing.T) {
				t.Parallel()
				tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
				harness.Affected(t, tw.Ours, likeFirst)
				harness.ExecAll(t, tw.Direct, gap.opens)
				config := *tw.Config
				config.CreateSlots = false
				db, _ := harness.OpenOurs(t, tw.OursDSN, &config)
				_, err := db.Exec(likeFirst)
				require.ErrorAs(t, err, gap.want)
				harness.ExecAll(t, tw.Direct, gap.closes)
				time.Sleep(200 * time.Millisecond)
				tx, err := db.Begin()
				require.NoError(t, err)
				prepared, err := tx.Prepare(likeFirst)
				require.NoError(t, err)
				_, err = prepared.Exec()
				require.NoError(t, err)
				require.NoError(t, tx.Commit())
				harness.Affected(t, db, likeFirst)
				require.EqualValues(t, 3, harness.Number(t, db, firstRow))
			})
		}
	})
}

// TestGoneCostsLittle proves that statements which fail again and again, as their table is gone, have the schema read
// seldom.
func TestGoneCostsLittle(t *testing.T) {
	t.Parallel()
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0)", harness.Counters("post", "likes"))
		harness.ExecAll(t, tw.Ours, "DO 1")
		harness.ExecAll(t, tw.Direct, "RENAME TABLE post TO kept")
		read, begun := 0, time.Now()
		for _, s := range tw.Sent.During(func() {
			for time.Since(begun) < 2500*time.Millisecond {
				_, err := tw.Ours.Exec("UPDATE post SET likes = likes * 2 WHERE id = 1")
				require.Equal(t, 1146, harness.ErrorNumber(err))
			}
		}) {
			if strings.Contains(s.Text, "TABLE_TYPE = 'VIEW'") {
				read++
			}
		}
		require.Positive(t, read)
		require.LessOrEqual(t, read, 3+int(time.Since(begun)/(100*time.Millisecond)))
	})
}
