package histories

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// keyType is the type of a counter table's key, and its values.
type keyType struct {
	definition string
	values     []any // integers or strings
	anyCase    bool  // 'a' is 'A'
}

var letters = []any{"a", "b", "c", "d", "e"}

var keyTypes = []keyType{
	{"INT", []any{1, 2, 3, 4, 5}, false},
	{"VARCHAR(20) COLLATE utf8mb4_general_ci", letters, true},
	{"VARCHAR(20) COLLATE utf8mb4_bin", letters, false},
	{"VARBINARY(20)", letters, false},
	{"CHAR(5) CHARACTER SET latin1", letters, true},
	{"DATE", []any{"2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"}, false},
}

// own is what a transaction knows of one counter.
type own struct {
	wrote bool   // the transaction has written its row
	known bool   // it has read it since, or not written it and read it
	value string // what it has to read again

	// It has met the row and changed nothing: what was folded for that is read as it is
	// now, by an accepted difference. The row is locked.
	met bool
}

// booking is a transaction beside others each of which writes in the ledger what it adds
// to counters.
type booking struct {
	*sql.Tx
	keys  keyType
	bytes bool // keys as []byte
	folds bool // the driver is ours
	seen  map[string]own
	log   []string
}

func (b *booking) note(format string, args ...any) {
	b.log = append(b.log, fmt.Sprintf(format, args...))
}

// spelled is a key as the statement gives it: ? and an argument, or a literal.
func (b *booking) spelled(key any) (text string, args []any) {
	s, isString := key.(string)
	if isString && b.keys.anyCase && rand.IntN(2) == 0 {
		s = strings.ToUpper(s)
	}
	switch {
	case !isString && rand.IntN(2) == 0:
		return fmt.Sprint(key), nil
	case !isString:
		return "?", []any{key}
	case b.bytes:
		return "?", []any{[]byte(s)}
	case rand.IntN(3) == 0:
		return "'" + s + "'", nil
	}
	return "?", []any{s}
}

// write runs a statement on keys and writes its amount in the ledger for each if it
// affected them all.
func (b *booking) write(format string, amount int64, keys ...any) error {
	var texts, args []any
	for _, key := range keys {
		text, more := b.spelled(key)
		texts, args = append(texts, text), append(args, more...)
	}
	text := fmt.Sprintf(format, texts...)
	res, err := b.Exec(text, args...)
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return err
	}
	b.note("%s %q: %d", text, args, n)
	switch {
	case n == 0:
		for _, key := range keys {
			if key := fmt.Sprint(key); b.folds && !b.seen[key].wrote {
				b.seen[key] = own{met: true}
			}
		}
		return nil
	case n < int64(len(keys)):
		return errGiveUp // which of them is not told
	}
	for _, key := range keys {
		b.seen[fmt.Sprint(key)] = own{wrote: true}
		if amount != 0 {
			if _, err := b.Exec("INSERT INTO ledger (k, amount) VALUES (?, ?)", key, amount); err != nil {
				return err
			}
		}
	}
	return nil
}

var errGiveUp = errors.New("rolled back")

// values reads a column of numbers by key.
func (b *booking) values(text string, args ...any) (map[string]string, error) {
	rows, err := b.Query(text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string]string{}
	for rows.Next() {
		var key, value string
		if err := rows.Scan(&key, &value); err != nil {
			return nil, err
		}
		all[strings.ToLower(strings.TrimSuffix(key, "T00:00:00Z"))] = value
	}
	return all, rows.Err()
}

// compare notes what has been read of a counter, or says what it should have been.
func (b *booking) compare(key, value string) error {
	was := b.seen[key]
	if was.known && was.value != value {
		return fmt.Errorf("counter %s was %s, and is %s", key, was.value, value)
	}
	b.seen[key] = own{was.wrote, true, value, was.met}
	return nil
}

// readAll compares all counters with the ledger, as of the snapshot.
func (b *booking) readAll() error {
	counters, err := b.values("SELECT k, n FROM counter")
	if err != nil {
		return err
	}
	ledger, err := b.values("SELECT k, SUM(amount) FROM ledger GROUP BY k")
	if err != nil {
		return err
	}
	b.note("all %v, ledger %v", counters, ledger)
	for _, k := range b.keys.values {
		key := fmt.Sprint(k)
		n, sum := or0(counters[key]), or0(ledger[key])
		if err := b.compare(key, n); err != nil {
			return err
		}
		if b.seen[key].wrote || n == sum {
			continue
		}
		if b.seen[key].met {
			if err := b.ledgerNow(k, n); err != nil {
				return err
			}
			continue
		}
		return fmt.Errorf("counter %s is %s, the ledger says %s", key, n, sum)
	}
	return nil
}

