package countermysql

import (
	"maps"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
)

// txState is what one transaction has done to counter tables.
type txState struct {
	isolation  string
	schema     *catalog.Schema     // that pending and written go by; nil: to be told
	pending    map[string]*pending // by table
	written    map[string]*written // by table
	journal    journal
	increments int64      // statements that were added to pending
	inside     bool       // it looks up for itself: others wait for it, or do not see slots that it has written
	called     bool       // it ran what may have set savepoints, or gone back to one
	held       []string   // tables of which it may have locked rows, on a cluster
	joined     bool       // InnoDB is part of the server's transaction, for a savepoint
	promises   []*promise // increments that are not in pending yet, of other keys
	promised   []*promise // those that are, since they are being sent
	sent       bool       // all that was pending
}

func newTx(isolation string) *txState {
	return &txState{isolation: isolation, pending: map[string]*pending{}, written: map[string]*written{}}
}

// anew is a transaction of nothing but increments as it is before they are sent.
func (x *txState) anew() *txState {
	for _, p := range x.promised {
		p.affected = 1
	}
	y := newTx(x.isolation)
	y.schema, y.increments, y.promised = x.schema, x.increments, x.promised
	for name, p := range x.pending {
		y.pending[name] = &pending{t: p.t, entries: maps.Clone(p.entries), late: p.late, journal: &y.journal}
	}
	return y
}

// pendingFor returns the pending increments of a table, to add to.
func (x *txState) pendingFor(t *catalog.Table) *pending {
	p := x.pending[t.String()]
	if p == nil {
		p = &pending{t: t, journal: &x.journal}
		rememberKey(&x.journal, &x.pending, t.String())
		x.pending[t.String()] = p
	}
	return p
}

func (x *txState) hasPending(t *catalog.Table) bool {
	return x != nil && x.pending[t.String()].some()
}

// unsent are the tables' pending increments, in canonical order.
func (x *txState) unsent() []*pending {
	all := slices.DeleteFunc(slices.Collect(maps.Values(x.pending)), func(p *pending) bool { return !p.some() })
	slices.SortFunc(all, func(p, q *pending) int { return strings.Compare(p.t.String(), q.t.String()) })
	return all
}

// dropEmpty forgets increments that cancelled out.
func (x *txState) dropEmpty() {
	for _, p := range x.pending {
		for id, e := range p.entries {
			if e.Empty() {
				p.remove(id)
			}
		}
	}
}

// noteCall notes that a statement ran which may have done anything.
func (x *txState) noteCall() {
	if x.called || !x.journal.idle() {
		x.doubt()
	}
	x.called = true
	for _, w := range x.written { // it may have committed and begun anew: others could add slots meanwhile
		x.inside = x.inside || len(w.taken) > 0
		w.forgetTaken()
		w.forgetSums()
	}
}

// sentAll notes that a table's pending increments are in slots.
func (x *txState) sentAll(t *catalog.Table) {
	rememberKey(&x.journal, &x.pending, t.String())
	delete(x.pending, t.String())
	x.writtenTo(t).setAny()
	x.inside = true
}

// save notes a SAVEPOINT.
func (x *txState) save(name string) { x.journal.save(name, len(x.unsent()) > 0) }

// rollbackTo brings back the state at SAVEPOINT, as the server brings back the
// rows: increments that were applied to base rows since are pending again.
func (x *txState) rollbackTo(name string) {
	if !x.journal.rollBackTo(name) { // a routine has set it, and before it ran all was applied
		remember(&x.journal, &x.pending)
		x.pending = map[string]*pending{}
		x.doubt()
		return
	}
	x.schema = nil // what has come back goes by that of then
	for _, w := range x.written {
		w.forgetSums() // perhaps they lack slots that were taken behind it
	}
}

// keepsPending reports whether to go back to some savepoint makes increments pending
// again.
func (x *txState) keepsPending() bool {
	return slices.ContainsFunc(x.journal.savepoints, func(s savepoint) bool { return s.pending })
}

// redefined returns a table that is another in a schema than what the transaction remembers
// of it goes by; nil if there is none.
func (x *txState) redefined(s *catalog.Schema) *catalog.Table {
	for _, p := range x.pending {
		if t := s.Now(p.t); p.some() && !t.Extends(p.t) {
			return t
		}
	}
	for _, p := range x.promises {
		if t := s.Now(p.b.Table); !t.Extends(p.b.Table) {
			return t
		}
	}
	for _, w := range x.written {
		if t := s.Now(w.t); w.some() && !t.SameKeyAs(w.t) {
			return t
		}
	}
	return nil
}

// goOver makes the transaction remember everything by another schema.
func (x *txState) goOver(s *catalog.Schema) {
	for _, p := range x.pending {
		if t := s.Now(p.t); t != p.t {
			p.goOver(t)
		}
	}
	for _, w := range x.written {
		if t := s.Now(w.t); t != w.t {
			w.t = t
			w.forgetSums()
		}
	}
	x.schema = s
}
