package catalog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/sqltext"
)

// Table is a base table with counters and what the driver knows about it.
// It is immutable: DDL makes a new one.
type Table struct {
	Spec     Spec
	Columns  []*Column
	Key      KeyColumns  // the key columns of the slots table; empty for a keyless one-row table
	Unique   []UniqueKey // every usable unique key, the primary key first
	Counters []*Column
	Touch    []*Column // spec.touch and ON UPDATE CURRENT_TIMESTAMP columns
	SlotCol  string    // name of the slot number's column

	SlotsWidth int       // columns that SELECT * gives of the slots table
	Unclaimed  []*Column // those with amounts that no counter of the base table takes: another client has renamed or dropped its column
	stored     []*Column // all of them
	bounds     []bound   // of CHECK constraints
	Checks     []string  // the conditions of all that read a counter

	elsewhere string // where folds find the base rows; "": in the base table
	name      string // as String gives it; "": it puts that together

	Indexed        []index
	InIndexes      []*Column // of which an index but the primary key has something
	AllUnique      int       // number of unique keys, usable or not
	CheckedBy      string    // the CHECK constraint or foreign key that looks at a counter in the base row; "": none
	Bounded        bool      // nothing looks at counters but CHECK constraints, which keep them between constants: bounds
	Derived        bool      // a generated column reads a touch column
	InsertTriggers bool
	DeleteTriggers bool
	MakesKeys      bool // one of them may give a row other keys than the INSERT names
	Parents        []ForeignKey
	Fed            bool // triggers write its slots, and lock no base row
	UpdateTriggers bool
	History        HistoryState
	Unkept         []string  // derived counters that do not follow their formulas
	Unfit          []string  // why it can't be a counter table
	Degraded       []string  // why it could not become one; but it is one
	Computed       []*Column // generated columns that read a counter
	Unsummed       bool      // what is read of counters is not what base row and slots add up to
	Unfolded       bool      // nothing can be added to base rows in one transaction with slots

	SlotsState

	MariaDB   bool
	Galera    bool
	Cluster   bool // see [Server.Cluster]
	RollsBack bool
}

// SlotsState is how a slots table is not as it is to be; the zero value says that it is in
// order.
type SlotsState struct {
	Closed  bool   // it takes no more increments: it is being left
	Missing string // DDL that has to run first; "": none
	Unmade  error  // why that could not be run; nil: nobody has tried
	Unseen  bool   // the user may not see the slots table, if there is one
	Taken   bool   // its name is that of a table which is none
	Narrow  string // DDL for slots that can't hold every digit of a column's new type; "": they can
}

// UniqueKey is a primary or unique key whose columns are indexed in full.
type UniqueKey struct {
	Name    string
	Columns KeyColumns
}

// ForeignKey is a foreign key of a counter table, or of a parent of it.
type ForeignKey struct {
	ParentDB, Parent     string
	column               string // of the parent, that is referenced
	changesKey, Cascades bool   // an UPDATE of the parent changes the key; either rule writes the base row
}

// At is the table for folds into base rows under another name or lock.
func (t *Table) At(base string) *Table {
	return &Table{Spec: t.Spec, Key: t.Key, Unique: t.Unique, Counters: t.Counters, Touch: t.Touch,
		SlotCol: t.SlotCol, SlotsWidth: t.SlotsWidth, Unclaimed: t.Unclaimed, MariaDB: t.MariaDB, elsewhere: base + " AS " + PrivateBase}
}

// Ref is what folds call the base row, and from the table that it is in.
func (t *Table) Ref() string {
	if t.elsewhere != "" {
		return PrivateBase
	}
	return sqltext.Quote(t.Spec.Name)
}

func (t *Table) From() string { return cmp.Or(t.elsewhere, t.Base()) }

// TakesNamesIn reports whether ALTER TABLE gives a key column, counter or touch column
// another name, or drops it.
func (t *Table) TakesNamesIn(toks []sqltext.Token) bool {
	for i, tok := range toks {
		rest := toks[i+1:]
		drops := tok.Is("DROP")
		if !drops && !tok.Is("CHANGE") && (!tok.Is("RENAME") || len(rest) == 0 || !rest[0].Is("COLUMN")) {
			continue
		}
		for len(rest) > 1 && (rest[0].Is("COLUMN") || rest[0].Is("IF") || rest[0].Is("EXISTS")) {
			rest = rest[1:]
		}
		switch {
		case len(rest) == 0 || !t.Key.Has(rest[0].Name) && !t.Virtual(rest[0].Name):
			continue
		case drops:
			return true
		case len(rest) < 2:
			continue
		}
		if to := rest[1]; !to.Is("TO") || len(rest) < 3 {
			if !strings.EqualFold(to.Name, rest[0].Name) {
				return true
			}
		} else if !strings.EqualFold(rest[2].Name, rest[0].Name) {
			return true
		}
	}
	return false
}

