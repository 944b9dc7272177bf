package groups

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestStockDeadlock proves that buyers do not hear of it when their batch is the victim of a
// real deadlock: before anything is done, and while it folds.
func TestStockDeadlock(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, folding := range []bool{false, true} {
			tw := newStorage(t, srv)
			harness.Affected(t, tw.Ours, "UPDATE item SET stock = stock + 1 WHERE id = 1") // into a slot
			harness.Affected(t, tw.Direct, "CREATE TABLE ballast (id INT PRIMARY KEY)")
			tx, err := tw.Direct.Begin()
			require.NoError(t, err)
			defer tx.Rollback()
			lock := func(query string) error {
				_, err := tx.Exec(query + " WHERE id = 1 FOR UPDATE")
				return err
			}
			row := make(chan error, 1)
			meet := func() {
				_, err := tx.Exec("INSERT INTO ballast VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9)") // who has written more is no victim
				if err == nil {
					err = lock("SELECT * FROM item_slots")
				}
				if err != nil {
					row <- err
					return
				}
				go func() {
					for until := time.Now().Add(20 * time.Second); !tw.Waits(t) && time.Now().Before(until); { // for the slot
						time.Sleep(10 * time.Millisecond)
					}
					row <- lock("SELECT * FROM item")
				}()
			}
			var once sync.Once
			g := harness.NewGateOn(t, tw.Sent, func(query string) bool {
				if folding && harness.WritesSlots.MatchString(query) {
					once.Do(meet)
				}
				return strings.HasPrefix(query, "UPDATE item")
			})
			all := []<-chan string{harness.Later(t, tw.Ours, buyOne)}
			<-g.Reached
			if !folding {
				meet()
			}
			for range 3 { // they go on when the first has stalled
				all = append(all, harness.Later(t, tw.Ours, buyOne))
			}
			require.NoError(t, <-row, "it waits for the batch, which waits for it: one of them is the victim")
			require.NoError(t, tx.Commit())
			g.Open()
			for _, a := range all {
				require.Equal(t, "affected 1", harness.Soon(t, a))
			}
			require.EqualValues(t, 1_000_001-4, stockOf(t, tw, 1))
			require.Empty(t, harness.Stats(t, tw.Ours).Errors)
		}
	})
}

// TestStockBesideTransactions proves that a transaction with guarded updates, and with reads
// before and behind them, at both levels, answers beside batches of its row as on plain MySQL,
// and so do those who buy, before it or while they wait for it.
func TestStockBesideTransactions(t *testing.T) {
	const (
		one        = "UPDATE item SET stock = stock - 1 WHERE id = 1 AND stock >= 1"
		sell       = "UPDATE item SET stock = stock - 2 WHERE id = 1 AND stock >= 2"
		look, list = "SELECT stock FROM item WHERE id = 1", "SELECT * FROM item ORDER BY id"

		batch, waits = "batch", "batch that waits"
	)
	scripts := [][]string{
		{look, batch, look, sell, look, list, waits, look},
		{batch, sell, look, list},
		{list, sell, waits, look, sell, look},
		{sell, look, "UPDATE item SET spare = spare + 5 WHERE id = 1", waits, list, sell, "UPDATE item SET stock = stock + 3 WHERE id = 1", list},
		{list, batch, look + " FOR UPDATE", waits, sell, list, "UPDATE item SET stock = 4 WHERE id = 1", look},
		{look, batch, "SAVEPOINT s", sell, look, "ROLLBACK TO s", look, waits, look},
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newStorage(t, srv, "interpolateParams=true")
		played := func(db *sql.DB, level string, script []string) (answers []string) {
			s := &harness.Script{Db: db, Clients: map[string]*harness.Client{}}
			defer s.End()
			s.Do(t, "A: begin "+level)
			var waiting []<-chan string
			for _, step := range script {
				switch {
				case step == waits:
					for range 4 {
						waiting = append(waiting, harness.Later(t, db, one))
					}
					if db == tw.Ours {
						for until := time.Now().Add(20 * time.Second); !tw.Waits(t) && !slices.ContainsFunc(waiting, func(w <-chan string) bool { return len(w) > 0 }); {
							time.Sleep(10 * time.Millisecond)
							require.True(t, time.Now().Before(until), "they neither wait nor answer: %s %q", level, script)
						}
					}
				case step == batch && db == tw.Ours:
					answers = append(answers, sorted(waitTogether(t, tw, slices.Repeat([]buy{{text: one}}, 4), 0, nil))...)
				case step == batch:
					var told []string
					for range 4 {
						told = append(told, harness.Told2(db.Exec(one)))
					}
					answers = append(answers, sorted(told)...)
				default:
					s.Do(t, "A: "+step)
				}
			}
			s.Do(t, "A: commit")
			var told []string
			for _, w := range waiting {
				told = append(told, harness.Soon(t, w))
			}
			s.Do(t, "Z: "+list)
			return append(append(answers, sorted(told)...), s.Answers...)
		}
		for _, script := range scripts {
			for _, level := range []string{"RC", "RR"} {
				for _, start := range []string{"50", "7", "3", "2", "in slots"} {
					for shared, tries := false, 0; !shared; tries++ { // on a busy machine one may go before the others have come
						require.Less(t, tries, 10, "nobody went with others")
						var got [2][]string
						before := harness.Stats(t, tw.Ours).Guards
						for i, db := range []*sql.DB{tw.Plain, tw.Ours} {
							if start == "in slots" {
								harness.Affected(t, db, "UPDATE item SET stock = 0 WHERE id = 1")
								harness.Affected(t, db, "UPDATE item SET stock = stock + 7 WHERE id = 1")
							} else {
								harness.Affected(t, db, "UPDATE item SET stock = "+start+" WHERE id = 1")
							}
							got[i] = played(db, level, script)
						}
						require.Equal(t, strings.Join(got[0], "\n"), strings.Join(got[1], "\n"), "%s %s", level, start)
						after := harness.Stats(t, tw.Ours).Guards
						shared = after.Sum-before.Sum > sumOf(after.Counts)-sumOf(before.Counts)
					}
				}
			}
		}
	})
}

