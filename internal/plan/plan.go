package plan

import (
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// Plan says how one statement runs. It is immutable and depends on nothing but
// the text, the lexing mode, the default database and the schema.
type Plan struct {
	Kind      sqltext.Effect
	Arg       string     // of the kind: a savepoint's name, an isolation level
	Params    int        // how many arguments it takes
	Named     bool       // the text could concern a counter table
	Simple    bool       // goes to the server and that is all
	Locking   bool       // a query with locks of its own
	Fixes     bool       // a consistent read: under REPEATABLE READ it fixes the transaction's snapshot
	Reason    string     // why it is not fast
	Fallback  bool       // it could not be parsed
	Encounter *encounter // what it may meet that was not there when the schema was read

	Changes
	Work Work // what there is to do beside sending it; nil: nothing
}

// Changes are what a statement does to base rows itself.
type Changes struct {
	Writes  []WriteTarget    // base rows that it writes
	Deletes []*catalog.Table // whose rows may go by a cascade, and their pending increments with them
	Sweep   *OrphanSweep     // keys named by an INSERT
}

// Class is what becomes of the statement, if nothing in an execution stands against it.
func (p *Plan) Class() Class {
	if p.Work == nil {
		return ClassVerbatim
	}
	return p.Work.class()
}

// Increment is the relative write that the statement is; nil if it is none.
func (p *Plan) Increment() *Increment {
	inc, _ := p.Work.(*Increment)
	return inc
}

// Sum is how the statement reads counters; nil if it reads none, or by the exact way alone.
func (p *Plan) Sum() *Sum {
	q, _ := p.Work.(*Sum)
	return q
}

// Exactly is how the statement runs the exact way, by its plan or because an execution has
// to; nil if it never does.
func (p *Plan) Exactly() *Exact {
	if p.Work == nil {
		return nil
	}
	return p.Work.exactly()
}

// Tables are those of whose rows the statement may need the counters, or sweeps slots.
func (p *Plan) Tables() (all []*catalog.Table) {
	if x := p.Exactly(); x != nil {
		for _, s := range x.Rows {
			all = append(all, s.Table)
		}
	}
	if p.Sweep != nil {
		all = append(all, p.Sweep.Table)
	}
	return all
}

// AsPrepared is the plan of a statement that has to run as the server has prepared it,
// because the session would take its text otherwise now.
func (p *Plan) AsPrepared() *Plan {
	if p.Kind != sqltext.NoEffect || p.Class() != ClassIncrement && p.Class() != ClassSum && p.Class() != ClassExact {
		return p
	}
	was := p.Exactly()
	own := &Exact{Rows: was.Rows, Whole: was.Whole, Discards: was.Discards} // with no text but its own
	if was.Restriction != nil {
		own.Restriction = &RestrictToLocked{By: was.Restriction.By}
	}
	return &Plan{Named: true, Locking: p.Locking, Fixes: p.Fixes, Reason: "the session has changed since it was prepared",
		Encounter: p.Encounter, Changes: p.Changes, Work: own}
}

// LeavesPromises reports whether the statement does not need to know whether rows are there
// that the transaction has incremented, or asks for it itself: an increment does.
func (p *Plan) LeavesPromises() bool {
	switch p.Kind {
	case sqltext.NoEffect:
		return p.Class() == ClassIncrement && p.Encounter == nil
	case sqltext.EffectCommit:
		return p.Arg != sqltext.XaEnd
	}
	return p.Kind == sqltext.EffectRollback
}

// RowSet selects rows of a base table.
type RowSet struct {
	Table *catalog.Table
	Name  string     // what where calls the table
	Where *Template  // nil: every row
	Pins  []KeyValue // where, if the statement gives the keys

	Collides bool      // the pins are those of new rows: mostly there is none
	limits   []Operand // of the rows, if where holds them: an argument that is no number may mean anything
}

// WriteTarget says which base rows a statement writes.
type WriteTarget struct {
	Table   *catalog.Table
	Pins    []KeyValue // unique keys of the rows; nil: any row
	Updates bool       // it is an UPDATE: with clientFoundRows a row counts that it has not changed
	Reads   bool       // it reads all columns that it sets: no server writes a row that stays as it is
	Upserts bool       // it is an upsert: by some of the pins there may be no row, or one that it leaves as it is
	Moves   bool       // the pins are a row's old key and its new one
	Rekeys  bool       // it sets a column of a unique key: rows noted by one may no longer be found by it
}

// OrphanSweep are the keys that an INSERT names or that rows get; left-over slots under them have to go.
type OrphanSweep struct {
	Table *catalog.Table
	Pins  []KeyValue // nil: any key
}

// and adds keys; nil: any.
func (c *OrphanSweep) and(t *catalog.Table, pins []KeyValue) *OrphanSweep {
	switch {
	case pins == nil || c != nil && c.Pins == nil:
		return &OrphanSweep{Table: t}
	case c == nil:
		return &OrphanSweep{t, pins}
	}
	return &OrphanSweep{t, slices.Concat(c.Pins, pins)}
}

// KeyValue is one value of a unique key, as a statement gives it.
type KeyValue struct {
	Columns []*catalog.Column
	values  []Operand
	stored  bool // it is given to a row, as the columns will hold it
}

// Bind writes the condition that selects the pinned row of the table called name;
// all that begin like it where the server may store the other columns otherwise.
func (p KeyValue) Bind(name string, b Binder) (string, bool) {
	buf, ok := p.append(nil, name, b)
	return string(buf), ok
}

func (p KeyValue) append(buf []byte, name string, b Binder) (_ []byte, ok bool) {
	if len(p.Columns) == 0 {
		return append(buf, "TRUE"...), true // the row of a keyless table
	}
	for i, c := range p.Columns {
		v := p.values[i]
		if p.stored {
			if v, ok = b.asStored(c, v); !ok {
				return buf, i > 0
			}
		}
		if i > 0 {
			buf = append(buf, " AND "...)
		}
		buf = append(buf, sqltext.Quote(name)+"."+sqltext.Quote(c.Name)+" = "...)
		if buf, ok = b.value(buf, v); !ok {
			return buf, false
		}
	}
	return buf, true
}

// Momentary reports whether the pin depends on the server's clock.
func (p KeyValue) Momentary() bool {
	return slices.ContainsFunc(p.values, func(v Operand) bool { _, is := v.literal.(ServerClock); return is })
}

// BindPins is bind for several keys; "FALSE" for none.
func BindPins(pins []KeyValue, name string, b Binder) (string, bool) {
	conds := make([]string, len(pins))
	for i, p := range pins {
		c, ok := p.Bind(name, b)
		if !ok {
			return "", false
		}
		conds[i] = "(" + c + ")"
	}
	if len(conds) == 0 {
		return "FALSE", true
	}
	return strings.Join(conds, " OR "), true
}

// Bind writes the condition of a scope; "" selects every row.
func (s RowSet) Bind(b Binder) (string, bool) {
	switch {
	case s.Pins != nil:
		return BindPins(s.Pins, s.Name, b)
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

// anyRow writes any rows of the tables.
func anyRow(tables []*catalog.Table) []WriteTarget {
	writes := make([]WriteTarget, len(tables))
	for i, t := range tables {
		writes[i] = WriteTarget{Table: t}
	}
	return writes
}
