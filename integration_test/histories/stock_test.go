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

// TestStock proves that a row which is bought from by many, in several processes, beside a
// client without the driver that adds to it, answers as if one came after the other: nobody
// gets what is not there, and nobody is refused while there was enough all the time. Its
// stock is low, other statements and transactions meet it, and clients give up.
func TestStock(t *testing.T) {
	each(t, func(t *testing.T, srv *testserver.Server, round int) {
		name, plain := newDatabase(t, srv, "INT", numbered)
		params := []string{[]string{"interpolateParams=true", "interpolateParams=false"}[round%2], "innodb_lock_wait_timeout=20"}
		dbs := []*sql.DB{plain}
		for range 2 {
			db, err := openOurs(srv, name, params...)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			dbs = append(dbs, db)
		}
		h := &history{begun: time.Now()}
		var givenUp atomic.Int64
		var wg sync.WaitGroup
		for client := range 11 {
			wg.Go(func() {
				for range 40 {
					ctx, cancel := context.WithCancel(t.Context())
					if rand.IntN(60) == 0 && givenUp.Add(1) <= 3 { // more, and porcupine takes too long
						time.AfterFunc(time.Duration(rand.IntN(3000))*time.Microsecond, cancel)
					}
					trade(ctx, h, client, dbs[min(client, 1+client%2)], numbered[rand.IntN(8)/7])
					cancel()
				}
			})
		}
		wg.Wait()
		require.NoError(t, h.readAll(dbs[1], numbered[:2]))
		h.check(t)
		together := int64(0)
		for _, db := range dbs[1:] {
			stats, err := countermysql.Stats(db)
			require.NoError(t, err)
			together += stats.Guards.Sum
			for _, n := range stats.Guards.Counts {
				together -= n
			}
		}
		require.NotZero(t, together, "nobody went with others")
	})
}

// trade makes one random statement of a client, mostly a purchase. The stock, n, and what
// bounds it are small.
func trade(ctx context.Context, h *history, client int, db *sql.DB, r row) {
	amount := int64(1 + rand.IntN(3))
	in := input{kind: sell, counter: r.counter, amount: amount, limit: amount}
	text, args := "UPDATE counter SET n = n - ? WHERE id = ? AND n >= ?", []any{amount, r.key, amount}
	what := rand.IntN(20)
	if client == 0 { // the base row is all that it sees
		what = 4
	}
	switch what {
	case 0:
		in.limit = 5
		args[2] = 5
	case 1:
		in.limit = 0 // below zero, perhaps
		text, args = "UPDATE counter SET n = n - ? WHERE id = ? AND n > -1", args[:2]
	case 2, 3:
		in.kind, in.limit = fill, 12
		text, args[2] = "UPDATE counter SET n = n + ? WHERE id = ? AND n <= ?", 12-amount
	case 4, 5, 6:
		in.kind = increment
		text, args = "UPDATE counter SET n = n + ? WHERE id = ?", args[:2]
	case 7:
		in.kind, in.amount = set, 4
		text, args = "UPDATE counter SET n = ? WHERE id = ?", []any{4, r.key}
	case 16, 17, 18:
		in.kind = clamp
		text, args = "UPDATE counter SET n = GREATEST(n - ?, 0) WHERE id = ?", args[:2]
	case 19:
		in.kind = clamp
		text, args = "UPDATE counter SET n = CASE WHEN n >= ? THEN n - ? ELSE 0 END WHERE id = ?", []any{amount, amount, r.key}
	case 8:
		h.record(client, input{kind: read, counter: r.counter}, func() (out output, err error) {
			err = db.QueryRowContext(ctx, "SELECT n FROM counter WHERE id = ?", r.key).Scan(&out.value)
			return out, err
		})
		return
	case 9, 10:
		h.record(client, in, func() (output, error) {
			tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead}[rand.IntN(2)]})
			if err != nil {
				return output{}, err
			}
			defer tx.Rollback()
			out, err := exec(ctx, tx, text, args...)
			if err != nil {
				return out, err
			}
			return out, tx.Commit()
		})
		return
	}
	h.record(client, in, func() (output, error) { return exec(ctx, db, text, args...) })
}
