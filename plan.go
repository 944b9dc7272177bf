package countermysql

import (
	"slices"
	"strings"
)

// class is what becomes of a statement.
type class uint8

const (
	verbatim class = iota // sent as it is
	counting              // an increment: goes to a slot
	summing               // reads sums, through views of the base tables
	exact                 // rolls up the keys concerned, then runs verbatim
	refused               // names a table that can't be a counter table
)

func (c class) String() string {
	return [...]string{"verbatim", "increment", "sum", "exact", "refused"}[c]
}

// plan says how one statement runs. It is immutable and depends on nothing but
// the text, the lexing mode, the default database and the schema.
type plan struct {
	class    class
	kind     kind
	arg      string // of the kind: a savepoint's name, an isolation level
	params   int    // how many arguments it takes
	named    bool   // the text could concern a counter table
	simple   bool   // goes to the server and that is all
	rowCount bool   // it may ask for ROW_COUNT()
	locking  bool   // a query with locks of its own
	fixes    bool   // a consistent read: under REPEATABLE READ it fixes the transaction's snapshot
	reason   string // why it is not fast
	fallback bool   // exact because it could not be parsed or resolved
	err      error  // of a refused statement

	encounter *encounter // what it may meet that was not there when the schema was read

	// Of queries, and of what else reads:
	reads       []*table   // whose counters the statement may read: pending increments come first
	shows       []*table   // of which it reads other columns only
	pins        []pin      // the rows of the only table read, if it gives their keys as numbers
	query       *query     // the text with views in place of base tables
	types       typesCache // of the query as it was written
	typedByArgs bool       // its parameters may decide about them
	keepsTypes  bool       // and those of earlier executions, on MySQL
	namedByArgs bool       // and about names, where they are written into the text

	// Of data changes:
	increment *increment // what a relative write adds
	touches   []touch    // touch columns that are set
	wanted    []touch    // columns that keep an increment from slots because they are none
	writes    []write    // base rows the statement itself writes
	deletes   []*table   // whose rows may go by a cascade, and their pending increments with them
	cleaning  *cleaning  // keys named by an INSERT

	// Of what may run the exact way:
	scopes     []scope    // rows to roll up before
	whole      bool       // all base rows are locked: what is added to one that goes, or gets another key, would be lost
	guarded    string     // the statement in one round trip; "" if there is none
	discards   []*column  // counters whose values it does away with unread
	overwrites bool       // it gives counters of one row other values, unread, and does nothing else
	narrowing  *narrowing // keeps the statement to given rows; nil: others than those that were locked can't come to meet its condition

	// Of other texts:
	split      []string // the statements of a text that holds several
	lockTables []*table // LOCK TABLES: the slots tables to lock as well
	dropped    []*table // DROP and TRUNCATE: the slots go too
}

// asPrepared is the plan of a statement that has to run as the server has prepared it,
// because the session would take its text otherwise now.
func (p *plan) asPrepared() *plan {
	if p.kind != kindOther || p.class != counting && p.class != summing && p.class != exact {
		return p
	}
	own := &plan{class: exact, named: true, rowCount: p.rowCount, locking: p.locking, fixes: p.fixes, reason: "the session has changed since it was prepared",
		scopes: p.scopes, writes: p.writes, deletes: p.deletes, cleaning: p.cleaning, whole: p.whole, discards: p.discards, encounter: p.encounter}
	if p.narrowing != nil {
		own.narrowing = &narrowing{by: p.narrowing.by}
	}
	return own
}

// leavesPromises reports whether the statement does not need to know whether rows are there
// that the transaction has incremented, or asks for it itself: an increment does.
func (p *plan) leavesPromises() bool {
	switch p.kind {
	case kindOther:
		return p.class == counting && p.encounter == nil && p.split == nil && !p.rowCount
	case kindCommit:
		return p.arg != xaEnd
	}
	return p.kind == kindRollback
}

