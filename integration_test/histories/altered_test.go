package histories

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/changes"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// remade drops the table, with its slots table, and creates it with the same rows, whose
// counters are zero.
var remade = changes.Change{Name: "DROP and CREATE", To: []string{"CREATE TABLE seed LIKE counter", "INSERT INTO seed (id, slug) SELECT id, slug FROM counter"},
	Back: []string{"DROP TABLE IF EXISTS counter_slots, counter", "CREATE TABLE counter (PRIMARY KEY (id), UNIQUE (slug)) SELECT * FROM seed", "DROP TABLE seed"}}

// ground is a table whose schema changes under the clients of several processes.
type ground struct {
	history
	open  func() (*sql.DB, error) // another process
	plain *sql.DB                 // a client without the driver
	dbs   []*sql.DB               // of the processes that count
	rows  []row

	gate     sync.RWMutex // held while a twin is counted
	twins    []row        // come with a change, and go with it
	counters int          // so far; a twin that comes again is another
}

const changer = 98 // the client that changes the schema

// strike makes a change, and takes it back.
func (g *ground) strike(c changes.Change, lasts time.Duration) error {
	ours, err := g.open()
	if err != nil {
		return err
	}
	defer ours.Close()
	begun := time.Since(g.begun)
	note := func(what string) { // for who looks at what is not linearizable
		now := time.Since(g.begun)
		g.annotations = append(g.annotations, porcupine.Annotation{Tag: "changes", Start: int64(begun), End: int64(now), Description: c.Name + what})
		begun = now
	}
	strike := func() (output, error) {
		defer note(" and back")
		return output{}, c.Strike(g.plain, ours, func() error {
			note("")
			g.notice(2)
			if err := g.bring(c.Twins); err != nil {
				return err
			}
			time.Sleep(lasts)
			return g.take(ours)
		})
	}
	defer g.notice(2)
	if c.Name != remade.Name {
		_, err = strike()
		return err
	}
	var all []input
	for _, r := range g.rows {
		all = append(all, input{kind: remake, counter: r.counter})
	}
	g.recordAll(changer, all, func() (out output, _ error) {
		out, err = strike()
		return out, err
	})
	return err
}

// notice has one in so many processes learn of a change at once.
func (g *ground) notice(oneIn int) {
	for _, db := range g.dbs {
		if rand.IntN(oneIn) == 0 {
			_, _ = countermysql.Check(context.Background(), db)
		}
	}
}

// bring inserts the twins, for all to count.
func (g *ground) bring(keys []any) error {
	g.gate.Lock()
	defer g.gate.Unlock()
	twins := newRows(g.counters, keys...)
	for _, r := range twins {
		if err := r.insert(g.plain); err != nil {
			return err
		}
	}
	g.twins = twins
	g.counters += len(twins)
	return nil
}

// take reads the twins, and takes them away with their slots.
func (g *ground) take(ours *sql.DB) error {
	g.gate.Lock()
	defer g.gate.Unlock()
	if len(g.twins) == 0 {
		return nil
	}
	err := patiently(func() error { return ours.QueryRow("SELECT COUNT(n) FROM counter").Scan(new(int)) })
	if err == nil {
		err = g.readAll(ours, g.twins)
	}
	if err != nil {
		return err
	}
	for _, r := range g.twins {
		if _, err := g.plain.Exec("DELETE FROM counter WHERE slug = ?", r.slug); err != nil {
			return err
		}
	}
	g.twins = nil
	return rollUp(ours)
}

func rollUp(ours *sql.DB) error {
	return patiently(func() error {
		_, err := countermysql.Rollup(context.Background(), ours, nil)
		return err
	})
}

// patiently has a process do something that can be done as soon as those who count let the
// slots table be given what it lacks.
func patiently(do func() error) error {
	for begun := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if err := do(); err == nil || time.Since(begun) > 40*time.Second { // refused DDL waits for half a minute
			return err
		}
	}
}

