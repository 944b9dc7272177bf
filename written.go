package countermysql

import (
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/plan"
)

// written are the base rows a transaction has written. What changes of it is remembered in
// the journal, but for sums: they are read again behind ROLLBACK TO. Under REPEATABLE READ it
// sees them as they are now and all others as of its snapshot.
type written struct {
	t    *catalog.Table
	any  bool // rows whose keys are not known
	rows []writtenRow

	taken map[string]bool // keys whose slots the transaction has taken: others still see them

	journal *journal
}

// writtenRow is one of them. Its lock keeps everybody else from its slots, so
// their sum cannot change before the transaction ends.
type writtenRow struct {
	base  string            // selects the base row, by the table's own name
	slots string            // selects its slots, by PrivateName
	sums  map[string]string // of the slots, by column; nil: not read yet
}

// maxWritten bounds the rows remembered by key.
const maxWritten = 100

func (x *txState) writtenTo(t *catalog.Table) *written {
	w := x.written[t.String()]
	if w == nil {
		w = &written{t: t, journal: &x.journal}
		x.written[t.String()] = w
	}
	return w
}

// concerns reports whether the transaction has anything of its own in the table, or may
// have: what others see of that is not what it is.
func (x *txState) concerns(t *catalog.Table) bool {
	return x.hasPending(t) || x.writtenTo(t).some()
}

func (w *written) some() bool {
	return w.any || len(w.rows) > 0 || len(w.taken) > 0
}

// setAny notes that it may have written any row.
func (w *written) setAny() {
	remember(w.journal, &w.any)
	w.any = true
}

// forgetRows forgets which rows it has written.
func (w *written) forgetRows() {
	w.setAny()
	remember(w.journal, &w.rows)
	w.rows = nil
	w.forgetTaken()
}

func (w *written) forgetTaken() {
	remember(w.journal, &w.taken)
	w.taken = nil
}

func (w *written) forgetSums() {
	for i := range w.rows {
		w.rows[i].sums = nil
	}
}

// take notes that it has taken a key's slots.
func (w *written) take(id string) {
	if w.taken == nil {
		w.taken = map[string]bool{}
	}
	rememberKey(w.journal, &w.taken, id)
	w.taken[id] = true
}

// mark notes that the transaction has written a row.
func (w *written) mark(row writtenRow) {
	for i := range w.rows {
		if known := &w.rows[i]; known.base == row.base {
			if row.sums != nil {
				known.sums = row.sums
			}
			return
		}
	}
	if len(w.rows) == maxWritten {
		w.setAny()
		return
	}
	remember(w.journal, &w.rows)
	w.rows = append(w.rows, row)
}

// noteWrites remembers which base rows the transaction has written. Where the server does
// not tell whether it has written a row, its version and that of its slots might not
// belong together: then they are rows whose keys are not known, and read as they are now.
func (c *conn) noteWrites(writes []plan.WriteTarget, b plan.Binder, affected int64) {
	if len(writes) == 0 || !c.inTransaction() {
		return
	}
	for _, w := range writes {
		same := affected == 0 && !w.Reads && c.connector.writesSame()
		if affected == 0 && !(same && (w.Updates || w.Upserts)) {
			continue
		}
		seen := c.transaction().writtenTo(w.Table)
		doubt := same || (w.Updates || w.Upserts) && c.connector.cfg.ClientFoundRows ||
			w.Upserts && len(w.Pins) > 1 && affected < 2*int64(len(w.Pins)) // a row that it changes counts twice
		if doubt || w.Pins == nil || w.Rekeys || !b.SoundPins(w.Pins) || affected < int64(len(w.Pins)) && !w.Moves && !w.Upserts {
			seen.setAny()
			continue
		}
		for _, p := range w.Pins {
			base, ok := p.Bind(w.Table.Spec.Name, b)
			if !ok || p.Momentary() {
				seen.setAny()
				break
			}
			seen.mark(writtenRow{base: base, slots: plan.PinnedSlots(w.Table, p, b)})
		}
	}
}

// rezone forgets which rows the transaction has written by a TIMESTAMP, which another
// time zone writes otherwise.
func (x *txState) rezone() {
	for _, w := range x.written {
		byTime := slices.ContainsFunc(w.t.Unique, func(k catalog.UniqueKey) bool {
			return slices.ContainsFunc(k.Columns, func(c *catalog.Column) bool { return c.DataType == "timestamp" })
		})
		if byTime && (len(w.rows) > 0 || len(w.taken) > 0) {
			x.inside = true
			w.forgetRows()
		}
	}
}

// doubt forgets what the transaction has done to rows: it is not known how much of
// that stands.
func (x *txState) doubt() {
	x.inside = true
	for _, w := range x.written {
		w.forgetRows()
	}
}
