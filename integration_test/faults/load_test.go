package faults

import (
	"cmp"
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
	"github.com/countermysql/countermysql/integration_test/changes"
)

const counters = 8

// numbers are the keys of as many rows.
var numbers = []any{1, 2, 3, 4, 5, 6, 7, 8}

// stocked is what a row has in stock: more than the clients can sell.
const stocked = 1_000_000_000

// schema has a counter for increments and one for guarded decrements, of which the
// clients keep account, and one whose increments are written to the ledger in the same
// transaction. What the key of a row is called in them is its place among the keys.
var schema = []string{
	"CREATE TABLE item (id {key} NOT NULL, lang VARCHAR(5) NOT NULL DEFAULT '', slug VARCHAR(20) NOT NULL UNIQUE, title VARCHAR(20) NOT NULL DEFAULT '', " +
		"alone BIGINT NOT NULL DEFAULT 0, booked BIGINT NOT NULL DEFAULT 0, stock BIGINT NOT NULL DEFAULT " + fmt.Sprint(stocked) + ", PRIMARY KEY (id))",
	"CREATE TABLE ledger (id BIGINT AUTO_INCREMENT PRIMARY KEY, item INT NOT NULL, amount INT NOT NULL, filler VARCHAR(12000) NOT NULL DEFAULT '', INDEX (item))",
}

// account is what became of the increments of one counter, and of the sales of one row.
type account struct {
	acknowledged, unknown atomic.Int64
	tried                 atomic.Int64 // increments, before they are sent
	sold, perhapsSold     atomic.Int64
}

// Load is what the clients do, and what they were told.
type Load struct {
	dbs      []*sql.DB // of several processes
	roller   *sql.DB   // of one that rolls up, and reads the schema anew each time; nil: any
	keys     []any     // of the rows 1, 2, …
	twins    []any     // of further rows, which come and go
	isKey    string    // how a key is compared: "id = ?"
	accounts []account
	gate     sync.RWMutex // held while a twin is used
	twinned  bool         // the twins are there
	others   atomic.Bool  // clients count that are not ours
	Done     atomic.Int64 // statements and transactions that succeeded
	Failed   atomic.Int64
	RolledUp atomic.Int64  // rollups that succeeded
	met      sync.Map      // errors, by their numbers
	patience time.Duration // of a client; 0: it waits for ever
	bulky    bool          // it writes much to the ledger
	wrong    atomic.Pointer[error]

	say func(word string, ids []int) // nil: nobody listens
}

func rollUp(ctx context.Context, db *sql.DB) error {
	_, err := countermysql.Rollup(ctx, db, &countermysql.RollupOptions{Tables: []string{"item"}})
	return err
}

func newLoad(keys, twins []any) *Load {
	return &Load{keys: keys, twins: twins, isKey: "id = ?", accounts: make([]account, 1+len(keys)+len(twins))}
}

func (l *Load) db() *sql.DB { return l.dbs[rand.IntN(len(l.dbs))] }

func (l *Load) key(id int) any {
	if id > len(l.keys) {
		return l.twins[id-len(l.keys)-1]
	}
	return l.keys[id-1]
}

