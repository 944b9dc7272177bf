package writes

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestRecount proves that a recount finds what differs, by key, that a dry run
// changes nothing, that a repair is exact and tells, and that no time moves.
func TestRecount(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Articles, harness.ArticleCounters)
		for i := range 20 {
			require.NoError(t, harness.Write(t.Context(), tw.Ours, 1+i%4, i))
		}
		drifts, err := countermysql.Recount(t.Context(), tw.Ours, nil)
		require.NoError(t, err)
		require.Empty(t, drifts)

		harness.Affected(t, tw.Direct, "UPDATE blog SET posts = posts + 7, changed = changed WHERE id = 2")
		harness.Affected(t, tw.Direct, "UPDATE blog SET words = NULL, changed = changed WHERE id = 5")
		harness.Affected(t, tw.Direct, "DELETE FROM article WHERE blog = 3")
		before := harness.Queried(t.Context(), tw.Ours, "SELECT * FROM blog")
		dry, err := countermysql.Recount(t.Context(), tw.Ours, nil)
		require.NoError(t, err)
		table := dry[0].Table
		require.Equal(t, []countermysql.Drift{
			{Table: table, Counter: "posts", Key: "id=2", Value: "12", Recounted: "5"},
			{Table: table, Counter: "posts", Key: "id=3", Value: "5", Recounted: "0"},
			{Table: table, Counter: "words", Key: "id=3", Value: "50", Recounted: "0"},
		}, dry)
		require.Equal(t, before, harness.Queried(t.Context(), tw.Ours, "SELECT * FROM blog"))
		times := harness.Queried(t.Context(), tw.Ours, "SELECT id, changed FROM blog ORDER BY id")
		done, err := countermysql.Recount(t.Context(), tw.Ours, &countermysql.RecountOptions{Repair: true})
		require.NoError(t, err)
		require.Equal(t, times, harness.Queried(t.Context(), tw.Ours, "SELECT id, changed FROM blog ORDER BY id"))
		for i := range dry {
			dry[i].Repaired = true
		}
		require.Equal(t, dry, done)
		require.Equal(t, "id INT, posts INT, words BIGINT, [1 5 40][2 5 45][3 0 0][4 5 55][5 0 <nil>]",
			harness.Queried(t.Context(), tw.Ours, "SELECT id, posts, words FROM blog ORDER BY id"))

		config := *tw.Config
		for query, want := range map[string]string{
			"SELECT blog FROM article": "returns 1 columns: it has to return the key (`id`) and the value", "SELECT": "the query of counter posts: Error 1064",
		} {
			config.Tables = []countermysql.TableConfig{{Table: "blog", Counters: []string{"posts", "words"}, Recount: map[string]string{"posts": query}}}
			db, _ := harness.OpenOurs(t, tw.OursDSN, &config)
			_, err = countermysql.Recount(t.Context(), db, nil)
			require.ErrorContains(t, err, want)
		}
	})
}

// TestClosedWithTriggers proves that a closed table may have UPDATE triggers, as
// tools make them that copy a table to change its schema: every change fires
// them, and no count is lost by going on with the copy.
func TestClosedWithTriggers(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Articles, harness.ArticleCounters)
		harness.Affected(t, tw.Ours, "UPDATE blog SET posts = posts + 1 WHERE id = 1")
		_, err := countermysql.Drop(t.Context(), tw.Ours, &countermysql.DropOptions{StopOnly: true, Notice: time.Millisecond})
		require.NoError(t, err)
		harness.ExecAll(t, tw.Direct, `CREATE TABLE blog_new LIKE blog;
ALTER TABLE blog_new ADD title VARCHAR(10) NOT NULL DEFAULT 'new';
CREATE TRIGGER copying AFTER UPDATE ON blog FOR EACH ROW REPLACE INTO blog_new (id, posts, words) VALUES (NEW.id, NEW.posts, NEW.words);
INSERT INTO blog_new (id, posts, words) SELECT id, posts, words FROM blog`)
		fresh, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
		for _, stmt := range []string{"UPDATE blog SET posts = posts + 1 WHERE id = 1", "UPDATE blog SET posts = posts * 10 WHERE id = 1", "UPDATE blog SET posts = posts + 1, words = 3 WHERE id = 2"} {
			require.EqualValues(t, 1, harness.Affected(t, fresh, stmt))
		}
		require.Equal(t, "id INT, posts INT, words BIGINT, [1 20 0][2 1 3][3 0 0][4 0 0][5 0 0]", harness.Queried(t.Context(), tw.Direct, "SELECT id, posts, words FROM blog_new ORDER BY id"))
		harness.ExecAll(t, tw.Direct, "RENAME TABLE blog TO blog_old, blog_new TO blog;\nDROP TABLE blog_old")
		_, err = countermysql.Init(t.Context(), fresh, nil)
		require.NoError(t, err)
		harness.Affected(t, fresh, "UPDATE blog SET posts = posts + 1 WHERE id = 1")
		require.EqualValues(t, 21, harness.Number(t, fresh, "SELECT posts FROM blog WHERE id = 1"))
		require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM blog_slots"))
	})
}

