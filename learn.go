package countermysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
)

// schemaTimeout bounds a reading of the schema.
const schemaTimeout = time.Minute

// reading is one reading of the schema. It goes on when the context of a
// statement that waits for it ends: the next statement needs it too.
type reading struct {
	ctx    context.Context // of who asked first, for its values: a BeforeConnect may need them
	wants  freshness       // of who wants most
	done   chan struct{}   // closed when there is an answer
	told   bool            // there is
	schema *catalog.Schema
	err    error
}

// freshness is what somebody who waits for a reading has to know.
type freshness int

const (
	asKnown  freshness = iota // what is known, if it still holds
	asMade                    // what this process has done just now; else what is known
	asServed                  // what anybody has done
)

func newReading(ctx context.Context, wants freshness) *reading {
	return &reading{ctx: context.WithoutCancel(ctx), wants: wants, done: make(chan struct{})}
}

// tell ends the waiting; what is told first holds.
func (r *reading) tell(s *catalog.Schema, err error) {
	if !r.told {
		r.told, r.schema, r.err = true, s, err
		close(r.done)
	}
}

func (r *reading) wait(ctx context.Context) (*catalog.Schema, error) {
	select {
	case <-r.done:
		return r.schema, r.err
	case <-ctx.Done():
		return nil, ctx.Err() // bare, as go-sql-driver returns it
	}
}

// schema returns what is known of the schema, and learns it if need be.
func (c *Connector) schema(ctx context.Context) (*catalog.Schema, error) {
	if c.changed() {
		return c.read(ctx, asMade).wait(ctx)
	}
	s := c.current.Load()
	if age := c.age(); s == nil || age > catalog.SchemaTooOld {
		now, err := c.read(ctx, asKnown).wait(ctx)
		if s != nil && mysqlerr.Number(err) == mysqlerr.ErrLockWait {
			return s, nil // see readSchema
		}
		return now, err
	} else if age > catalog.SchemaAge && !c.closed.Load() {
		c.read(ctx, asKnown)
	}
	return s, nil
}

// changed reports whether the schema is known to have changed since it was learned.
func (c *Connector) changed() bool { return c.learned.Load() < c.changes.Load() }

// age is how long ago the schema was learned.
func (c *Connector) age() time.Duration { return catalog.Clock() - time.Duration(c.checked.Load()) }

// learn returns the schema as it is now; unchanged, the old one stays with its plans.
func (c *Connector) learn(ctx context.Context) (*catalog.Schema, error) {
	return c.read(ctx, asServed).wait(ctx)
}

// read joins the reading that is under way. One that must see what was done just
// now begins after that; all who want it share it.
func (c *Connector) read(ctx context.Context, wants freshness) *reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.under == nil:
		c.begin(newReading(ctx, wants))
	case wants > asKnown && c.next == nil:
		c.next = newReading(ctx, wants)
		return c.next
	case wants > asKnown:
		c.next.wants = max(c.next.wants, wants)
		return c.next
	}
	return c.under
}

// begin starts a reading; mu is held.
func (c *Connector) begin(r *reading) {
	ctx, cancel := context.WithTimeout(r.ctx, schemaTimeout)
	c.under, c.next, c.stopReading = r, nil, cancel
	run := func() {
		defer cancel()
		s, err := c.readSchema(ctx, r)
		c.mu.Lock()
		defer c.mu.Unlock()
		r.tell(s, err)
		c.under = nil
		if c.next != nil {
			c.begin(c.next)
		}
	}
	if c.closed.Load() {
		go run() // for a transaction that is still open: Close does not wait for it
	} else {
		c.work.Go(run)
	}
}

func (c *Connector) readSchema(ctx context.Context, r *reading) (*catalog.Schema, error) {
	now, known := c.tally(ctx), c.current.Load()
	moved := !now.Same(c.tallied)
	if !moved && r.wants == asKnown && known != nil && !c.changed() && known.Settled() && !c.wantsMore(known) {
		c.checked.Store(int64(catalog.Clock()))
		r.tell(known, nil)
		if at := catalog.Clock(); at-c.moved > catalog.SchemaSettles && at-c.loaded < catalog.SchemaSettles {
			return known, nil
		}
	}
	began := catalog.Clock()
	part := r.wants > asKnown && known != nil && !known.Server.Galera && c.objects != nil && c.objects.Still(now)
	if !part {
		c.objects = &catalog.Objects{Tally: now}
	}
	changes, told := c.remembered(part && r.wants == asMade)
	s, err := c.load(ctx, r.wants > asKnown, &now, told)
	for mysqlerr.Number(err) == mysqlerr.ErrLockWait && (c.current.Load() == nil || c.changed()) && ctx.Err() == nil {
		told = catalog.Answers{}
		s, err = c.load(ctx, r.wants > asKnown, &now, told) // nothing goes on without it: it waits, as statements do
	}
	if err != nil {
		c.stats.SchemaErrors.Add(1)
		if mysqlerr.Number(err) == mysqlerr.ErrLockWait && c.current.Load() != nil { // who locks a table for long keeps all from it, and nobody from other tables
			c.checked.Store(int64(catalog.Clock() - catalog.SchemaAge))
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("countermysql: reading the schema took longer than %s: %w", schemaTimeout, err)
		}
		return nil, err
	}
	c.told = told
	if !part { // the next look reads all again
		c.checked.Store(int64(catalog.Clock()))
		c.tallied, c.loaded = now, began
		if moved {
			c.moved = began
		}
	}
	if old := c.current.Load(); old != nil && old.Fingerprint == s.Fingerprint {
		c.learned.Store(changes)
		return old, nil
	}
	c.current.Store(s)
	c.plans.clear()
	c.forgetBatches(s)
	c.learned.Store(changes)
	missing := slices.DeleteFunc(slices.Concat(s.Unknown, s.Absent), func(name string) bool {
		_, seen := c.warned.LoadOrStore("missing "+name, true)
		return seen
	})
	if len(missing) > 0 {
		c.log.Info("countermysql: these tables and columns are not there yet, or the user may not see them; they count from when they are", "missing", missing)
	}
	for _, t := range s.Tables {
		if t.Unmade != nil {
			c.once("unmade "+t.String(), "countermysql: the slots table can't be seen, or made", "table", t.String(), "error", t.Unmade)
		}
		if t.Unfit != nil {
			c.once("unfit "+t.String(), "countermysql: table can't have counters", "table", t.String(), "reasons", t.Unfit)
		}
		if t.Degraded != nil {
			c.once("degraded "+t.String()+strings.Join(t.Degraded, ";"), "countermysql: table has been changed so that it takes no more increments into slots, and is as slow as on plain MySQL", "table", t.String(), "reasons", t.Degraded)
		}
	}
	return s, nil
}

