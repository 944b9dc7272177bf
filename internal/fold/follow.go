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
	if x := f.Open(); x == nil || len(x.Pending) == 0 {
		return nil
	}
	tables := p.Tables()
	if inc := p.Increment(); inc != nil {
		tables = append(tables, inc.Table)
	}
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
	known := map[string]moves{}
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
	return relocate(ctx, f, t, e, map[string]moves{})
}

// relocate is Relocate with what is known of locators.
func relocate(ctx context.Context, f *Folder, t *catalog.Table, e *slotsql.RowIncrement, known map[string]moves) (parts []*slotsql.RowIncrement, err error) {
	stays := e.Clone()
	stays.ID, stays.Where, stays.Rest, stays.Finds = e.Key.ID(), "", "", nil
	for _, found := range e.Finds {
		text := found.Name + "\x00" + found.Where
		for _, k := range found.Keys { // the same condition may have found the row under another key before
			text += "\x00" + k.ID()
		}
		m, ok := known[text]
		if !ok {
			if m, err = movesOf(ctx, f, t, found); err != nil {
				return nil, err
			}
			known[text] = m
		}
		switch to, ok := m.of(e.Key); {
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

// moves are what became of the rows that a locator had found.
type moves struct {
	now  []catalog.Key // what it finds now
	from []catalog.Key // what it had found and finds no longer
	to   []catalog.Key // what it finds and had not found
}

// movesOf locks what a locator finds now, and tells what became of what it has found.
func movesOf(ctx context.Context, f *Folder, t *catalog.Table, found slotsql.Locator) (m moves, err error) {
	if m.now, err = lockFound(ctx, f, t, found); err != nil {
		return m, err
	}
	m.from, m.to = without(found.Keys, m.now), without(m.now, found.Keys)
	if len(m.to) == 0 || len(m.from) <= len(m.to) {
		return m, nil
	}
	// Some have lost what they were found by: those that are still under their keys.
	for batch := range session.Batches(&f.Settings, t, BatchKeys, m.from) {
		there, err := f.Outside(ctx, "SELECT "+t.Key.Select(t.Ref())+" FROM "+t.From()+slotsql.ForceKey(t)+" WHERE "+t.Key.WhereAny(batch, t.Ref()))
		if err != nil {
			return m, err
		}
		m.from = without(m.from, t.Key.KeysOfRows(there))
	}
	return m, nil
}

// of is the key that a row has now which was found under k. Which of several has gone where can't
// be told, nor does it matter: each was added the same.
func (m moves) of(k catalog.Key) (now catalog.Key, ok bool) {
	is := func(o catalog.Key) bool { return slices.Equal(o, k) }
	if slices.ContainsFunc(m.now, is) {
		return k, true
	}
	if i := slices.IndexFunc(m.from, is); i >= 0 && i < len(m.to) {
		return m.to[i], true
	}
	return nil, false
}

// lockFound locks the rows that a locator finds now, and returns their keys. A query that waits for a row misses it if it
// gets a lower key meanwhile.
func lockFound(ctx context.Context, f *Folder, t *catalog.Table, found slotsql.Locator) ([]catalog.Key, error) {
	name := sqltext.Quote(found.Name)
	from := t.Base() + " AS " + name
	for range session.MaxRetries {
		rows, err := f.LockRows(ctx, t, name, from, found.Where)
		if err != nil {
			return nil, err
		}
		now := catalog.KeysOf(rows)
		if len(without(found.Keys, now)) == 0 {
			return now, nil
		}
		there, err := f.Outside(ctx, "SELECT "+t.Key.Select(name)+" FROM "+from+" WHERE "+found.Where)
		if err != nil {
			return nil, err
		}
		if len(without(without(t.Key.KeysOfRows(there), now), found.Keys)) == 0 { // at most what the transaction itself has changed is missing
			return now, nil
		}
	}
	return nil, f.AsDeadlock("a row of " + t.String() + " gets one key after the other")
}

// without leaves out some keys.
func without(keys, out []catalog.Key) []catalog.Key {
	return slices.DeleteFunc(slices.Clone(keys), func(k catalog.Key) bool {
		return slices.ContainsFunc(out, func(o catalog.Key) bool { return slices.Equal(o, k) })
	})
}