func or0(n string) string {
	if n == "" {
		return "0"
	}
	return n
}

// readOne compares a counter that the transaction has written with the ledger as it is
// now: nobody else can add to either.
func (b *booking) readOne(k any) error {
	key := fmt.Sprint(k)
	var n string
	switch err := b.QueryRow("SELECT n FROM counter WHERE k = ?", k).Scan(&n); {
	case errors.Is(err, sql.ErrNoRows):
		n = "0"
	case err != nil:
		return err
	}
	b.note("%s is %s", key, n)
	if err := b.compare(key, n); err != nil || !b.seen[key].wrote {
		return err
	}
	return b.ledgerNow(k, n)
}

// ledgerNow compares a counter that the transaction holds locked with the ledger as it is
// now.
func (b *booking) ledgerNow(k any, n string) error {
	var sum string
	if err := b.QueryRow("SELECT COALESCE(SUM(amount), 0) FROM ledger WHERE k = ? LOCK IN SHARE MODE", k).Scan(&sum); err != nil {
		return err
	}
	if sum != n {
		return fmt.Errorf("locked counter %v is %s, the ledger says %s", k, n, sum)
	}
	return nil
}

func (b *booking) step() error {
	i := rand.IntN(len(b.keys.values))
	k, other := b.keys.values[i], b.keys.values[(i+1)%len(b.keys.values)]
	d := int64(1 + rand.IntN(5))
	by := func(format string) string { return strings.ReplaceAll(format, "{d}", fmt.Sprint(d)) }
	switch rand.IntN(17) {
	case 0, 1, 2:
		return b.write(by("UPDATE counter SET n = n + {d} WHERE k = %s"), d, k)
	case 3:
		return b.write(by("UPDATE counter SET n = n - {d} WHERE k = %s AND n >= {d}"), -d, k)
	case 4:
		return b.write(by("UPDATE counter SET n = GREATEST(n + {d}, 0) WHERE k = %s"), d, k)
	case 5:
		return b.write(by("UPDATE counter SET n = n + {d}, title = '"+fmt.Sprint(rand.Uint32())+"' WHERE k = %s"), d, k)
	case 6:
		return b.write("UPDATE counter SET title = '"+fmt.Sprint(rand.Uint32())+"' WHERE k = %s", 0, k)
	case 7, 8:
		return b.write(by("INSERT INTO counter (k, n) VALUES (%s, {d}) ON DUPLICATE KEY UPDATE n = n + {d}"), d, k)
	case 9:
		return b.write(by("INSERT INTO counter (k, n) VALUES (%s, {d}) ON DUPLICATE KEY UPDATE n = GREATEST(n + {d}, 0)"), d, k)
	case 10:
		return b.write(by("UPDATE counter SET n = n + {d} WHERE k IN (%s, %s)"), d, k, other)
	case 11:
		return b.write(by("UPDATE counter SET n = n + {d} WHERE k = %s AND title <> 'x'"), d, k)
	case 12: // a DELETE could take an increment of others with it that is not sent yet, which is an accepted difference
		var key, n string
		switch err := b.QueryRow("SELECT k, n FROM counter WHERE k = ? FOR UPDATE", k).Scan(&key, &n); {
		case errors.Is(err, sql.ErrNoRows):
			return nil
		case err != nil:
			return err
		}
		var amount int64
		if _, err := fmt.Sscan(n, &amount); err != nil {
			return err
		}
		return b.write("UPDATE counter SET n = 0 WHERE k = %s", -amount, k)
	case 13:
		kept := maps.Clone(b.seen)
		for _, text := range []string{"SAVEPOINT s", "", "ROLLBACK TO s"} {
			var err error
			if text == "" {
				err = b.write(by("UPDATE counter SET n = n + {d} WHERE k = %s"), d, k)
			} else {
				_, err = b.Exec(text)
			}
			if err != nil {
				return err
			}
		}
		b.note("back to savepoint")
		b.seen = kept
		return nil
	case 14:
		return b.readOne(k)
	}
	return b.readAll()
}

