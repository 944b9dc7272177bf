package plan

import (
	"github.com/countermysql/countermysql/internal/catalog"
)

// Class is what becomes of a statement.
type Class uint8

const (
	ClassVerbatim  Class = iota // sent as it is
	ClassIncrement              // goes to a slot
	ClassSum                    // reads sums, through views of the base tables
	ClassExact                  // rolls up the keys concerned, then runs verbatim
	ClassRefused                // names a table that can't be a counter table
)

func (c Class) String() string {
	return [...]string{"verbatim", "increment", "sum", "exact", "refused"}[c]
}

// Work is what there is to do for a statement beside sending it: it is one of *[Increment],
// *[Update], *[Sum], *[BaseRead], *[Exact], *[Alter], *[Drop], *[TableLocks], *[Split] and
// *[Refused].
type Work interface {
	class() Class
	exactly() *Exact // how it runs the exact way; nil: it never does
}

// Update sets columns of rows that are there, and adds nothing to counters. It is sent as it
// is, unless a touch column gets another time than the present, or its key may be cut.
type Update struct {
	Touches []Touch
	Exact   *Exact // where that is so
	cutsKey bool   // as settings has it
}

func (*Update) class() Class      { return ClassVerbatim }
func (u *Update) exactly() *Exact { return u.Exact }

// BaseRead is a query of counter tables that reads none of their counters. It is sent as it is.
type BaseRead struct {
	Tables []*catalog.Table
	Keys   []KeyValue // the rows of the only table, if it gives their keys as numbers
}

func (*BaseRead) class() Class    { return ClassVerbatim }
func (*BaseRead) exactly() *Exact { return nil }

// Exact is how a statement runs the exact way: some rows are folded, and then base rows say
// all that it needs.
type Exact struct {
	Rows        []RowSet          // to fold before
	Whole       bool              // all base rows are locked: what is added to one that goes, or gets another key, would be lost
	Moves       bool              // it gives rows other keys, with which their slots do not go
	Key         *KeyValue         // of the only row, in whose queue it waits; nil: it concerns others
	OneTrip     *OneTrip          // the statement in one round trip; nil: there is none
	Guard       *Guard            // by which it may be one statement with others of the row; nil: it may not
	Elsewhere   *Template         // the statement, where it means the same on another connection; nil: it may not
	Discards    []*catalog.Column // counters whose values it does away with unread
	Overwrites  bool              // it gives counters of one row other values, unread, and does nothing else
	Restriction *restrictToLocked // keeps the statement to given rows; nil: others than those that were locked can't come to meet its condition, or all may be written
}

func (*Exact) class() Class       { return ClassExact }
func (ex *Exact) exactly() *Exact { return ex }

// Row names the row that the statement is for, by its key alone; ok is false where that can't be
// told.
func (ex *Exact) Row(b Binder) (id string, ok bool) {
	if ex.Key == nil {
		return "", false
	}
	k, ok := ex.Key.text(b)
	if !ok {
		return "", false
	}
	return ex.Key.Columns[0].Name + "\x00" + k.ID(), b.MatchExactly([]KeyValue{*ex.Key})
}

// TextElsewhere is the statement, which was written as text, to be sent on another connection;
// false where it has to be sent on its own.
func (ex *Exact) TextElsewhere(text string, a Arguments) (string, bool) {
	switch {
	case ex.Elsewhere == nil:
		return "", false
	case a.Given == 0:
		return text, true
	case a.Binary: // the server may take a number for another type there
		return "", false
	}
	return ex.Elsewhere.bind(a.Binder)
}

// Alter is DDL that may change a table's key or name, or make another table of its rows: all
// of these are folded before.
type Alter struct{ Tables []*catalog.Table }

func (*Alter) class() Class          { return ClassExact }
func (alter *Alter) exactly() *Exact { return &Exact{Rows: allOf(alter.Tables)} }

// Drop is DROP TABLE or TRUNCATE: the slots go too.
type Drop struct{ Tables []*catalog.Table }

func (*Drop) class() Class    { return ClassVerbatim }
func (*Drop) exactly() *Exact { return nil }

// TableLocks is LOCK TABLES, with the counter tables that it names.
type TableLocks struct{ Tables []*catalog.Table }

func (*TableLocks) class() Class    { return ClassVerbatim }
func (*TableLocks) exactly() *Exact { return nil }

// Split is a text of several statements, each of which has a plan of its own.
type Split struct{ Texts []string }

func (*Split) class() Class    { return ClassVerbatim }
func (*Split) exactly() *Exact { return nil }

// splitInto is the work of a text of some statements; nil if there are none.
func splitInto(texts []string) Work {
	if texts == nil {
		return nil
	}
	return &Split{texts}
}

// Refused names a table that can't have counters, or has no slots table yet.
type Refused struct{ For *catalog.Table }

func (*Refused) class() Class    { return ClassRefused }
func (*Refused) exactly() *Exact { return nil }
