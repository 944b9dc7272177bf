package writes

import (
	"bytes"
	"database/sql"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

const touchedPost = `
CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, title VARCHAR(9) NOT NULL DEFAULT '', created_at DATETIME NOT NULL DEFAULT '2020-01-01',
 updated_at DATETIME(3) NOT NULL DEFAULT '2020-01-01', last_seen TIMESTAMP NULL DEFAULT NULL, KEY (updated_at));
INSERT INTO post (id) VALUES (1), (2), (3)`

// TestLearnedTouch proves that a time which is set beside an increment becomes a touch
// column by itself, and that it is what it is on plain MySQL before, meanwhile and then.
func TestLearnedTouch(t *testing.T) {
	const all = "SELECT id, likes, title, updated_at, last_seen FROM post ORDER BY id"
	const hit = "UPDATE post SET likes = likes + ?, updated_at = ? WHERE id = ?"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"interpolateParams=false", "interpolateParams=true&parseTime=true"} {
			tw := harness.NewTwin(t, srv, touchedPost, harness.Counters("post", "likes"), strings.Split(params, "&")...)
			now := func() time.Time { return time.Now().UTC() }
			both := func(query string, args ...any) {
				t.Helper()
				require.Equal(t, harness.Affected(t, tw.Plain, query, args...), harness.Affected(t, tw.Ours, query, args...), query)
				tw.Same(t, all)
			}
			inTransaction := func(steps func(x *sql.Tx)) {
				t.Helper()
				for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
					x, err := db.BeginTx(t.Context(), nil)
					require.NoError(t, err)
					steps(x)
					require.NoError(t, x.Commit())
				}
				tw.Same(t, all)
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
					harness.Affected(t, x, hit, 1, at, 1)
					harness.Affected(t, x, hit, 1, at, 1)
					harness.Affected(t, x, hit, 1, at, 2)
				})
				var reads []string
				at = now()
				inTransaction(func(x *sql.Tx) {
					harness.Affected(t, x, hit, 1, at, 1)
					reads = append(reads, harness.Queried(t.Context(), x, all))
					harness.Affected(t, x, "UPDATE post SET title = 'y', likes = likes + 1, updated_at = ? WHERE id = 1", at)
					reads = append(reads, harness.Queried(t.Context(), x, "SELECT id FROM post WHERE updated_at > '2021-01-01' ORDER BY updated_at, id"))
				})
				require.Equal(t, reads[:2], reads[2:])
				both(hit, 1, time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC), 1) // far from now
				both(hit, 1, now(), 1)
				both(hit, 1, time.Date(2101, 2, 3, 4, 5, 6, 0, time.UTC), 2)
				both(hit, 1, now(), 2)
			}
			both(hit, 1, time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC), 1)
			both("UPDATE post SET likes = likes + 1, title = 'z', updated_at = ? WHERE id = 1", now())
			_, err := countermysql.Check(t.Context(), tw.Ours)
			require.NoError(t, err)
			require.False(t, tw.InSlots(t, "post_slots", "updated_at"))

			both(hit, 1, now(), 3)
			tw.Learned(t, "post_slots", "updated_at")
			play()
			require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM post_slots"))
			e, err := countermysql.Explain(t.Context(), tw.Ours, hit, 1, now(), 1)
			require.NoError(t, err)
			require.Contains(t, e.String(), "so new that other processes may not know it")

			tw.Settle(t, "updated_at DATETIME(3) NULL DEFAULT NULL", tw.Ours)
			play()
			both(hit, 1, now(), 3)
			require.NotZero(t, harness.Number(t, tw.Direct, "SELECT COUNT(updated_at) FROM post_slots"))

			// another beside it
			both("UPDATE post SET likes = likes + ?, updated_at = ?, last_seen = ? WHERE id = ?", 1, now(), now(), 3)
			tw.Learned(t, "post_slots", "last_seen")
			tw.Settle(t, "last_seen TIMESTAMP NULL DEFAULT NULL", tw.Ours)
			both("UPDATE post SET likes = likes + ?, updated_at = ?, last_seen = ? WHERE id = ?", 1, now(), now(), 3)
			require.NotZero(t, harness.Number(t, tw.Direct, "SELECT COUNT(last_seen) FROM post_slots"))
			harness.RollUp(t, tw.Ours)
			const texts = "SELECT id, likes, CAST(updated_at AS CHAR), CAST(last_seen AS CHAR) FROM post ORDER BY id"
			require.Equal(t, harness.Queried(t.Context(), tw.Plain, texts), harness.Queried(t.Context(), tw.Direct, texts))
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
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
		for _, set := range []string{"u = NOW()", "g = NOW()", "c = NOW()", "d = CURDATE()", "d = NOW()", "f = NOW() + INTERVAL 1 DAY", "f = '2030-01-01'", "f = NULL", "f = NOW(3)", "f = f", "f = NOW(), c = NOW()"} {
			harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes + 1, "+set+" WHERE id = 1 AND k = '2020-01-01'")
		}
		harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes + 1, f = NOW() WHERE id = 1 LIMIT 1")
		_, err := countermysql.Check(t.Context(), tw.Ours)
		require.NoError(t, err)
		require.EqualValues(t, 4, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'post_slots'"))
		require.EqualValues(t, 12, harness.Number(t, tw.Ours, "SELECT likes FROM post"))
	})
}