// book makes a transaction of random steps.
func book(db *sql.DB, keys keyType, folds bool) (log []string, err error) {
	tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	b := &booking{Tx: tx, keys: keys, bytes: rand.IntN(2) == 0, folds: folds, seen: map[string]own{}}
	for range 1 + rand.IntN(8) {
		if err := b.step(); err != nil {
			return b.log, err
		}
	}
	if rand.IntN(8) == 0 {
		return nil, nil
	}
	return b.log, tx.Commit()
}

// TestLedger proves that counters and the ledger that each transaction writes beside are
// never apart under REPEATABLE READ, whatever the keys: as of a snapshot, in rows that
// the transaction has written, and in the end. Plain MySQL is asked first.
func TestLedger(t *testing.T) {
	each(t, func(t *testing.T, srv *testserver.Server, round int) {
		for i, keys := range keyTypes {
			if harness.Soak(t) > 0 && i != round%len(keyTypes) {
				continue
			}
			for _, driver := range []string{"mysql", "countermysql"} {
				t.Run(driver+"/"+keys.definition, func(t *testing.T) {
					bookings(t, srv, driver, keys)
				})
			}
		}
	})
}

func bookings(t *testing.T, srv *testserver.Server, driver string, keys keyType) {
	name := harness.NewDatabase(t, srv)
	cfg, err := mysql.ParseDSN(srv.DSN(name, []string{"interpolateParams=true", "interpolateParams=false"}[rand.IntN(2)], "innodb_lock_wait_timeout=3"))
	require.NoError(t, err)
	plain, err := mysql.NewConnector(cfg)
	require.NoError(t, err)
	db := sql.OpenDB(plain)
	defer db.Close()
	for _, text := range []string{
		"CREATE TABLE counter (k " + keys.definition + " NOT NULL PRIMARY KEY, title VARCHAR(20) NOT NULL DEFAULT '', n BIGINT NOT NULL DEFAULT 0)",
		"CREATE TABLE ledger (id BIGINT AUTO_INCREMENT PRIMARY KEY, k " + keys.definition + " NOT NULL, amount BIGINT NOT NULL, KEY (k, amount))",
	} {
		_, err = db.Exec(text)
		require.NoError(t, err)
	}
	for _, k := range keys.values[1:] {
		_, err = db.Exec("INSERT INTO counter (k) VALUES (?)", k)
		require.NoError(t, err)
	}
	if driver == "countermysql" {
		connector, err := countermysql.NewConnector(cfg, &countermysql.Config{CreateSlots: true, Slots: 4, Logger: slog.New(slog.DiscardHandler),
			Tables: []countermysql.TableConfig{{Table: "counter", Counters: []string{"n"}}}})
		require.NoError(t, err)
		db = sql.OpenDB(connector)
		defer db.Close()
	}
	db.SetMaxIdleConns(32)
	stop := beside(func() { _, _ = countermysql.Rollup(t.Context(), db, nil) })
	var wg sync.WaitGroup
	var failed sync.Once
	var committed atomic.Int64
	transactions := 30
	if driver == "mysql" && harness.Soak(t) == 0 {
		transactions = 10 // which shows that the ledger is kept as it should be
	}
	for range 10 {
		wg.Go(func() {
			for range transactions {
				log, err := book(db, keys, driver == "countermysql")
				var e *mysql.MySQLError
				switch {
				case err == nil:
					committed.Add(1)
				case errors.Is(err, errGiveUp), errors.As(err, &e) && (e.Number == 1213 || e.Number == 1205 || e.Number == 1020):
				default:
					failed.Do(func() { t.Errorf("%v, after\n%s", err, strings.Join(log, "\n")) })
					return
				}
			}
		})
	}
	wg.Wait()
	stop()
	t.Logf("%d transactions committed", committed.Load())
	require.NotZero(t, committed.Load())
	for _, rolledUp := range []bool{false, true} {
		if rolledUp {
			_, _ = countermysql.Rollup(t.Context(), db, nil)
		}
		tx, err := db.Begin()
		require.NoError(t, err)
		b := &booking{Tx: tx, keys: keys, seen: map[string]own{}}
		err = b.readAll()
		require.NoError(t, tx.Rollback())
		require.NoError(t, err, "in the end, rolled up: %t", rolledUp)
	}
}
