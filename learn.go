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
)

// schemaAge is how old the knowledge of the schema may be before it is looked in the
// background whether it still holds, for DDL by other clients. A statement that finds it
// older than schemaTooOld, in a process that was idle, waits for that. The look sees DDL
// that has begun; what was under way when the schema was read is found by reading it once
// more, with each look for schemaSettles after one that saw some, and then as seldom.
const (
	schemaAge     = 10 * time.Second
	schemaTooOld  = 30 * time.Second
	schemaSettles = time.Minute
)

// schemaTimeout bounds a reading of the schema.
const schemaTimeout = time.Minute

// reading is one reading of the schema. It goes on when the context of a
// statement that waits for it ends: the next statement needs it too.
type reading struct {
	ctx    context.Context // of who asked first, for its values: a BeforeConnect may need them
	anew   bool            // somebody waits for what was done just now
	done   chan struct{}   // closed when there is an answer
	told   bool            // there is
	schema *schema
	err    error
}

func newReading(ctx context.Context, anew bool) *reading {
	return &reading{ctx: context.WithoutCancel(ctx), anew: anew, done: make(chan struct{})}
}

// tell ends the waiting; what is told first holds.
func (r *reading) tell(s *schema, err error) {
	if !r.told {
		r.told, r.schema, r.err = true, s, err
		close(r.done)
	}
}

func (r *reading) wait(ctx context.Context) (*schema, error) {
	select {
	case <-r.done:
		return r.schema, r.err
	case <-ctx.Done():
		return nil, ctx.Err() // bare, as go-sql-driver returns it
	}
}

// schema returns what is known of the schema, and learns it if need be.
func (c *Connector) schema(ctx context.Context) (*schema, error) {
	if c.changed() {
		return c.learn(ctx)
	}
	s := c.current.Load()
	if age := c.age(); s == nil || age > schemaTooOld {
		now, err := c.read(ctx, false).wait(ctx)
		if s != nil && errorNumber(err) == errLockWait {
			return s, nil // see readSchema
		}
		return now, err
	} else if age > schemaAge && !c.closed.Load() {
		c.read(ctx, false)
	}
	return s, nil
}

// changed reports whether the schema is known to have changed since it was learned.
func (c *Connector) changed() bool { return c.learned.Load() < c.changes.Load() }

var started = time.Now()

// clock is the time since the program's start: every statement asks, the time of day
// takes twice as long to read, and it can be set back.
func clock() time.Duration { return time.Since(started) }

// age is how long ago the schema was learned.
func (c *Connector) age() time.Duration { return clock() - time.Duration(c.checked.Load()) }

// learn returns the schema as it is now; unchanged, the old one stays with its plans.
func (c *Connector) learn(ctx context.Context) (*schema, error) {
	return c.read(ctx, true).wait(ctx)
}

// read joins the reading that is under way. One that must see what was done just
// now begins after that; all who want it share it.
func (c *Connector) read(ctx context.Context, anew bool) *reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.under == nil {
		c.begin(newReading(ctx, anew))
	} else if anew {
		if c.next == nil {
			c.next = newReading(ctx, true)
		}
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

func (c *Connector) readSchema(ctx context.Context, r *reading) (*schema, error) {
	changes := c.changes.Load()
	now, known := c.tally(ctx), c.current.Load()
	moved := !now.same(c.tallied)
	if !moved && !r.anew && known != nil && !c.changed() && known.settled() && !c.wantsMore(known) {
		c.checked.Store(int64(clock()))
		r.tell(known, nil)
		if at := clock(); at-c.moved > schemaSettles && at-c.loaded < schemaSettles {
			return known, nil
		}
	}
	began := clock()
	part := r.anew && known != nil && !known.server.galera && c.objects != nil && c.objects.still(now)
	if !part {
		c.objects = &objects{tally: now}
	}
	s, err := c.load(ctx, r.anew, &now)
	for errorNumber(err) == errLockWait && (c.current.Load() == nil || c.changed()) && ctx.Err() == nil {
		s, err = c.load(ctx, r.anew, &now) // nothing goes on without it: it waits, as statements do
	}
	if err != nil {
		if errorNumber(err) == errLockWait && c.current.Load() != nil { // who locks a table for long keeps all from it, and nobody from other tables
			c.checked.Store(int64(clock() - schemaAge))
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("countermysql: reading the schema took longer than %s: %w", schemaTimeout, err)
		}
		return nil, err
	}
	if !part { // the next look reads all again
		c.checked.Store(int64(clock()))
		c.tallied, c.loaded = now, began
		if moved {
			c.moved = began
		}
	}
	if old := c.current.Load(); old != nil && old.fingerprint == s.fingerprint {
		c.learned.Store(changes)
		return old, nil
	}
	c.current.Store(s)
	c.learned.Store(changes)
	for _, name := range s.unknown {
		c.once("unknown "+name, "countermysql: there is no such table yet, or the user may not see it; it counts from when there is one", "table", name)
	}
	for _, name := range s.absent {
		c.once("absent "+name, "countermysql: there is no such column yet; it counts from when it is added", "column", name)
	}
	for _, t := range s.tables {
		if t.unmade != nil {
			c.once("unmade "+t.String(), "countermysql: the slots table can't be seen, or made", "table", t.String(), "error", t.unmade)
		}
		if t.unfit != nil {
			c.once("unfit "+t.String(), "countermysql: table can't have counters", "table", t.String(), "reasons", t.unfit)
		}
		if t.degraded != nil {
			c.once("degraded "+t.String()+strings.Join(t.degraded, ";"), "countermysql: table has been changed so that it takes no more increments into slots, and is as slow as on plain MySQL", "table", t.String(), "reasons", t.degraded)
		}
	}
	return s, nil
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

// load reads the schema; t, which was taken before, is taken again where it makes slots
// tables, or its own DDL would have it read once more.
func (c *Connector) load(ctx context.Context, anew bool, t *tally) (*schema, error) {
	look, err := c.lookups()
	if err != nil {
		return nil, err
	}
	if c.objects.at == 0 {
		if c.server, err = loadServer(ctx, look); err != nil {
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
		s, err := loadSchema(ctx, look, c.server, c.specs, c.objects)
		if err != nil || !c.config.CreateSlots || try == maxRetries {
			return s, err
		}
		again, err := c.createSlots(ctx, look, s, try == 0)
		if err != nil || !again {
			return s, err
		}
		*t = c.tally(ctx)
	}
}

// writesNames looks whether the listed names, which are UTF-8, reach the server as
// they are. Otherwise a table would not be found, and its slots not be read.
func (c *Connector) writesNames(ctx context.Context, look *sql.DB) error {
	for _, spec := range c.specs {
		for _, name := range slices.Concat([]string{spec.db, spec.name, spec.slotsTable}, spec.counters, spec.touch) {
			if ascii(name) {
				continue
			}
			var charset string
			if err := look.QueryRowContext(ctx, "SELECT @@character_set_client").Scan(&charset); err != nil || strings.HasPrefix(charset, "utf8") {
				return err
			}
			return &ConfigError{Place: "table " + spec.db + "." + spec.name, Problem: "the name " + strconv.Quote(name) + " can't be written in the connection's character set " + charset,
				Remedy: "set charset=utf8mb4 in the DSN, or list the table where that is set"}
		}
	}
	return nil
}
