package countermysql

import (
	"maps"
	"slices"
	"strings"
)

// isolation levels as the server names them
// (https://dev.mysql.com/doc/refman/8.4/en/innodb-transaction-isolation-levels.html).
const (
	repeatableRead = "REPEATABLE READ"
	serializable   = "SERIALIZABLE"
)

// txState is what one transaction has done to counter tables.
type txState struct {
	isolation  string
	schema     *schema             // that pending and written go by
	pending    map[string]*pending // by table
	written    map[string]*written // by table
	savepoints []savepoint
	rolledUp   []rolledUp // by the running statement
	increments int64      // statements that were added to pending
	inside     bool       // it looks up for itself: others wait for it, or do not see slots that it has written
	called     bool       // it ran what may have set savepoints, or gone back to one
}

// rolledUp is a row that the running statement rolled up.
type rolledUp struct {
	w    *written
	base string
	vain map[string]string // nil: it does not differ from the snapshot
}

// written are the base rows a transaction has written. Under REPEATABLE READ it
// sees them as they are now and all others as of its snapshot.
type written struct {
	t    *table
	any  bool // rows whose keys are not known
	rows []writtenRow

	writes   int          // statements that wrote rows
	rolledUp layers[bool] // keys whose slots the transaction has taken: others still see them
}

// writtenRow is one of them. Its lock keeps everybody else from its slots, so
// their sum cannot change before the transaction ends.
type writtenRow struct {
	base  string            // selects the base row, by the table's own name
	slots string            // selects its slots, by privateName
	sums  map[string]string // of the slots, by column; nil: not read yet

	matched bool // perhaps not written
	absent  bool // and not there

	// A row that was only rolled up is written for the server, but not for the
	// application, which goes on to see it as of its snapshot. vain says what is
	// to be added to the base row for that.
	vain  map[string]string
	apart int // statements that are known not to have written it: the first so many
}

func newTx(isolation string) *txState {
	return &txState{isolation: isolation, pending: map[string]*pending{}, written: map[string]*written{}}
}

// pendingFor returns the pending increments of a table, to add to.
func (x *txState) pendingFor(t *table) *pending {
	p := x.pending[t.String()]
	if p == nil {
		p = &pending{t: t}
		x.pending[t.String()] = p
	}
	return p
}

func (x *txState) hasPending(t *table) bool {
	p := x.pending[t.String()]
	return p != nil && p.entries.len() > 0
}

// tables returns the tables with pending increments, in canonical order.
func (x *txState) tables() []*table {
	var tables []*table
	for _, p := range x.pending {
		if p.entries.len() > 0 {
			tables = append(tables, p.t)
		}
	}
	sortTables(tables)
	return tables
}

// dropEmpty forgets increments that cancelled out.
func (x *txState) dropEmpty() {
	for _, p := range x.pending {
		for id, e := range p.entries.all() {
			if e.empty() {
				p.entries.remove(id)
			}
		}
	}
}

func (x *txState) writtenTo(t *table) *written {
	w := x.written[t.String()]
	if w == nil {
		w = &written{t: t}
		x.written[t.String()] = w
	}
	return w
}

// maxWritten bounds the rows remembered by key.
const maxWritten = 100

// mark notes that the transaction has written a row.
func (w *written) mark(row writtenRow) {
	for i := range w.rows {
		if w.rows[i].base == row.base {
			if w.rows[i].absent {
				w.rows[i] = row
				return
			}
			if row.sums != nil {
				w.rows[i].sums = row.sums
			}
			w.rows[i].matched, w.rows[i].vain = w.rows[i].matched && row.matched, nil
			return
		}
	}
	if len(w.rows) == maxWritten {
		w.any = true
		return
	}
	w.rows = append(w.rows, row)
}

// noteVain ends an exact statement. If it wrote nothing, the rows that were
// rolled up for it still look as they did.
func (x *txState) noteVain(vain bool) {
	for _, r := range x.rolledUp {
		for i := range r.w.rows {
			if row := &r.w.rows[i]; vain && row.base == r.base && r.vain != nil {
				row.vain, row.apart = r.vain, r.w.writes
			}
		}
	}
	x.rolledUp = nil
}

