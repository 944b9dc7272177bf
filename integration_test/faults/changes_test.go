package faults

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/internal/testserver"
)

// change is what a client without the driver does to the schema, and takes back.
type change struct {
	name     string
	key      string // the type of the table's key; "": INT
	keys     []any
	twins    []any // of rows that come with the change and go before it is taken back: the old key has no place for them
	lax      bool  // sessions are not strict: what has no place is cut
	isKey    string
	to, back []string
	ours     bool   // it goes through the driver, in a process that has no part in the load
	zero     string // a query that has to give 0 as long as the change lasts
	uses     string // a counter of the table coming, that is there as long as the change lasts
}

var changes = []change{
	{name: "collation", key: "VARCHAR(20) COLLATE utf8mb4_general_ci", keys: []any{"a", "b", "c"}, twins: []any{"A", "C"},
		to: []string{"ALTER TABLE item MODIFY id VARCHAR(20) COLLATE utf8mb4_bin NOT NULL"}, back: []string{"ALTER TABLE item MODIFY id VARCHAR(20) COLLATE utf8mb4_general_ci NOT NULL"}},
	{name: "longer integer", keys: []any{1, 2, 2147483647}, twins: []any{5000000000, 5000000001},
		to: []string{"ALTER TABLE item MODIFY id BIGINT NOT NULL"}, back: []string{"ALTER TABLE item MODIFY id INT NOT NULL"}},
	{name: "longer integer, not strict", keys: []any{1, 2, 2147483647}, twins: []any{5000000000, 5000000001}, lax: true,
		to: []string{"ALTER TABLE item MODIFY id BIGINT NOT NULL"}, back: []string{"ALTER TABLE item MODIFY id INT NOT NULL"}},
	{name: "digits of a time", key: "DATETIME", keys: []any{"2026-01-01 10:00:00", "2026-01-01 10:00:01"}, twins: []any{"2026-01-01 10:00:00.400", "2026-01-01 10:00:00.600"},
		to: []string{"ALTER TABLE item MODIFY id DATETIME(3) NOT NULL"}, back: []string{"ALTER TABLE item MODIFY id DATETIME NOT NULL"}},
	{name: "digits of a number", key: "DECIMAL(10,1)", keys: []any{"1.5", "2.5"}, twins: []any{"1.501", "2.499"},
		to: []string{"ALTER TABLE item MODIFY id DECIMAL(10,3) NOT NULL"}, back: []string{"ALTER TABLE item MODIFY id DECIMAL(10,1) NOT NULL"}},
	{name: "longer text", key: "VARCHAR(3)", keys: []any{"abc", "b"}, twins: []any{"abcd", "abce"},
		to: []string{"ALTER TABLE item MODIFY id VARCHAR(10) NOT NULL"}, back: []string{"ALTER TABLE item MODIFY id VARCHAR(3) NOT NULL"}},
	{name: "longer text, not strict", key: "VARCHAR(3)", keys: []any{"abc", "b"}, twins: []any{"abcd", "abce"}, lax: true,
		to: []string{"ALTER TABLE item MODIFY id VARCHAR(10) NOT NULL"}, back: []string{"ALTER TABLE item MODIFY id VARCHAR(3) NOT NULL"}},
	{name: "character set, not strict", key: "VARCHAR(20) CHARACTER SET utf8mb3", keys: []any{"a?", "b"}, twins: []any{"a😀", "b😀"}, lax: true,
		to: []string{"ALTER TABLE item MODIFY id VARCHAR(20) CHARACTER SET utf8mb4 NOT NULL"}, back: []string{"ALTER TABLE item MODIFY id VARCHAR(20) CHARACTER SET utf8mb3 NOT NULL"}},
	{name: "longer ENUM, not strict", key: "ENUM('a', 'b')", keys: []any{"a", "b"}, twins: []any{"c", "d"}, lax: true,
		to: []string{"ALTER TABLE item MODIFY id ENUM('a', 'b', 'c', 'd') NOT NULL"}, back: []string{"ALTER TABLE item MODIFY id ENUM('a', 'b') NOT NULL"}},
	{name: "longer primary key", keys: []any{1, 2, 3}, isKey: "id = ? AND lang = ''", zero: "SELECT COALESCE(SUM(ABS(alone) + ABS(booked) + ABS(stock)), 0) FROM item WHERE lang <> ''",
		to:   []string{"ALTER TABLE item DROP PRIMARY KEY, ADD PRIMARY KEY (id, lang)", "INSERT INTO item (id, lang, slug, stock) VALUES (1, 'de', 'd1', 0), (2, 'de', 'd2', 0)"},
		back: []string{"DELETE FROM item WHERE lang <> ''", "ALTER TABLE item DROP PRIMARY KEY, ADD PRIMARY KEY (id)"}},
	{name: "longer primary key through the driver", keys: []any{1, 2, 3}, isKey: "id = ? AND lang = ''", ours: true,
		to: []string{"ALTER TABLE item DROP PRIMARY KEY, ADD PRIMARY KEY (id, lang)"}, back: []string{"ALTER TABLE item DROP PRIMARY KEY, ADD PRIMARY KEY (id)"}},
	{name: "counter's type", keys: []any{1, 2, 3},
		to: []string{"ALTER TABLE item MODIFY alone INT NOT NULL DEFAULT 0"}, back: []string{"ALTER TABLE item MODIFY alone BIGINT NOT NULL DEFAULT 0"}},
	{name: "column", keys: []any{1, 2, 3}, to: []string{"ALTER TABLE item ADD COLUMN more INT NOT NULL DEFAULT 7 FIRST"}, back: []string{"ALTER TABLE item DROP COLUMN more"}},
	{name: "CHECK", keys: []any{1, 2, 3}, to: []string{"ALTER TABLE item ADD CONSTRAINT enough CHECK (stock >= 0 AND alone >= 0)"}, back: []string{"ALTER TABLE item DROP CONSTRAINT enough"}},
	{name: "trigger", keys: []any{1, 2, 3}, to: []string{"CREATE TRIGGER retitle BEFORE UPDATE ON item FOR EACH ROW SET NEW.title = 'x'"}, back: []string{"DROP TRIGGER retitle"}},
	{name: "rename", keys: []any{1, 2, 3}, to: []string{"RENAME TABLE item TO away"}, back: []string{"RENAME TABLE away TO item"}},
	{name: "rename behind a view", keys: []any{1, 2, 3}, to: []string{"RENAME TABLE item TO away", "CREATE VIEW item AS SELECT * FROM away"}, back: []string{"DROP VIEW item", "RENAME TABLE away TO item"}},
	{name: "other tables", keys: []any{1, 2, 3}, to: []string{"CREATE TABLE other (id INT PRIMARY KEY)", "CREATE TABLE another (id INT)"}, back: []string{"DROP TABLE other, another"}},
	{name: "listed table", keys: []any{1, 2, 3}, uses: "n", to: []string{"CREATE TABLE coming (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0)", "INSERT INTO coming (id) VALUES (1)"},
		back: []string{"DROP TABLE coming", "DROP TABLE IF EXISTS coming_slots"}},
	{name: "listed table through the driver", keys: []any{1, 2, 3}, ours: true, uses: "n", to: []string{"CREATE TABLE coming (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0)", "INSERT INTO coming (id) VALUES (1)"},
		back: []string{"DROP TABLE coming"}},
	{name: "listed column", keys: []any{1, 2, 3}, ours: true, uses: "later", to: []string{"CREATE TABLE IF NOT EXISTS coming (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0)", "REPLACE INTO coming (id) VALUES (1)",
		"ALTER TABLE coming ADD COLUMN later INT NOT NULL DEFAULT 0"}, back: []string{"ALTER TABLE coming DROP COLUMN later", "DELETE FROM coming"}},
}

