package maintain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/fold"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/stats"
)

// RolledUp is what a rollup did to one table.
type RolledUp struct {
	Table   string // database.table
	Keys    int64  // base rows that got the sum of their slots
	Slots   int64  // rows removed from the slots table, without the orphans
	Orphans int64  // rows removed from the slots table whose base rows no longer exist
	Busy    int64  // keys left because somebody kept the base row locked
	Left    []Left // keys whose slots the base row can't take, at most 100
}

// statistics are what a rollup of one table adds to those of the driver.
func (r *RolledUp) statistics() stats.RollupStatistics {
	return stats.RollupStatistics{Keys: r.Keys, Slots: r.Slots, Orphans: r.Orphans, Busy: r.Busy, Left: int64(len(r.Left))}
}

// Left is a key whose slots, or a part of them, stay where they are: they are
// counted, and every read shows them.
type Left struct {
	Key    string
	Reason string
}

// DefaultMaxLock is for how long a rollup keeps base rows locked at a time, unless it is told.
const DefaultMaxLock = 100 * time.Millisecond

// maxLeft bounds the list of keys left.
const maxLeft = 100

// rollup is a rollup of one table, in a session of its own.
type rollup struct {
	folder  *fold.Folder
	table   *catalog.Table
	maxLock time.Duration
	size    int // keys per transaction
	failed  int // keys in a row that the server refused
	turns   *turns
	begun   time.Time
	out     *RolledUp
	warn    func(cause, message string, args ...any)
	correct func(ctx context.Context, locked []catalog.Key) error // after the fold, in its transaction; nil: nothing
}

// open prepares a session of its own for work on a table.
func (m *Maintainer) open(ctx context.Context, t *catalog.Table, maxLock time.Duration) (*rollup, error) {
	s, err := session.Open(ctx, m.Shared)
	if err != nil {
		return nil, err
	}
	r := &rollup{folder: fold.New(s), table: t, maxLock: maxLock, size: together(t) / 4, out: &RolledUp{Table: t.String()}, warn: m.Warn}
	if r.maxLock <= 0 {
		r.maxLock = DefaultMaxLock
	}
	r.folder.RollsUp = true
	const utc = "time_zone = '+00:00'" // in which every time is another
	if err := session.ForOurs(ctx, r.folder.Session, max(1, int(math.Ceil(r.maxLock.Seconds()))), utc); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// close ends the session, with its transaction and what it has reserved.
func (r *rollup) close() { _ = r.folder.Close() }

// renew goes over to the table as it is now; false if it is not another.
func (r *rollup) renew(ctx context.Context) bool {
	s, err := r.folder.Watcher.Refresh(ctx)
	if err != nil {
		return false
	}
	now := s.Lookup(r.table.Spec.DB, r.table.Spec.Name, "")
	if now == nil || now == r.table || catalog.Unfoldable(now) != nil {
		return false
	}
	r.table = now
	return true
}

// run rolls up the table behind a key, and calls progress, if there is one, with the rows of the
// slots table that were dealt with, and had been there.
func (r *rollup) run(ctx context.Context, next catalog.Key, progress func(slots, total int64)) error {
	var total int64
	if progress != nil {
		n, err := r.folder.Read(ctx, "SELECT COUNT(*) FROM "+r.table.Slots())
		if err != nil {
			return err
		}
		total, _ = strconv.ParseInt(n[0][0], 10, 64) // a COUNT
		progress(0, total)
	}
	for {
		begun := time.Now()
		keys, err := r.keysAfter(ctx, next)
		if err == nil && len(keys) > 0 {
			err = r.batch(ctx, keys)
		}
		if (errors.Is(err, fold.ErrOtherSlots) || mysqlerr.Number(err) == mysqlerr.ErrNoColumn) && r.renew(ctx) {
			next = nil
			continue
		} else if err != nil || len(keys) == 0 {
			return err
		}
		if progress != nil {
			progress(r.out.Slots+r.out.Orphans, total)
		}
		if next = keys[len(keys)-1]; len(r.table.Key) == 0 {
			return nil
		}
		if err := r.rest(ctx, begun, rollupRest, next); err != nil {
			return err
		}
	}
}

// rollupRest is for how many times as long as a transaction took a rollup rests that does, forgetRest as a
// removal of old intervals, which the server's purge works at as long again. maxRest bounds it: for most of
// a long one it was the rollup that waited.
const (
	rollupRest = 9
	forgetRest = 2 * rollupRest
	maxRest    = time.Second
)

// errLeft says that another rollup has gone on with the table, or that its turn is over.
var errLeft = errors.New("the rest of the table is left to another rollup")

// rest leaves the server to others for a multiple of the time since then, and the table to a rollup that does not
// rest, or, where it has taken its turn, to the next, which goes on behind a key: errLeft.
func (r *rollup) rest(ctx context.Context, since time.Time, times time.Duration, last catalog.Key) error {
	if r.turns == nil {
		return nil
	}
	took := time.Since(since)
	if err := r.release(ctx); err != nil && mysqlerr.Number(err) == 0 {
		return err
	}
	session.Pause(ctx, min(times*took, maxRest))
	if time.Since(r.begun) > r.turns.length {
		r.turns.next[r.table] = last
		return errLeft
	}
	if mine, err := r.reserve(ctx, false); err != nil || mine {
		return err
	}
	return errLeft
}

// turns are those of tables that are rolled up one after the other, again and again.
type turns struct {
	length     time.Duration
	last, next map[*catalog.Table]catalog.Key // behind which a table goes on that was not done with
}

// again begins a turn of each table.
func (a *turns) again() { a.last, a.next = a.next, map[*catalog.Table]catalog.Key{} }

// from is the key behind which the turn of a table begins.
func (a *turns) from(t *catalog.Table) catalog.Key {
	if a == nil {
		return nil
	}
	return a.last[t]
}

// lockName is that of the table's lock for rollups.
func (r *rollup) lockName() string {
	sum := sha256.Sum256([]byte(r.table.String()))
	return "countermysql rollup " + hex.EncodeToString(sum[:16]) // at most 64 characters
}

// reserve keeps other rollups of the table waiting until release, or the connection ends.
func (r *rollup) reserve(ctx context.Context, wait bool) (bool, error) {
	seconds := 0
	if wait {
		seconds = 1
	}
	for {
		rows, err := r.folder.Read(ctx, "SELECT GET_LOCK('"+r.lockName()+"', "+strconv.Itoa(seconds)+")")
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

// release lets other rollups of the table go on.
func (r *rollup) release(ctx context.Context) error {
	_, err := r.folder.Read(ctx, "SELECT RELEASE_LOCK('"+r.lockName()+"')")
	return err
}

// keysAfter reads the next keys that have slots.
func (r *rollup) keysAfter(ctx context.Context, last catalog.Key) ([]catalog.Key, error) {
	t, where := r.table, ""
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
	rows, err := r.folder.Read(ctx, "SELECT "+t.Key.Select(catalog.PrivateName)+" FROM (SELECT DISTINCT "+strings.Join(append(catalog.QuoteNames(t.Key), "1"), ", ")+
		" FROM "+t.Slots()+" AS "+catalog.PrivateName+where+order+" LIMIT "+strconv.Itoa(r.size)+") AS "+catalog.PrivateName+order)
	if err != nil {
		return nil, err
	}
	keys := t.Key.KeysOfRows(rows)
	return keys[:min(len(keys), session.Several(&r.folder.Settings, t, len(keys), keys))], nil
}
