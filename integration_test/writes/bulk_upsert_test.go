package writes

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// upsertOf is an upsert of many rows, each with its own amount.
func upsertOf(ids []string) string {
	rows := make([]string, len(ids))
	for i, id := range ids {
		rows[i] = fmt.Sprintf("(%s, %d)", id, i%7+1)
	}
	return "INSERT INTO page (id, hits) VALUES " + strings.Join(rows, ", ") + " ON DUPLICATE KEY UPDATE hits = hits + VALUES(hits)"
}

// TestBulkUpsert proves that an upsert of hundreds of counters goes to slots in two
// round trips, and answers as on plain MySQL whichever rows and keys it names.
func TestBulkUpsert(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for key, format := range map[string]string{"INT": "%d", "VARCHAR(20)": "'page%d'", "DATE": "DATE'2026-01-01' + INTERVAL %d DAY"} {
			t.Run(key, func(t *testing.T) {
				tw := harness.NewTwin(t, srv, "CREATE TABLE page (id "+key+" PRIMARY KEY, hits INT NULL)", harness.Counters("page", "hits"))
				ids := harness.Numbered(format, 400)
				tw.Play(t, "A: INSERT INTO page (id, hits) VALUES ("+strings.Join(ids[:399], ", 1), (")+", 1)")
				const stored = "SELECT SUM(hits) FROM page"
				var before, after int
				require.NoError(t, tw.Direct.QueryRow(stored).Scan(&before))
				for _, n := range []int{2, 9, 300} {
					texts := tw.Sent.During(func() {
						_, err := tw.Ours.ExecContext(t.Context(), upsertOf(ids[:n]))
						require.NoError(t, err)
					})
					_, err := tw.Plain.ExecContext(t.Context(), upsertOf(ids[:n]))
					require.NoError(t, err)
					if key != "DATE" {
						require.Len(t, texts, 2, "%d rows", n)
					}
				}
				require.NoError(t, tw.Direct.QueryRow(stored).Scan(&after))
				if key != "DATE" {
					require.Equal(t, before, after, "it went to base rows")
				}
				tw.Play(t,
					"A: "+upsertOf(ids[:20]), "A: "+upsertOf(ids[380:]), // one is new
					"A: "+upsertOf(append(ids[:15:15], ids[:15]...)),
					"A: UPDATE page SET hits = NULL WHERE id = "+ids[3], "A: "+upsertOf(ids[:20]), "A: SELECT * FROM page ORDER BY id",
					"A: begin", "A: "+upsertOf(ids[10:200]), "A: SELECT * FROM page ORDER BY id", "A: SAVEPOINT s", "A: "+upsertOf(ids[10:200]),
					"A: DELETE FROM page WHERE id = "+ids[11], "A: "+upsertOf(ids[10:30]), "A: ROLLBACK TO s", "A: "+upsertOf(ids[10:30]), "A: commit",
					"A: SELECT * FROM page ORDER BY id")
				if key != "INT" {
					tw.Play(t, "A: INSERT INTO page (id, hits) VALUES "+strings.ToUpper("("+strings.Join(ids[20:40], ", 1), (")+", 1)")+" ON DUPLICATE KEY UPDATE hits = hits + 1", "A: SELECT * FROM page ORDER BY id")
				}
			})
		}
	})
}

// TestBulkUpsertsTogether proves that such upserts, in any order and beside other
// increments, neither deadlock nor lose.
func TestBulkUpsertsTogether(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE page (id INT PRIMARY KEY, hits INT NOT NULL)", harness.Counters("page", "hits"))
		all := harness.Numbered("%d", 100)
		harness.ExecAll(t, tw.Direct, "INSERT INTO page VALUES ("+strings.Join(all, ", 0), (")+", 0)")
		var wg sync.WaitGroup
		failed := make(chan error, 8)
		for client := range cap(failed) {
			wg.Go(func() {
				for range 10 {
					ids := make([]string, 50)
					for i, at := range rand.Perm(len(all))[:len(ids)] {
						ids[i] = all[at]
					}
					run := tw.Ours.ExecContext
					end := func() error { return nil }
					if client%2 == 0 {
						tx, err := tw.Ours.BeginTx(t.Context(), nil)
						if err != nil {
							failed <- err
							return
						}
						defer tx.Rollback()
						run, end = tx.ExecContext, tx.Commit
					}
					if _, err := run(t.Context(), strings.ReplaceAll(upsertOf(ids), "VALUES(hits)", "1")); err != nil {
						failed <- err
						return
					}
					if err := end(); err != nil {
						failed <- err
						return
					}
				}
			})
		}
		wg.Wait()
		close(failed)
		require.NoError(t, <-failed)
		var sum int
		require.NoError(t, tw.Ours.QueryRow("SELECT SUM(hits) FROM page").Scan(&sum))
		require.Equal(t, 8*10*50, sum)
	})
}
