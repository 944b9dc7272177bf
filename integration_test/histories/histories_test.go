// Package histories records what concurrent clients were told, and has porcupine
// (https://github.com/anishathalye/porcupine) decide whether counters could have
// answered so one statement at a time.
package histories

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/internal/testserver"
)

const counters = 4

// input is one statement on one counter, in autocommit or as all of a transaction.
type input struct {
	kind    string
	counter int
	amount  int64
}

// output is what the client was told. unknown: nobody knows whether it was done.
type output struct {
	value   int64
	rows    int64
	unknown bool
}

const (
	read      = "read"      // SELECT, or SELECT … FOR UPDATE
	increment = "increment" // relative, whatever the way
	set       = "set"       // absolute
	take      = "take"      // a decrement that succeeds only if there is enough
	fetch     = "fetch"     // an increment, and its value in the same transaction
)

// model is a counter that does one statement at a time. It is not deterministic:
// what is unknown may have been done or not.
var model = porcupine.NondeterministicModel{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := make([][]porcupine.Operation, counters)
		for _, op := range history {
			i := op.Input.(input).counter
			parts[i] = append(parts[i], op)
		}
		return parts
	},
	Init: func() []any { return []any{int64(0)} },
	Step: func(state, in, out any) []any {
		n, i, o := state.(int64), in.(input), out.(output)
		next, rows := n, int64(1)
		switch i.kind {
		case read:
			if !o.unknown && o.value != n {
				return nil
			}
			return []any{n}
		case increment:
			next = n + i.amount
		case fetch:
			if next = n + i.amount; !o.unknown && o.value != next {
				return nil
			}
		case set:
			next = i.amount
			if next == n {
				rows = 0 // MySQL counts rows that change
			}
		case take:
			if n < i.amount {
				rows = 0
			} else {
				next = n - i.amount
			}
		}
		switch {
		case o.unknown && next != n:
			return []any{n, next}
		case !o.unknown && o.rows != rows:
			return nil
		}
		return []any{next}
	},
	Equal:             func(a, b any) bool { return a.(int64) == b.(int64) },
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v → %+v", in, out) },
}

// history is what several clients were told, with the times.
type history struct {
	mu    sync.Mutex
	ops   []porcupine.Operation
	begun time.Time
}

func (h *history) record(client int, in input, do func() (output, error)) {
	h.recordAll(client, []input{in}, do)
}

// recordAll records a statement on several counters, of each of which the client is told the same.
func (h *history) recordAll(client int, ins []input, do func() (output, error)) {
	call := int64(time.Since(h.begun))
	out, err := do()
	end := int64(time.Since(h.begun))
	if err != nil {
		var e *mysql.MySQLError
		if errors.As(err, &e) || ins[0].kind == read {
			return // nothing was done
		}
		out, end = output{unknown: true}, int64(time.Hour) // it may happen at any later time
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, in := range ins {
		h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: in, Call: call, Output: out, Return: end})
	}
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

var servers []*testserver.Server

func run(m *testing.M) int {
	var err error
	if servers, err = testserver.FromEnv(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		for _, srv := range servers {
			srv.Stop()
		}
	}()
	return m.Run()
}

// newCounters makes a database with the counters, and opens our driver on it.
func newCounters(t *testing.T, srv *testserver.Server, params ...string) *sql.DB {
	t.Helper()
	name := fmt.Sprintf("histories_%d", rand.Uint32())
	admin, err := sql.Open("mysql", srv.DSN(""))
	require.NoError(t, err)
	_, err = admin.Exec("CREATE DATABASE " + name)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := admin.Exec("DROP DATABASE " + name)
		require.NoError(t, err)
		admin.Close()
	})
	_, err = admin.Exec("CREATE TABLE " + name + ".counter (id INT PRIMARY KEY, slug VARCHAR(10) NOT NULL UNIQUE, title VARCHAR(20) NOT NULL DEFAULT '', n BIGINT NOT NULL DEFAULT 0, twin BIGINT NOT NULL DEFAULT 0)")
	require.NoError(t, err)
	for i := range counters {
		_, err = admin.Exec(fmt.Sprintf("INSERT INTO %s.counter (id, slug) VALUES (%d, 's%d')", name, i, i))
		require.NoError(t, err)
	}
	cfg, err := mysql.ParseDSN(srv.DSN(name, params...))
	require.NoError(t, err)
	connector, err := countermysql.NewConnector(cfg, &countermysql.Config{CreateSlots: true, Slots: 4, Logger: slog.New(slog.DiscardHandler),
		Tables: []countermysql.TableConfig{{Table: "counter", Counters: []string{"n", "twin"}}}})
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	db.SetMaxIdleConns(32)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func exec(ctx context.Context, db interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, text string, args ...any) (output, error) {
	res, err := db.ExecContext(ctx, text, args...)
	if err != nil {
		return output{}, err
	}
	n, err := res.RowsAffected()
	return output{rows: n}, err
}

// inTransaction runs f in a transaction of the default isolation level, REPEATABLE READ.
func inTransaction(ctx context.Context, db *sql.DB, f func(tx *sql.Tx) (output, error)) (out output, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return out, err
	}
	defer tx.Rollback()
	if out, err = f(tx); err != nil {
		return out, err
	}
	return out, tx.Commit()
}

