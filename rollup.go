package countermysql

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/fold"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/stats"
)

// DefaultMaxLock is for how long a rollup keeps base rows locked at a time,
// unless RollupOptions says otherwise.
const DefaultMaxLock = 100 * time.Millisecond

// RollupOptions bound a rollup. Nil is the same as the zero value.
type RollupOptions struct {
	// Tables are the tables to roll up, "post" or "db.post"; none means every
	// table with counters.
	Tables []string

	// MaxLock is for how long a transaction of the rollup may keep base rows
	// locked, which increments of these rows wait for; the number of rows per
	// transaction is adapted to it. A row that somebody else keeps locked is
	// waited for as long, rounded up to seconds, and then left for the next
	// rollup. 0 means DefaultMaxLock.
	MaxLock time.Duration

	// Progress, if not nil, is called after each transaction. It must not
	// use the options or the result.
	Progress func(RollupProgress)
}

// RollupProgress says how far a rollup has got with a table.
type RollupProgress struct {
	Table string // database.table
	Slots int64  // rows of the slots table that were dealt with
	Total int64  // rows that it had when the rollup came to the table
}

// RolledUp is what a rollup did to one table.
type RolledUp struct {
	Table   string // database.table
	Keys    int64  // base rows that got the sum of their slots
	Slots   int64  // rows removed from the slots table, without the orphans
	Orphans int64  // rows removed from the slots table whose base rows no longer exist
	Busy    int64  // keys left because somebody kept the base row locked
	Left    []Left // keys whose slots the base row can't take, at most 100
}

func (r *RolledUp) counts() stats.RollupStatistics {
	return stats.RollupStatistics{Keys: r.Keys, Slots: r.Slots, Orphans: r.Orphans, Busy: r.Busy, Left: int64(len(r.Left))}
}

// Left is a key whose slots, or a part of them, stay where they are: they are
// counted, and every read shows them.
type Left struct {
	Key    string
	Reason string
}

// maxLeft bounds the list of keys left.
const maxLeft = 100

// Rollup adds the slots of every counter to the base rows, so that clients
// that do not know about slots see every count and reads are as fast as they
// can be. No value changes by it at any moment, even if it is killed: each of its
// transactions takes some base rows, the keys in order, and moves what their
// slots hold. It may run at any time, beside any load and beside other rollups:
// of one table one works and the others wait.
//
// The result tells what was done, also beside an error; run it again to go on.
// The db has to be countermysql's.
func Rollup(ctx context.Context, db *sql.DB, options *RollupOptions) ([]RolledUp, error) {
	c, err := connectorOf(ctx, db)
	if err != nil {
		return nil, err
	}
	return c.rollUp(ctx, options, true)
}

// rollUp is Rollup. Without wait a table that somebody else rolls up is left out.
func (c *Connector) rollUp(ctx context.Context, options *RollupOptions, wait bool) (done []RolledUp, err error) {
	if options == nil {
		options = &RollupOptions{}
	}
	c.stats.Rollups.Add(1)
	defer func() {
		if err != nil {
			c.stats.RollupErrors.Add(1)
		}
	}()
	s, err := c.watcher.Schema(ctx)
	if err != nil {
		return nil, err
	}
	tables, err := tablesNamed(s, options.Tables, c.cfg.DBName)
	if err != nil {
		return nil, err
	}
	var errs []error
	if wait && len(options.Tables) == 0 { // in the background it has been logged
		errs = append(errs, complete(s))
	}
	for _, t := range tables {
		switch {
		case t.Unfit != nil:
			errs = append(errs, &UnfitError{Table: t.String(), Reasons: t.Unfit})
			continue
		case t.Unfolded:
			errs = append(errs, &UnfitError{Table: t.String(), Reasons: t.Degraded})
			continue
		case t.Missing != "" && t.Missing == t.CreateSQL() && !t.Unseen:
			continue // there is no slots table, and so nothing to roll up
		case t.Missing != "":
			errs = append(errs, t.SlotsError())
			continue
		}
		out, err := c.rollUpTable(ctx, t, options, wait)
		if out != nil {
			c.stats.RolledUp(out.counts())
			done = append(done, *out)
		}
		if ctx.Err() != nil {
			return done, errors.Join(append(errs, ctx.Err())...)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("countermysql: rolling up %s: %w", t, err))
		}
	}
	return done, errors.Join(errs...)
}