// alterations are what DDL of this connector has been about since the schema was read.
type alterations struct {
	tables []string // the names of listed tables and slots tables, in lower case, in whatever database
	counts int64    // so many of Connector.changes are these
}

// learnOf has the schema read after DDL of some tables; nil: perhaps of others too.
func (c *Connector) learnOf(ctx context.Context, tables []string) (err error) {
	if tables == nil {
		_, err = c.learn(ctx)
	} else {
		c.mu.Lock()
		c.altered.tables = append(c.altered.tables, tables...)
		c.mu.Unlock()
		_, err = c.read(ctx, asMade).wait(ctx)
	}
	if err != nil {
		c.changes.Add(1)
	}
	return err
}

// learnLaterOf leaves it to the next who names a listed table.
func (c *Connector) learnLaterOf(tables []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if tables != nil {
		c.altered.tables = append(c.altered.tables, tables...)
		c.altered.counts++
	}
	c.changes.Add(1)
}

// remembered is what a reading need not ask for, if it reads a part, and how many changes
// it learns of.
func (c *Connector) remembered(part bool) (changes int64, told catalog.Answers) {
	c.mu.Lock()
	defer c.mu.Unlock()
	altered := c.altered
	changes, told = c.changes.Load(), c.told
	c.altered, c.told = alterations{}, nil
	if !part || told == nil || changes-c.learned.Load() != altered.counts {
		return changes, catalog.Answers{}
	}
	s := c.current.Load()
	for _, spec := range c.specs {
		if slices.ContainsFunc(altered.tables, func(name string) bool { return spec.Has(name) }) {
			told.Forget(s.Key(spec.DB, spec.Name))
			told.Forget(s.Key(spec.DB, spec.SlotsTable))
		}
	}
	return changes, told
}

// lookups returns the look-up connections, and makes them if need be.
func (c *Connector) lookups() (*sql.DB, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	look := c.look.Load()
	if look == nil {
		if c.closed.Load() && c.open.Load() == 0 {
			return nil, sql.ErrConnDone // nobody would close them
		}
		look = sql.OpenDB(lookupConnector{c.raw})
		look.SetMaxOpenConns(maxLookups)
		look.SetMaxIdleConns(maxLookups)
		look.SetConnMaxIdleTime(c.lookupIdle)
		c.look.Store(look)
	}
	return look, nil
}

// load reads what has not been told of the schema; t, which was taken before, counts its own
// DDL, too, or that would have the schema read once more.
func (c *Connector) load(ctx context.Context, anew bool, t *catalog.Tally, told catalog.Answers) (*catalog.Schema, error) {
	look, err := c.lookups()
	if err != nil {
		return nil, err
	}
	if c.objects.At == 0 {
		if c.server, err = catalog.LoadServer(ctx, look); err != nil {
			return nil, err
		}
	}
	if err := c.writesNames(ctx, look); err != nil {
		return nil, err
	}
	if anew {
		clear(c.refused)
	}
	for try := 0; ; try++ {
		s, err := catalog.LoadSchema(ctx, look, c.server, c.specs, c.objects, told)
		if err != nil || !c.config.CreateSlots || try == maxRetries {
			return s, err
		}
		again, err := c.createSlots(ctx, look, s, try == 0)
		if err != nil || !again {
			return s, err
		}
		if made := s.SlotsToMake(); made != nil && !c.wantsMore(s) {
			for _, t := range made {
				delete(told.To(catalog.ColumnsSQL), s.Key(t.Spec.DB, t.Spec.SlotsTable))
			}
			t.Creates(len(made))
			continue
		}
		clear(told)
		*t = c.tally(ctx)
	}
}

// writesNames looks whether the listed names, which are UTF-8, reach the server as
// they are. Otherwise a table would not be found, and its slots not be read.
func (c *Connector) writesNames(ctx context.Context, look *sql.DB) error {
	for _, spec := range c.specs {
		for _, name := range slices.Concat([]string{spec.DB, spec.Name, spec.SlotsTable}, spec.Counters, spec.Touch) {
			if catalog.Ascii(name) {
				continue
			}
			var charset string
			if err := look.QueryRowContext(ctx, "SELECT @@character_set_client").Scan(&charset); err != nil || strings.HasPrefix(charset, "utf8") {
				return err
			}
			return &ConfigError{Place: "table " + spec.DB + "." + spec.Name, Problem: "the name " + strconv.Quote(name) + " can't be written in the connection's character set " + charset,
				Remedy: "set charset=utf8mb4 in the DSN, or list the table where that is set"}
		}
	}
	return nil
}