// TestTouchColumnAsked proves that who makes no slots tables is told, by a line in the log,
// by Check and by Explain, which column keeps increments from slots, and that counterTouch
// and Init mend it for every process.
func TestTouchColumnAsked(t *testing.T) {
	const hit = "UPDATE post SET likes = likes + 1, updated_at = NOW(3), last_seen = CURRENT_TIMESTAMP WHERE id = 1"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, touchedPost, harness.Counters("post", "likes"))
		_, err := countermysql.Init(t.Context(), tw.Ours, nil)
		require.NoError(t, err)
		config := *tw.Config
		config.CreateSlots = false
		var log bytes.Buffer
		config.Logger = slog.New(slog.NewTextHandler(&log, nil))
		asking, _ := harness.OpenOurs(t, tw.OursDSN, &config)
		asking.SetMaxOpenConns(1)
		name := harness.QueriedValue(t, asking, "SELECT DATABASE()") + ".post.updated_at"

		e, err := countermysql.Explain(t.Context(), asking, hit)
		require.NoError(t, err)
		require.EqualValues(t, "verbatim", e.Class)
		require.Contains(t, e.String(), "counterTouch="+name)
		for range 3 {
			harness.Affected(t, asking, hit)
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
		require.False(t, tw.InSlots(t, "post_slots", "updated_at"))

		tool, err := sql.Open("countermysql", tw.OursDSN+"&counters=post.likes&counterRollup=never&counterTouch=post.updated_at,post.last_seen")
		require.NoError(t, err)
		defer tool.Close()
		statements, err := countermysql.Init(t.Context(), tool, nil)
		require.NoError(t, err)
		require.Len(t, statements, 1)
		_, err = countermysql.Check(t.Context(), asking)
		require.NoError(t, err)
		e, err = countermysql.Explain(t.Context(), asking, hit)
		require.NoError(t, err)
		require.EqualValues(t, "increment", e.Class)
		harness.Affected(t, asking, hit)
		require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT COUNT(last_seen) FROM post_slots"))
	})
}