// scope selects rows of a base table.
type scope struct {
	t     *table
	name  string    // what where calls the table
	where *fragment // nil: every row
	pins  []pin     // where, if the statement gives the keys

	collides bool    // the pins are those of new rows: mostly there is none
	limits   []value // of the rows, if where holds them: an argument that is no number may mean anything
}

// write says which base rows a statement writes.
type write struct {
	t       *table
	pins    []pin // unique keys of the rows; nil: any row
	updates bool  // it is an UPDATE: with clientFoundRows a row counts that it has not changed
	reads   bool  // it reads all columns that it sets: no server writes a row that stays as it is
	upserts bool  // it is an upsert: by some of the pins there may be no row, or one that it leaves as it is
	moves   bool  // the pins are a row's old key and its new one
	rekeys  bool  // it sets a column of a unique key: rows noted by one may no longer be found by it
}

// cleaning are the keys that an INSERT names or that rows get; left-over slots under them have to go.
type cleaning struct {
	t    *table
	pins []pin // nil: any key
}

// and adds keys; nil: any.
func (c *cleaning) and(t *table, pins []pin) *cleaning {
	switch {
	case pins == nil || c != nil && c.pins == nil:
		return &cleaning{t: t}
	case c == nil:
		return &cleaning{t, pins}
	}
	return &cleaning{t, slices.Concat(c.pins, pins)}
}

// pin is one value of a unique key, as a statement gives it.
type pin struct {
	cols   []*column
	values []value
	stored bool // it is given to a row, as the columns will hold it
}

// bind writes the condition that selects the pinned row of the table called name;
// all that begin like it where the server may store the other columns otherwise.
func (p pin) bind(name string, b binder) (string, bool) {
	buf, ok := p.append(nil, name, b)
	return string(buf), ok
}

func (p pin) append(buf []byte, name string, b binder) (_ []byte, ok bool) {
	if len(p.cols) == 0 {
		return append(buf, "TRUE"...), true // the row of a keyless table
	}
	for i, c := range p.cols {
		v := p.values[i]
		if p.stored {
			if v, ok = b.asStored(c, v); !ok {
				return buf, i > 0
			}
		}
		if i > 0 {
			buf = append(buf, " AND "...)
		}
		buf = append(buf, quoteIdent(name)+"."+quoteIdent(c.name)+" = "...)
		if buf, ok = b.value(buf, v); !ok {
			return buf, false
		}
	}
	return buf, true
}

// momentary reports whether the pin depends on the server's clock.
func (p pin) momentary() bool {
	return slices.ContainsFunc(p.values, func(v value) bool { _, is := v.literal.(moment); return is })
}

// bindPins is bind for several keys; "FALSE" for none.
func bindPins(pins []pin, name string, b binder) (string, bool) {
	conds := make([]string, len(pins))
	for i, p := range pins {
		c, ok := p.bind(name, b)
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

// bind writes the condition of a scope; "" selects every row.
func (s scope) bind(b binder) (string, bool) {
	switch {
	case s.pins != nil:
		return bindPins(s.pins, s.name, b)
	case s.where != nil && b.counts(s.limits):
		return s.where.bind(b)
	}
	return "", s.where == nil
}

// counts reports whether the values say how many rows.
func (b binder) counts(limits []value) bool {
	return !slices.ContainsFunc(limits, func(v value) bool {
		switch x, _ := b.raw(v); x := x.(type) {
		case int64:
			return x < 0 || v.negative
		case uint64:
			return v.negative
		}
		return true
	})
}

func (s scope) from() string { return s.t.base() + " AS " + quoteIdent(s.name) }

// all is the scope of every row of the table.
func all(t *table) scope { return scope{t: t, name: t.spec.name} }

func allOf(tables []*table) []scope {
	scopes := make([]scope, len(tables))
	for i, t := range tables {
		scopes[i] = all(t)
	}
	return scopes
}

func anyRow(tables []*table) []write {
	writes := make([]write, len(tables))
	for i, t := range tables {
		writes[i] = write{t: t}
	}
	return writes
}
