package integration_test

import (
	"context"
	"database/sql"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/internal/testserver"
)

const articles = `
CREATE TABLE blog (id INT PRIMARY KEY, posts INT NOT NULL DEFAULT 0, words BIGINT NULL DEFAULT 0, changed TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP);
INSERT INTO blog (id, changed) VALUES (1, '2020-02-02'), (2, '2020-02-02'), (3, '2020-02-02'), (4, '2020-02-02'), (5, '2020-02-02');
CREATE TABLE article (id BIGINT PRIMARY KEY AUTO_INCREMENT, blog INT NOT NULL, words INT NOT NULL, INDEX (blog))`

var articleCounters = &countermysql.Config{Slots: 4, Tables: []countermysql.TableConfig{{
	Table: "blog", Counters: []string{"posts", "words"},
	Recount: map[string]string{"posts": "SELECT blog, COUNT(*) FROM article GROUP BY blog", "words": "SELECT blog, SUM(words) FROM article GROUP BY blog;"},
}}}

// write adds an article and counts it in one transaction.
func write(ctx context.Context, db *sql.DB, blog, words int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "INSERT INTO article (blog, words) VALUES (?, ?)", blog, words); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE blog SET posts = posts + 1, words = words + ? WHERE id = ?", words, blog); err != nil {
		return err
	}
	return tx.Commit()
}

// TestRecount proves that a recount finds what differs, by key, that a dry run
// changes nothing, that a repair is exact and tells, and that no time moves.
func TestRecount(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, articles, articleCounters)
		for i := range 20 {
			require.NoError(t, write(t.Context(), tw.ours, 1+i%4, i))
		}
		drifts, err := countermysql.Recount(t.Context(), tw.ours, nil)
		require.NoError(t, err)
		require.Empty(t, drifts)

		affected(t, tw.direct, "UPDATE blog SET posts = posts + 7, changed = changed WHERE id = 2")
		affected(t, tw.direct, "UPDATE blog SET words = NULL, changed = changed WHERE id = 5")
		affected(t, tw.direct, "DELETE FROM article WHERE blog = 3")
		before := queried(t.Context(), tw.ours, "SELECT * FROM blog")
		dry, err := countermysql.Recount(t.Context(), tw.ours, nil)
		require.NoError(t, err)
		table := dry[0].Table
		require.Equal(t, []countermysql.Drift{
			{Table: table, Counter: "posts", Key: "id=2", Value: "12", Recounted: "5"},
			{Table: table, Counter: "posts", Key: "id=3", Value: "5", Recounted: "0"},
			{Table: table, Counter: "words", Key: "id=3", Value: "50", Recounted: "0"},
		}, dry)
		require.Equal(t, before, queried(t.Context(), tw.ours, "SELECT * FROM blog"))
		times := queried(t.Context(), tw.ours, "SELECT id, changed FROM blog ORDER BY id")
		done, err := countermysql.Recount(t.Context(), tw.ours, &countermysql.RecountOptions{Repair: true})
		require.NoError(t, err)
		require.Equal(t, times, queried(t.Context(), tw.ours, "SELECT id, changed FROM blog ORDER BY id"))
		for i := range dry {
			dry[i].Repaired = true
		}
		require.Equal(t, dry, done)
		require.Equal(t, "id INT, posts INT, words BIGINT, [1 5 40][2 5 45][3 0 0][4 5 55][5 0 <nil>]",
			queried(t.Context(), tw.ours, "SELECT id, posts, words FROM blog ORDER BY id"))

		config := *tw.config
		for query, want := range map[string]string{
			"SELECT blog FROM article": "returns 1 columns: it has to return the key (`id`) and the value", "SELECT": "the query of counter posts: Error 1064",
		} {
			config.Tables = []countermysql.TableConfig{{Table: "blog", Counters: []string{"posts", "words"}, Recount: map[string]string{"posts": query}}}
			db, _ := openOurs(t, tw.oursDSN, &config)
			_, err = countermysql.Recount(t.Context(), db, nil)
			require.ErrorContains(t, err, want)
		}
	})
}

// TestClosedWithTriggers proves that a closed table may have UPDATE triggers, as
// tools make them that copy a table to change its schema: every change fires
// them, and no count is lost by going on with the copy.
func TestClosedWithTriggers(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, articles, articleCounters)
		affected(t, tw.ours, "UPDATE blog SET posts = posts + 1 WHERE id = 1")
		_, err := countermysql.Drop(t.Context(), tw.ours, &countermysql.DropOptions{StopOnly: true, Notice: time.Millisecond})
		require.NoError(t, err)
		execAll(t, tw.direct, `CREATE TABLE blog_new LIKE blog;
ALTER TABLE blog_new ADD title VARCHAR(10) NOT NULL DEFAULT 'new';
CREATE TRIGGER copying AFTER UPDATE ON blog FOR EACH ROW REPLACE INTO blog_new (id, posts, words) VALUES (NEW.id, NEW.posts, NEW.words);
INSERT INTO blog_new (id, posts, words) SELECT id, posts, words FROM blog`)
		fresh, _ := openOurs(t, tw.oursDSN, tw.config)
		for _, stmt := range []string{"UPDATE blog SET posts = posts + 1 WHERE id = 1", "UPDATE blog SET posts = posts * 10 WHERE id = 1", "UPDATE blog SET posts = posts + 1, words = 3 WHERE id = 2"} {
			require.EqualValues(t, 1, affected(t, fresh, stmt))
		}
		require.Equal(t, "id INT, posts INT, words BIGINT, [1 20 0][2 1 3][3 0 0][4 0 0][5 0 0]", queried(t.Context(), tw.direct, "SELECT id, posts, words FROM blog_new ORDER BY id"))
		execAll(t, tw.direct, "RENAME TABLE blog TO blog_old, blog_new TO blog;\nDROP TABLE blog_old")
		_, err = countermysql.Init(t.Context(), fresh, nil)
		require.NoError(t, err)
		affected(t, fresh, "UPDATE blog SET posts = posts + 1 WHERE id = 1")
		require.EqualValues(t, 21, number(t, fresh, "SELECT posts FROM blog WHERE id = 1"))
		require.EqualValues(t, 1, number(t, tw.direct, "SELECT COUNT(*) FROM blog_slots"))
	})
}

