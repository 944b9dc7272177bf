package schema

import (
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestDifferentLists proves that processes which list different counters of one
// table, as during a deploy, lose nothing of each other.
func TestDifferentLists(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, views INT NOT NULL DEFAULT 0, n INT NOT NULL DEFAULT 0, seen DATETIME NULL);
INSERT INTO post (id) VALUES (1), (2)`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		all := countermysql.TableConfig{Table: "post", Counters: []string{"likes", "views"}, Touch: []string{"seen"}}
		tw := harness.NewTwin(t, srv, schema, &countermysql.Config{Tables: []countermysql.TableConfig{all}})
		config := *tw.Config
		config.Tables = []countermysql.TableConfig{{Table: "post", Counters: []string{"likes"}}}
		older, _ := harness.OpenOurs(t, tw.OursDSN, &config)
		for _, stmt := range []string{"UPDATE post SET likes = GREATEST(likes, 0) WHERE id = 1", "UPDATE post SET views = views * 2 WHERE id = 1", "rollup", "SELECT likes, views FROM post WHERE id = 1 FOR UPDATE", "DELETE FROM post WHERE id = 2"} {
			harness.Affected(t, tw.Plain, "UPDATE post SET likes = likes + 3, views = views + 5, seen = NOW() WHERE id = 1")
			harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes + 3, views = views + 5, seen = NOW() WHERE id = 1")
			if stmt == "rollup" {
				harness.RollUp(t, older)
			} else {
				want := harness.Queried(t.Context(), tw.Plain, stmt)
				require.Equal(t, want, harness.Queried(t.Context(), older, stmt), stmt)
			}
			const values = "SELECT id, likes, views, n, seen IS NULL FROM post ORDER BY id"
			want := harness.Queried(t.Context(), tw.Plain, values)
			require.Equal(t, want, harness.Queried(t.Context(), older, values), stmt)
			require.Equal(t, want, harness.Queried(t.Context(), tw.Ours, values), stmt)
		}
	})
}

// TestListChangesMeanwhile proves that a process loses nothing of a counter that
// another process has listed since it learned the schema, whatever takes the slots
// away: its next statement, in a transaction or not, or its rollup.
func TestListChangesMeanwhile(t *testing.T) {
	const schema = "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, views INT NOT NULL DEFAULT 0);\nINSERT INTO post (id) VALUES (1), (2), (3)"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for name, steps := range map[string][]string{
			"exact":   {"A: UPDATE post SET likes = likes * 2 WHERE id = 1", "A: UPDATE post SET likes = 0 WHERE id = 2"},
			"delete":  {"A: DELETE FROM post WHERE id = 1"},
			"upsert":  {"A: INSERT INTO post (id) VALUES (1) ON DUPLICATE KEY UPDATE likes = likes * 2"},
			"lock":    {"A: begin", "A: SELECT likes FROM post WHERE id = 1 FOR UPDATE", "A: UPDATE post SET likes = likes * 2 - 1 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1", "A: commit"},
			"own":     {"A: begin", "A: UPDATE post SET likes = likes + 1 WHERE id IN (1, 2)", "A: SELECT likes, views FROM post ORDER BY id", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: commit"},
			"old, RC": {"A: begin RC", "A: UPDATE post SET likes = likes * 2", "A: SELECT likes, views FROM post ORDER BY id", "A: commit"},
			"several": {"A: UPDATE post SET likes = likes + 1 WHERE id = 2; UPDATE post SET likes = likes * 2 WHERE id = 1; UPDATE post SET likes = likes + 1 WHERE id = 2"},
			"rollup":  nil,
		} {
			t.Run(name, func(t *testing.T) {
				tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"), "multiStatements=true")
				config := *tw.Config
				config.Tables = []countermysql.TableConfig{{Table: "post", Counters: []string{"likes", "views"}}}
				newer, _ := harness.OpenOurs(t, tw.OursDSN, &config)
				for _, stmt := range []string{"UPDATE post SET likes = likes + 3, views = views + 5 WHERE id = 1", "UPDATE post SET views = views + 7 WHERE id IN (1, 2)"} {
					harness.Affected(t, tw.Plain, stmt)
					harness.Affected(t, newer, stmt)
				}
				tw.Play(t, steps...)
				if steps == nil {
					require.EqualValues(t, 2, harness.RollUp(t, tw.Ours)["post"].Keys)
				}
				const values = "SELECT id, likes, views FROM post ORDER BY id"
				want := harness.Queried(t.Context(), tw.Plain, values)
				require.Equal(t, want, harness.Queried(t.Context(), newer, values))
				require.Equal(t, want, harness.Queried(t.Context(), tw.Ours, values))
			})
		}
	})
}

// TestDeploy proves that processes which begin at the same time with a new list of
// counters do not keep each other from making the slots tables that they need.
func TestDeploy(t *testing.T) {
	const schema = "CREATE TABLE post (id INT PRIMARY KEY, a INT NOT NULL, b INT NOT NULL, c INT NOT NULL, d INT NOT NULL);\nINSERT INTO post VALUES (1, 0, 0, 0, 0)"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "a"))
		cfg, err := mysql.ParseDSN(tw.OursDSN)
		require.NoError(t, err)
		lists := [][]string{{"a", "b"}, {"a", "b", "c"}, {"d", "b"}, {"c", "d"}}
		errs := make([]error, 3*len(lists))
		var wg sync.WaitGroup
		for i := range errs {
			list := lists[i%len(lists)]
			config := *tw.Config
			config.Tables = []countermysql.TableConfig{{Table: "post", Counters: list}}
			wg.Go(func() {
				connector, err := countermysql.NewConnector(cfg, &config)
				if err != nil {
					errs[i] = err
					return
				}
				db := sql.OpenDB(connector)
				_, errs[i] = db.Exec("UPDATE post SET " + list[0] + " = " + list[0] + " + 1, " + list[1] + " = " + list[1] + " + 1 WHERE id = 1")
				errs[i] = errors.Join(errs[i], db.Close())
			})
		}
		wg.Wait()
		require.NoError(t, errors.Join(errs...))
		_, err = countermysql.Check(t.Context(), tw.Ours) // notices it
		require.NoError(t, err)
		require.Equal(t, "a INT, b INT, c INT, d INT, [6 9 3 6]", harness.Queried(t.Context(), tw.Ours, "SELECT a, b, c, d FROM post"))
	})
}

// TestSlotsOfOldKey proves that a slots table which no longer fits is not dropped
// with an increment that another process puts there at the last moment.
func TestSlotsOfOldKey(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, way := range []string{"by itself", "init"} {
			t.Run(way, func(t *testing.T) {
				tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, no INT NOT NULL UNIQUE, likes INT NOT NULL);\nINSERT INTO post VALUES (1, 7, 0)", harness.Counters("post", "likes"), "lock_wait_timeout=1")
				harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes + 1 WHERE id = 1")
				harness.RollUp(t, tw.Ours)
				harness.Affected(t, tw.Direct, "ALTER TABLE post DROP PRIMARY KEY, ADD PRIMARY KEY (no)")
				config := *tw.Config
				config.CreateSlots = way == "by itself"
				sent := harness.NewRecorder()
				config.Interceptor = sent
				var late error
				dropped := false
				sent.Meddle(t, func(query string) error {
					if strings.HasPrefix(query, "DROP TABLE") {
						dropped = true
						_, late = tw.Ours.ExecContext(t.Context(), "UPDATE post SET likes = likes + 1 WHERE id = 1")
					}
					return nil
				})
				newer, _ := harness.OpenOurs(t, tw.OursDSN, &config)
				if !config.CreateSlots {
					_, err := countermysql.Init(t.Context(), newer, nil)
					require.NoError(t, err)
				}
				require.True(t, dropped)
				require.Equal(t, 1205, harness.ErrorNumber(late))
				require.EqualValues(t, 1, harness.Affected(t, newer, "UPDATE post SET likes = likes + 1 WHERE id = 1"))
				require.EqualValues(t, 2, harness.Number(t, newer, "SELECT likes FROM post"))
			})
		}
	})
}