// tablesNamed lists the tables of the names, or all.
func tablesNamed(s *catalog.Schema, names []string, defaultDB string) ([]*catalog.Table, error) {
	if len(names) == 0 {
		return s.All(), nil
	}
	var tables []*catalog.Table
	for _, name := range names {
		parts, err := sqltext.SplitName(name)
		if err == nil && len(parts) == 1 {
			parts = []string{defaultDB, parts[0]}
		}
		var t *catalog.Table
		if err == nil && len(parts) == 2 {
			t = s.Lookup(parts[0], parts[1], "")
		}
		if t == nil {
			var known []string
			for _, t := range s.All() {
				known = append(known, t.String())
			}
			return nil, &ConfigError{Place: "table " + excerpt(name), Problem: "there is no such table with counters", Remedy: "there are " + strings.Join(known, ", ")}
		}
		tables = append(tables, t)
	}
	return tables, nil
}

// rollup is a rollup of one table. It has a connection of its own.
type rollup struct {
	c       *conn
	t       *catalog.Table
	maxLock time.Duration
	size    int // keys per transaction
	failed  int // keys in a row that the server refused
	out     *RolledUp
	warn    func(k catalog.Key, reason string)
	correct func(ctx context.Context, locked []catalog.Key) error // after the fold, in its transaction; nil: nothing
}

// newRollup opens a connection for work on a table.
func (c *Connector) newRollup(ctx context.Context, t *catalog.Table, maxLock time.Duration) (*rollup, error) {
	raw, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	r := &rollup{c: raw.(*conn), t: t, maxLock: maxLock, size: fold.BatchKeys / 4, out: &RolledUp{Table: t.String()}}
	if r.maxLock <= 0 {
		r.maxLock = DefaultMaxLock
	}
	r.warn = func(k catalog.Key, reason string) {
		c.once("rollup "+r.t.String(), "countermysql: slots can't be rolled up", "table", r.t.String(), "key", r.t.Describe(k), "reason", reason) // its table may become another
	}
	if err := r.prepare(ctx); err != nil {
		raw.Close()
		return nil, err
	}
	return r, nil
}

func (r *rollup) close() { _ = r.c.Close() }

func (c *Connector) rollUpTable(ctx context.Context, t *catalog.Table, options *RollupOptions, wait bool) (*RolledUp, error) {
	r, err := c.newRollup(ctx, t, options.MaxLock)
	if err != nil {
		return nil, err
	}
	defer r.close() // which also gives back its GET_LOCK, and rolls back
	if mine, err := r.reserve(ctx, wait); err != nil || !mine {
		return nil, err
	}
	defer func() { c.trafficOf(t).slots.Forget() }()
	progress := RollupProgress{Table: t.String()}
	if options.Progress != nil {
		n, err := r.c.Read(ctx, "SELECT COUNT(*) FROM "+t.Slots())
		if err != nil {
			return nil, err
		}
		progress.Total, _ = strconv.ParseInt(n[0][0], 10, 64) // a COUNT
		options.Progress(progress)
	}
	for next := (catalog.Key)(nil); ; {
		keys, err := r.keysAfter(ctx, next)
		if err == nil && len(keys) > 0 {
			err = r.batch(ctx, keys)
		}
		if (errors.Is(err, fold.ErrOtherSlots) || mysqlerr.Number(err) == mysqlerr.ErrNoColumn) && r.renew(ctx) {
			t, next = r.t, nil
			continue
		} else if err != nil || len(keys) == 0 {
			return r.out, err
		}
		if options.Progress != nil {
			progress.Slots = r.out.Slots + r.out.Orphans
			options.Progress(progress)
		}
		if next = keys[len(keys)-1]; len(t.Key) == 0 {
			return r.out, nil
		}
	}
}