// step has a client of some process make one random statement. It may give up on rows
// that stay: what is unknown may happen later.
func (g *ground) step(client int) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	g.gate.RLock()
	rows := slices.Concat(g.rows, g.twins)
	i := rand.IntN(len(rows))
	r, other := rows[i], rows[(i+1)%len(rows)]
	if max(r.counter, other.counter) >= len(g.rows) {
		defer g.gate.RUnlock()
	} else {
		g.gate.RUnlock()
		if rand.IntN(40) == 0 {
			time.AfterFunc(time.Duration(rand.IntN(1500))*time.Microsecond, cancel)
		}
	}
	step(ctx, &g.history, client, g.dbs[rand.IntN(len(g.dbs))], r, other)
}

// altered records a history under the changes, one after the other; first has the key.
func altered(t *testing.T, srv *testserver.Server, first changes.Change, all []changes.Change, lasts []time.Duration) {
	params := []string{fmt.Sprintf("interpolateParams=%t", rand.IntN(2) == 0), "innodb_lock_wait_timeout=2"}
	if first.Lax {
		params = append(params, "sql_mode=%27%27")
	}
	g := &ground{rows: newRows(0, first.Keys...), counters: len(first.Keys)}
	g.begun = time.Now()
	var name string
	name, g.plain = newDatabase(t, srv, first.Key, g.rows)
	g.open = func() (*sql.DB, error) { return openOurs(srv, name, params...) }
	for range 3 {
		db, err := g.open()
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		require.NoError(t, db.Ping())
		g.dbs = append(g.dbs, db)
	}
	roller := g.dbs[2] // what it does has no other process learn anything
	g.dbs = g.dbs[:2]
	stop := beside(func() { _, _ = countermysql.Rollup(context.Background(), roller, nil) })

	const clients, statements = 8, 600 // so many can be judged
	var whole time.Duration
	for _, d := range lasts {
		whole += d + 100*time.Millisecond
	}
	pause := 2 * whole * clients / statements
	ctx, end := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			for ctx.Err() == nil {
				g.step(client)
				time.Sleep(rand.N(pause))
			}
		})
	}
	var err error
	for i := 0; i < len(all) && err == nil; i++ {
		err = g.strike(all[i], lasts[i])
	}
	end()
	wg.Wait()
	stop()
	require.NoError(t, err)
	require.Greater(t, len(g.ops), 20, "%d statements were refused", g.refused)
	g.notice(1)
	for i, db := range g.dbs {
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			_, err := db.Exec("UPDATE counter SET n = n + 0, title = 'end' WHERE id = ?", g.rows[0].key)
			require.NoError(c, err, "process %d can't count", i)
		}, 20*time.Second, 100*time.Millisecond)
		require.NoError(t, g.readAll(db, g.rows))
	}
	ours, err := g.open()
	require.NoError(t, err)
	defer ours.Close()
	require.NoError(t, rollUp(ours))
	require.NoError(t, g.readAll(g.plain, g.rows))
	g.check(t)
}

// TestLinearizableWhileAltered proves that counters answer as if one statement came after
// the other also while another client changes the schema: no acknowledged increment is
// lost, none is done twice or to another row, and nothing stale is read. What is refused
// meanwhile is not done.
func TestLinearizableWhileAltered(t *testing.T) {
	var ofKeys, others []changes.Change
	for _, c := range append(changes.Of("counter", "n", "twin"), remade) {
		switch {
		case c.Key != "":
			ofKeys = append(ofKeys, c)
		case c.Uses == "": // no other table is counted in
			others = append(others, c)
		}
	}
	each(t, func(t *testing.T, srv *testserver.Server, round int) {
		for i, c := range ofKeys {
			if harness.Soak(t) > 0 && i != round%len(ofKeys) {
				continue
			}
			t.Run(c.Name, func(t *testing.T) {
				all := []changes.Change{c, others[i%len(others)], c, others[(i+1)%len(others)]}
				if harness.Soak(t) > 0 {
					all = append(slices.Clone(others), c, c, c, c)
					rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
					all = all[:6]
				}
				lasts := make([]time.Duration, len(all))
				for i := range lasts {
					lasts[i] = time.Duration(50+rand.IntN(200)) * time.Millisecond
				}
				if harness.Soak(t) > 0 && rand.IntN(3) == 0 {
					lasts[rand.IntN(len(lasts))] += 11 * time.Second // all processes notice
				}
				altered(t, srv, c, all, lasts)
			})
		}
	})
}