// noteCall notes that a statement ran which may have done anything.
func (x *txState) noteCall() {
	if x.called || len(x.savepoints) > 0 {
		x.doubt()
	}
	x.called = true
	for _, w := range x.written { // it may have committed and begun anew: others could add slots meanwhile
		x.inside = x.inside || w.rolledUp.len() > 0
		w.rolledUp.clear()
		for i := range w.rows {
			w.rows[i].sums = nil
		}
	}
}

// doubt forgets what the transaction has done to rows: it is not known how much of
// that stands.
func (x *txState) doubt() {
	x.inside = true
	for _, w := range x.written {
		w.any, w.rows = true, nil
		w.rolledUp.clear()
	}
}

// adopt goes over to a schema that was learned while the transaction was open:
// it holds no lock that would keep others from adding a counter to a table. It does
// not, and says so, if increments are pending by a key that is no longer the table's.
func (x *txState) adopt(s *schema) (rekeyed *table) {
	if x.schema == s {
		return nil
	}
	if t := rekeyedIn(s, x.pending); t != nil {
		return t
	}
	for _, p := range x.savepoints {
		if t := rekeyedIn(s, p.pending); t != nil {
			return t
		}
	}
	x.schema = s
	converted := map[*layer[*entry]]bool{}
	adoptTables(s, x.pending, x.written, converted)
	for _, p := range x.savepoints {
		adoptTables(s, p.pending, p.written, converted)
	}
	return nil
}

// rekeyedIn is a table with pending increments that a schema has another key for,
// or other digits in what is incremented; nil if there is none.
func rekeyedIn(s *schema, pendings map[string]*pending) *table {
	for _, p := range pendings {
		t := s.lookup(p.t.spec.db, p.t.spec.name, "")
		if p.entries.len() == 0 || t == nil {
			continue
		}
		if !slices.EqualFunc(p.t.key, t.key, (*column).sameKey) || slices.ContainsFunc(slices.Concat(p.t.counters, p.t.touch), func(c *column) bool {
			now := t.column(c.name)
			return now != nil && now.scale != c.scale
		}) {
			return t
		}
	}
	return nil
}

func adoptTables(s *schema, pendings map[string]*pending, writtens map[string]*written, converted map[*layer[*entry]]bool) {
	for _, p := range pendings {
		if t := s.lookup(p.t.spec.db, p.t.spec.name, ""); t != nil && t != p.t {
			p.entries.convert(func(e *entry) *entry { return e.of(p.t, t) }, converted)
			p.t = t
		}
	}
	for _, w := range writtens {
		if t := s.lookup(w.t.spec.db, w.t.spec.name, ""); t != nil && t != w.t {
			w.t = t
			for i := range w.rows {
				w.rows[i].sums = nil
			}
		}
	}
}

// sortedKeys returns a map's keys in order.
func sortedKeys[V any](m map[string]V) []string {
	return slices.SortedFunc(maps.Keys(m), strings.Compare)
}

// noteWrites remembers which base rows the transaction has written.
func (c *conn) noteWrites(writes []write, b binder, affected int64) {
	if len(writes) == 0 || !c.inTransaction() {
		return
	}
	for _, w := range writes {
		same := affected == 0 && !w.reads && c.connector.writesSame()
		if affected == 0 && !(same && (w.updates || w.upserts)) {
			continue
		}
		seen := c.transaction().writtenTo(w.t)
		seen.writes++
		if w.pins == nil || w.rekeys || !b.soundPins(w.pins) || affected < int64(len(w.pins)) && !w.moves && !w.upserts && !same {
			seen.any = true
			continue
		}
		matched := same || (w.updates || w.upserts) && c.connector.cfg.ClientFoundRows ||
			w.upserts && len(w.pins) > 1 && affected < 2*int64(len(w.pins)) // a row that it changes counts twice
		for _, p := range w.pins {
			base, ok := p.bind(w.t.spec.name, b)
			if !ok || p.momentary() {
				seen.any = true
				break
			}
			seen.mark(writtenRow{base: base, slots: w.t.slotsOf(p, b), matched: matched})
		}
	}
}

// slotsOf selects the slots of a pinned row.
func (t *table) slotsOf(p pin, b binder) string {
	if len(p.cols) == 0 || slices.Equal(p.cols, t.key) {
		where, _ := p.bind(privateName, b)
		return where
	}
	where, _ := p.bind(t.spec.name, b)
	return "EXISTS (SELECT 1 FROM " + t.base() + " WHERE " + where + " AND " + t.sameKey(quoteIdent(t.spec.name), privateName) + ")"
}