// unmended are changes that lose counts as yet, and where that is being mended.
var unmended = map[string]string{
	"longer primary key": "a statement planned for the shorter key adds slots to two rows",
}

// alter runs a statement of the change.
func (w *world) alter(db *sql.DB, text string) error {
	for try := 0; ; try++ {
		_, err := db.Exec(text)
		var e *mysql.MySQLError
		if err == nil || try == 20 || !errors.As(err, &e) || e.Number != 1205 && e.Number != 1213 && e.Number != 1412 {
			if err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
			return nil
		}
	}
}

// listed is the table coming, if the change uses it.
func (c change) listed() []countermysql.TableConfig {
	if c.uses == "" {
		return nil
	}
	return []countermysql.TableConfig{{Table: "coming", Counters: []string{"n", "later"}}}
}

// strike makes the change, and takes it back.
func (c change) strike(w *world, lasts time.Duration) error {
	ctx := context.Background()
	fresh, err := openOurs(w.srv.DSN(w.name), c.listed()...) // knows the schema as it is
	if err != nil {
		return err
	}
	defer fresh.Close()
	by := w.admin
	if c.ours {
		by = fresh
	}
	for i := 0; c.uses != "" && i < len(w.load.dbs); i++ { // all know that it is missing
		_, _ = countermysql.Check(ctx, w.load.dbs[i])
	}
	for _, text := range c.to {
		if err := w.alter(by, text); err != nil {
			return err
		}
	}
	if rand.IntN(2) == 0 { // one of the processes notices it at once
		_, _ = countermysql.Check(ctx, w.load.dbs[0])
	}
	if err := w.load.bring(w.admin); err != nil {
		return err
	}
	if c.uses != "" {
		err = c.use(append([]*sql.DB{fresh}, w.load.dbs...), lasts)
	} else {
		time.Sleep(lasts)
	}
	if err != nil {
		return err
	}
	if c.zero != "" {
		var n int64
		if err := fresh.QueryRow(c.zero).Scan(&n); err == nil && n != 0 { // the slots table may not fit yet
			return fmt.Errorf("%s: %d", c.zero, n)
		}
	}
	if err := w.load.take(ctx, w.admin, fresh); err != nil {
		return err
	}
	for _, text := range c.back {
		if err := w.alter(by, text); err != nil {
			return err
		}
	}
	return nil
}

