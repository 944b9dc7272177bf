package groups

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestCommitWithIncrements proves that nothing is committed without its increments, and that a row which
// got another key is still found; also with multiStatements.
func TestCommitWithIncrements(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		begin := func(t *testing.T, tw *harness.Twin) (tx interface {
			harness.Execer
			Commit() error
		}) {
			x, err := harness.Session(t, tw.Ours).BeginTx(t.Context(), nil)
			require.NoError(t, err)
			harness.Affected(t, x, "INSERT INTO note VALUES (1, 'x')")
			return x
		}
		for _, mode := range []string{"sql_mode=DEFAULT", "sql_mode=%27%27"} { // not even without a strict one is it sent for a row that is gone
			t.Run("moved, "+mode, func(t *testing.T) {
				tw := harness.NewBlog(t, srv, harness.BlogCounters(), "multiStatements=true", mode)
				tx := begin(t, tw)
				harness.Affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE slug = 'a'")
				harness.Affected(t, tw.Ours, "UPDATE post SET id = 77 WHERE slug = 'a'")
				was := harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE slug = 'a'")
				require.NoError(t, tx.Commit())
				require.Equal(t, was+1, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE slug = 'a'"))
			})
			t.Run("gone, "+mode, func(t *testing.T) {
				tw := harness.NewTwin(t, srv, "CREATE TABLE note (id INT AUTO_INCREMENT PRIMARY KEY);\nCREATE TABLE tag (name VARCHAR(10) COLLATE utf8mb4_general_ci, lang INT, n INT NULL, at DATETIME(3), PRIMARY KEY (name, lang));\n"+
					"INSERT INTO tag VALUES ('A', 1, 1, '2026-01-01'), ('b', 1, 2, NULL), ('c', 2, 3, NULL);",
					&countermysql.Config{Tables: []countermysql.TableConfig{{Table: "tag", Counters: []string{"n"}, Touch: []string{"at"}}}}, "multiStatements=true", mode)
				note := "A: INSERT INTO note VALUES ()"
				answers := harness.PlayOn(t, tw.Ours, []string{
					"A: begin", note, "A: UPDATE tag SET n = n + 5, at = NOW(3) WHERE name = 'a' AND lang = 1", "A: commit",
					"A: begin", note, "A: UPDATE tag SET n = n + 5 WHERE name = 'b' AND lang = 1", "B: DELETE FROM tag WHERE name = 'b'", "A: commit",
					"A: begin", note, "A: UPDATE tag SET n = n + 5 WHERE name = 'c' AND lang = 2", "B: UPDATE tag SET n = NULL WHERE name = 'c'", "A: commit",
					"A: SELECT COUNT(*) FROM note", "A: SELECT name, lang, n FROM tag ORDER BY name"})
				require.Equal(t, []string{"A: SELECT COUNT(*) FROM note → COUNT(*) BIGINT, [3]",
					"A: SELECT name, lang, n FROM tag ORDER BY name → name VARCHAR, lang INT, n INT, [A 1 6][c 2 <nil>]"}, answers[len(answers)-2:])
				require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM tag_slots WHERE name <> 'a'"))
				require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM tag_slots"))
			})
		}
		t.Run("refused", func(t *testing.T) {
			tw := harness.NewBlog(t, srv, harness.BlogCounters(), "multiStatements=true", "innodb_lock_wait_timeout=1")
			holder, err := tw.Direct.Begin()
			require.NoError(t, err)
			defer holder.Rollback()
			harness.Number(t, holder, "SELECT likes FROM post WHERE id = 2 FOR UPDATE")
			tx := begin(t, tw)
			harness.Affected(t, tx, "UPDATE post SET likes = likes + 100 WHERE id IN (1, 2)")
			require.Equal(t, 1205, harness.ErrorNumber(tx.Commit()))
			require.NoError(t, holder.Rollback())
			require.EqualValues(t, 19, harness.Number(t, tw.Ours, "SELECT SUM(likes) FROM post WHERE id < 3"))
			require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM note"))
		})
	})
}

