package slotsql

import (
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// Folding is the UPDATE that adds slots and pending increments to locked rows.
type Folding struct {
	Table  *catalog.Table
	Strict bool

	Discards []*catalog.Column // see discarding
	Stands   []string          // the conditions of rows with stand-ins
	Stood    *catalog.Column

	rows   []string    // the conditions of those that it changes
	Whens  [][]string  // WHEN … THEN …, by column
	Gone   []SlotRow   // what is added
	Folded []FoldedRow // to which rows
}

// NewFolding is one of nothing.
func NewFolding(t *catalog.Table) *Folding {
	return &Folding{Table: t, Whens: make([][]string, len(t.Counters)+len(t.Touch))}
}

// Set gives a row the counters that it has been read with.
func (f *Folding) Set(r LockedRow) {
	where := f.Table.Key.Where(r.Key, f.Table.Ref())
	for i, n := range r.Counters {
		if n == "" {
			n = "NULL"
		}
		f.Whens[i] = append(f.Whens[i], " WHEN "+where+" THEN "+n)
	}
	f.rows = append(f.rows, "("+where+")")
	f.Folded = append(f.Folded, FoldedRow{r.Key, true})
}

// Add folds a row, if there is anything to fold.
func (f *Folding) Add(r LockedRow, slots []SlotRow, e *RowIncrement) error {
	if len(slots) == 0 && e == nil {
		return nil
	}
	t, name := f.Table, f.Table.Ref()
	where := t.Key.Where(r.Key, name)
	written := false
	for i, col := range t.Counters {
		if r.Counters[i] == "" {
			continue // NULL has no slots that count
		}
		total, other, err := totalOfColumn(col, r.Counters[i], i, slots, e, f.Strict)
		if !col.Integer() && !col.Decimal() {
			total, err = totalOfFloat(col, name, i, slots, e)
			other = false // perhaps
		}
		if mysqlerr.Number(err) == mysqlerr.ErrDataRange && slices.Contains(f.Discards, col) {
			total, err = standIn(col, r.Counters[i], i, slots, e)
			other = true // or by the statement, which fails where it leaves it
			f.Stood, f.Stands = col, append(f.Stands, "("+where+" AND "+name+"."+sqltext.Quote(col.Name)+" = "+total+")")
		}
		if err != nil {
			return err
		}
		f.Whens[i] = append(f.Whens[i], " WHEN "+where+" THEN "+total)
		written = written || other
	}
	for i, col := range t.Touch {
		newest := NewestTouch(i, slots, e)
		if newest == "" {
			continue
		}
		at := len(t.Counters) + i
		f.Whens[at] = append(f.Whens[at], " WHEN "+where+" THEN "+catalog.Later(name+"."+sqltext.Quote(col.Name), newest))
	}
	f.rows = append(f.rows, "("+where+")")
	f.Gone = append(f.Gone, slots...)
	f.Folded = append(f.Folded, FoldedRow{r.Key, written})
	return nil
}

// UpdateSQL is "" where all counters are NULL, which get nothing.
func (f *Folding) UpdateSQL() string {
	t := f.Table
	var assignments []string
	for i, col := range slices.Concat(t.Counters, t.Touch) {
		ref := t.Ref() + "." + sqltext.Quote(col.Name)
		if f.Whens[i] != nil {
			assignments = append(assignments, ref+" = CASE"+strings.Join(f.Whens[i], "")+" ELSE "+ref+" END")
		} else if col.OnUpdate {
			assignments = append(assignments, ref+" = "+ref) // or the server sets it to now
		}
	}
	if assignments == nil {
		return ""
	}
	update := "UPDATE " + t.From() + ForceKey(t) + " SET " + strings.Join(assignments, ", ") + " WHERE " + strings.Join(f.rows, " OR ")
	if len(t.Key) == 0 {
		update += " LIMIT 1" // sql_safe_updates asks for it
	}
	return update
}

// FoldedRow is a row whose slots and pending increments are gone, and whose base
// row says all.
type FoldedRow struct {
	Key     catalog.Key
	Written bool // its base row has got another number
}

// NewestTouch is the SQL of the latest time that the slots and the pending
// increments of a row have for touch column i; "" if none.
func NewestTouch(i int, slots []SlotRow, e *RowIncrement) string {
	newest := ""
	for _, s := range slots {
		newest = max(newest, s.Touch[i])
	}
	if newest != "" {
		newest = "CAST('" + newest + "' AS DATETIME(6))"
	}
	if e != nil && e.Touch[i] != "" {
		at := "CAST(" + e.Touch[i] + " AS DATETIME(6))"
		if newest == "" {
			return at
		}
		return "GREATEST(" + newest + ", " + at + ")"
	}
	return newest
}
