package txn

import (
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// WriteSet are the base rows a transaction has written. What changes of it is remembered in
// the journal, but for sums: they are read again behind ROLLBACK TO. Under REPEATABLE READ it
// sees them as they are now and all others as of its snapshot.
type WriteSet struct {
	Table     *catalog.Table
	Unbounded bool // rows whose keys are not known
	Rows      []WrittenRow
	Fed       bool // triggers have written slots, of rows whose keys are not known

	Folded map[string]bool // keys whose slots the transaction has taken: others still see them

	// Locked are keys of rows that it has locked exclusively, and what their slots come to, by column, which
	// nobody changes until it ends; nil: they have none, or it has taken them, and the base row says all.
	Locked map[string]map[string]string

	journal *journal
}

// WrittenRow is one of them. Its lock keeps everybody else from its slots, so
// their sum cannot change before the transaction ends.
type WrittenRow struct {
	Base  string            // selects the base row, by the table's own name
	Slots string            // selects its slots, by PrivateName
	Sums  map[string]string // of the slots, by column; nil: not read yet
	Fresh bool              // it was locked before the transaction had a snapshot: that has its slots as they are
	Free  bool              // it had no slots when they were read
}

// MaxWritten bounds the rows remembered by key.
const MaxWritten = 100

func (x *State) WrittenTo(t *catalog.Table) *WriteSet {
	w := x.Written[t.String()]
	if w == nil {
		w = &WriteSet{Table: t, journal: &x.journal}
		x.Written[t.String()] = w
	}
	return w
}

// Concerns reports whether the transaction has anything of its own in the table, or may
// have: what others see of that is not what it is.
func (x *State) Concerns(t *catalog.Table) bool {
	return x.HasPending(t) || x.WrittenTo(t).Some()
}

func (w *WriteSet) Some() bool {
	return w.Unbounded || w.Fed || len(w.Rows) > 0 || len(w.Folded) > 0
}

// SetUnbounded notes that it may have written any row.
func (w *WriteSet) SetUnbounded() {
	remember(w.journal, &w.Unbounded)
	w.Unbounded = true
}

// Feed notes that triggers have written slots. Behind a snapshot that is older, the slots that
// they have written are shown as they are now, and base rows as they were, although a fold may
// have moved the ones to the others since: all is then to be read as it is now.
func (w *WriteSet) Feed(behindSnapshot bool) {
	remember(w.journal, &w.Fed)
	if w.Fed = true; behindSnapshot {
		w.SetUnbounded()
	}
}

// forgetRows forgets which rows it has written.
func (w *WriteSet) forgetRows() {
	w.SetUnbounded()
	remember(w.journal, &w.Rows)
	w.Rows = nil
	w.forgetTaken()
}

func (w *WriteSet) forgetTaken() {
	remember(w.journal, &w.Folded)
	w.Folded = nil
	w.forgetLocked()
}

func (w *WriteSet) forgetLocked() {
	remember(w.journal, &w.Locked)
	w.Locked = nil
}

func (w *WriteSet) ForgetSums() {
	for i := range w.Rows {
		w.Rows[i].Sums, w.Rows[i].Fresh = nil, false
	}
}

// Fold notes that it has taken a key's slots.
func (w *WriteSet) Fold(id string) {
	if w.Folded == nil {
		w.Folded = map[string]bool{}
	}
	rememberKey(w.journal, &w.Folded, id)
	w.Folded[id] = true
	if _, locked := w.Locked[id]; locked {
		w.Lock(id, nil)
	}
}

// Lock notes what the slots of a row come to that it has locked.
func (w *WriteSet) Lock(id string, sums map[string]string) {
	if _, known := w.Locked[id]; !known && len(w.Locked) == MaxWritten {
		return
	}
	if w.Locked == nil {
		w.Locked = map[string]map[string]string{}
	}
	rememberKey(w.journal, &w.Locked, id)
	w.Locked[id] = sums
}

// HasLocked reports whether it knows of the slots of some row of a table that it has locked.
func (x *State) HasLocked(t *catalog.Table) bool {
	if x == nil {
		return false
	}
	w := x.Written[t.String()]
	return w != nil && len(w.Locked) > 0
}

// IsFree reports whether it has locked a row that has no slots. What is sent for no other row may go as
// it was written.
func (w *WriteSet) IsFree(id string) bool {
	sums, locked := w.Locked[id]
	return locked && sums == nil
}

// RowOfKey is the row of a key.
func RowOfKey(t *catalog.Table, k catalog.Key, fresh bool) WrittenRow {
	return WrittenRow{Base: t.Key.Where(k, sqltext.Quote(t.Spec.Name)), Slots: t.Key.Where(k, catalog.PrivateName), Fresh: fresh}
}

// MarkKey notes that the transaction has written the row of a key.
func (w *WriteSet) MarkKey(k catalog.Key) { w.Mark(RowOfKey(w.Table, k, false)) }

// Mark notes that the transaction has written a row.
func (w *WriteSet) Mark(row WrittenRow) {
	for i := range w.Rows {
		if known := &w.Rows[i]; known.Base == row.Base {
			if row.Sums != nil {
				known.Sums = row.Sums
			}
			return
		}
	}
	if len(w.Rows) == MaxWritten {
		w.SetUnbounded()
		return
	}
	remember(w.journal, &w.Rows)
	w.Rows = append(w.Rows, row)
}

// NoteWrites remembers which base rows a statement has written. Where the server does
// not tell whether it has written a row, its version and that of its slots might not
// belong together: then they are rows whose keys are not known, and read as they are now.
// writesSame says that the server writes rows that an UPDATE does not change, found that it
// counts them; behindSnapshot that the transaction has a snapshot from before.
func (x *State) NoteWrites(writes []plan.WriteTarget, b plan.Binder, affected int64, writesSame, found, behindSnapshot bool) {
	for _, w := range writes {
		same := affected == 0 && !w.Reads && writesSame
		if affected == 0 && !w.Unseen && !(same && (w.Updates || w.Upserts)) {
			continue
		}
		seen := x.WrittenTo(w.Table)
		if w.Feeds {
			seen.Feed(behindSnapshot)
			continue
		}
		doubt := same || (w.Updates || w.Upserts) && found ||
			w.Upserts && len(w.Keys) > 1 && affected < 2*int64(len(w.Keys))-1 // a row that it changes counts twice, a new one once
		if doubt || w.Keys == nil || w.Rekeys || !b.MatchExactly(w.Keys) || affected < int64(len(w.Keys)) && !w.Moves && !w.Upserts {
			seen.SetUnbounded()
			continue
		}
		for _, p := range w.Keys {
			base, ok := p.Bind(w.Table.Spec.Name, b)
			if !ok || p.Momentary() {
				seen.SetUnbounded()
				break
			}
			seen.Mark(WrittenRow{Base: base, Slots: plan.SlotsOf(w.Table, p, b)})
		}
	}
}

// ByTime reports whether a TIMESTAMP is in a key by which rows are found: its text is another one in
// another time zone.
func (w *WriteSet) ByTime() bool {
	return slices.ContainsFunc(w.Table.Unique, func(k catalog.UniqueKey) bool {
		return slices.ContainsFunc(k.Columns, func(c *catalog.Column) bool { return c.DataType == "timestamp" })
	})
}

// Rezone forgets which rows the transaction has written by a TIMESTAMP, which another
// time zone writes otherwise.
func (x *State) Rezone() {
	for _, w := range x.Written {
		if w.ByTime() && (len(w.Rows) > 0 || len(w.Folded) > 0) {
			x.Inside = true
			w.forgetRows()
		}
	}
}

// doubt forgets what the transaction has done to rows: it is not known how much of
// that stands.
func (x *State) doubt() {
	x.Inside = true
	for _, w := range x.Written {
		w.forgetRows()
	}
}
