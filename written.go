package countermysql

import "slices"

// written are the base rows a transaction has written. Under REPEATABLE READ it
// sees them as they are now and all others as of its snapshot.
type written struct {
	t    *table
	any  bool // rows whose keys are not known
	rows []writtenRow

	writes int          // statements that wrote rows
	taken  layers[bool] // keys whose slots the transaction has taken: others still see them
}

// rolledUp is a row that the running statement rolled up.
type rolledUp struct {
	w    *written
	base string
	vain map[string]string // nil: it does not differ from the snapshot
}

// writtenRow is one of them. Its lock keeps everybody else from its slots, so
// their sum cannot change before the transaction ends.
type writtenRow struct {
	base  string            // selects the base row, by the table's own name
	slots string            // selects its slots, by privateName
	sums  map[string]string // of the slots, by column; nil: not read yet

	doubt doubt

	// A row that was only rolled up is written for the server, but not for the
	// application, which goes on to see it as of its snapshot. vain says what is
	// to be added to the base row for that.
	vain  map[string]string
	apart int // statements that are known not to have written it: the first so many
}

// doubt is whether a row was written by the statement that has given its key.
type doubt uint8

const (
	noDoubt doubt = iota
	matched       // perhaps not
	absent        // and it was not there when the transaction looked
)

// maxWritten bounds the rows remembered by key.
const maxWritten = 100

func (x *txState) writtenTo(t *table) *written {
	w := x.written[t.String()]
	if w == nil {
		w = &written{t: t}
		x.written[t.String()] = w
	}
	return w
}

// concerns reports whether the transaction has anything of its own in the table, or may
// have: what others see of that is not what it is.
func (x *txState) concerns(t *table) bool {
	w := x.writtenTo(t)
	return x.hasPending(t) || w.any || w.writes > 0 || len(w.rows) > 0 || w.taken.len() > 0
}

// mark notes that the transaction has written a row.
func (w *written) mark(row writtenRow) {
	for i := range w.rows {
		known := &w.rows[i]
		switch {
		case known.base != row.base:
			continue
		case known.doubt == absent:
			*known = row
			return
		case row.doubt == noDoubt:
			known.doubt = noDoubt
		}
		known.vain = nil
		if row.sums != nil {
			known.sums = row.sums
		}
		return
	}
	if len(w.rows) == maxWritten {
		w.any = true
		return
	}
	w.rows = append(w.rows, row)
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
		doubt := noDoubt
		if same || (w.updates || w.upserts) && c.connector.cfg.ClientFoundRows ||
			w.upserts && len(w.pins) > 1 && affected < 2*int64(len(w.pins)) { // a row that it changes counts twice
			doubt = matched
		}
		for _, p := range w.pins {
			base, ok := p.bind(w.t.spec.name, b)
			if !ok || p.momentary() {
				seen.any = true
				break
			}
			seen.mark(writtenRow{base: base, slots: w.t.slotsOf(p, b), doubt: doubt})
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

// rezone forgets which rows the transaction has written by a TIMESTAMP, which another
// time zone writes otherwise.
func (x *txState) rezone() {
	for _, w := range x.written {
		byTime := slices.ContainsFunc(w.t.unique, func(k uniqueKey) bool {
			return slices.ContainsFunc(k.cols, func(c *column) bool { return c.dataType == "timestamp" })
		})
		if byTime && (len(w.rows) > 0 || w.taken.len() > 0) {
			x.inside, w.any, w.rows = true, true, nil
			w.taken.clear()
		}
	}
}

// doubt forgets what the transaction has done to rows: it is not known how much of
// that stands.
func (x *txState) doubt() {
	x.inside = true
	for _, w := range x.written {
		w.any, w.rows = true, nil
		w.taken.clear()
	}
}