func sorted(all []string) []string {
	slices.Sort(all)
	return all
}

const market = `
CREATE TABLE item (id INT PRIMARY KEY, title VARCHAR(9) NOT NULL DEFAULT '', stock INT NOT NULL, sold INT NOT NULL DEFAULT 0);
CREATE TABLE orders (id INT AUTO_INCREMENT PRIMARY KEY, item INT NOT NULL, n INT NOT NULL, FOREIGN KEY (item) REFERENCES item (id));
INSERT INTO item (id, stock) VALUES (1, 150)`

// TestStockForeignKeys proves that rows which refer to the item, in autocommit and in
// transactions that take from its stock, deadlock with batches where they do on plain MySQL
// alone: nowhere, if the stock is taken first. If the order comes first, transactions may be
// victims, and those who buy by themselves are not. What is sold is what is gone.
func TestStockForeignKeys(t *testing.T) {
	const sell = "UPDATE item SET stock = stock - ? WHERE id = 1 AND stock >= ?"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, orderFirst := range []bool{false, true} {
			tw := harness.NewTwin(t, srv, market, harness.Counters("item", "stock", "sold"), "interpolateParams=true", "innodb_lock_wait_timeout=20")
			tw.Sent.Off.Store(true)
			for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
				db.SetMaxIdleConns(16)
				var c, victims harness.Crowd
				var alone, ordered atomic.Int64
				order := func(n int64, level sql.IsolationLevel) error {
					tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
					if err != nil {
						return err
					}
					defer tx.Rollback()
					insert := func() error {
						_, err := tx.Exec("INSERT INTO orders (item, n) VALUES (1, ?)", n)
						return err
					}
					if orderFirst {
						if err := insert(); err != nil {
							return err
						}
					}
					res, err := tx.Exec(sell, n, n)
					if err != nil {
						return err
					}
					if rows, _ := res.RowsAffected(); rows == 0 {
						return nil
					}
					if !orderFirst {
						if err := insert(); err != nil {
							return err
						}
					}
					if _, err := tx.Exec("UPDATE item SET sold = sold + ? WHERE id = 1", n); err != nil {
						return err
					}
					if err = tx.Commit(); err == nil {
						ordered.Add(n)
					}
					return err
				}
				c.Run(12, func(client int) {
					for k := range 15 {
						n := int64(1 + rand.IntN(3))
						switch client % 3 {
						case 0:
							if err := order(n, []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead}[k%2]); orderFirst {
								victims.Check(err)
							} else {
								c.Check(err)
							}
						case 1:
							res, err := db.ExecContext(t.Context(), sell, n, n)
							if orderFirst && db == tw.Plain {
								victims.Check(err)
							} else {
								c.Check(err)
							}
							if err == nil {
								rows, _ := res.RowsAffected()
								alone.Add(n * rows)
							}
						default:
							_, err := db.ExecContext(t.Context(), "INSERT INTO orders (item, n) VALUES (1, 0)")
							if orderFirst {
								victims.Check(err)
							} else {
								c.Check(err)
							}
						}
					}
				}, func(i int) {
					var least int64
					if err := db.QueryRow("SELECT MIN(stock) FROM item").Scan(&least); c.Check(err) && least < 0 {
						c.Check(fmt.Errorf("the stock is %d", least))
					}
				})
				c.NoDeadlocks(t)
				require.Nil(t, victims.Failed.Load())
				require.Equal(t, ordered.Load(), harness.Number(t, db, "SELECT SUM(n) FROM orders"))
				require.Equal(t, ordered.Load(), harness.Number(t, db, "SELECT sold FROM item"))
				require.Equal(t, 150-ordered.Load()-alone.Load(), harness.Number(t, db, "SELECT stock FROM item"))
			}
		}
	})
}