// step makes one random statement of a client.
func step(ctx context.Context, h *history, client int, db *sql.DB) {
	id := rand.IntN(counters)
	in := input{counter: id, amount: int64(1 + rand.IntN(5))}
	switch rand.IntN(18) {
	case 0, 1, 2:
		in.kind = increment
		h.record(client, in, func() (output, error) {
			return exec(ctx, db, "UPDATE counter SET n = n + ? WHERE id = ?", in.amount, id)
		})
	case 3:
		in.kind = increment
		h.record(client, in, func() (output, error) {
			return exec(ctx, db, "UPDATE counter SET n = n + ? WHERE slug = ? AND title <> 'x'", in.amount, fmt.Sprint("s", id))
		})
	case 4: // the exact way
		in.kind = increment
		h.record(client, in, func() (output, error) {
			return exec(ctx, db, "UPDATE counter SET n = GREATEST(n + ?, 0) WHERE id = ?", in.amount, id)
		})
	case 5: // verbatim, on the base row
		in.kind = increment
		title := fmt.Sprint(rand.IntN(100))
		h.record(client, in, func() (output, error) {
			return exec(ctx, db, "UPDATE counter SET n = n + ?, title = ? WHERE id = ?", in.amount, title, id)
		})
	case 6, 7: // as GORM does it
		in.kind = increment
		h.record(client, in, func() (out output, err error) {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return out, err
			}
			defer tx.Rollback()
			if out, err = exec(ctx, tx, "UPDATE counter SET n = n + ? WHERE id = ?", in.amount, id); err != nil {
				return out, err
			}
			return out, tx.Commit()
		})
	case 8:
		in.kind = set
		h.record(client, in, func() (output, error) { return exec(ctx, db, "UPDATE counter SET n = ? WHERE id = ?", in.amount, id) })
	case 9:
		in.kind = take
		h.record(client, in, func() (output, error) {
			return exec(ctx, db, "UPDATE counter SET n = n - ? WHERE id = ? AND n >= ?", in.amount, id, in.amount)
		})
	case 11: // numbers that nobody else may get, with a snapshot taken before or none
		in.kind = fetch
		h.record(client, in, func() (out output, err error) {
			return inTransaction(ctx, db, func(tx *sql.Tx) (out output, err error) {
				if rand.IntN(2) == 0 {
					var sum int64
					if err := tx.QueryRowContext(ctx, "SELECT SUM(n) FROM counter").Scan(&sum); err != nil {
						return out, err
					}
				}
				if out, err = exec(ctx, tx, "UPDATE counter SET n = n + ? WHERE id = ?", in.amount, id); err != nil {
					return out, err
				}
				return out, tx.QueryRowContext(ctx, "SELECT n FROM counter WHERE id = ?", id).Scan(&out.value)
			})
		})
	case 12: // a part is taken back
		in.kind = increment
		h.record(client, in, func() (out output, err error) {
			return inTransaction(ctx, db, func(tx *sql.Tx) (out output, err error) {
				if out, err = exec(ctx, tx, "UPDATE counter SET n = n + ? WHERE id = ?", in.amount, id); err != nil {
					return out, err
				}
				undone := []string{"UPDATE counter SET n = n + 100 WHERE id = ?", "UPDATE counter SET n = GREATEST(n + 200, 0) WHERE id = ?"}[rand.IntN(2)]
				for _, text := range []string{"SAVEPOINT part", undone, "ROLLBACK TO part"} {
					args := []any{id}[:len(text)-len(strings.TrimSuffix(text, "?"))]
					if _, err := exec(ctx, tx, text, args...); err != nil {
						return out, err
					}
				}
				return out, nil
			})
		})
	case 13: // two at once: each is one increment
		in.kind = increment
		other := in
		other.counter = (id + 1) % counters
		h.recordAll(client, []input{in, other}, func() (output, error) {
			out, err := exec(ctx, db, "UPDATE counter SET n = n + ? WHERE id IN (?, ?)", in.amount, id, other.counter)
			out.rows--
			return out, err
		})
	case 10: // a locking read
		in.kind = read
		h.record(client, in, func() (out output, err error) {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return out, err
			}
			defer tx.Rollback()
			if err := tx.QueryRowContext(ctx, "SELECT n FROM counter WHERE id = ? FOR UPDATE", id).Scan(&out.value); err != nil {
				return out, err
			}
			return out, tx.Commit()
		})
	default:
		in.kind = read
		h.record(client, in, func() (out output, err error) {
			return out, db.QueryRowContext(ctx, "SELECT n FROM counter WHERE id = ?", id).Scan(&out.value)
		})
	}
}

// soak is how long to go on, from COUNTERMYSQL_SOAK; 0: once.
func soak(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("COUNTERMYSQL_SOAK")
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	require.NoError(t, err, "COUNTERMYSQL_SOAK")
	return d
}