// renew goes over to the table as it is now; false if it is not another.
func (r *rollup) renew(ctx context.Context) bool {
	s, err := r.c.connector.watcher.Refresh(ctx)
	if err != nil {
		return false
	}
	now := s.Lookup(r.t.Spec.DB, r.t.Spec.Name, "")
	if now == nil || now == r.t || now.Unfit != nil || now.Unfolded || now.Missing != "" {
		return false
	}
	r.t = now
	return true
}

// prepare makes the session one for rollups: READ COMMITTED, so that no gap is
// locked, and UTC, in which every time is another.
func (r *rollup) prepare(ctx context.Context) error {
	s, err := r.c.connector.watcher.Schema(ctx)
	if err != nil {
		return err
	}
	set := "SET SESSION autocommit = 1, time_zone = '+00:00', lock_wait_timeout = 2, innodb_lock_wait_timeout = " +
		strconv.Itoa(max(1, int(math.Ceil(r.maxLock.Seconds()))))
	if s.Server.SnapshotIsolation {
		set += ", innodb_snapshot_isolation = OFF"
	}
	for _, stmt := range []string{set, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"} {
		if _, err := r.c.Do(ctx, stmt); err != nil {
			return err
		}
	}
	return r.c.ReadSettings(ctx, s)
}

// reserve keeps other rollups of the table waiting until the connection ends.
func (r *rollup) reserve(ctx context.Context, wait bool) (bool, error) {
	sum := sha256.Sum256([]byte(r.t.String()))
	name := "countermysql rollup " + hex.EncodeToString(sum[:16]) // at most 64 characters
	seconds := 0
	if wait {
		seconds = 1
	}
	for {
		rows, err := r.c.Read(ctx, "SELECT GET_LOCK('"+name+"', "+strconv.Itoa(seconds)+")")
		switch {
		case mysqlerr.Number(err) != 0:
			return true, nil // some clusters refuse GET_LOCK; two rollups at once only waste work
		case err != nil:
			return false, err
		case rows[0][0] == "1":
			return true, nil
		case rows[0][0] == "":
			return false, errors.New("GET_LOCK failed on the server")
		case !wait:
			return false, nil
		}
	}
}

// keysAfter reads the next keys that have slots.
func (r *rollup) keysAfter(ctx context.Context, last catalog.Key) ([]catalog.Key, error) {
	t, where := r.t, ""
	if last != nil && len(t.Key) > 0 {
		where = " WHERE " + slotsql.After(t, last, catalog.PrivateName)
	}
	order := ""
	if len(t.Key) > 0 {
		cols := catalog.QuoteNames(t.Key)
		for i, c := range t.Key {
			cols[i] = c.Ordered(cols[i])
		}
		order = " ORDER BY " + strings.Join(cols, ", ")
	}
	rows, err := r.c.Read(ctx, "SELECT "+t.SelectKey(catalog.PrivateName)+" FROM (SELECT DISTINCT "+strings.Join(append(catalog.QuoteNames(t.Key), "1"), ", ")+
		" FROM "+t.Slots()+" AS "+catalog.PrivateName+where+order+" LIMIT "+strconv.Itoa(r.size)+") AS "+catalog.PrivateName+order)
	if err != nil {
		return nil, err
	}
	keys := make([]catalog.Key, len(rows))
	for i, row := range rows {
		keys[i] = catalog.Key(row[:len(t.Key)])
	}
	return keys[:min(len(keys), r.c.Several(t, len(keys), slices.Values(keys)))], nil
}
