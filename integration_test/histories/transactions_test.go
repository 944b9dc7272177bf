package histories

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestTransactions proves what the isolation levels of plain MySQL promise.
// Writers move amounts between two columns and between rows, or add to both
// columns alike, in one transaction: n - twin of a row and the balance of all
// rows are the same in every committed state. Under READ COMMITTED each read
// sees such a state; under REPEATABLE READ a transaction sees one and the same
// all along; and in the end nothing is lost.
func TestTransactions(t *testing.T) {
	each(t, func(t *testing.T, srv *testserver.Server, round int) {
		db := newCounters(t, srv, "interpolateParams=true", "innodb_lock_wait_timeout=20")
		var mu sync.Mutex
		var wrong []string
		complain := func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
		var added int64
		rowsOf := func(tx *sql.Tx) (all [][2]int64, err error) {
			rows, err := tx.Query("SELECT n, twin FROM counter ORDER BY id")
			if err != nil {
				return nil, err
			}
			defer rows.Close()
			for rows.Next() {
				var v [2]int64
				if err := rows.Scan(&v[0], &v[1]); err != nil {
					return nil, err
				}
				all = append(all, v)
			}
			return all, rows.Err()
		}
		ctx, cancel := context.WithCancel(t.Context())
		var readers sync.WaitGroup
		for r := range 4 {
			level := []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead}[r%2]
			readers.Go(func() {
				var last int64
				for ctx.Err() == nil {
					tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: level})
					if err != nil {
						complain("begin: %v", err)
						return
					}
					var first [][2]int64
					for k := range 3 {
						all, err := rowsOf(tx)
						if err != nil {
							complain("read: %v", err)
							break
						}
						var sum int64
						for id, v := range all {
							if v[0] != v[1] {
								complain("%s: counter %d is %d, its twin %d: no committed state", level, id, v[0], v[1])
							}
							sum += v[0]
						}
						if sum < last {
							complain("%s: the sum was %d, and is %d", level, last, sum)
						}
						last = sum
						if k == 0 {
							first = all
						} else if level == sql.LevelRepeatableRead && !slices.Equal(first, all) {
							complain("the snapshot was %v, and is %v", first, all)
						}
					}
					_ = tx.Rollback()
				}
			})
		}
		stop := beside(func() { _, _ = countermysql.Rollup(ctx, db, nil) })
		var writers sync.WaitGroup
		for range 8 {
			writers.Go(func() {
				for range 40 {
					tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead}[rand.IntN(2)]})
					if err != nil {
						complain("begin: %v", err)
						return
					}
					a, b, d := rand.IntN(counters), rand.IntN(counters), int64(1+rand.IntN(5))
					texts := [][]string{
						{fmt.Sprintf("UPDATE counter SET n = n + %d, twin = twin + %d WHERE id = %d", d, d, a)},
						{fmt.Sprintf("UPDATE counter SET n = n + %d WHERE id = %d", d, a), fmt.Sprintf("UPDATE counter SET twin = twin + %d WHERE slug = 's%d'", d, a)},
						{fmt.Sprintf("UPDATE counter SET n = n + %d, twin = twin + %d WHERE id = %d", d, d, a), fmt.Sprintf("UPDATE counter SET n = n - %d, twin = twin - %d WHERE id = %d", d, d, b), fmt.Sprintf("UPDATE counter SET n = n + %d, twin = twin + %d WHERE id = %d", d, d, b)},
						{fmt.Sprintf("UPDATE counter SET n = GREATEST(n + %d, -1000000), twin = GREATEST(twin + %d, -1000000) WHERE id = %d", d, d, a)},
						{fmt.Sprintf("UPDATE counter SET title = 't' WHERE id = %d", b), fmt.Sprintf("UPDATE counter SET n = n + %d, twin = twin + %d WHERE id = %d", d, d, a)},
						{fmt.Sprintf("UPDATE counter SET n = n + %d, twin = twin + %d WHERE id = %d", d, d, a), "SAVEPOINT s", fmt.Sprintf("UPDATE counter SET n = n + 50 WHERE id IN (%d, %d)", a, b), fmt.Sprintf("UPDATE counter SET twin = GREATEST(twin + 50, 0) WHERE id = %d", b), "ROLLBACK TO s"},
						{"SELECT * FROM counter", fmt.Sprintf("UPDATE counter SET n = n + %d, twin = twin + %d WHERE id = %d", d, d, a), fmt.Sprintf("SELECT n - twin FROM counter WHERE id = %d", a)},
					}[rand.IntN(7)]
					for _, text := range texts {
						if own, isOwn := strings.CutPrefix(text, "SELECT n - twin"); isOwn {
							var difference int64
							if err = tx.QueryRow("SELECT n - twin" + own).Scan(&difference); err == nil && difference != 0 {
								complain("of its own, a transaction sees a difference of %d", difference)
							}
						} else if strings.HasPrefix(text, "SELECT") {
							_, err = rowsOf(tx)
						} else {
							_, err = tx.Exec(text)
						}
						if err != nil {
							break
						}
					}
					if err == nil && rand.IntN(6) > 0 {
						err = tx.Commit()
					} else {
						_ = tx.Rollback()
						d = 0
					}
					var e *mysql.MySQLError
					switch {
					case err == nil:
						mu.Lock()
						added += d
						mu.Unlock()
					case !errors.As(err, &e) || e.Number != 1213 && e.Number != 1020:
						complain("write: %v", err)
					}
				}
			})
		}
		writers.Wait()
		cancel()
		readers.Wait()
		stop()
		require.Empty(t, wrong)
		var n, twin int64
		require.NoError(t, db.QueryRow("SELECT SUM(n), SUM(twin) FROM counter").Scan(&n, &twin))
		require.Equal(t, [2]int64{added, added}, [2]int64{n, twin})
		require.NotZero(t, added)
	})
}