// TestRecountUnderLoad proves that increments beside their rows, in one
// transaction, never count as a difference, and that a repair beside them leaves
// every counter true.
func TestRecountUnderLoad(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, articles, articleCounters)
		tw.sent.off.Store(true)
		var c crowd
		var wrong, repaired atomic.Int64
		c.run(8, func(client int) {
			for i := range 60 {
				c.check(write(t.Context(), tw.ours, 1+(client+i)%5, i))
			}
		}, func(i int) {
			if i%4 == 0 {
				_, err := tw.direct.Exec("UPDATE blog SET posts = posts + 1000, changed = changed WHERE id = ?", 1+i/4%5)
				c.check(err)
				wrong.Add(1)
			}
			drifts, err := countermysql.Recount(t.Context(), tw.ours, &countermysql.RecountOptions{Repair: true})
			if !c.check(err) {
				return
			}
			for _, d := range drifts {
				if d.Repaired {
					repaired.Add(1)
				}
			}
		}, func(int) {
			_, err := countermysql.Rollup(t.Context(), tw.ours, nil)
			c.check(err)
		})
		c.noDeadlocks(t)
		require.NotZero(t, wrong.Load())
		_, err := countermysql.Recount(t.Context(), tw.ours, &countermysql.RecountOptions{Repair: true})
		require.NoError(t, err)
		drifts, err := countermysql.Recount(t.Context(), tw.ours, nil)
		require.NoError(t, err)
		require.Empty(t, drifts)
		require.EqualValues(t, 8*60, number(t, tw.ours, "SELECT SUM(posts) FROM blog"))
		require.NotZero(t, repaired.Load())
	})
}

// TestDrop proves that leaving under the load of another process loses nothing:
// it notices that the slots table is closed, goes on without slots, and the plain
// driver sees every count.
func TestDrop(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, articles, articleCounters)
		tw.sent.off.Store(true)
		config := *tw.config
		config.CreateSlots = false
		tool, _ := openOurs(t, tw.oursDSN, &config)
		const slots = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'blog_slots'"
		var c crowd
		var written atomic.Int64
		stop := make(chan struct{})
		finished := make(chan struct{})
		go func() {
			defer close(finished)
			c.run(4, func(client int) {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					if c.check(write(t.Context(), tw.ours, 1+(client+i)%5, i)) {
						written.Add(1)
					}
				}
			})
		}()
		require.Eventually(t, func() bool { return written.Load() > 50 }, 20*time.Second, time.Millisecond)
		done, err := countermysql.Drop(t.Context(), tool, &countermysql.DropOptions{StopOnly: true, Notice: 12 * time.Second})
		require.NoError(t, err)
		require.NotZero(t, done[0].Keys)
		require.EqualValues(t, 1, number(t, tw.direct, slots))
		require.Zero(t, number(t, tw.direct, "SELECT COUNT(*) FROM blog_slots"))
		at := written.Load()
		require.Eventually(t, func() bool { return written.Load() > at+50 }, 20*time.Second, time.Millisecond)
		require.Zero(t, number(t, tw.direct, "SELECT COUNT(*) FROM blog_slots"), "a closed slots table was written to")
		findings, err := countermysql.Check(t.Context(), tool)
		require.NoError(t, err)
		require.Contains(t, onTables(findings)[0].Problem, "closed")

		did, err := countermysql.Init(t.Context(), tool, nil) // back
		require.NoError(t, err)
		require.Len(t, did, 1)
		require.EqualValues(t, 1, affected(t, tool, "UPDATE blog SET posts = posts + 0, words = words + 1 WHERE id = 1"))
		require.NotZero(t, number(t, tw.direct, "SELECT COUNT(*) FROM blog_slots"))
		affected(t, tool, "UPDATE blog SET words = words - 1 WHERE id = 1")

		close(stop)
		<-finished
		c.noDeadlocks(t)
		_, err = countermysql.Drop(t.Context(), tool, &countermysql.DropOptions{Notice: time.Millisecond})
		require.NoError(t, err)
		require.Zero(t, number(t, tw.direct, slots))
		require.Equal(t, written.Load(), number(t, tw.direct, "SELECT SUM(posts) FROM blog"))
		require.Equal(t, number(t, tw.direct, "SELECT SUM(words) FROM article"), number(t, tw.direct, "SELECT SUM(words) FROM blog"))
		done, err = countermysql.Drop(t.Context(), tool, nil)
		require.NoError(t, err)
		require.Empty(t, done)
	})
}
