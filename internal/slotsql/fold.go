package slotsql

import (
	"cmp"
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

	changes []rowChange
	Gone    []SlotRow   // what is added
	Folded  []FoldedRow // to which rows
}

// rowChange is what a row gets, by counter and touch column; "" is nothing.
type rowChange struct {
	where  string
	values []string
}

// NewFolding is one of nothing.
func NewFolding(t *catalog.Table) *Folding { return &Folding{Table: t} }

// Set gives a row the counters that it has been read with.
func (f *Folding) Set(r LockedRow) {
	values := make([]string, len(f.Table.Counters)+len(f.Table.Touch))
	for i, n := range r.Counters {
		values[i] = cmp.Or(n, "NULL")
	}
	f.changes = append(f.changes, rowChange{f.Table.Key.Where(r.Key, f.Table.Ref()), values})
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
	f.changes = append(f.changes, rowChange{where, values})
	f.Gone = append(f.Gone, slots...)
	f.Folded = append(f.Folded, FoldedRow{r.Key, written})
	return nil
}

// Update is "" where all counters are NULL, which get nothing.
func (f *Folding) Update() string { return f.update(f.changes) }

// UpdatesByTouch are updates each of rows of which the same columns are touched: what is not touched is not assigned.
func (f *Folding) UpdatesByTouch() (updates []string) {
	for rest := slices.Clone(f.changes); len(rest) > 0; {
		touched := rest[0].values[len(f.Table.Counters):]
		var part []rowChange
		rest = slices.DeleteFunc(rest, func(c rowChange) bool {
			alike := TouchAlike(c.values[len(f.Table.Counters):], touched)
			if alike {
				part = append(part, c)
			}
			return alike
		})
		if update := f.update(part); update != "" {
			updates = append(updates, update)
		}
	}
	return updates
}

// TouchAlike reports whether two rows' values of the touch columns, "" for none, are of the same columns.
func TouchAlike(x, y []string) bool {
	return slices.EqualFunc(x, y, func(x, y string) bool { return (x == "") == (y == "") })
}

func (f *Folding) update(changes []rowChange) string {
	t := f.Table
	var assignments []string
	for i, col := range slices.Concat(t.Counters, t.Touch) {
		ref := t.Ref() + "." + sqltext.Quote(col.Name)
		var whens []string
		for _, c := range changes {
			if c.values[i] != "" {
				whens = append(whens, " WHEN "+c.where+" THEN "+c.values[i])
			}
		}
		if whens != nil {
			assignments = append(assignments, ref+" = CASE"+strings.Join(whens, "")+" ELSE "+ref+" END")
		} else if col.OnUpdate {
			assignments = append(assignments, ref+" = "+ref) // or the server sets it to now
		}
	}
	if assignments == nil {
		return ""
	}
	rows := make([]string, len(changes))
	for i, c := range changes {
		rows[i] = "(" + c.where + ")"
	}
	update := "UPDATE " + t.From() + ForceKey(t) + " SET " + strings.Join(assignments, ", ") + " WHERE " + strings.Join(rows, " OR ")
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
