package schema

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

const renamedCounter = "CREATE TABLE p (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, views TINYINT UNSIGNED NOT NULL DEFAULT 0, title VARCHAR(9) NOT NULL DEFAULT '');\n" +
	"INSERT INTO p (id) VALUES (1), (2), (3);\nCREATE VIEW v AS SELECT id, views FROM p;\nCREATE PROCEDURE twice() UPDATE p SET views = views * 2"

// renaming is a table of which another client renames the counter likes, while slots hold 10 of it for each of two rows.
type renaming struct{ tw *harness.Twin }

func newRenaming(t *testing.T, srv *testserver.Server) renaming {
	t.Helper()
	r := renaming{harness.NewTwin(t, srv, renamedCounter, harness.Counters("p", "likes", "views"))}
	harness.ExecAll(t, r.tw.Ours, "UPDATE p SET likes = likes + 0 WHERE id = 3")
	for _, db := range []*sql.DB{r.tw.Plain, r.tw.Ours} {
		for id := range 2 {
			for range 2 {
				harness.Affected(t, db, "UPDATE p SET likes = likes + 5, views = views + 3 WHERE id = ?", id+1)
			}
		}
	}
	require.EqualValues(t, 20, harness.Number(t, r.tw.Direct, "SELECT SUM(likes) FROM p_slots"))
	for _, db := range []*sql.DB{r.tw.Plain, r.tw.Direct} {
		harness.ExecAll(t, db, "ALTER TABLE p CHANGE likes hearts INT NOT NULL DEFAULT 0")
	}
	r.tw.LearnAnew(t)
	return r
}

// rollUp rolls up the table, of which a listed column is no more.
func (r renaming) rollUp(t *testing.T) countermysql.RolledUp {
	t.Helper()
	done, err := countermysql.Rollup(t.Context(), r.tw.Ours, &countermysql.RollupOptions{Tables: []string{"p"}})
	require.NoError(t, err)
	return done[0]
}

// same compares with plain once the slots table has the new name too, and so has the list.
func (r renaming) same(t *testing.T) {
	t.Helper()
	require.EqualValues(t, 20, harness.Number(t, r.tw.Direct, "SELECT COALESCE(SUM(likes), 0) FROM p_slots"), "counts are gone")
	harness.ExecAll(t, r.tw.Direct, "ALTER TABLE p_slots CHANGE likes hearts BIGINT NOT NULL DEFAULT 0")
	now, _ := harness.OpenOurs(t, r.tw.OursDSN, harness.Counters("p", "hearts", "views"))
	for range 2 { // in slots, and in base rows
		const all = "SELECT id, hearts, views FROM p ORDER BY id"
		require.Equal(t, harness.Queried(t.Context(), r.tw.Plain, all), harness.Queried(t.Context(), now, all))
		harness.RollUp(t, now)
	}
	require.Zero(t, harness.Number(t, r.tw.Direct, "SELECT COUNT(*) FROM p_slots"))
}