// each runs a history on each server, over and over if it is to soak.
func each(t *testing.T, test func(t *testing.T, srv *testserver.Server, round int)) {
	require.NotEmpty(t, servers)
	for _, srv := range servers {
		t.Run(string(srv.Flavor()), func(t *testing.T) {
			t.Parallel()
			end := time.Now().Add(soak(t) / 2) // there are two tests
			for round := 0; round == 0 || time.Now().Before(end) && !t.Failed(); round++ {
				t.Run(fmt.Sprint(round), func(t *testing.T) { test(t, srv, round) })
				if soak(t) > 0 {
					fmt.Fprintf(os.Stderr, "%s  %s: %s, %s left\n", time.Now().Format(time.TimeOnly), srv.Flavor(), t.Name(), time.Until(end).Round(time.Second))
				}
			}
		})
	}
}

// beside runs f again and again until the returned function is called.
func beside(f func()) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(3 * time.Millisecond):
				f()
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}

// TestLinearizable proves that counters answer as if one statement came after
// the other: increments of every kind, exact writes, reads and locking reads of
// many clients, some of which give up, with rollups beside.
func TestLinearizable(t *testing.T) {
	each(t, func(t *testing.T, srv *testserver.Server, round int) {
		params := [][]string{{"interpolateParams=true"}, {"interpolateParams=false"}}[round%2]
		db := newCounters(t, srv, append(params, "innodb_lock_wait_timeout=20")...)
		h := &history{begun: time.Now()}
		stop := beside(func() { _, _ = countermysql.Rollup(t.Context(), db, nil) })
		var wg sync.WaitGroup
		for client := range 12 {
			wg.Go(func() {
				for range 60 {
					ctx, cancel := context.WithCancel(t.Context())
					if rand.IntN(40) == 0 {
						time.AfterFunc(time.Duration(rand.IntN(1500))*time.Microsecond, cancel)
					}
					step(ctx, h, client, db)
					cancel()
				}
			})
		}
		wg.Wait()
		stop()
		for id := range counters { // what all of it has come to
			h.record(99, input{kind: read, counter: id}, func() (out output, err error) {
				return out, db.QueryRow("SELECT n FROM counter WHERE id = ?", id).Scan(&out.value)
			})
		}
		unknown := 0
		for _, op := range h.ops {
			if op.Output.(output).unknown {
				unknown++
			}
		}
		m := model.ToModel()
		result, info := porcupine.CheckOperationsVerbose(m, h.ops, 2*time.Minute)
		t.Logf("%d operations, %d of them unknown: %s", len(h.ops), unknown, result)
		require.NotEqual(t, porcupine.Unknown, result, "porcupine did not find an answer in time")
		if result != porcupine.Ok {
			file, err := os.CreateTemp("", "history-*.html")
			require.NoError(t, err)
			require.NoError(t, porcupine.Visualize(m, info, file))
			t.Fatalf("not linearizable; see %s", file.Name())
		}
	})
}

// TestChecker proves that the check sees what would be wrong: a lost increment,
// a stale read, a stock that was sold twice.
func TestChecker(t *testing.T) {
	op := func(client int, in input, out output, call, end int64) porcupine.Operation {
		return porcupine.Operation{ClientId: client, Input: in, Output: out, Call: call, Return: end}
	}
	add := input{kind: increment, amount: 1}
	done := output{rows: 1}
	for name, c := range map[string]struct {
		ops []porcupine.Operation
		ok  bool
	}{
		"right":        {[]porcupine.Operation{op(0, add, done, 0, 10), op(1, add, done, 5, 15), op(0, input{kind: read}, output{value: 2}, 20, 30)}, true},
		"meanwhile":    {[]porcupine.Operation{op(0, add, done, 0, 10), op(1, input{kind: read}, output{value: 0}, 5, 30)}, true},
		"unknown":      {[]porcupine.Operation{op(0, add, output{unknown: true}, 0, 100), op(1, input{kind: read}, output{value: 0}, 5, 10), op(1, input{kind: read}, output{value: 1}, 15, 20)}, true},
		"lost":         {[]porcupine.Operation{op(0, add, done, 0, 10), op(1, add, done, 5, 15), op(0, input{kind: read}, output{value: 1}, 20, 30)}, false},
		"stale":        {[]porcupine.Operation{op(0, add, done, 0, 10), op(1, input{kind: read}, output{value: 0}, 11, 30)}, false},
		"back in time": {[]porcupine.Operation{op(0, add, done, 0, 40), op(1, input{kind: read}, output{value: 1}, 5, 10), op(2, input{kind: read}, output{value: 0}, 15, 20)}, false},
		"same number": {[]porcupine.Operation{op(0, input{kind: fetch, amount: 1}, output{rows: 1, value: 1}, 0, 10),
			op(1, input{kind: fetch, amount: 1}, output{rows: 1, value: 1}, 1, 12)}, false},
		"sold twice": {[]porcupine.Operation{op(0, add, done, 0, 10), op(1, input{kind: take, amount: 1}, done, 11, 20),
			op(2, input{kind: take, amount: 1}, done, 12, 20)}, false},
	} {
		require.Equal(t, c.ok, porcupine.CheckOperations(model.ToModel(), c.ops), name)
	}
}

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