// TestRecountUnderLoad proves that increments beside their rows, in one
// transaction, never count as a difference, and that a repair beside them leaves
// every counter true.
func TestRecountUnderLoad(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Articles, harness.ArticleCounters)
		tw.Sent.Off.Store(true)
		var c harness.Crowd
		var wrong, repaired atomic.Int64
		c.Run(8, func(client int) {
			for i := range 60 {
				c.Check(harness.Write(t.Context(), tw.Ours, 1+(client+i)%5, i))
			}
		}, func(i int) {
			if i%4 == 0 {
				_, err := tw.Direct.Exec("UPDATE blog SET posts = posts + 1000, changed = changed WHERE id = ?", 1+i/4%5)
				c.Check(err)
				wrong.Add(1)
			}
			drifts, err := countermysql.Recount(t.Context(), tw.Ours, &countermysql.RecountOptions{Repair: true})
			if !c.Check(err) {
				return
			}
			for _, d := range drifts {
				if d.Repaired {
					repaired.Add(1)
				}
			}
		}, func(int) {
			_, err := countermysql.Rollup(t.Context(), tw.Ours, nil)
			c.Check(err)
		})
		c.NoDeadlocks(t)
		require.NotZero(t, wrong.Load())
		_, err := countermysql.Recount(t.Context(), tw.Ours, &countermysql.RecountOptions{Repair: true})
		require.NoError(t, err)
		drifts, err := countermysql.Recount(t.Context(), tw.Ours, nil)
		require.NoError(t, err)
		require.Empty(t, drifts)
		require.EqualValues(t, 8*60, harness.Number(t, tw.Ours, "SELECT SUM(posts) FROM blog"))
		require.NotZero(t, repaired.Load())
	})
}

// TestDrop proves that leaving under the load of another process loses nothing:
// it notices that the slots table is closed, goes on without slots, and the plain
// driver sees every count.
func TestDrop(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Articles, harness.ArticleCounters)
		tw.Sent.Off.Store(true)
		config := *tw.Config
		config.CreateSlots = false
		tool, _ := harness.OpenOurs(t, tw.OursDSN, &config)
		const slots = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'blog_slots'"
		var c harness.Crowd
		var written atomic.Int64
		stop := make(chan struct{})
		finished := make(chan struct{})
		go func() {
			defer close(finished)
			c.Run(4, func(client int) {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					if c.Check(harness.Write(t.Context(), tw.Ours, 1+(client+i)%5, i)) {
						written.Add(1)
					}
				}
			})
		}()
		require.Eventually(t, func() bool { return written.Load() > 50 }, 20*time.Second, time.Millisecond)
		done, err := countermysql.Drop(t.Context(), tool, &countermysql.DropOptions{StopOnly: true, Notice: 12 * time.Second})
		require.NoError(t, err)
		require.NotZero(t, done[0].Keys)
		require.EqualValues(t, 1, harness.Number(t, tw.Direct, slots))
		require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM blog_slots"))
		at := written.Load()
		require.Eventually(t, func() bool { return written.Load() > at+50 }, 20*time.Second, time.Millisecond)
		require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM blog_slots"), "a closed slots table was written to")
		findings, err := countermysql.Check(t.Context(), tool)
		require.NoError(t, err)
		require.Contains(t, harness.OnTables(findings)[0].Problem, "closed")

		did, err := countermysql.Init(t.Context(), tool, nil) // back
		require.NoError(t, err)
		require.Len(t, did, 1)
		require.EqualValues(t, 1, harness.Affected(t, tool, "UPDATE blog SET posts = posts + 0, words = words + 1 WHERE id = 1"))
		require.NotZero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM blog_slots"))
		harness.Affected(t, tool, "UPDATE blog SET words = words - 1 WHERE id = 1")

		close(stop)
		<-finished
		c.NoDeadlocks(t)
		_, err = countermysql.Drop(t.Context(), tool, &countermysql.DropOptions{Notice: time.Millisecond})
		require.NoError(t, err)
		require.Zero(t, harness.Number(t, tw.Direct, slots))
		require.Equal(t, written.Load(), harness.Number(t, tw.Direct, "SELECT SUM(posts) FROM blog"))
		require.Equal(t, harness.Number(t, tw.Direct, "SELECT SUM(words) FROM article"), harness.Number(t, tw.Direct, "SELECT SUM(words) FROM blog"))
		done, err = countermysql.Drop(t.Context(), tool, nil)
		require.NoError(t, err)
		require.Empty(t, done)
	})
}