// TestRenamedCounter proves that no way in which slots are folded takes away amounts of a counter that another client
// has renamed: rows keep them until the slots table has the new name too, and are folded for nothing else meanwhile.
func TestRenamedCounter(t *testing.T) {
	ways := map[string][]string{ // one answer each, as plain MySQL gives it
		"rollup":           nil,
		"value":            {"A: UPDATE p SET views = views * 2 WHERE id = 1", "A: UPDATE p SET views = 7 WHERE id IN (1, 2)"},
		"guarded":          {"A: UPDATE p SET views = views - 1 WHERE id = 1 AND views >= 1"},
		"whole table":      {"A: UPDATE p SET views = views * 2"},
		"transaction":      {"A: BEGIN", "A: UPDATE p SET views = views + 1 WHERE id = 1", "A: SELECT views FROM p WHERE id = 1 FOR UPDATE", "A: UPDATE p SET views = views + 1 WHERE id = 1", "A: SELECT views FROM p ORDER BY id", "A: COMMIT"},
		"view and routine": {"A: SELECT * FROM v ORDER BY id", "A: CALL twice()"},
		"upsert":           {"A: INSERT INTO p (id, views) VALUES (1, 3) ON DUPLICATE KEY UPDATE views = views * 2"},
		"driver renames":   {"A: ALTER TABLE p RENAME COLUMN views TO seen", "A: ALTER TABLE p RENAME COLUMN seen TO views"},
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for name, steps := range ways {
			t.Run(name, func(t *testing.T) {
				r := newRenaming(t, srv)
				r.tw.Play(t, steps...)
				r.rollUp(t)
				require.Zero(t, harness.Number(t, r.tw.Direct, "SELECT COALESCE(SUM(views), 0) FROM p_slots"))
				require.Zero(t, r.rollUp(t).Keys, "it folds what holds nothing")
				r.same(t)
			})
		}
		t.Run("beyond the range", func(t *testing.T) { // the row gets a part, of which more remains than one slot's
			r := newRenaming(t, srv)
			harness.ExecAll(t, r.tw.Direct, "UPDATE p_slots SET views = views + 250 WHERE id = 1 LIMIT 1")
			require.NotEmpty(t, r.rollUp(t).Left)
			harness.ExecAll(t, r.tw.Plain, "UPDATE p SET views = 255 WHERE id = 1")
			harness.ExecAll(t, r.tw.Direct, "UPDATE p_slots SET views = 0")
			r.same(t)
		})
		t.Run("background", func(t *testing.T) {
			r := newRenaming(t, srv)
			config := *r.tw.Config
			config.Rollup = time.Second
			busy, _ := harness.OpenOurs(t, r.tw.OursDSN, &config)
			require.NoError(t, busy.Ping())
			require.Eventually(t, func() bool {
				harness.Affected(t, busy, "UPDATE p SET title = 'x' WHERE id = 3")
				return harness.Number(t, r.tw.Direct, "SELECT COALESCE(SUM(views), 0) FROM p_slots") == 0
			}, 20*time.Second, 20*time.Millisecond)
			r.same(t)
		})
		t.Run("row gone", func(t *testing.T) {
			r := newRenaming(t, srv)
			harness.ExecAll(t, r.tw.Direct, "DELETE FROM p WHERE id = 1")
			r.rollUp(t)
			require.EqualValues(t, 1, harness.Number(t, r.tw.Direct, "SELECT COUNT(DISTINCT id) FROM p_slots"))
			harness.Affected(t, r.tw.Ours, "DELETE FROM p WHERE id = 2")
			harness.Affected(t, r.tw.Ours, "INSERT INTO p (id) VALUES (2)")
			require.Zero(t, harness.Number(t, r.tw.Direct, "SELECT COUNT(*) FROM p_slots"))
		})
	})
}

// TestRenamedCounterIsTold proves that check tells of counts that no counter takes, also where the table has no other
// counter, by the old list and by the new one, with what to do; that drop and a new key do not take them away; and that
// all is well once that is done.
func TestRenamedCounterIsTold(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		r := newRenaming(t, srv)
		harness.ExecAll(t, r.tw.Direct, "CREATE TABLE q (id INT PRIMARY KEY, hearts INT NOT NULL DEFAULT 0);\nCREATE TABLE q_slots (id INT NOT NULL, slot SMALLINT UNSIGNED NOT NULL, likes BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (id, slot)) STATS_PERSISTENT=0;\n"+
			"INSERT INTO q (id) VALUES (1);\nINSERT INTO q_slots VALUES (1, 1, 20)")
		told := func(counter string) (told []string) {
			config := *r.tw.Config
			config.CreateSlots, config.Tables = false, append(harness.Counters("p", counter, "views").Tables, harness.Counters("q", counter).Tables...)
			db, _ := harness.OpenOurs(t, r.tw.OursDSN, &config)
			findings, err := countermysql.Check(t.Context(), db)
			require.NoError(t, err)
			for _, f := range findings {
				if strings.Contains(f.Problem, "column likes of its slots table") {
					require.Equal(t, countermysql.Failure, f.Severity)
					told = append(told, f.Remedy)
				}
			}
			return told
		}
		for _, counter := range []string{"likes", "hearts"} {
			remedies := told(counter)
			require.Len(t, remedies, 2)
			for i, table := range []string{"p", "q"} {
				require.Contains(t, remedies[i], "`"+table+"_slots` CHANGE `likes`")
			}
		}
		_, err := r.tw.Ours.Exec("ALTER TABLE p DROP PRIMARY KEY, ADD PRIMARY KEY (title, id)")
		require.ErrorContains(t, err, "CHANGE `likes`")
		drop := &countermysql.DropOptions{Tables: []string{"p"}, Notice: time.Millisecond}
		_, err = countermysql.Drop(t.Context(), r.tw.Ours, drop)
		require.ErrorContains(t, err, "CHANGE `likes`")
		harness.ExecAll(t, r.tw.Direct, "ALTER TABLE p_slots CHANGE likes hearts BIGINT NOT NULL DEFAULT 0;\nALTER TABLE q_slots CHANGE likes hearts BIGINT NOT NULL DEFAULT 0")
		require.Empty(t, told("hearts"))
		now, _ := harness.OpenOurs(t, r.tw.OursDSN, harness.Counters("p", "hearts", "views"))
		_, err = countermysql.Drop(t.Context(), now, drop)
		require.NoError(t, err)
		const all = "SELECT id, hearts, views FROM p ORDER BY id"
		require.Equal(t, harness.Queried(t.Context(), r.tw.Plain, all), harness.Queried(t.Context(), r.tw.Direct, all))
	})
}
