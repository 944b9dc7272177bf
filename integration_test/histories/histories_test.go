// Package histories records what concurrent clients were told, and has porcupine
// (https://github.com/anishathalye/porcupine) decide whether counters could have
// answered so one statement at a time.
package histories

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// row is one of the table counter: the number of its counter in the history, its key and
// its slug.
type row struct {
	counter int
	key     any
	slug    string
}

// newRows are rows with such keys, whose counters are numbered from first.
func newRows(first int, keys ...any) (rows []row) {
	for i, key := range keys {
		rows = append(rows, row{first + i, key, fmt.Sprint("s", first+i)})
	}
	return rows
}

func (r row) insert(db *sql.DB) error {
	_, err := db.Exec("INSERT INTO counter (id, slug) VALUES (?, ?)", r.key, r.slug)
	return err
}

// numbered are the rows where the keys are of no concern.
var numbered = newRows(0, 0, 1, 2, 3)

// newDatabase makes a database with the rows, and opens it without our driver.
func newDatabase(t *testing.T, srv *testserver.Server, key string, rows []row) (name string, plain *sql.DB) {
	t.Helper()
	name = harness.NewDatabase(t, srv)
	plain = harness.Open(t, srv.DSN(name))
	_, err := plain.Exec("CREATE TABLE counter (id " + key + " NOT NULL, lang VARCHAR(5) NOT NULL DEFAULT '', slug VARCHAR(10) NOT NULL UNIQUE, title VARCHAR(20) NOT NULL DEFAULT '', " +
		"n BIGINT NOT NULL DEFAULT 0, twin BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (id))")
	require.NoError(t, err)
	for _, r := range rows {
		require.NoError(t, r.insert(plain))
	}
	return name, plain
}

// openOurs opens our driver on a database, as one process does.
func openOurs(srv *testserver.Server, name string, params ...string) (*sql.DB, error) {
	return openReserving(srv, name, 0, params...)
}

// openReserving is openOurs where counters have so many reserved rows.
func openReserving(srv *testserver.Server, name string, reserve int, params ...string) (*sql.DB, error) {
	cfg, err := mysql.ParseDSN(srv.DSN(name, params...))
	if err != nil {
		return nil, err
	}
	connector, err := countermysql.NewConnector(cfg, &countermysql.Config{CreateSlots: true, Slots: 4, Reserve: reserve, Logger: slog.New(slog.DiscardHandler),
		Tables: []countermysql.TableConfig{{Table: "counter", Counters: []string{"n", "twin"}}}})
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxIdleConns(32)
	return db, nil
}

// newCounters makes a database with the counters, and opens our driver on it.
func newCounters(t *testing.T, srv *testserver.Server, params ...string) *sql.DB {
	t.Helper()
	name, _ := newDatabase(t, srv, "INT", numbered)
	db, err := openOurs(srv, name, params...)
	require.NoError(t, err)
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

// step makes one random statement of a client, on one row or on both.
func step(ctx context.Context, h *history, client int, db *sql.DB, r, other row) {
	id, slug := r.key, r.slug
	is := []string{"id = ?", "id = ? AND lang = ''"}[rand.IntN(6)/5] // a longer primary key may have lang
	in := input{counter: r.counter, amount: int64(1 + rand.IntN(5))}
	switch rand.IntN(18) {
	case 0, 1, 2:
		in.kind = increment
		h.record(client, in, func() (output, error) {
			return exec(ctx, db, "UPDATE counter SET n = n + ? WHERE "+is, in.amount, id)
		})
	case 3:
		in.kind = increment
		h.record(client, in, func() (output, error) {
			return exec(ctx, db, "UPDATE counter SET n = n + ? WHERE slug = ? AND title <> 'x'", in.amount, slug)
		})
	case 4: // the exact way
		in.kind = increment
		h.record(client, in, func() (output, error) {
			return exec(ctx, db, "UPDATE counter SET n = GREATEST(n + ?, 0) WHERE "+is, in.amount, id)
		})
	case 5: // verbatim, on the base row
		in.kind = increment
		title := fmt.Sprint(rand.IntN(100))
		h.record(client, in, func() (output, error) {
			return exec(ctx, db, "UPDATE counter SET n = n + ?, title = ? WHERE "+is, in.amount, title, id)
		})
	case 6, 7: // as GORM does it
		in.kind = increment
		h.record(client, in, func() (out output, err error) {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return out, err
			}
			defer tx.Rollback()
			if out, err = exec(ctx, tx, "UPDATE counter SET n = n + ? WHERE "+is, in.amount, id); err != nil {
				return out, err
			}
			return out, tx.Commit()
		})
	case 8:
		in.kind = set
		h.record(client, in, func() (output, error) { return exec(ctx, db, "UPDATE counter SET n = ? WHERE "+is, in.amount, id) })
	case 9:
		in.kind = take
		h.record(client, in, func() (output, error) {
			return exec(ctx, db, "UPDATE counter SET n = n - ? WHERE "+is+" AND n >= ?", in.amount, id, in.amount)
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
				if out, err = exec(ctx, tx, "UPDATE counter SET n = n + ? WHERE "+is, in.amount, id); err != nil {
					return out, err
				}
				return out, tx.QueryRowContext(ctx, "SELECT n FROM counter WHERE "+is, id).Scan(&out.value)
			})
		})
	case 12: // a part is taken back
		in.kind = increment
		h.record(client, in, func() (out output, err error) {
			return inTransaction(ctx, db, func(tx *sql.Tx) (out output, err error) {
				if out, err = exec(ctx, tx, "UPDATE counter SET n = n + ? WHERE "+is, in.amount, id); err != nil {
					return out, err
				}
				undone := []string{"UPDATE counter SET n = n + 100 WHERE " + is, "UPDATE counter SET n = GREATEST(n + 200, 0) WHERE " + is}[rand.IntN(2)]
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
		both := []input{in, in}
		both[1].counter = other.counter
		h.recordAll(client, both, func() (output, error) {
			out, err := exec(ctx, db, "UPDATE counter SET n = n + ? WHERE id IN (?, ?)", in.amount, id, other.key)
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
			if err := tx.QueryRowContext(ctx, "SELECT n FROM counter WHERE "+is+" FOR UPDATE", id).Scan(&out.value); err != nil {
				return out, err
			}
			return out, tx.Commit()
		})
	default:
		in.kind = read
		h.record(client, in, func() (out output, err error) {
			return out, db.QueryRowContext(ctx, "SELECT n FROM counter WHERE "+is, id).Scan(&out.value)
		})
	}
}

// each runs a history on each server, over and over if it is to soak.
func each(t *testing.T, test func(t *testing.T, srv *testserver.Server, round int)) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		end := time.Now().Add(harness.Soak(t) / 6) // there are six tests
		for round := 0; round == 0 || time.Now().Before(end) && !t.Failed(); round++ {
			t.Run(fmt.Sprint(round), func(t *testing.T) { test(t, srv, round) })
			if harness.Soak(t) > 0 {
				fmt.Fprintf(os.Stderr, "%s  %s: %s, %s left\n", time.Now().Format(time.TimeOnly), srv.Flavor(), t.Name(), time.Until(end).Round(time.Second))
			}
		}
	})
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
					i := rand.IntN(counters)
					step(ctx, h, client, db, numbered[i], numbered[(i+1)%counters])
					cancel()
				}
			})
		}
		wg.Wait()
		stop()
		require.NoError(t, h.readAll(db, numbered)) // what all of it has come to
		h.check(t)
	})
}