// openOurs opens our driver with the counters of item, and of more tables.
func openOurs(dsn string, more ...countermysql.TableConfig) (*sql.DB, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	cfg.Logger = &mysql.NopLogger{}
	connector, err := countermysql.NewConnector(cfg, &countermysql.Config{
		CreateSlots: true, Slots: 4, Logger: slog.New(slog.DiscardHandler),
		Tables: append(more, countermysql.TableConfig{Table: "item", Counters: []string{"alone", "booked", "stock"}}),
	})
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
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
			if err := rollUp(ctx, cmp.Or(l.roller, l.db())); err == nil {
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
		longest := l.patience << rand.IntN(8) // some contexts are long enough on any machine
		ctx, cancel = context.WithTimeout(ctx, time.Duration(rand.Int64N(int64(longest))))
	}
	defer cancel()
	id := 1 + rand.IntN(len(l.keys))
	other := 1 + id%len(l.keys)
	if l.twins != nil {
		l.gate.RLock()
		defer l.gate.RUnlock()
		if l.twinned && rand.IntN(3) == 0 {
			id = 1 + len(l.keys) + rand.IntN(len(l.twins))
		}
	}
	where := " WHERE " + l.isKey
	var err error
	switch rand.IntN(15) {
	case 0, 1, 2:
		err = l.alone(ctx, []int{id}, "UPDATE item SET alone = alone + 1"+where, l.key(id))
	case 3:
		err = l.alone(ctx, []int{id}, "UPDATE item SET alone = alone + 1 WHERE slug = ? AND title IS NOT NULL", fmt.Sprint("s", id))
	case 4:
		err = l.alone(ctx, []int{id, other}, "UPDATE item SET alone = alone + 1"+strings.Replace(where, "= ?", "IN (?, ?)", 1), l.key(id), l.key(other))
	case 5:
		err = l.alone(ctx, []int{id}, "UPDATE item SET alone = GREATEST(alone + 1, 0)"+where, l.key(id))
	case 6:
		err = l.aloneInTx(ctx, id, other)
	case 7, 8:
		err = l.read(ctx, id)
	case 9, 10:
		err = l.sell(ctx, id)
	case 11:
		_, err = l.db().ExecContext(ctx, "UPDATE item SET title = ?"+where, fmt.Sprint(rand.Uint32()), l.key(id))
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
	case changes.Refused(err):
		l.tell(failed, ids)
	}
	for _, id := range ids {
		switch {
		case err == nil:
			l.accounts[id].acknowledged.Add(1)
		case !changes.Refused(err):
			l.accounts[id].unknown.Add(1)
		}
	}
}

func (l *Load) tell(word string, ids []int) {
	if l.say != nil {
		l.say(word, ids)
	}
}

// complain notes the first thing that was wrong.
func (l *Load) complain(format string, args ...any) {
	wrong := fmt.Errorf(format, args...)
	l.wrong.CompareAndSwap(nil, &wrong)
}

// exec runs a statement that has to affect rows, on a connection of its own: what that
// has answered is not tried again. began is called before anything is sent.
func (l *Load) exec(ctx context.Context, began func(), rows int, text string, args ...any) error {
	conn, err := l.db().Conn(ctx)
	if err != nil {
		return driver.ErrBadConn // nothing was done
	}
	defer conn.Close()
	began()
	res, err := conn.ExecContext(ctx, text, args...)
	if err == nil {
		if n, _ := res.RowsAffected(); n != int64(rows) {
			l.complain("%s %v affected %d rows", text, args, n)
		}
	}
	return err
}

func (l *Load) alone(ctx context.Context, ids []int, text string, args ...any) error {
	began := false
	err := l.exec(ctx, func() {
		began = true
		l.begin(ids)
	}, len(ids), text, args...)
	if began {
		l.note(ids, err)
	}
	return err
}

// begin notes that increments are about to be sent.
func (l *Load) begin(ids []int) {
	for _, id := range ids {
		l.accounts[id].tried.Add(1)
	}
	l.tell(tries, ids)
}

// sell takes one from the stock, of which there is enough.
func (l *Load) sell(ctx context.Context, id int) error {
	if l.say != nil {
		return nil // nobody would hear of it
	}
	a := &l.accounts[id]
	err := l.exec(ctx, func() {}, 1, "UPDATE item SET stock = stock - 1 WHERE "+l.isKey+" AND stock >= 1", l.key(id))
	switch {
	case err == nil:
		a.sold.Add(1)
	case !changes.Refused(err):
		a.perhapsSold.Add(1)
	}
	return err
}

