package slotsql

import (
	"cmp"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// Folding is what adds slots and pending increments to locked rows.
type Folding struct {
	Table  *catalog.Table
	Strict bool

	Discards []*catalog.Column // see discarding
	Stands   []string          // the conditions of rows with stand-ins
	Stood    *catalog.Column

	parts  []foldedPart
	Gone   []SlotRow   // what is added
	Folded []FoldedRow // to which rows
}

// foldedPart are rows of which the same columns are touched. What is not touched is not assigned: an UPDATE in strict
// mode refuses to write a zero date again.
type foldedPart struct {
	touched []string   // what is assigned, by touch column; "" is nothing
	rows    []string   // their conditions
	whens   [][]string // WHEN … THEN …, by column
}

// NewFolding is one of nothing.
func NewFolding(t *catalog.Table) *Folding { return &Folding{Table: t} }

// put assigns to a row, by column; "" is nothing.
func (f *Folding) put(where string, values []string) {
	touched := values[len(f.Table.Counters):]
	i := slices.IndexFunc(f.parts, func(p foldedPart) bool {
		return slices.EqualFunc(p.touched, touched, func(x, y string) bool { return (x == "") == (y == "") })
	})
	if i < 0 {
		i, f.parts = len(f.parts), append(f.parts, foldedPart{touched: touched, whens: make([][]string, len(values))})
	}
	p := &f.parts[i]
	p.rows = append(p.rows, "("+where+")")
	for i, value := range values {
		if value != "" {
			p.whens[i] = append(p.whens[i], " WHEN "+where+" THEN "+value)
		}
	}
}

// Set gives a row the counters that it has been read with.
func (f *Folding) Set(r LockedRow) {
	values := make([]string, len(f.Table.Counters)+len(f.Table.Touch))
	for i, n := range r.Counters {
		values[i] = cmp.Or(n, "NULL")
	}
	f.put(f.Table.Key.Where(r.Key, f.Table.Ref()), values)
	f.Folded = append(f.Folded, FoldedRow{r.Key, true})
}

// Add folds a row, if there is anything to fold.
func (f *Folding) Add(r LockedRow, slots []SlotRow, e *RowIncrement) error {
	if len(slots) == 0 && e == nil {
		return nil
	}
	t, name := f.Table, f.Table.Ref()
	where := t.Key.Where(r.Key, name)
	values := make([]string, len(t.Counters)+len(t.Touch))
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
		values[i] = total
		written = written || other
	}
	for i, col := range t.Touch {
		if newest := NewestTouch(i, slots, e); newest != "" {
			values[len(t.Counters)+i] = catalog.Later(name+"."+sqltext.Quote(col.Name), newest)
		}
	}
	f.put(where, values)
	f.Gone = append(f.Gone, slots...)
	f.Folded = append(f.Folded, FoldedRow{r.Key, written})
	return nil
}

// Updates are the statements; none where all counters are NULL, which get nothing.
func (f *Folding) Updates() (updates []string) {
	t := f.Table
	for _, p := range f.parts {
		var assignments []string
		for i, col := range slices.Concat(t.Counters, t.Touch) {
			ref := t.Ref() + "." + sqltext.Quote(col.Name)
			if p.whens[i] != nil {
				assignments = append(assignments, ref+" = CASE"+strings.Join(p.whens[i], "")+" ELSE "+ref+" END")
			} else if col.OnUpdate {
				assignments = append(assignments, ref+" = "+ref) // or the server sets it to now
			}
		}
		if assignments == nil {
			continue
		}
		update := "UPDATE " + t.From() + ForceKey(t) + " SET " + strings.Join(assignments, ", ") + " WHERE " + strings.Join(p.rows, " OR ")
		if len(t.Key) == 0 {
			update += " LIMIT 1" // sql_safe_updates asks for it
		}
		updates = append(updates, update)
	}
	return updates
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
