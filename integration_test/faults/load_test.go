package faults

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/countermysql/countermysql"
)

const counters = 8

// schema has a counter for increments that the clients keep account of, and one
// whose increments are written to the ledger in the same transaction.
var schema = []string{
	"CREATE TABLE item (id INT PRIMARY KEY, slug VARCHAR(20) NOT NULL UNIQUE, title VARCHAR(20) NOT NULL DEFAULT '', alone BIGINT NOT NULL DEFAULT 0, booked BIGINT NOT NULL DEFAULT 0)",
	"CREATE TABLE ledger (id BIGINT AUTO_INCREMENT PRIMARY KEY, item INT NOT NULL, amount INT NOT NULL, filler VARCHAR(12000) NOT NULL DEFAULT '')",
	"INSERT INTO item (id, slug) VALUES (1, 's1'), (2, 's2'), (3, 's3'), (4, 's4'), (5, 's5'), (6, 's6'), (7, 's7'), (8, 's8')",
}

// account is what became of the increments of one counter.
type account struct{ acknowledged, unknown atomic.Int64 }

// Load is what the clients do, and what they were told.
type Load struct {
	db       *sql.DB
	accounts [counters + 1]account
	Done     atomic.Int64 // statements and transactions that succeeded
	Failed   atomic.Int64
	RolledUp atomic.Int64  // rollups that succeeded
	met      sync.Map      // errors, by their numbers
	patience time.Duration // of a client; 0: it waits for ever
	bulky    bool          // it writes much to the ledger
	wrong    atomic.Pointer[error]

	say func(word string, ids []int) // nil: nobody listens
}

func openOurs(dsn string) (*sql.DB, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	cfg.Logger = &mysql.NopLogger{}
	connector, err := countermysql.NewConnector(cfg, &countermysql.Config{
		CreateSlots: true, Slots: 4, Logger: slog.New(slog.DiscardHandler),
		Tables: []countermysql.TableConfig{{Table: "item", Counters: []string{"alone", "booked"}}},
	})
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// refused reports whether an error says that nothing was done.
func refused(err error) bool {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number != 1053 && e.Number != 1927 // shutdown, connection killed
	}
	return errors.Is(err, driver.ErrBadConn)
}

// kindOf is the number of the server's error, or -1 for one of the connection or a context.
func kindOf(err error) int {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return int(e.Number)
	}
	return -1
}

// hasMet reports whether some client was told one of the errors; there may be none to meet.
func (l *Load) hasMet(numbers []int) bool {
	return len(numbers) == 0 || slices.ContainsFunc(numbers, func(n int) bool {
		_, ok := l.met.Load(n)
		return ok
	})
}

// run lets clients work until the context ends, with rollups beside, which fail as they do.
func (l *Load) run(ctx context.Context, clients int) {
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			if _, err := countermysql.Rollup(ctx, l.db, nil); err == nil {
				l.RolledUp.Add(1)
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	for range clients {
		wg.Go(func() {
			for ctx.Err() == nil {
				l.step()
				time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
			}
		})
	}
	wg.Wait()
}

func (l *Load) step() {
	ctx, cancel := context.Background(), func() {}
	if l.patience > 0 {
		longest := l.patience << rand.IntN(6) // some contexts are long enough on any machine
		ctx, cancel = context.WithTimeout(ctx, time.Duration(rand.Int64N(int64(longest))))
	}
	defer cancel()
	id := 1 + rand.IntN(counters)
	other := 1 + id%counters
	var err error
	switch rand.IntN(12) {
	case 0, 1, 2:
		err = l.alone(ctx, []int{id}, "UPDATE item SET alone = alone + 1 WHERE id = ?", id)
	case 3:
		err = l.alone(ctx, []int{id}, "UPDATE item SET alone = alone + 1 WHERE slug = ? AND title IS NOT NULL", fmt.Sprint("s", id))
	case 4:
		err = l.alone(ctx, []int{id, other}, "UPDATE item SET alone = alone + 1 WHERE id IN (?, ?)", id, other)
	case 5:
		err = l.alone(ctx, []int{id}, "UPDATE item SET alone = GREATEST(alone + 1, 0) WHERE id = ?", id)
	case 6:
		err = l.aloneInTx(ctx, id, other)
	case 7:
		var n int64
		err = l.db.QueryRowContext(ctx, "SELECT alone FROM item WHERE id = ?", id).Scan(&n)
	default:
		err = l.book(ctx, id, other)
	}
	if err == nil {
		l.Done.Add(1)
	} else {
		l.Failed.Add(1)
		l.met.Store(kindOf(err), true)
		time.Sleep(5 * time.Millisecond)
	}
}

// note writes down what a client was told of increments by one.
func (l *Load) note(ids []int, err error) {
	switch {
	case err == nil:
		l.tell(acknowledged, ids)
	case refused(err):
		l.tell(failed, ids)
	}
	for _, id := range ids {
		switch {
		case err == nil:
			l.accounts[id].acknowledged.Add(1)
		case !refused(err):
			l.accounts[id].unknown.Add(1)
		}
	}
}

func (l *Load) tell(word string, ids []int) {
	if l.say != nil {
		l.say(word, ids)
	}
}

func (l *Load) alone(ctx context.Context, ids []int, text string, args ...any) error {
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return err // nothing was done
	}
	defer conn.Close()
	l.tell(tries, ids)
	res, err := conn.ExecContext(ctx, text, args...) // an answer of a lone connection is not tried again
	if err == nil {
		if n, _ := res.RowsAffected(); n != int64(len(ids)) {
			wrong := fmt.Errorf("%s %v affected %d rows", text, args, n)
			l.wrong.CompareAndSwap(nil, &wrong)
		}
	}
	l.note(ids, err)
	return err
}