// TestDeadlockOfSending proves that a transaction whose increments meet a deadlock
// at COMMIT fails with it, and that none of it is counted.
func TestDeadlockOfSending(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"multiStatements=false", "multiStatements=true"} {
			t.Run(params, func(t *testing.T) {
				tw := harness.NewBlog(t, srv, harness.BlogCounters(), params)
				tx, err := harness.Session(t, tw.Ours).BeginTx(t.Context(), nil)
				require.NoError(t, err)
				harness.Affected(t, tx, "UPDATE post SET likes = likes + 100 WHERE id = 1")
				harness.Number(t, tx, "SELECT likes FROM post WHERE id = 1") // row 1 is locked now
				harness.Affected(t, tx, "UPDATE post SET likes = likes + 100 WHERE id = 2")

				other, err := tw.Direct.BeginTx(t.Context(), nil)
				require.NoError(t, err)
				for id := range 50 { // so much that ours is the victim
					harness.Affected(t, other, fmt.Sprintf("INSERT INTO note VALUES (%d, '')", 100+id))
				}
				harness.Number(t, other, "SELECT likes FROM post WHERE id = 2 FOR UPDATE")
				waits := make(chan error, 1)
				go func() {
					_, err := other.ExecContext(context.WithoutCancel(t.Context()), "UPDATE post SET title = 'x' WHERE id = 1")
					waits <- err
				}()
				time.Sleep(100 * time.Millisecond)
				require.Equal(t, 1213, harness.ErrorNumber(tx.Commit()))
				require.NoError(t, <-waits)
				require.NoError(t, other.Commit())
				require.EqualValues(t, 19, harness.Number(t, tw.Ours, "SELECT SUM(likes) FROM post WHERE id < 3"))
			})
		}
	})
}

// TestFullSlot proves that a counter whose value fits gets its increment even if
// the slot it would go to can't hold it.
func TestFullSlot(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := harness.Counters("big", "n")
		config.Slots = 1
		const step = "UPDATE big SET n = n + 9000000000000000000 WHERE id = 1"
		for name, steps := range map[string][]string{
			"autocommit":  {"A: " + step},
			"alone":       {"A: BeginTx", "A: " + step, "A: Commit"},
			"transaction": {"A: BEGIN", "A: INSERT INTO note VALUES (1)", "A: " + step, "A: COMMIT"},
		} {
			t.Run(name, func(t *testing.T) {
				tw := harness.NewTwin(t, srv, "CREATE TABLE big (id INT PRIMARY KEY, n BIGINT NOT NULL);\nINSERT INTO big VALUES (1, -9000000000000000000);\nCREATE TABLE note (id INT PRIMARY KEY)", config)
				tw.Play(t, "A: "+step)
				if name == "alone" {
					for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
						tx, err := db.BeginTx(t.Context(), nil)
						require.NoError(t, err)
						require.EqualValues(t, 1, harness.Affected(t, tx, step))
						require.NoError(t, tx.Commit())
					}
				} else {
					tw.Play(t, steps...)
				}
				require.Equal(t, "n BIGINT, [9000000000000000000]", tw.Same(t, "SELECT n FROM big"))
			})
		}
	})
}

// TestConditionUnderLock proves that an increment of several rows looks at its
// condition again under the rows' locks.
func TestConditionUnderLock(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_lock_wait_timeout=10")
		holder, err := tw.Direct.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		harness.Affected(t, holder, "UPDATE post SET title = 'shut' WHERE id = 1")
		answer := make(chan int64, 1)
		go func() {
			res, err := tw.Ours.ExecContext(context.WithoutCancel(t.Context()), "UPDATE post SET likes = likes + 1 WHERE id IN (1, 2) AND COALESCE(title, '') <> 'shut'")
			if err != nil {
				answer <- -1
				return
			}
			n, _ := res.RowsAffected()
			answer <- n
		}()
		time.Sleep(200 * time.Millisecond) // it has looked the rows up, and waits for row 1
		require.NoError(t, holder.Commit())
		require.EqualValues(t, 1, <-answer)
		require.EqualValues(t, 10, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"))
	})
}
