package integration_test

import (
	"bytes"
	"database/sql"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/internal/testserver"
)

const touchedPost = `
CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, title VARCHAR(9) NOT NULL DEFAULT '', created_at DATETIME NOT NULL DEFAULT '2020-01-01',
 updated_at DATETIME(3) NOT NULL DEFAULT '2020-01-01', last_seen TIMESTAMP NULL DEFAULT NULL, KEY (updated_at));
INSERT INTO post (id) VALUES (1), (2), (3)`

// learned waits until a slots table has a column.
func (tw *twin) learned(t *testing.T, slots, column string) {
	t.Helper()
	require.Eventually(t, func() bool { return tw.inSlots(t, slots, column) }, 20*time.Second, 10*time.Millisecond)
}

func (tw *twin) inSlots(t *testing.T, slots, column string) bool {
	return number(t, tw.direct, "SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? AND COLUMN_NAME = ?", slots, column) == 1
}

// settle ends the time in which a new column is not written.
func (tw *twin) settle(t *testing.T, definition string, dbs ...*sql.DB) {
	t.Helper()
	affected(t, tw.direct, "ALTER TABLE post_slots MODIFY "+definition+" COMMENT 'countermysql from 2020-01-01 00:00:00'")
	for _, db := range dbs {
		_, err := countermysql.Check(t.Context(), db) // reads the schema
		require.NoError(t, err)
	}
}

// TestLearnedTouch proves that a time which is set beside an increment becomes a touch
// column by itself, and that it is what it is on plain MySQL before, meanwhile and then.
func TestLearnedTouch(t *testing.T) {
	const all = "SELECT id, likes, title, updated_at, last_seen FROM post ORDER BY id"
	const hit = "UPDATE post SET likes = likes + ?, updated_at = ? WHERE id = ?"
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"interpolateParams=false", "interpolateParams=true&parseTime=true"} {
			tw := newTwin(t, srv, touchedPost, counters("post", "likes"), strings.Split(params, "&")...)
			now := func() time.Time { return time.Now().UTC() }
			both := func(query string, args ...any) {
				t.Helper()
				require.Equal(t, affected(t, tw.plain, query, args...), affected(t, tw.ours, query, args...), query)
				tw.same(t, all)
			}
			inTransaction := func(steps func(x *sql.Tx)) {
				t.Helper()
				for _, db := range []*sql.DB{tw.plain, tw.ours} {
					x, err := db.BeginTx(t.Context(), nil)
					require.NoError(t, err)
					steps(x)
					require.NoError(t, x.Commit())
				}
				tw.same(t, all)
			}
			play := func() {
				t.Helper()
				at := now()
				both(hit, 1, at, 1)
				both(hit, 2, at, 1)
				both(hit, 1, now(), 9)
				both("UPDATE post SET likes = likes + 1, updated_at = '" + now().Format("2006-01-02 15:04:05.000000") + "' WHERE id = 2")
				both("UPDATE post SET title = 'x', updated_at = ? WHERE id = 1", now())
				at = now()
				inTransaction(func(x *sql.Tx) {
					affected(t, x, hit, 1, at, 1)
					affected(t, x, hit, 1, at, 1)
					affected(t, x, hit, 1, at, 2)
				})
				var reads []string
				at = now()
				inTransaction(func(x *sql.Tx) {
					affected(t, x, hit, 1, at, 1)
					reads = append(reads, queried(t.Context(), x, all))
					affected(t, x, "UPDATE post SET title = 'y', likes = likes + 1, updated_at = ? WHERE id = 1", at)
					reads = append(reads, queried(t.Context(), x, "SELECT id FROM post WHERE updated_at > '2021-01-01' ORDER BY updated_at, id"))
				})
				require.Equal(t, reads[:2], reads[2:])
				both(hit, 1, time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC), 1) // far from now
				both(hit, 1, now(), 1)
				both(hit, 1, time.Date(2101, 2, 3, 4, 5, 6, 0, time.UTC), 2)
				both(hit, 1, now(), 2)
			}
			both(hit, 1, time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC), 1)
			both("UPDATE post SET likes = likes + 1, title = 'z', updated_at = ? WHERE id = 1", now())
			_, err := countermysql.Check(t.Context(), tw.ours)
			require.NoError(t, err)
			require.False(t, tw.inSlots(t, "post_slots", "updated_at"))

			both(hit, 1, now(), 3)
			tw.learned(t, "post_slots", "updated_at")
			play()
			require.Zero(t, number(t, tw.direct, "SELECT COUNT(*) FROM post_slots"))
			e, err := countermysql.Explain(t.Context(), tw.ours, hit, 1, now(), 1)
			require.NoError(t, err)
			require.Contains(t, e.String(), "so new that other processes may not know it")

			tw.settle(t, "updated_at DATETIME(3) NULL DEFAULT NULL", tw.ours)
			play()
			both(hit, 1, now(), 3)
			require.NotZero(t, number(t, tw.direct, "SELECT COUNT(updated_at) FROM post_slots"))

			// another beside it
			both("UPDATE post SET likes = likes + ?, updated_at = ?, last_seen = ? WHERE id = ?", 1, now(), now(), 3)
			tw.learned(t, "post_slots", "last_seen")
			tw.settle(t, "last_seen TIMESTAMP NULL DEFAULT NULL", tw.ours)
			both("UPDATE post SET likes = likes + ?, updated_at = ?, last_seen = ? WHERE id = ?", 1, now(), now(), 3)
			require.NotZero(t, number(t, tw.direct, "SELECT COUNT(last_seen) FROM post_slots"))
			rollUp(t, tw.ours)
			const texts = "SELECT id, likes, CAST(updated_at AS CHAR), CAST(last_seen AS CHAR) FROM post ORDER BY id"
			require.Equal(t, queried(t.Context(), tw.plain, texts), queried(t.Context(), tw.direct, texts))
		}
	})
}