// read reads a counter: not less than what was acknowledged before, nor more than was
// tried until then.
func (l *Load) read(ctx context.Context, id int) error {
	a := &l.accounts[id]
	least, n := a.acknowledged.Load(), int64(0)
	if err := l.db().QueryRowContext(ctx, "SELECT alone FROM item WHERE "+l.isKey, l.key(id)).Scan(&n); err != nil {
		return err
	}
	if most := a.tried.Load(); n < least || n > most && !l.others.Load() {
		l.complain("counter %d was read as %d, when %d increments were acknowledged and %d tried", id, n, least, most)
	}
	return nil
}

// aloneInTx is what GORM does: a transaction of nothing but increments.
func (l *Load) aloneInTx(ctx context.Context, ids ...int) error {
	tx, err := l.db().BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, id := range ids {
		if err := l.execIn(ctx, tx, "UPDATE item SET alone = alone + 1 WHERE "+l.isKey, l.key(id)); err != nil {
			return err
		}
	}
	l.begin(ids)
	err = tx.Commit()
	l.note(ids, err)
	return err
}

// execIn writes one row in a transaction.
func (l *Load) execIn(ctx context.Context, tx *sql.Tx, text string, args ...any) error {
	res, err := tx.ExecContext(ctx, text, args...)
	if err != nil {
		return err
	}
	if n, _ := res.RowsAffected(); n != 1 {
		l.complain("in a transaction, %s %v affected %d rows", text, args, n)
	}
	return nil
}

// book increments counters and writes the ledger in one transaction.
func (l *Load) book(ctx context.Context, ids ...int) error {
	where := " WHERE " + l.isKey
	tx, err := l.db().BeginTx(ctx, &sql.TxOptions{Isolation: []sql.IsolationLevel{sql.LevelDefault, sql.LevelReadCommitted}[rand.IntN(2)]})
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
			err = l.execIn(ctx, tx, "UPDATE item SET booked = GREATEST(booked + ?, 0)"+where, amount, l.key(id))
		} else {
			err = l.execIn(ctx, tx, "UPDATE item SET booked = booked + ?"+where, amount, l.key(id))
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
		if err := tx.QueryRowContext(ctx, "SELECT booked FROM item"+where, l.key(ids[0])).Scan(&n); err != nil {
			return err
		}
	case 1:
		if _, err := tx.ExecContext(ctx, "UPDATE item SET title = ?"+where, filler[len(filler)-10:], l.key(ids[0])); err != nil {
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
	ids := make([]int, len(l.keys))
	for i := range ids {
		ids[i] = i + 1
	}
	return l.checkRows(ctx, db, ids)
}

// checkRows compares rows with the books; nobody writes them any more.
func (l *Load) checkRows(ctx context.Context, db *sql.DB, ids []int) error {
	var errs []error
	for _, id := range ids {
		var alone, booked, stock, ledger int64
		if err := db.QueryRowContext(ctx, "SELECT alone, booked, stock FROM item WHERE slug = ?", fmt.Sprint("s", id)).Scan(&alone, &booked, &stock); err != nil {
			return err
		}
		if err := db.QueryRowContext(ctx, "SELECT COALESCE(SUM(amount), 0) FROM ledger WHERE item = ?", id).Scan(&ledger); err != nil {
			return err
		}
		a := &l.accounts[id]
		if least := a.acknowledged.Load(); alone < least || alone > least+a.unknown.Load() {
			errs = append(errs, fmt.Errorf("counter %d is %d, but %d increments were acknowledged and %d are unknown", id, alone, least, a.unknown.Load()))
		}
		if sold := stocked - stock; sold < a.sold.Load() || sold > a.sold.Load()+a.perhapsSold.Load() {
			errs = append(errs, fmt.Errorf("of row %d, %d are sold, but %d sales were acknowledged and %d are unknown", id, sold, a.sold.Load(), a.perhapsSold.Load()))
		}
		if booked != ledger {
			errs = append(errs, fmt.Errorf("counter %d is %d, but the ledger says %d", id, booked, ledger))
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