// bring inserts the twins, for all to count.
func (l *Load) bring(db *sql.DB) error {
	l.gate.Lock()
	defer l.gate.Unlock()
	for i, key := range l.twins {
		id := 1 + len(l.keys) + i
		a := &l.accounts[id]
		for _, n := range []interface{ Store(int64) }{&a.acknowledged, &a.unknown, &a.tried, &a.sold, &a.perhapsSold} {
			n.Store(0)
		}
		if _, err := db.Exec("INSERT INTO item (id, slug) VALUES (?, ?)", key, fmt.Sprint("s", id)); err != nil {
			return err
		}
	}
	l.twinned = true
	return nil
}

// take checks the twins, and takes them away with their slots.
func (l *Load) take(ctx context.Context, db, ours *sql.DB) error {
	if l.twins == nil {
		return nil
	}
	l.gate.Lock()
	defer l.gate.Unlock()
	l.twinned = false
	var ids []int
	for i := range l.twins {
		ids = append(ids, 1+len(l.keys)+i)
	}
	if err := l.checkRows(ctx, ours, ids); err != nil {
		return fmt.Errorf("a row that came with the change: %w", err)
	}
	for _, id := range ids {
		for _, text := range []string{"DELETE FROM ledger WHERE item = ?", "DELETE FROM item WHERE slug = CONCAT('s', ?)"} {
			if _, err := db.Exec(text, id); err != nil {
				return err
			}
		}
	}
	return rollUp(ctx, ours)
}

