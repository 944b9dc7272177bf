package schema

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

const renamed = "CREATE TABLE post (id INT PRIMARY KEY, slug VARCHAR(9) NOT NULL UNIQUE, likes INT NOT NULL DEFAULT 0);\nINSERT INTO post (id, slug) VALUES (1, 'a'), (2, 'b')"

// behindView are ways to give a table a new name and its old one to a view.
var behindView = map[string][]string{
	"rename": {"RENAME TABLE post TO article", "CREATE VIEW post AS SELECT * FROM article"},
	"alter":  {"ALTER TABLE post RENAME TO article", "CREATE VIEW post AS SELECT * FROM article"},
}

// TestRenamedBehindView proves that what another process does through the view that has
// a renamed table's old name is right, or fails: with both names in the list nobody
// notices anything, and with the old one alone the process says that it is a view.
func TestRenamedBehindView(t *testing.T) {
	statements := []string{
		"A: SELECT likes FROM post WHERE id = 1", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: UPDATE post SET likes = likes + 1 WHERE slug = 'a'",
		"A: UPDATE post SET likes = likes + 1 WHERE id IN (1, 2)", "A: UPDATE post SET likes = likes - 3 WHERE id = 1 AND likes >= 3", "A: UPDATE post SET likes = 100 WHERE id = 1",
		"A: DELETE FROM post WHERE id = 1", "A: SELECT * FROM post ORDER BY likes DESC LIMIT 1", "A: SELECT SUM(likes) FROM post",
		"A: begin; A: SELECT likes FROM post WHERE id = 1; A: UPDATE post SET likes = likes + 1 WHERE id = 1; A: SELECT likes FROM post WHERE id = 1; A: commit",
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for way, ddl := range behindView {
			for _, both := range []bool{true, false} {
				for _, steps := range statements {
					config := harness.Counters("post", "likes")
					if both {
						config.Tables = append(config.Tables, harness.Counters("article", "likes").Tables...)
					}
					tw := harness.NewTwin(t, srv, renamed, config)
					second, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
					both := *tw.Config
					both.Tables = append(harness.Counters("post", "likes").Tables, harness.Counters("article", "likes").Tables...)
					first, _ := harness.OpenOurs(t, tw.OursDSN, &both)
					harness.Affected(t, second, "UPDATE post SET likes = likes + 2 WHERE id = 1")
					harness.Affected(t, tw.Plain, "UPDATE post SET likes = likes + 2 WHERE id = 1")
					for _, stmt := range append(ddl, "UPDATE article SET likes = likes + 5 WHERE id = 1") {
						harness.Affected(t, tw.Plain, stmt)
						harness.Affected(t, first, stmt)
					}
					want := strings.Join(harness.PlayOn(t, tw.Plain, strings.Split(steps, "; ")), "\n")
					got := strings.Join(harness.PlayOn(t, second, strings.Split(steps, "; ")), "\n")
					if strings.Contains(got, "it is a view") {
						require.Len(t, config.Tables, 1, got)
						continue
					}
					require.Equal(t, want, got, way)
					const all = "SELECT * FROM article ORDER BY id"
					require.Equal(t, harness.Queried(t.Context(), tw.Plain, all), harness.Queried(t.Context(), first, all), "%s: %s", way, steps)
				}
			}
		}
	})
}

// TestRenamedWhilePending proves that increments which are pending while their table is
// renamed are counted, or fail with their COMMIT, and that the next ones are counted.
func TestRenamedWhilePending(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for way, ddl := range behindView {
			for _, begun := range []bool{false, true} {
				config := harness.Counters("post", "likes")
				config.Tables = append(config.Tables, harness.Counters("article", "likes").Tables...)
				tw := harness.NewTwin(t, srv, renamed+";\nCREATE TABLE note (id INT PRIMARY KEY)", config)
				second, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
				tx, err := second.Begin()
				require.NoError(t, err)
				if begun {
					harness.Affected(t, tx, "INSERT INTO note VALUES (1)")
				}
				require.EqualValues(t, 1, harness.Affected(t, tx, "UPDATE post SET likes = likes + 10 WHERE id = 1"))
				for _, stmt := range ddl {
					harness.Affected(t, tw.Ours, stmt)
				}
				want := int64(0)
				if err := tx.Commit(); err == nil {
					want = 10
				} else {
					require.Contains(t, []int{1146, 1176}, harness.ErrorNumber(err), err)
				}
				for range 2 {
					tx, err = second.Begin()
					require.NoError(t, err)
					require.EqualValues(t, 1, harness.Affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id = 1"))
					require.NoError(t, tx.Commit())
				}
				require.EqualValues(t, want+2, harness.Number(t, tw.Ours, "SELECT likes FROM article WHERE id = 1"), way)
				if want == 0 {
					require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM note"))
				}
			}
		}
	})
}

// TestRenamedByOtherClient proves that nothing is counted where nobody reads it when a
// client without the driver gives a table's name to a view.
func TestRenamedByOtherClient(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, renamed, harness.Counters("post", "likes"))
		for _, stmt := range behindView["rename"] {
			harness.Affected(t, tw.Direct, stmt)
		}
		for _, where := range []string{"id = 1", "slug = 'a'", "id = 1 AND slug = 'a'", "id IN (1, 2)"} {
			_, err := tw.Ours.Exec("UPDATE post SET likes = likes + 1 WHERE " + where)
			require.Error(t, err, where)
		}
		require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM post_slots"))
	})
}

// TestRenameWithoutDowntime proves the way that docs/schema-changes.md tells: clients of the
// old and of the new name go on, and every count that was acknowledged is there.
func TestRenameWithoutDowntime(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, renamed, harness.Counters("post", "likes"))
		plain, _ := harness.OpenOurs(t, tw.OursDSN, &countermysql.Config{})
		ctx, stop := context.WithCancel(t.Context())
		var done sync.WaitGroup
		var counted int64
		_, err := countermysql.Drop(t.Context(), tw.Ours, &countermysql.DropOptions{StopOnly: true, Notice: time.Millisecond})
		require.NoError(t, err)
		done.Go(func() {
			for ctx.Err() == nil {
				if _, err := plain.Exec("UPDATE post SET likes = likes + 1 WHERE id = 1"); err == nil {
					counted++
				} else if harness.ErrorNumber(err) != 1146 { // between the two statements
					t.Error(err)
				}
			}
		})
		for _, stmt := range behindView["rename"] {
			harness.Affected(t, tw.Direct, stmt)
		}
		config := *tw.Config
		config.Tables = harness.Counters("article", "likes").Tables
		stop()
		done.Wait()
		next, _ := harness.OpenOurs(t, tw.OursDSN, &config)
		require.EqualValues(t, 1, harness.Affected(t, next, "UPDATE article SET likes = likes + 1 WHERE id = 1"))
		require.EqualValues(t, 1, harness.Affected(t, next, "UPDATE post SET likes = likes + 1 WHERE id = 1"))
		require.Equal(t, counted+2, harness.Number(t, next, "SELECT likes FROM article WHERE id = 1"))
		require.Equal(t, counted+2, harness.Number(t, next, "SELECT likes FROM post WHERE id = 1"))
	})
}
