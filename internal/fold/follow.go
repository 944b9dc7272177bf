package fold

import (
	"context"
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// FollowFor follows the rows of the tables that a statement needs or writes: before it may change
// what they were found by, and before what it locks and folds goes by their keys.
func FollowFor(ctx context.Context, f *Folder, p *plan.Plan) error {
	tables := p.Tables()
	for _, w := range p.Writes {
		tables = append(tables, w.Table)
	}
	for _, t := range tables {
		if err := Follow(ctx, f, t); err != nil {
			return err
		}
	}
	return nil
}

// Follow locks the rows that the transaction has found by another key than the slots table's and
// incremented, as plain MySQL has since then, and puts the increments under the keys that they have
// now: others may have given them other ones, and theirs to different rows.
func Follow(ctx context.Context, f *Folder, t *catalog.Table) error {
	x := f.Open()
	if !x.HasPending(t) {
		return nil
	}
	p := x.Pending[t.String()]
	known := map[string][]slotsql.LockedRow{}
	var was, now []*slotsql.RowIncrement
	for _, e := range p.Sorted() {
		if e.Finds == nil || e.Held {
			continue
		}
		parts, err := relocate(ctx, f, t, e, known)
		if err != nil {
			return err
		}
		was, now = append(was, e), append(now, parts...)
	}
	for _, e := range was {
		p.Remove(e.ID)
	}
	for _, e := range now {
		if !p.Add(*e) {
			return f.AsDeadlock("what is added to a row of " + t.String() + " by several of its keys has more than 64 bits")
		}
	}
	return nil
}

// Relocate is an entry by the keys that its rows have now, which it locks. What is no longer found
// is known by its key alone.
func (f *Folder) Relocate(ctx context.Context, t *catalog.Table, e *slotsql.RowIncrement) ([]*slotsql.RowIncrement, error) {
	return relocate(ctx, f, t, e, map[string][]slotsql.LockedRow{})
}

// relocate is Relocate with the rows that locators are known to find.
func relocate(ctx context.Context, f *Folder, t *catalog.Table, e *slotsql.RowIncrement, known map[string][]slotsql.LockedRow) (parts []*slotsql.RowIncrement, err error) {
	stays := e.Clone()
	stays.ID, stays.Where, stays.Rest, stays.Finds = e.Key.ID(), "", "", nil
	for _, found := range e.Finds {
		text := found.Name + "\x00" + found.Where
		rows, ok := known[text]
		if !ok {
			if rows, err = lockFound(ctx, f, t, found); err != nil {
				return nil, err
			}
			known[text] = rows
		}
		switch to, ok := placeOf(found, rows, e.Key); {
		case !ok:
		case slices.Equal(to, e.Key):
			stays.Held = true
		default:
			parts = append(parts, &slotsql.RowIncrement{ID: to.ID(), Key: to, Deltas: found.Deltas, Touch: e.Touch, Held: true})
			for i, d := range found.Deltas {
				stays.Deltas[i] -= d
			}
		}
	}
	if len(parts) < len(e.Finds) || stays.Counts() {
		parts = append(parts, stays)
	}
	return parts, nil
}

// placeOf is the key that a row has now which was found under k, by the rows that are found now.
// Which of several has gone where can't be told, nor does it matter: each was added the same.
func placeOf(found slotsql.Locator, rows []slotsql.LockedRow, k catalog.Key) (now catalog.Key, ok bool) {
	keys := make([]catalog.Key, len(rows))
	for i, r := range rows {
		keys[i] = r.Key
	}
	is := func(o catalog.Key) bool { return slices.Equal(o, k) }
	if slices.ContainsFunc(keys, is) {
		return k, true
	}
	left, to := without(found.Keys, keys), without(keys, found.Keys)
	if i := slices.IndexFunc(left, is); i >= 0 && i < len(to) {
		return to[i], true
	}
	return nil, false
}

// lockFound locks the rows that a locator finds now. A query that waits for a row misses it if it
// gets a lower key meanwhile.
func lockFound(ctx context.Context, f *Folder, t *catalog.Table, found slotsql.Locator) ([]slotsql.LockedRow, error) {
	from := t.Base() + " AS " + sqltext.Quote(found.Name)
	for range session.MaxRetries {
		rows, err := f.LockRows(ctx, t, sqltext.Quote(found.Name), from, found.Where)
		if err != nil || len(rows) > 0 {
			return rows, err
		}
		if there, err := f.Outside(ctx, "SELECT 1 FROM "+from+" WHERE "+found.Where+" LIMIT 1"); err != nil || len(there) == 0 {
			return nil, err
		}
	}
	return nil, f.AsDeadlock("a row of " + t.String() + " gets one key after the other")
}

// without leaves out some keys.
func without[K ~[]string](keys []catalog.Key, out []K) []catalog.Key {
	return slices.DeleteFunc(slices.Clone(keys), func(k catalog.Key) bool {
		return slices.ContainsFunc(out, func(o K) bool { return slices.Equal([]string(o), []string(k)) })
	})
}
