package plan

import (
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// Tables are those that the plan reads or writes.
func (p *Plan) Tables() []*catalog.Table {
	all := slices.Clone(p.Reads)
	for _, s := range p.Scopes {
		all = append(all, s.Table)
	}
	if p.Cleaning != nil {
		all = append(all, p.Cleaning.Table)
	}
	return all
}

// class is what becomes of a statement.
type class uint8

const (
	Verbatim class = iota // sent as it is
	Counting              // an increment: goes to a slot
	Summing               // reads sums, through views of the base tables
	Exact                 // rolls up the keys concerned, then runs verbatim
	Refused               // names a table that can't be a counter table
)

func (c class) String() string {
	return [...]string{"verbatim", "increment", "sum", "exact", "refused"}[c]
}

// Plan says how one statement runs. It is immutable and depends on nothing but
// the text, the lexing mode, the default database and the schema.
type Plan struct {
	Class    class
	Kind     sqltext.Effect
	Arg      string         // of the kind: a savepoint's name, an isolation level
	Params   int            // how many arguments it takes
	Named    bool           // the text could concern a counter table
	Simple   bool           // goes to the server and that is all
	Locking  bool           // a query with locks of its own
	Fixes    bool           // a consistent read: under REPEATABLE READ it fixes the transaction's snapshot
	Reason   string         // why it is not fast
	Fallback bool           // exact because it could not be parsed or resolved
	Unready  *catalog.Table // for whose sake a statement is refused

	Encounter *encounter // what it may meet that was not there when the schema was read

	// Of queries, and of what else reads:
	Reads       []*catalog.Table // whose counters the statement may read: pending increments come first
	Shows       []*catalog.Table // of which it reads other columns only
	Pins        []KeyValue       // the rows of the only table read, if it gives their keys as numbers
	Query       *Query           // the text with views in place of base tables
	NamedByArgs bool             // arguments decide about columns' names where they are written into the text

	// Of data changes:
	Increment *Increment       // what a relative write adds
	Touches   []Touch          // touch columns that are set
	Wanted    []Touch          // columns that keep an increment from slots because they are none
	Writes    []WriteTarget    // base rows the statement itself writes
	Deletes   []*catalog.Table // whose rows may go by a cascade, and their pending increments with them
	Cleaning  *OrphanSweep     // keys named by an INSERT

	// Of what may run the exact way:
	Scopes     []RowSet          // rows to roll up before
	Whole      bool              // all base rows are locked: what is added to one that goes, or gets another key, would be lost
	Guarded    string            // the statement in one round trip; "" if there is none
	Guard      *Guard            // by which it may go together with others; nil: it may not
	Discards   []*catalog.Column // counters whose values it does away with unread
	Overwrites bool              // it gives counters of one row other values, unread, and does nothing else
	Narrowing  *RestrictToLocked // keeps the statement to given rows; nil: others than those that were locked can't come to meet its condition

	// Of other texts:
	Split      []string         // the statements of a text that holds several
	LockTables []*catalog.Table // counter tables that LOCK TABLES names
	Dropped    []*catalog.Table // DROP and TRUNCATE: the slots go too
}

// AsPrepared is the plan of a statement that has to run as the server has prepared it,
// because the session would take its text otherwise now.
func (p *Plan) AsPrepared() *Plan {
	if p.Kind != sqltext.NoEffect || p.Class != Counting && p.Class != Summing && p.Class != Exact {
		return p
	}
	own := &Plan{Class: Exact, Named: true, Locking: p.Locking, Fixes: p.Fixes, Reason: "the session has changed since it was prepared",
		Scopes: p.Scopes, Writes: p.Writes, Deletes: p.Deletes, Cleaning: p.Cleaning, Whole: p.Whole, Discards: p.Discards, Encounter: p.Encounter}
	if p.Narrowing != nil {
		own.Narrowing = &RestrictToLocked{By: p.Narrowing.By}
	}
	return own
}

// LeavesPromises reports whether the statement does not need to know whether rows are there
// that the transaction has incremented, or asks for it itself: an increment does.
func (p *Plan) LeavesPromises() bool {
	switch p.Kind {
	case sqltext.NoEffect:
		return p.Class == Counting && p.Encounter == nil && p.Split == nil
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

func allOf(tables []*catalog.Table) []RowSet {
	scopes := make([]RowSet, len(tables))
	for i, t := range tables {
		scopes[i] = all(t)
	}
	return scopes
}

func anyRow(tables []*catalog.Table) []WriteTarget {
	writes := make([]WriteTarget, len(tables))
	for i, t := range tables {
		writes[i] = WriteTarget{Table: t}
	}
	return writes
}