// TestTouchUnknownToOthers proves that no process reads a time without those in slots:
// while some may not know a new touch column, nobody puts any there, not even one that
// begins then.
func TestTouchUnknownToOthers(t *testing.T) {
	const hit = "UPDATE post SET likes = likes + 1, updated_at = ? WHERE id = ?"
	const all = "SELECT id, likes, updated_at FROM post ORDER BY id"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, touchedPost, harness.Counters("post", "likes"))
		older, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
		require.EqualValues(t, 0, harness.Number(t, older, "SELECT likes FROM post WHERE id = 1")) // has read the schema
		count := func(db *sql.DB, id int) {
			t.Helper()
			at := time.Now().UTC()
			harness.Affected(t, tw.Plain, hit, at, id)
			harness.Affected(t, db, hit, at, id)
			for _, reader := range []*sql.DB{tw.Ours, older} {
				require.Equal(t, harness.Queried(t.Context(), tw.Plain, all), harness.Queried(t.Context(), reader, all))
			}
		}
		count(tw.Ours, 1)
		tw.Learned(t, "post_slots", "updated_at")
		_, err := countermysql.Check(t.Context(), tw.Ours)
		require.NoError(t, err)
		count(tw.Ours, 1)
		begins, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
		count(begins, 1)
		count(begins, 2)
		count(older, 1)
		harness.Affected(t, tw.Plain, "UPDATE post SET likes = likes * 2")
		harness.Affected(t, older, "UPDATE post SET likes = likes * 2")
		count(begins, 1)

		tw.Settle(t, "updated_at DATETIME(3) NULL DEFAULT NULL", tw.Ours, older) // begins still waits
		count(tw.Ours, 1)
		require.NotZero(t, harness.Number(t, tw.Direct, "SELECT COUNT(updated_at) FROM post_slots"))
		for i := range 6 {
			count([]*sql.DB{tw.Ours, begins, older}[i%3], 1+i%2)
		}
		drops, err := sql.Open("countermysql", tw.OursDSN+"&counters=post.likes&counterRollup=never")
		require.NoError(t, err)
		defer drops.Close()
		harness.RollUp(t, drops)
		require.Equal(t, harness.Queried(t.Context(), tw.Plain, all), harness.Queried(t.Context(), tw.Direct, all))
	})
}

// TestUpsertBesideTouch proves that upserts which leave a touch column alone are as fast
// as in a table without.
func TestUpsertBesideTouch(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := &countermysql.Config{Tables: []countermysql.TableConfig{{Table: "page", Counters: []string{"hits"}, Touch: []string{"seen"}}}}
		tw := harness.NewTwin(t, srv, "CREATE TABLE page (id INT PRIMARY KEY, hits INT NOT NULL DEFAULT 0, seen DATETIME(3) NULL DEFAULT '2020-01-01');\nINSERT INTO page (id) VALUES (1), (2), (5)", config, "timestamp=1700000000.654321")
		const one, two = "A: INSERT INTO page (id, hits) VALUES (1, 1) ON DUPLICATE KEY UPDATE hits = hits + 1", "A: INSERT INTO page (id, hits) VALUES (2, 1), (1, 1) ON DUPLICATE KEY UPDATE hits = hits + VALUES(hits)"
		const all = "A: SELECT * FROM page ORDER BY id"
		tw.Play(t, one, two)
		require.EqualValues(t, 2, harness.Stats(t, tw.Ours).Increments)
		tw.Play(t, all, "A: UPDATE page SET hits = hits + 1, seen = NOW(3) WHERE id IN (1, 5)", one, two, all,
			strings.ReplaceAll(one, "1,", "3,"), strings.ReplaceAll(two, "2,", "4,"), all,
			"A: begin", "A: UPDATE page SET hits = hits + 1, seen = NOW(3) WHERE id = 3", one, two, strings.ReplaceAll(one, "1,", "3,"), strings.ReplaceAll(one, "1,", "6,"), all, "A: commit", all,
			"A: DELETE FROM page WHERE id = 3", strings.ReplaceAll(one, "1,", "3,"), all,
			"A: UPDATE page SET seen = '2040-01-01' WHERE id = 1", one, two, "A: begin", one, two, all, "A: commit", all,
			"A: DELETE FROM page WHERE id IN (1, 2)", "A: begin", two, "A: commit", all)
	})
}
