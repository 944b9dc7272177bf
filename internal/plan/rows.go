package plan

import (
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// RowSet selects rows of a base table.
type RowSet struct {
	Table *catalog.Table
	Name  string     // what where calls the table
	Where *Template  // nil: every row
	Keys  []KeyValue // where, if the statement gives the keys

	Collides   bool      // the keys are those of new rows: mostly there is none
	byCounters bool      // where reads counters
	limits     []Operand // of the rows, if where holds them: an argument that is no number may mean anything
}

// Bind writes the condition of a scope; "" selects every row.
func (s RowSet) Bind(b Binder) (string, bool) {
	switch {
	case s.Keys != nil:
		return BindKeys(s.Keys, s.Name, b)
	case s.Where != nil && b.counts(s.limits):
		return s.Where.bind(b)
	}
	return "", s.Where == nil
}

// counts reports whether the values say how many rows.
func (b Binder) counts(limits []Operand) bool {
	return !slices.ContainsFunc(limits, func(v Operand) bool {
		switch x, _ := b.raw(v); x := x.(type) {
		case int64:
			return x < 0 || v.negative
		case uint64:
			return v.negative
		}
		return true
	})
}

func (s RowSet) From() string { return s.Table.Base() + " AS " + sqltext.Quote(s.Name) }

// Locking is From where the rows are locked.
func (s RowSet) Locking() string {
	if s.Keys != nil || s.byCounters { // by the best index that there is
		return s.From()
	}
	return s.From() + slotsql.NotByCounters(s.Table)
}

// all is the scope of every row of the table.
func all(t *catalog.Table) RowSet { return RowSet{Table: t, Name: t.Spec.Name} }

// allOf are the rows of some tables.
func allOf(tables []*catalog.Table) []RowSet {
	scopes := make([]RowSet, len(tables))
	for i, t := range tables {
		scopes[i] = all(t)
	}
	return scopes
}

// WriteTarget says which base rows a statement writes.
type WriteTarget struct {
	Table   *catalog.Table
	Keys    []KeyValue // unique keys of the rows; nil: any row
	Updates bool       // it is an UPDATE: with clientFoundRows a row counts that it has not changed
	Reads   bool       // it reads all columns that it sets: no server writes a row that stays as it is
	Upserts bool       // it is an upsert: by some of the keys there may be no row, or one that it leaves as it is
	Moves   bool       // the keys are a row's old key and its new one
	Feeds   bool       // it writes slots of any rows, by triggers, and no base row
	Unseen  bool       // it feeds by what may do so although it changes no row itself: a routine, another table's trigger
	Rekeys  bool       // it sets a column of a unique key: rows noted by one may no longer be found by it
}

// anyRow writes any rows of the tables.
func anyRow(tables []*catalog.Table) []WriteTarget {
	writes := make([]WriteTarget, len(tables))
	for i, t := range tables {
		writes[i] = WriteTarget{Table: t}
	}
	return writes
}

// OrphanSweep are the keys that an INSERT names or that rows get; left-over slots under them have to go.
type OrphanSweep struct {
	Table *catalog.Table
	Keys  []KeyValue // nil: any key
}

// and adds keys; nil: any.
func (sweep *OrphanSweep) and(t *catalog.Table, keys []KeyValue) *OrphanSweep {
	switch {
	case keys == nil || sweep != nil && sweep.Keys == nil:
		return &OrphanSweep{Table: t}
	case sweep == nil:
		return &OrphanSweep{t, keys}
	}
	return &OrphanSweep{t, slices.Concat(sweep.Keys, keys)}
}