// use has one process count in the table coming, and another read it: neither may go by
// what it knows from when there was no such table or column.
func (c change) use(dbs []*sql.DB, lasts time.Duration) error {
	set := "UPDATE coming SET " + c.uses + " = " + c.uses
	steps := []struct {
		text string
		adds int64
	}{{set + " + 2 WHERE id = 1", 2}, {set + " - 1 WHERE id = 1 AND " + c.uses + " >= 1", -1}}
	var value int64
	for begun := time.Now(); time.Since(begun) < lasts; time.Sleep(time.Millisecond) {
		rand.Shuffle(len(dbs), func(i, j int) { dbs[i], dbs[j] = dbs[j], dbs[i] })
		for _, step := range steps {
			res, err := dbs[0].Exec(step.text)
			switch {
			case err == nil:
			case refused(err):
				continue
			default:
				return err
			}
			if n, _ := res.RowsAffected(); n == 1 {
				value += step.adds
			} else if step.adds > 0 || value > 0 {
				return fmt.Errorf("%s affected %d rows, when it was %d", step.text, n, value)
			}
		}
		var n int64
		if err := dbs[1].QueryRow("SELECT " + c.uses + " FROM coming WHERE id = 1").Scan(&n); err == nil && n != value {
			return fmt.Errorf("%s is read as %d, and is %d", c.uses, n, value)
		}
	}
	if value == 0 {
		return fmt.Errorf("nothing was counted in %s", c.uses)
	}
	return nil
}

// recovers reports whether every process can count again.
func (w *world) recovers(t *testing.T) {
	for i, db := range w.load.dbs {
		require.Eventually(t, func() bool {
			_, err := db.Exec("UPDATE item SET title = 'end', alone = alone + 0 WHERE "+w.load.isKey, w.load.keys[0])
			return err == nil
		}, 20*time.Second, 100*time.Millisecond, "process %d can't write", i)
	}
}

// run has clients count under the change for a while.
func (c change) run(t *testing.T, srv *testserver.Server, clients int, d time.Duration) {
	l := newLoad(c.keys, c.twins)
	l.isKey = cmp.Or(c.isKey, l.isKey)
	params := []string{fmt.Sprintf("interpolateParams=%t", rand.IntN(2) == 0)}
	if c.lax {
		params = append(params, "sql_mode=%27%27")
	}
	w := newWorldOf(t, srv, "", cmp.Or(c.key, "INT"), l, params...)
	defer w.end(t)
	for range 3 {
		w.process(t, c.listed()...)
	}
	l.dbs, l.roller = l.dbs[:2], l.dbs[2]
	defer l.roller.Close()
	w.endure(t, fault{name: c.name, least: 20, every: 50 * time.Millisecond, strike: func(w *world) error {
		lasts := time.Duration(100+rand.IntN(500)) * time.Millisecond
		if d > 20*time.Second && rand.IntN(4) == 0 {
			lasts += 11 * time.Second // all processes notice
		}
		return c.strike(w, lasts)
	}, heal: func(w *world) error {
		w.recovers(t)
		return nil
	}}, clients, d)
}

// TestSchemaChanges proves that acknowledged ≤ value ≤ acknowledged + unknown, that
// counters equal the ledger, and that nothing stale is read, while a client without the
// driver changes the schema under two processes.
func TestSchemaChanges(t *testing.T) {
	if soak(t) > 0 {
		t.Parallel() // beside the faults
	}
	for _, flavor := range []testserver.Flavor{testserver.MariaDB, testserver.MySQL} {
		t.Run(string(flavor), func(t *testing.T) {
			t.Parallel()
			srv := start(t, flavor, testserver.WithArgs("--max-connections=2000"))
			end := time.Now().Add(soak(t))
			for round := 1; ; round++ {
				for _, c := range changes {
					if unmended[c.name] != "" {
						continue
					}
					if soak(t) == 0 {
						t.Run(c.name, func(t *testing.T) {
							t.Parallel()
							c.run(t, srv, 4, 3*time.Second)
						})
						continue
					}
					t.Run(c.name, func(t *testing.T) { c.run(t, srv, 16, min(soak(t)/time.Duration(len(changes)), 30*time.Second)) })
					fmt.Fprintf(os.Stderr, "%s  %s: schema changes, %s, round %d, %s left\n", time.Now().Format(time.TimeOnly), flavor, c.name, round, time.Until(end).Round(time.Second))
				}
				if time.Now().After(end) || t.Failed() {
					return
				}
			}
		})
	}
}
