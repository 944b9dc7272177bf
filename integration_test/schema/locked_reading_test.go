package schema

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestGoesOnBesideLocked proves that a transaction is not at a standstill with DDL of another client,
// which waits for it and has locked a table that the reading of the schema waits for, while the
// process can't do without that reading, as it has run DDL itself, or may have.
func TestGoesOnBesideLocked(t *testing.T) {
	t.Parallel()
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, changes := range []string{"EXECUTE p", "DROP TABLE other", "ALTER TABLE other ADD COLUMN more INT NULL"} {
			t.Run(changes, func(t *testing.T) {
				config := harness.Counters("post", "likes")
				config.Tables = append(config.Tables, harness.Counters("other", "likes").Tables[0], harness.Counters("kept", "likes").Tables[0])
				tw := harness.NewTwin(t, srv, harness.Hammered+";\nCREATE TABLE other LIKE post;\nCREATE TABLE kept LIKE post;\nCREATE TABLE note (id INT PRIMARY KEY)", config)
				other := harness.Session(t, tw.Ours)
				harness.Affected(t, other, "PREPARE p FROM 'INSERT INTO note VALUES (1)'")
				tx, err := tw.Ours.BeginTx(t.Context(), nil)
				require.NoError(t, err)
				harness.Affected(t, tx, "UPDATE post SET likes = GREATEST(likes, 5) WHERE id = 1")
				renamed := harness.Later(t, tw.Direct, "RENAME TABLE kept TO kept2, post TO post2")
				require.Eventually(t, func() bool { return tw.Waits(t) }, 10*time.Second, 5*time.Millisecond)
				began := time.Now()
				changed := harness.Later(t, other, changes)
				time.Sleep(100 * time.Millisecond) // it waits for the reading, or is done
				harness.Affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id IN (1, 2)")
				require.EqualValues(t, 6, harness.Number(t, tx, "SELECT likes FROM post WHERE id = 1"))
				require.NoError(t, tx.Commit())
				require.Less(t, time.Since(began), 20*time.Second)
				require.Equal(t, "affected 0", harness.Soon(t, renamed))
				require.Contains(t, harness.Soon(t, changed), "affected")
				harness.Affected(t, tw.Direct, "RENAME TABLE post2 TO post")
				require.EqualValues(t, 7, harness.Number(t, tw.Ours, "SELECT SUM(likes) FROM post"))
			})
		}
	})
}

// TestAppearingBesideDDL proves that a transaction which has met a listed table that has just been
// made is not at a standstill with DDL of another client, which waits for it and which the reading
// of the schema waits for, also where the process has run DDL itself and can't do without that
// reading: the statement fails with 1205.
func TestAppearingBesideDDL(t *testing.T) {
	t.Parallel()
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		a := lateTable()
		a.schema += ";\nCREATE TABLE other (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0);\nCREATE TABLE kept LIKE other"
		a.config = harness.Counters("late", "n")
		a.config.Tables = append(a.config.Tables, harness.Counters("other", "n").Tables[0], harness.Counters("kept", "n").Tables[0])
		for _, steps := range []string{"UPDATE late SET n = n + 1 WHERE id = 1", "UPDATE late SET n = 100 WHERE id = 1", "SELECT n FROM late WHERE id = 1", "UPDATE late SET title = 'x' WHERE id = 1"} {
			t.Run(steps, func(t *testing.T) {
				tw := harness.NewTwin(t, srv, a.schema, a.config)
				config, sent := *tw.Config, harness.NewRecorder()
				config.Interceptor = sent
				second, _ := harness.OpenOurs(t, tw.OursDSN, &config)
				drops := harness.Session(t, second)
				for _, stmt := range a.made[:2] {
					harness.Affected(t, tw.Direct, stmt)
				}
				var met, altering atomic.Bool
				var altered, dropped <-chan string
				sent.Meddle(t, func(query string) error {
					if met.Load() && altering.CompareAndSwap(false, true) {
						altered = harness.Later(t, tw.Direct, "RENAME TABLE kept TO kept2, late TO later")
						require.Eventually(t, func() bool { return tw.Waits(t) }, 10*time.Second, 5*time.Millisecond)
						dropped = harness.Later(t, drops, "DROP TABLE other")
						require.Eventually(t, func() bool { return len(dropped) > 0 }, 5*time.Second, time.Millisecond)
					}
					if strings.Contains(query, "late") && !strings.Contains(query, "SCHEMA") {
						met.Store(true)
					}
					return nil
				})
				began := time.Now()
				answers := harness.PlayOn(t, second, []string{"A: begin", "A: " + steps, "A: rollback"})
				require.Less(t, time.Since(began), 10*time.Second)
				require.Contains(t, answers[1], "error 1205")
				require.Equal(t, "affected 0", harness.Soon(t, altered))
			})
		}
	})
}