// aloneInTx is what GORM does: a transaction of nothing but increments.
func (l *Load) aloneInTx(ctx context.Context, ids ...int) error {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, id := range ids {
		if _, err := tx.ExecContext(ctx, "UPDATE item SET alone = alone + 1 WHERE id = ?", id); err != nil {
			return err
		}
	}
	l.tell(tries, ids)
	err = tx.Commit()
	l.note(ids, err)
	return err
}

// book increments counters and writes the ledger in one transaction.
func (l *Load) book(ctx context.Context, ids ...int) error {
	tx, err := l.db.BeginTx(ctx, &sql.TxOptions{Isolation: []sql.IsolationLevel{sql.LevelDefault, sql.LevelReadCommitted}[rand.IntN(2)]})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	filler := fmt.Sprintf("%0500d", rand.IntN(1000))
	if l.bulky {
		filler = strings.Repeat(filler, 20)
	}
	for _, id := range ids {
		amount := 1 + rand.IntN(5)
		if rand.IntN(6) == 0 { // the exact way
			_, err = tx.ExecContext(ctx, "UPDATE item SET booked = GREATEST(booked + ?, 0) WHERE id = ?", amount, id)
		} else {
			_, err = tx.ExecContext(ctx, "UPDATE item SET booked = booked + ? WHERE id = ?", amount, id)
		}
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO ledger (item, amount, filler) VALUES (?, ?, ?)", id, amount, filler); err != nil {
			return err
		}
	}
	switch rand.IntN(10) {
	case 0: // takes its own increments to the base row: may deadlock
		var n int64
		if err := tx.QueryRowContext(ctx, "SELECT booked FROM item WHERE id = ?", ids[0]).Scan(&n); err != nil {
			return err
		}
	case 1:
		if _, err := tx.ExecContext(ctx, "UPDATE item SET title = ? WHERE id = ?", filler[len(filler)-10:], ids[0]); err != nil {
			return err
		}
	case 2:
		return tx.Rollback()
	}
	return tx.Commit()
}

// check compares what the server has with what the clients were told.
func (l *Load) check(ctx context.Context, db *sql.DB) error {
	if err := l.wrong.Load(); err != nil {
		return *err
	}
	rows, err := db.QueryContext(ctx, "SELECT id, alone, booked FROM item ORDER BY id")
	if err != nil {
		return err
	}
	defer rows.Close()
	values := map[int][2]int64{}
	for rows.Next() {
		var id int
		var v [2]int64
		if err := rows.Scan(&id, &v[0], &v[1]); err != nil {
			return err
		}
		values[id] = v
	}
	if err := rows.Err(); err != nil {
		return err
	}
	var errs []error
	for id := 1; id <= counters; id++ {
		a := &l.accounts[id]
		if n := values[id][0]; n < a.acknowledged.Load() || n > a.acknowledged.Load()+a.unknown.Load() {
			errs = append(errs, fmt.Errorf("counter %d is %d, but %d increments were acknowledged and %d are unknown", id, n, a.acknowledged.Load(), a.unknown.Load()))
		}
		var booked int64
		if err := db.QueryRowContext(ctx, "SELECT COALESCE(SUM(amount), 0) FROM ledger WHERE item = ?", id).Scan(&booked); err != nil {
			return err
		}
		if booked != values[id][1] {
			errs = append(errs, fmt.Errorf("counter %d is %d, but the ledger says %d", id, values[id][1], booked))
		}
	}
	return errors.Join(errs...)
}

// told sums up what the clients were told.
func (l *Load) told() string {
	var acknowledged, unknown int64
	for i := range l.accounts {
		acknowledged += l.accounts[i].acknowledged.Load()
		unknown += l.accounts[i].unknown.Load()
	}
	return fmt.Sprintf("%d done, %d failed, %d rollups; %d increments acknowledged, %d unknown", l.Done.Load(), l.Failed.Load(), l.RolledUp.Load(), acknowledged, unknown)
}
