package faults

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/changes"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// change is one under which a load counts.
type change struct{ changes.Change }

// listed is the table coming, if the change uses it.
func (c change) listed() []countermysql.TableConfig {
	if c.Uses == "" {
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
	for i := 0; c.Uses != "" && i < len(w.load.dbs); i++ { // all know that it is missing
		_, _ = countermysql.Check(ctx, w.load.dbs[i])
	}
	err = c.Strike(w.admin, fresh, func() error {
		if rand.IntN(2) == 0 { // one of the processes notices it at once
			_, _ = countermysql.Check(ctx, w.load.dbs[0])
		}
		if err := w.load.bring(w.admin); err != nil {
			return err
		}
		if c.Uses == "" {
			time.Sleep(lasts)
		} else if err := c.use(append([]*sql.DB{fresh}, w.load.dbs...), lasts); err != nil {
			return err
		}
		return w.load.take(ctx, w.admin, fresh)
	})
	if rand.IntN(2) == 0 { // all see it as it was: what is a view for them is refused until then
		for _, db := range w.load.dbs {
			_, _ = countermysql.Check(ctx, db)
		}
	}
	return err
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
	set := "UPDATE coming SET " + c.Uses + " = " + c.Uses
	steps := []struct {
		text string
		adds int64
	}{{set + " + 2 WHERE id = 1", 2}, {set + " - 1 WHERE id = 1 AND " + c.Uses + " >= 1", -1}}
	var value int64
	for begun := time.Now(); time.Since(begun) < lasts; time.Sleep(time.Millisecond) {
		rand.Shuffle(len(dbs), func(i, j int) { dbs[i], dbs[j] = dbs[j], dbs[i] })
		for _, step := range steps {
			res, err := dbs[0].Exec(step.text)
			switch {
			case err == nil:
			case changes.Refused(err):
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
		if err := dbs[1].QueryRow("SELECT " + c.Uses + " FROM coming WHERE id = 1").Scan(&n); err == nil && n != value {
			return fmt.Errorf("%s is read as %d, and is %d", c.Uses, n, value)
		}
	}
	if value == 0 {
		return fmt.Errorf("nothing was counted in %s", c.Uses)
	}
	return nil
}

// recovers reports whether every process can count again.
func (w *world) recovers(t *testing.T) {
	for i, db := range w.load.dbs {
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			_, err := db.Exec("UPDATE item SET title = 'end', alone = alone + 0 WHERE "+w.load.isKey, w.load.keys[0])
			require.NoError(c, err, "process %d can't write", i)
		}, 20*time.Second, 100*time.Millisecond)
	}
}

// run has clients count under the change for a while.
func (c change) run(t *testing.T, srv *testserver.Server, clients int, d time.Duration) {
	if c.Keys == nil {
		c.Keys = numbers[:3]
	}
	l := newLoad(c.Keys, c.Twins)
	l.isKey = cmp.Or(c.IsKey, l.isKey)
	params := []string{fmt.Sprintf("interpolateParams=%t", rand.IntN(2) == 0)}
	if c.Lax {
		params = append(params, "sql_mode=%27%27")
	}
	w := newWorldOf(t, srv, "", cmp.Or(c.Key, "INT"), l, params...)
	defer w.end(t)
	for range 3 {
		w.process(t, c.listed()...)
	}
	l.dbs, l.roller = l.dbs[:2], l.dbs[2]
	defer l.roller.Close()
	w.endure(t, fault{name: c.Name, least: 20, every: 50 * time.Millisecond, strike: func(w *world) error {
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
	sideBySide(t)
	for _, flavor := range []testserver.Flavor{testserver.MariaDB, testserver.MySQL} {
		t.Run(string(flavor), func(t *testing.T) {
			t.Parallel()
			srv := start(t, flavor, testserver.WithArgs("--max-connections=2000"))
			end, all := time.Now().Add(harness.Soak(t)), changes.Of("item", "alone", "stock")
			for round := 1; ; round++ {
				for _, each := range all {
					c := change{each}
					if harness.Soak(t) == 0 {
						t.Run(c.Name, func(t *testing.T) {
							t.Parallel()
							c.run(t, srv, 4, 3*time.Second)
						})
						continue
					}
					t.Run(c.Name, func(t *testing.T) { c.run(t, srv, 16, min(harness.Soak(t)/time.Duration(len(all)), 30*time.Second)) })
					fmt.Fprintf(os.Stderr, "%s  %s: schema changes, %s, round %d, %s left\n", time.Now().Format(time.TimeOnly), flavor, c.Name, round, time.Until(end).Round(time.Second))
				}
				if time.Now().After(end) || t.Failed() {
					return
				}
			}
		})
	}
}