// TestNeverLearned proves that no column becomes a touch column whose times the server
// computes with, or that increments do not set to the present time.
func TestNeverLearned(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT, k DATETIME NOT NULL, likes INT NOT NULL DEFAULT 0, u DATETIME NULL, g DATETIME NULL, day DATE AS (DATE(g)) VIRTUAL, c DATETIME NULL, d DATE NULL, f DATETIME NULL,
 UNIQUE (u), CHECK (c > '2020-01-01'), PRIMARY KEY (id, k));
INSERT INTO post (id, k) VALUES (1, '2020-01-01')`
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, schema, counters("post", "likes"))
		for _, set := range []string{"u = NOW()", "g = NOW()", "c = NOW()", "d = CURDATE()", "d = NOW()", "f = NOW() + INTERVAL 1 DAY", "f = '2030-01-01'", "f = NULL", "f = NOW(3)", "f = f", "f = NOW(), c = NOW()"} {
			affected(t, tw.ours, "UPDATE post SET likes = likes + 1, "+set+" WHERE id = 1 AND k = '2020-01-01'")
		}
		affected(t, tw.ours, "UPDATE post SET likes = likes + 1, f = NOW() WHERE id = 1 LIMIT 1")
		_, err := countermysql.Check(t.Context(), tw.ours)
		require.NoError(t, err)
		require.EqualValues(t, 4, number(t, tw.direct, "SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'post_slots'"))
		require.EqualValues(t, 12, number(t, tw.ours, "SELECT likes FROM post"))
	})
}

// TestTouchColumnAsked proves that who makes no slots tables is told, by a line in the log,
// by Check and by Explain, which column keeps increments from slots, and that counterTouch
// and Init mend it for every process.
func TestTouchColumnAsked(t *testing.T) {
	const hit = "UPDATE post SET likes = likes + 1, updated_at = NOW(3), last_seen = CURRENT_TIMESTAMP WHERE id = 1"
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, touchedPost, counters("post", "likes"))
		_, err := countermysql.Init(t.Context(), tw.ours, nil)
		require.NoError(t, err)
		config := *tw.config
		config.CreateSlots = false
		var log bytes.Buffer
		config.Logger = slog.New(slog.NewTextHandler(&log, nil))
		asking, _ := openOurs(t, tw.oursDSN, &config)
		asking.SetMaxOpenConns(1)
		name := queriedValue(t, asking, "SELECT DATABASE()") + ".post.updated_at"

		e, err := countermysql.Explain(t.Context(), asking, hit)
		require.NoError(t, err)
		require.Equal(t, "verbatim", e.Class)
		require.Contains(t, e.String(), "counterTouch="+name)
		for range 3 {
			affected(t, asking, hit)
		}
		require.Equal(t, 2, strings.Count(log.String(), "it is no touch column"), log.String())
		require.Contains(t, log.String(), "column="+name)
		findings, err := countermysql.Check(t.Context(), asking)
		require.NoError(t, err)
		var told []string
		for _, f := range findings {
			if strings.Contains(f.Remedy, "counterTouch=") {
				told = append(told, f.Problem)
				require.Contains(t, f.SQL, "ADD COLUMN")
			}
		}
		require.Len(t, told, 2)
		require.False(t, tw.inSlots(t, "post_slots", "updated_at"))

		tool, err := sql.Open("countermysql", tw.oursDSN+"&counters=post.likes&counterRollup=never&counterTouch=post.updated_at,post.last_seen")
		require.NoError(t, err)
		defer tool.Close()
		statements, err := countermysql.Init(t.Context(), tool, nil)
		require.NoError(t, err)
		require.Len(t, statements, 1)
		_, err = countermysql.Check(t.Context(), asking)
		require.NoError(t, err)
		e, err = countermysql.Explain(t.Context(), asking, hit)
		require.NoError(t, err)
		require.Equal(t, "increment", e.Class)
		affected(t, asking, hit)
		require.EqualValues(t, 1, number(t, tw.direct, "SELECT COUNT(last_seen) FROM post_slots"))
	})
}

// TestTouchUnknownToOthers proves that no process reads a time without those in slots:
// while some may not know a new touch column, nobody puts any there, not even one that
// begins then.
func TestTouchUnknownToOthers(t *testing.T) {
	const hit = "UPDATE post SET likes = likes + 1, updated_at = ? WHERE id = ?"
	const all = "SELECT id, likes, updated_at FROM post ORDER BY id"
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, touchedPost, counters("post", "likes"))
		older, _ := openOurs(t, tw.oursDSN, tw.config)
		require.EqualValues(t, 0, number(t, older, "SELECT likes FROM post WHERE id = 1")) // has read the schema
		count := func(db *sql.DB, id int) {
			t.Helper()
			at := time.Now().UTC()
			affected(t, tw.plain, hit, at, id)
			affected(t, db, hit, at, id)
			for _, reader := range []*sql.DB{tw.ours, older} {
				require.Equal(t, queried(t.Context(), tw.plain, all), queried(t.Context(), reader, all))
			}
		}
		count(tw.ours, 1)
		tw.learned(t, "post_slots", "updated_at")
		_, err := countermysql.Check(t.Context(), tw.ours)
		require.NoError(t, err)
		count(tw.ours, 1)
		begins, _ := openOurs(t, tw.oursDSN, tw.config)
		count(begins, 1)
		count(begins, 2)
		count(older, 1)
		affected(t, tw.plain, "UPDATE post SET likes = likes * 2")
		affected(t, older, "UPDATE post SET likes = likes * 2")
		count(begins, 1)

		tw.settle(t, "updated_at DATETIME(3) NULL DEFAULT NULL", tw.ours, older) // begins still waits
		count(tw.ours, 1)
		require.NotZero(t, number(t, tw.direct, "SELECT COUNT(updated_at) FROM post_slots"))
		for i := range 6 {
			count([]*sql.DB{tw.ours, begins, older}[i%3], 1+i%2)
		}
		drops, err := sql.Open("countermysql", tw.oursDSN+"&counters=post.likes&counterRollup=never")
		require.NoError(t, err)
		defer drops.Close()
		rollUp(t, drops)
		require.Equal(t, queried(t.Context(), tw.plain, all), queried(t.Context(), tw.direct, all))
	})
}

// TestUpsertBesideTouch proves that upserts which leave a touch column alone are as fast
// as in a table without.
func TestUpsertBesideTouch(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := &countermysql.Config{Tables: []countermysql.TableConfig{{Table: "page", Counters: []string{"hits"}, Touch: []string{"seen"}}}}
		tw := newTwin(t, srv, "CREATE TABLE page (id INT PRIMARY KEY, hits INT NOT NULL DEFAULT 0, seen DATETIME(3) NULL DEFAULT '2020-01-01');\nINSERT INTO page (id) VALUES (1), (2), (5)", config, "timestamp=1700000000.654321")
		const one, two = "A: INSERT INTO page (id, hits) VALUES (1, 1) ON DUPLICATE KEY UPDATE hits = hits + 1", "A: INSERT INTO page (id, hits) VALUES (2, 1), (1, 1) ON DUPLICATE KEY UPDATE hits = hits + VALUES(hits)"
		const all = "A: SELECT * FROM page ORDER BY id"
		tw.play(t, one, two)
		require.EqualValues(t, 2, stats(t, tw.ours).Increments)
		tw.play(t, all, "A: UPDATE page SET hits = hits + 1, seen = NOW(3) WHERE id IN (1, 5)", one, two, all,
			strings.ReplaceAll(one, "1,", "3,"), strings.ReplaceAll(two, "2,", "4,"), all,
			"A: begin", "A: UPDATE page SET hits = hits + 1, seen = NOW(3) WHERE id = 3", one, two, strings.ReplaceAll(one, "1,", "3,"), strings.ReplaceAll(one, "1,", "6,"), all, "A: commit", all,
			"A: DELETE FROM page WHERE id = 3", strings.ReplaceAll(one, "1,", "3,"), all,
			"A: UPDATE page SET seen = '2040-01-01' WHERE id = 1", one, two, "A: begin", one, two, all, "A: commit", all,
			"A: DELETE FROM page WHERE id IN (1, 2)", "A: begin", two, "A: commit", all)
	})
}
