package txn

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/traffic"
)

// State is what one transaction has done to counter tables.
type State struct {
	Isolation  string
	Schema     *catalog.Schema      // that pending and written go by; nil: to be told
	Pending    map[string]*Pending  // by table
	Written    map[string]*WriteSet // by table
	journal    journal
	Increments int64      // statements that were added to pending
	Inside     bool       // it looks up for itself: others wait for it, or do not see slots that it has written
	Called     bool       // it ran what may have set savepoints, or gone back to one
	Held       []string   // tables of which it may have locked rows, on a cluster
	Joined     bool       // InnoDB is part of the server's transaction, for a savepoint
	Promises   []*Promise // increments that are not in pending yet, of other keys
	Promised   []*Promise // those that are, since they are being sent
	Sent       bool       // all that was pending

	behind []*traffic.Behind // its increments, by plan, the last one at the end
	since  time.Duration     // by clock: the first of them
}

func New(isolation string) *State {
	return &State{Isolation: isolation, Pending: map[string]*Pending{}, Written: map[string]*WriteSet{}}
}

// Anew is a transaction of nothing but increments as it is before they are sent.
func (x *State) Anew() *State {
	for _, p := range x.Promised {
		p.Affected = 1
	}
	y := New(x.Isolation)
	y.Schema, y.Increments, y.Promised = x.Schema, x.Increments, x.Promised
	for name, p := range x.Pending {
		y.Pending[name] = &Pending{Table: p.Table, Entries: maps.Clone(p.Entries), Late: p.Late, journal: &y.journal}
	}
	return y
}

// Counts notes an increment, before it is pending or sent.
func (x *State) Counts(b *traffic.Behind) {
	if x.behind == nil {
		x.since = catalog.Clock()
	}
	if n := len(x.behind); n > 0 {
		x.behind[n-1].Increment()
	}
	x.behind = append(slices.DeleteFunc(x.behind, func(o *traffic.Behind) bool { return o == b }), b)
}

// Other notes a statement that is no increment, before it locks or reads anything.
func (x *State) Other() {
	if x == nil {
		return
	}
	for _, b := range x.behind {
		b.Other()
	}
}

// Commits notes that it is about to.
func (x *State) Commits() {
	for _, b := range x.behind {
		b.Committed(catalog.Clock() - x.since)
	}
}

// HoldsAll reports whether it has locked the rows of all pending increments, which are most
// at most.
func (x *State) HoldsAll(most int) bool {
	for _, p := range x.Pending {
		for _, e := range p.Entries {
			if most--; most < 0 || !e.Held {
				return false
			}
		}
	}
	return true
}

// Rows are those of all pending increments, in no order.
func (x *State) Rows() (rows []slotsql.BaseRow) {
	for _, p := range x.Pending {
		for _, e := range p.Entries {
			rows = append(rows, slotsql.BaseRow{Table: p.Table, Increment: e})
		}
	}
	return rows
}

// PendingFor returns the pending increments of a table, to add to.
func (x *State) PendingFor(t *catalog.Table) *Pending {
	p := x.Pending[t.String()]
	if p == nil {
		p = &Pending{Table: t, journal: &x.journal}
		rememberKey(&x.journal, &x.Pending, t.String())
		x.Pending[t.String()] = p
	}
	return p
}

func (x *State) HasPending(t *catalog.Table) bool {
	return x != nil && x.Pending[t.String()].Some()
}

// Unsent are the tables' pending increments, in canonical order.
func (x *State) Unsent() []*Pending {
	all := slices.DeleteFunc(slices.Collect(maps.Values(x.Pending)), func(p *Pending) bool { return !p.Some() })
	slices.SortFunc(all, func(p, q *Pending) int { return strings.Compare(p.Table.String(), q.Table.String()) })
	return all
}

// DropEmpty forgets increments that cancelled out.
func (x *State) DropEmpty() {
	for _, p := range x.Pending {
		for id, e := range p.Entries {
			if e.Empty() {
				p.Remove(id)
			}
		}
	}
}

// NoteCall notes that a statement ran which may have done anything.
func (x *State) NoteCall() {
	if x.Called || !x.journal.idle() {
		x.doubt()
	}
	x.Called = true
	for _, w := range x.Written { // it may have committed and begun anew: others could add slots meanwhile
		x.Inside = x.Inside || len(w.Folded) > 0
		w.forgetTaken()
		w.ForgetSums()
	}
}

// SentAll notes that a table's pending increments are in slots.
func (x *State) SentAll(t *catalog.Table) {
	rememberKey(&x.journal, &x.Pending, t.String())
	delete(x.Pending, t.String())
	x.WrittenTo(t).SetUnbounded()
	x.Inside = true
}

// SentTaken notes that what was taken of a reserved row is written.
func (x *State) SentTaken(p *Pending, e *slotsql.RowIncrement) {
	p.Remove(e.ID)
	x.WrittenTo(p.Table).SetUnbounded()
	x.Inside = true
}

// Save notes a SAVEPOINT.
func (x *State) Save(name string) { x.journal.save(name, len(x.Unsent()) > 0) }

// RollbackTo brings back the state at SAVEPOINT, as the server brings back the
// rows: increments that were applied to base rows since are pending again.
func (x *State) RollbackTo(name string) {
	if !x.journal.rollBackTo(name) { // a routine has set it, and before it ran all was applied
		remember(&x.journal, &x.Pending)
		x.Pending = map[string]*Pending{}
		x.doubt()
		return
	}
	x.Schema = nil // what has come back goes by that of then
	for _, w := range x.Written {
		w.ForgetSums() // perhaps they lack slots that were taken behind it
	}
}

// KeepsPending reports whether to go back to some savepoint makes increments pending
// again.
func (x *State) KeepsPending() bool {
	return slices.ContainsFunc(x.journal.savepoints, func(s savepoint) bool { return s.pending })
}

// Redefined returns a table that is another in a schema than what the transaction remembers
// of it goes by; nil if there is none.
func (x *State) Redefined(s *catalog.Schema) *catalog.Table {
	for _, p := range x.Pending {
		if t := s.Now(p.Table); p.Some() && !t.Extends(p.Table) {
			return t
		}
	}
	for _, p := range x.Promises {
		if t := s.Now(p.Bound.Table); !t.Extends(p.Bound.Table) {
			return t
		}
	}
	for _, w := range x.Written {
		if t := s.Now(w.Table); w.Some() && !t.Key.SameAs(w.Table.Key) {
			return t
		}
	}
	return nil
}

// GoOver makes the transaction remember everything by another schema.
func (x *State) GoOver(s *catalog.Schema) {
	for _, p := range x.Pending {
		if t := s.Now(p.Table); t != p.Table {
			p.goOver(t)
		}
	}
	for _, w := range x.Written {
		if t := s.Now(w.Table); t != w.Table {
			w.Table = t
			w.ForgetSums()
			w.forgetLocked() // perhaps another counter's are there
		}
	}
	x.Schema = s
}

// Holds reports whether increments of a table go to base rows on a cluster, as the
// transaction may have locked some of them, or written rows that are not known.
func (x *State) Holds(t *catalog.Table) bool {
	if x == nil || !t.Cluster {
		return false
	}
	w := x.Written[t.String()]
	return x.Inside || w != nil && w.Unbounded || slices.Contains(x.Held, t.String())
}

// Release forgets a savepoint and, if later, all set after it.
func (x *State) Release(name string, later bool) { x.journal.release(name, later) }

// HasSavepoints reports whether there is a savepoint to go back to.
func (x *State) HasSavepoints() bool { return !x.journal.idle() }
