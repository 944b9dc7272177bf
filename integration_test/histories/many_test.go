package histories

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestMany proves that of ten thousand increments, more than porcupine can
// judge, not a single one is lost or counted twice: alone, several in a statement, and
// in transactions, with rollups beside.
func TestMany(t *testing.T) {
	each(t, func(t *testing.T, srv *testserver.Server, _ int) {
		db := newCounters(t, srv, "interpolateParams=true", "innodb_lock_wait_timeout=20")
		var want [counters]atomic.Int64
		stop := beside(func() { _, _ = countermysql.Rollup(t.Context(), db, nil) })
		var wg sync.WaitGroup
		var failed atomic.Pointer[error]
		for range 32 {
			wg.Go(func() {
				for range 400 {
					a, d := rand.IntN(counters), int64(1+rand.IntN(5))*int64(1-2*rand.IntN(2))
					b := (a + 1) % counters
					var err error
					switch rand.IntN(8) {
					case 0:
						if _, err = db.Exec("UPDATE counter SET n = n + ? WHERE id IN (?, ?)", d, a, b); err == nil {
							want[b].Add(d)
						}
					case 1:
						_, err = inTransaction(t.Context(), db, func(tx *sql.Tx) (output, error) {
							if _, err := exec(t.Context(), tx, "UPDATE counter SET n = n + ? WHERE id = ?", d, b); err != nil {
								return output{}, err
							}
							return exec(t.Context(), tx, "UPDATE counter SET n = n + ? WHERE slug = ?", d, fmt.Sprint("s", a))
						})
						if err == nil {
							want[b].Add(d)
						}
					default:
						_, err = db.Exec("UPDATE counter SET n = n + ? WHERE id = ?", d, a)
					}
					if err != nil {
						failed.CompareAndSwap(nil, &err)
						return
					}
					want[a].Add(d)
				}
			})
		}
		wg.Wait()
		stop()
		if err := failed.Load(); err != nil {
			require.NoError(t, *err)
		}
		for id := range counters {
			var n int64
			require.NoError(t, db.QueryRow("SELECT n FROM counter WHERE id = ?", id).Scan(&n))
			require.Equal(t, want[id].Load(), n, "counter %d", id)
		}
	})
}
