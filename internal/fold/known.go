package fold

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/watch"
)

// ErrOtherKey says that the base table's key has got another type than is known.
var ErrOtherKey = fmt.Errorf("%w (another type)", ErrOtherSlots)

// StillKnown fails where rows that are locked have keys of another type than is known, as
// the server or the keys tell. While they are locked nobody changes that.
func (f *Folder) StillKnown(ctx context.Context, t *catalog.Table, asKnown bool, rows []slotsql.LockedRow) error {
	if asKnown && !slices.ContainsFunc(rows, func(r slotsql.LockedRow) bool { return !t.Key.Writes(r.Key) }) {
		return nil
	}
	cols, err := f.Lookups.QueryAs(ctx, f.Initial.Kin, "SELECT COLUMN_NAME, COLUMN_TYPE, COLLATION_NAME FROM information_schema.COLUMNS WHERE "+
		catalog.OfTable(t.Spec.DB, t.Spec.Name))
	if err != nil {
		return err
	}
	for _, k := range t.Key {
		if !slices.ContainsFunc(cols, func(now []string) bool {
			return strings.EqualFold(now[0], k.Name) && now[1] == k.ColumnType && now[2] == k.Collation
		}) {
			f.Watcher.NoteChange()
			return ErrOtherKey
		}
	}
	return nil // a value that its type should not have
}

// Statements that fail again and again have the schema read once in a second, and in between it is
// asked so seldom whether DDL has begun.
const (
	readSeldom = time.Second
	lookSeldom = 100 * time.Millisecond
)

// ErrOtherSlots says that a slots table has got other columns than are known, or a base
// table other types. Nothing was taken from it.
var ErrOtherSlots = errors.New("countermysql: the key or the slots table has got other columns meanwhile; try again")

// Outdated reports whether a statement that failed, and did nothing, for want of a
// table or column, because a slots table has got a key of more columns or the table is
// a view now, or because the slots table could not be altered while somebody used it, was
// planned by a schema that has changed since. Unless it is known to have, that is looked at
// seldom: the statement may be wrong itself. So is one that was not sent, as its table could not
// have counters then, or had no slots table.
func (f *Folder) Outdated(ctx context.Context, p *plan.Plan, err error) bool {
	refused := p.Class() == plan.ClassRefused
	switch n := mysqlerr.Number(err); {
	case n == mysqlerr.ErrNoColumn, n == mysqlerr.ErrNoTable, n == mysqlerr.ErrNoIndex, refused, n == mysqlerr.ErrNoDefault && p.Increment() != nil:
	default:
		return false
	}
	old := f.Watcher.Current()
	if old == nil { // the sql.DB was closed meanwhile
		return false
	}
	older := func(t *catalog.Table) bool { return old.Lookup(t.Spec.DB, t.Spec.Name, "") != t } // somebody else has had it read
	if inc := p.Increment(); inc != nil && older(inc.Table) || slices.ContainsFunc(p.Tables(), older) {
		return true
	}
	gone := mysqlerr.Number(err) == mysqlerr.ErrNoTable && slices.ContainsFunc(p.Tables(), func(t *catalog.Table) bool { return strings.Contains(err.Error(), "."+t.Spec.SlotsTable+"'") })
	slots := gone || p.Class() == plan.ClassIncrement && mysqlerr.Number(err) == mysqlerr.ErrNoDefault || // all columns that are known have values: it has met another one
		mysqlerr.Number(err) == mysqlerr.ErrNoColumn && strings.Contains(err.Error(), catalog.SlotColumn+"'") // the slots table is for another key
	look, again := f.Watcher.Refresh, slots || f.Watcher.Changed()
	switch read, asked := f.Watcher.Looked(); {
	case !again && asked < lookSeldom:
		return false
	case !again && read < readSeldom, refused && mysqlerr.Number(err) != mysqlerr.ErrLockWait: // what the server has refused for other reasons is not tried again for it
		look = f.Watcher.Look
	}
	now, lerr := look(watch.Holding(ctx, f.Begun()))
	return lerr == nil && (now != old || gone) // it may have been made again
}
