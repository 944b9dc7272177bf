package transactions

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestReadBack proves what a transaction sends that reads back what it has incremented: its base row takes the
// increment as it would on plain MySQL, without a fold, and what others have added and folded meanwhile shows, whether the
// transaction has a snapshot from before or not.
func TestReadBack(t *testing.T) {
	const likes = "SELECT likes FROM post WHERE id = 1"
	slotsOf := func(id string) string {
		return "INSERT INTO post_slots (id, slot, likes, views) VALUES (" + id + ", 3, 100, 0) ON DUPLICATE KEY UPDATE likes = likes + 100"
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := harness.BlogCounters()
		config.Rollup = countermysql.RollupNever
		tw := harness.NewBlog(t, srv, config)
		for _, c := range []struct {
			name     string
			snapshot bool   // before
			others   string // bring it a row's slots
			folded   bool   // and fold them behind the snapshot
			want     string // is sent; "": anything but locks and folds
		}{
			{"no slots", false, "", false, "SELECT BEGIN UPDATE SELECT SELECT SELECT UPDATE SELECT COMMIT"},
			{"slots of another row", false, "2", false, ""},
			{"slots of the row", false, "1", false, ""},
			{"behind a snapshot", true, "", false, ""},
			{"behind a snapshot, slots of the row", true, "1", false, ""},
			{"behind a snapshot, folded", true, "1", true, ""},
		} {
			t.Run(c.name, func(t *testing.T) {
				tw.Reset(t)
				if c.others == "" {
					harness.Affected(t, tw.Direct, "DELETE FROM post_slots")
				}
				before := harness.Number(t, tw.Ours, likes)
				sent := tw.Sent.During(func() {
					tx, err := tw.Ours.BeginTx(t.Context(), nil)
					require.NoError(t, err)
					defer tx.Rollback()
					if c.snapshot {
						harness.Number(t, tx, "SELECT COUNT(*) FROM author")
					}
					if c.others != "" {
						harness.Affected(t, tw.Direct, slotsOf(c.others))
					}
					if c.others == "1" {
						before += 100
					}
					if c.folded {
						harness.PlayOn(t, tw.Ours, []string{rollUp1})
					}
					require.EqualValues(t, 1, harness.Affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id = 1"))
					require.Equal(t, before+1, harness.Number(t, tx, likes))
					require.Equal(t, before+1, harness.Number(t, tx, likes))
					require.EqualValues(t, 1, harness.Affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id = 1"))
					require.Equal(t, before+2, harness.Number(t, tx, likes))
					require.NoError(t, tx.Commit())
				})
				if c.want != "" {
					require.Equal(t, c.want, shapes(sent))
				}
				for _, s := range sent {
					require.True(t, c.folded || !strings.Contains(s.Text, "FOR UPDATE") && !strings.HasPrefix(s.Text, "DELETE"), s.Text)
				}
				require.Equal(t, before+2, harness.Number(t, tw.Ours, likes))
			})
		}
	})
}

// TestReadBackOfNull proves that a row whose counter has become NULL since it was incremented is not taken for written where the
// server counts the rows that it finds: beside an older snapshot's base row, slots of now would show a value that never was.
func TestReadBackOfNull(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"clientFoundRows=true", "clientFoundRows=false"} {
			tw := harness.NewTwin(t, srv, "CREATE TABLE page (id INT PRIMARY KEY, hits INT);\nINSERT INTO page VALUES (1, 1)", harness.Counters("page", "hits"), params)
			harness.Number(t, tw.Ours, "SELECT hits FROM page")
			harness.Affected(t, tw.Direct, "INSERT INTO page_slots (id, slot, hits) VALUES (1, 3, 100)")
			tx, err := tw.Ours.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			defer tx.Rollback()
			require.EqualValues(t, 101, harness.Number(t, tx, "SELECT hits FROM page"))
			harness.Affected(t, tx, "UPDATE page SET hits = hits + 1 WHERE id = 1")
			harness.Affected(t, tw.Ours, "UPDATE page SET hits = NULL WHERE id = 1")
			require.Equal(t, "hits INT, [<nil>]", harness.Queried(t.Context(), tx, "SELECT hits FROM page WHERE id = 1"))
			require.NoError(t, tx.Commit())
			require.Equal(t, "hits INT, [<nil>]", harness.Queried(t.Context(), tw.Ours, "SELECT hits FROM page WHERE id = 1"))
		}
	})
}