// purchase is a call, and what it was told, with its times.
type purchase struct {
	n, rows    int64 // n < 0: it brought something
	begun, end time.Duration
}

// couldRefuse reports whether at some moment of the call less may have been there than it
// wanted: what came before that moment for certain, without what may have been sold by then.
func (p purchase) couldRefuse(start int64, all []purchase) bool {
	for _, q := range append(all, p) {
		for _, at := range []time.Duration{q.begun, q.end} {
			at, left := max(p.begun, min(p.end, at)), start
			for _, other := range all {
				if other.n < 0 && other.end < at || other.n > 0 && other.rows > 0 && other.begun <= at {
					left -= other.n
				}
			}
			if left < p.n {
				return true
			}
		}
	}
	return false
}

// TestStockRefused proves that of several processes, outside transactions and in them, nobody
// is refused who could have been served at every moment of his call, however often the stock
// is filled up, without the driver too, and that exactly what was there is sold.
func TestStockRefused(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newStorage(t, srv, "interpolateParams=true")
		tw.Sent.Off.Store(true)
		dbs := []*sql.DB{tw.Ours, tw.Ours}
		for range 2 {
			other, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
			dbs = append(dbs, other, other)
		}
		const start, brought = 60, 60
		harness.Affected(t, tw.Direct, "UPDATE item SET stock = ? WHERE id = 1", start)
		var c harness.Crowd
		var mu sync.Mutex
		var all []purchase
		begun := time.Now()
		exec := func(on harness.Execer, text string, args ...any) (rows int64, err error) {
			res, err := on.ExecContext(context.WithoutCancel(t.Context()), text, args...)
			if err == nil {
				rows, err = res.RowsAffected()
			}
			return rows, err
		}
		record := func(n int64, do func() (int64, error)) bool {
			p := purchase{n: n, begun: time.Since(begun)}
			rows, err := do()
			if !c.Check(err) {
				return true
			}
			p.rows, p.end = rows, time.Since(begun)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, p)
			return rows > 0
		}
		c.Run(14, func(client int) {
			db := dbs[client%len(dbs)]
			for k := range 40 {
				n := int64(1 + rand.IntN(2))
				served := record(n, func() (rows int64, err error) {
					const text = "UPDATE item SET stock = stock - ? WHERE id = 1 AND stock >= ?"
					if k%5 > 0 {
						return exec(db, text, n, n)
					}
					tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead}[k/5%2]})
					if err != nil {
						return 0, err
					}
					defer tx.Rollback()
					if rows, err = exec(tx, text, n, n); err == nil {
						err = tx.Commit()
					}
					return rows, err
				})
				if !served && client < 3 && k%4 == 0 {
					record(-brought, func() (int64, error) {
						return exec([]*sql.DB{tw.Ours, tw.Direct, dbs[2]}[client], "UPDATE item SET stock = stock + ? WHERE id = 1", brought)
					})
				}
			}
		})
		c.NoDeadlocks(t)
		sum, refused := int64(start), 0
		for _, p := range all {
			if p.n < 0 {
				require.EqualValues(t, 1, p.rows)
			}
			sum -= p.n * p.rows
			if p.rows == 0 {
				refused++
				require.True(t, p.couldRefuse(start, all), "%+v", p)
			}
		}
		require.Equal(t, sum, stockOf(t, tw, 1))
		require.GreaterOrEqual(t, sum, int64(0))
		require.NotZero(t, refused)
	})
}