// Extends reports whether increments of an older version of the table mean the same in it:
// it may have got columns behind those that it had, as where a process makes a touch column
// or lists another counter.
func (t *Table) Extends(old *Table) bool {
	extends := func(cols, old []*Column) bool {
		return len(cols) >= len(old) && slices.EqualFunc(cols[:len(old)], old, (*Column).sameDigits)
	}
	return t == old || t.Key.SameAs(old.Key) && extends(t.Counters, old.Counters) && extends(t.Touch, old.Touch)
}

func (t *Table) String() string {
	if t.name != "" {
		return t.name
	}
	return t.Spec.DB + "." + t.Spec.Name
}

func (t *Table) Column(name string) *Column { return FindColumn(t.Columns, name) }

func (t *Table) Counter(name string) *Column { return FindColumn(t.Counters, name) }

// Verbatim reports whether increments go to the base row, where they are as right.
func (t *Table) Verbatim() bool { return t.Closed || t.Narrow != "" || t.Unfolded }

// Watched is what wants each increment to meet the counter's value in the base row; "":
// nothing does.
func (t *Table) Watched() string {
	switch {
	case t.CheckedBy != "":
		return "a " + t.CheckedBy + " reads the counter"
	case t.Degraded != nil && !t.Unfolded:
		return "the table has been changed so that it could not become a counter table"
	}
	return ""
}

// Virtual reports whether the column's value is not in the base row alone.
func (t *Table) Virtual(name string) bool {
	return FindColumn(t.Counters, name) != nil || FindColumn(t.Touch, name) != nil
}

// Changes reports whether to set the column called name changes one of cols: it is
// one, or one is generated from it.
func (t *Table) Changes(cols []*Column, name string) bool {
	return FindColumn(cols, name) != nil || slices.ContainsFunc(t.Columns, func(g *Column) bool {
		return g.generated != "" && !strings.EqualFold(g.Name, name) && sqltext.MentionsWord(g.generated, name) && t.Changes(cols, g.Name)
	})
}

func (t *Table) Base() string { return sqltext.Qualified(t.Spec.DB, t.Spec.Name) }

func (t *Table) Slots() string {
	return sqltext.Qualified(t.Spec.DB, t.Spec.SlotsTable)
}

// MakesDo leaves out the counters and touch columns that the slots table has no columns
// for: to everybody they are ordinary columns until it has. It reports whether it fits then.
// It is for who makes slots tables, before the Schema is anybody else's.
func (t *Table) MakesDo() bool {
	counters, touch := t.Counters, t.Touch
	lacks := func(c *Column) bool { return FindColumn(t.stored, c.Name) == nil }
	if slices.ContainsFunc(touch, func(c *Column) bool { return c.OnUpdate && lacks(c) }) { // an increment has to set it
		return false
	}
	t.Counters, t.Touch = slices.DeleteFunc(slices.Clone(counters), lacks), slices.DeleteFunc(slices.Clone(touch), lacks)
	if len(t.Counters) == 0 || t.DDL().upgrade(t.stored) != "" {
		t.Counters, t.Touch = counters, touch
		return false
	}
	t.Missing, t.Narrow = "", t.DDL().widen(t.stored)
	return true
}

// lacks reports whether the slots table has no column for a listed one: see MakesDo.
func (t *Table) lacks() bool {
	for _, names := range [][]string{t.Spec.Counters, t.Spec.Touch} {
		for _, name := range names {
			if t.Column(name) != nil && !t.Virtual(name) {
				return true
			}
		}
	}
	return false
}

// Planned is true of every row of a slots table that is for the known key; of one that
// another process has made anew, for another key, it is an error, 1054.
func (t *Table) Planned(name string) string {
	return name + "." + sqltext.Quote(t.SlotCol) + " IS NOT NULL"
}

func (t *Table) AddTo(c *Column, amount string) string {
	col := sqltext.Quote(c.Name)
	return col + " = " + t.Slots() + "." + col + " + " + amount
}
