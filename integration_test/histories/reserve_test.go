package histories

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestReserve proves that a row whose stock transactions take from reserved rows, in several
// processes, answers as if one came after the other, beside statements that need its value, add
// to it and read it: nobody gets what is not there, and nobody is refused while there was enough
// for him all the time.
func TestReserve(t *testing.T) {
	var taken atomic.Int64
	rounds := func(t *testing.T, srv *testserver.Server, round int) {
		name, plain := newDatabase(t, srv, "INT", numbered)
		_, err := plain.Exec("ALTER TABLE counter MODIFY n BIGINT UNSIGNED NOT NULL DEFAULT 0, MODIFY twin BIGINT UNSIGNED NOT NULL DEFAULT 0")
		require.NoError(t, err)
		var dbs []*sql.DB
		for range 2 {
			db, err := openReserving(srv, name, 3, []string{"interpolateParams=true", "interpolateParams=false"}[round%2], "innodb_lock_wait_timeout=20")
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			dbs = append(dbs, db)
		}
		h := &history{begun: time.Now()}
		for _, r := range numbered[:2] { // enough for the rows to be filled
			h.record(99, input{kind: increment, counter: r.counter, amount: 60}, func() (output, error) {
				return exec(t.Context(), dbs[0], "UPDATE counter SET n = n + ? WHERE id = ?", 60, r.key)
			})
		}
		var wg sync.WaitGroup
		for client := range 10 {
			wg.Go(func() {
				for range 40 {
					order(t.Context(), h, client, dbs[client%2], numbered[rand.IntN(10)/9])
				}
			})
		}
		wg.Wait()
		require.NoError(t, h.readAll(dbs[1], numbered[:2]))
		h.check(t)
		require.Less(t, h.refused, 20, "of 400: who needs the value deadlocks with who takes") // a few at the end of the stock do
		for _, db := range dbs {
			stats, err := countermysql.Stats(db)
			require.NoError(t, err)
			taken.Add(stats.Reserved)
		}
	}
	t.Run("rounds", func(t *testing.T) { each(t, rounds) }) // all are over behind it
	require.NotZero(t, taken.Load(), "nobody took from reserved rows")
}

// order makes one random statement of a client, mostly a purchase in a transaction that does more.
func order(ctx context.Context, h *history, client int, db *sql.DB, r row) {
	amount := int64(1 + rand.IntN(2))
	in := input{kind: sell, counter: r.counter, amount: amount, limit: amount}
	text, args := "UPDATE counter SET n = n - ? WHERE id = ? AND n >= ?", []any{amount, r.key, amount}
	switch what := rand.IntN(24); what {
	case 0:
		h.record(client, input{kind: read, counter: r.counter}, func() (out output, err error) {
			err = db.QueryRowContext(ctx, "SELECT n FROM counter WHERE id = ?", r.key).Scan(&out.value)
			return out, err
		})
		return
	case 1:
		in.kind = clamp
		text, args = "UPDATE counter SET n = GREATEST(n, ?) - ? WHERE id = ?", []any{amount, amount, r.key}
	case 2:
		in.kind, in.amount = set, 20
		text, args = "UPDATE counter SET n = ? WHERE id = ?", []any{20, r.key}
	case 3, 4, 5:
		in.kind, in.amount = increment, 9
		text, args = "UPDATE counter SET n = n + ? WHERE id = ?", []any{9, r.key}
	case 6: // as it is
	default:
		level := []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead}[what%2]
		h.record(client, in, func() (output, error) {
			tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
			if err != nil {
				return output{}, err
			}
			defer tx.Rollback()
			if what == 7 {
				if _, err := tx.ExecContext(ctx, "SELECT COUNT(*) FROM counter"); err != nil {
					return output{}, err
				}
			}
			out, err := exec(ctx, tx, text, args...)
			if err != nil {
				return out, err
			}
			if what == 8 {
				if _, err := tx.ExecContext(ctx, "UPDATE counter SET twin = twin + 1 WHERE id = ?", r.key); err != nil {
					return out, err
				}
			}
			time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
			return out, tx.Commit()
		})
		return
	}
	h.record(client, in, func() (output, error) { return exec(ctx, db, text, args...) })
}