// TestStockInTurn proves that updates of one row which can't be one statement, and wait together,
// share a transaction, each with its answer.
func TestStockInTurn(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range [][]string{{"interpolateParams=true"}, {"interpolateParams=true", found}} {
			tw := harness.NewTwin(t, srv, shelves, harness.Counters("item", "stock", "spare", "used", "tiny"), params...)
			tw.Ours.SetMaxIdleConns(8)
			for _, text := range []string{
				"UPDATE item SET stock = ? WHERE id = #",
				"UPDATE item SET stock = stock - ? WHERE id = # AND NOT stock < 3",
				"UPDATE item SET tiny = tiny * 20 - ? WHERE id = #", // more than the column holds
				"UPDATE item SET stock = LEAST(stock + ?, 9), used = used + 1 WHERE id = #",
				"UPDATE item SET stock = GREATEST(stock - ?, 0) WHERE id = # AND stock > 2",
				"UPDATE item SET stock = CASE WHEN stock > ? THEN 3 ELSE 8 END WHERE # = id",
			} {
				for _, id := range []int{1, 2, 6, 7} {
					fillShelf(t, tw, 6)
					buys := onShelf(id, text, []any{1}, []any{3}, []any{2}, []any{1})
					var got []string
					sent := tw.Sent.During(func() { got = waitTogether(t, tw, buys, 0, nil) })
					requireOrder(t, tw, shelf, buys, got, "")
					begun := 0
					for _, s := range sent {
						begun += strings.Count(s.Text, "START TRANSACTION")
					}
					require.LessOrEqual(t, begun, 2, "%s\n%v", text, sent) // one is his who came first, if there are slots, or there is no row
				}
			}
		}
	})
}

// TestStockAndIncrements proves that increments of a row go as one behind a guarded update that is
// under way, to the base row, and leave no slot; and that they don't wait for one that takes long.
func TestStockAndIncrements(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newStorage(t, srv, "interpolateParams=true")
		slots := func() int64 { return harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM item_slots") }
		const add = "UPDATE item SET stock = stock + 1 WHERE id = 1"
		var clients [6]*sql.Conn
		for i := range clients {
			clients[i] = harness.Session(t, tw.Ours)
			harness.Affected(t, clients[i], "DO 1")
		}
		for late, tries := false, 0; ; tries++ {
			require.Less(t, tries, 20)
			before := stockOf(t, tw, 1)
			g := harness.NewGateOn(t, tw.Sent, func(query string) bool {
				return strings.HasPrefix(query, "UPDATE item") && strings.Contains(query, "stock >= 1")
			})
			leads := harness.Later(t, tw.Ours, buyOne)
			<-g.Reached
			if late {
				time.Sleep(70 * time.Millisecond)
			}
			var all []<-chan string
			sent := tw.Sent.During(func() {
				for _, c := range clients {
					all = append(all, harness.Later(t, c, add))
				}
				told := func() {
					for _, a := range all {
						require.Equal(t, "affected 1", harness.Soon(t, a))
					}
				}
				if late { // they don't wait for it
					told()
				}
				time.Sleep(5 * time.Millisecond)
				g.Open()
				require.Equal(t, "affected 1", harness.Soon(t, leads))
				if !late {
					told()
				}
			})
			require.Equal(t, before+5, stockOf(t, tw, 1))
			updates := slices.DeleteFunc(sent, func(s harness.Sending) bool { return !strings.HasPrefix(s.Text, "UPDATE item") })
			switch {
			case late:
				return
			case len(updates) == 2 && slots() == 0: // all have come in time
				late = true
			default:
				harness.RollUp(t, tw.Ours)
			}
		}
	})
}
