package plan

import (
	"database/sql/driver"
	"slices"
	"strings"
)

// Setting is what the route of an execution depends on besides its plan and arguments: the
// session, and its transaction as it is before the statement.
type Setting struct {
	Strict       bool // sql_mode: a number out of range is an error
	SafeUpdates  bool // sql_safe_updates
	Locked       bool // LOCK TABLES
	Refused      bool // the server refuses whatever comes: behind XA END, say
	Transaction  bool // one is open, or the next statement belongs to one
	Serializable bool
	ReadOnly     bool
	GivenUp      bool // the connection is closed, or rows of it are open
	Held         bool // the transaction may have locked rows of the increment's table, on a cluster
}

// Route is what becomes of one execution of a statement.
type Route struct {
	Class  class
	Reason string // why it is not fast: the first condition that was not met
	Bare   bool   // nothing is done for it besides
	Lone   bool   // an increment that may go by itself, as the filler has it
	Bound  *Bound // any other increment
}

// Route says what becomes of an execution. It asks nobody: what the rows are like is found
// out by what is sent, which falls back to OnBase or to the exact way. f takes an increment
// that may go by itself; nil: it is bound like the others.
func (p *Plan) Route(a Arguments, s Setting, f *Filler) Route {
	switch {
	case p.Class == Refused:
		return Route{Class: Refused}
	case s.Locked: // of other tables: the server refuses
		return Route{Bare: true, Reason: "tables are locked by LOCK TABLES"}
	case slices.ContainsFunc(a.Args, func(v driver.NamedValue) bool { return v.Name != "" }):
		return Route{Bare: true, Reason: "the server knows no named arguments"}
	case p.Class == Exact:
		return Route{Class: Exact, Reason: p.Reason}
	case p.Increment != nil:
		return p.incrementRoute(a, s, f)
	case p.Query != nil && p.Query.Converted.Some() && p.Query.Converted.Given(a):
		return Route{Class: Exact, Reason: "an argument is compared with a column as it would not be with a sum"}
	case p.Touches != nil && !p.TouchesNow(a.Binder):
		return Route{Class: Exact, Reason: p.doubt(a.Binder)}
	case p.Query != nil:
		return Route{Class: Summing}
	}
	return Route{Reason: p.Reason}
}

func (p *Plan) incrementRoute(a Arguments, s Setting, f *Filler) Route {
	inc, b := p.Increment, a.Binder
	if s.Refused || a.Count() != p.Params || s.SafeUpdates && len(inc.Table.Key) == 0 {
		return p.OnBase(b, s, "the server refuses it")
	}
	if f != nil && inc.Text != nil && !inc.Verbatim() && !s.Transaction && f.Bind(inc, b) {
		return Route{Class: Counting, Lone: true}
	}
	bound, ok := inc.Bind(b)
	switch {
	case !ok:
		return Route{Class: Exact, Reason: p.doubt(b)}
	case p.Class != Counting && !inc.Table.Verbatim():
		return p.OnBase(b, s, p.Reason)
	case inc.Verbatim():
		return p.OnBase(b, s, inc.onBase())
	case bound.Zero:
		return p.OnBase(b, s, "it adds nothing, or a value in it has no exact text")
	case s.Held:
		return p.OnBase(b, s, "on a cluster, its transaction may have locked the row")
	case !b.SoundPins(inc.Pins):
		return p.OnBase(b, s, "a value in its condition is not of the key's type")
	case s.Transaction && s.Serializable:
		return p.OnBase(b, s, "the transaction is SERIALIZABLE")
	case s.Transaction && (s.ReadOnly || s.GivenUp):
		return p.OnBase(b, s, "the server refuses it")
	case (s.Transaction || !inc.One) && inc.Warns(b):
		return p.OnBase(b, s, "its condition may give a warning")
	}
	return Route{Class: Counting, Bound: bound}
}

// OnBase is the route of a relative write that the base row takes: verbatim, or the exact
// way where that may make another value of it than the sum would have.
func (p *Plan) OnBase(b Binder, s Setting, reason string) Route {
	switch {
	case p.Increment.mayCut(s.Strict):
		return Route{Class: Exact, Reason: "the server may cut what the base row alone would hold"}
	case !p.TouchesNow(b):
		return Route{Class: Exact, Reason: p.doubt(b)}
	}
	return Route{Reason: reason}
}

// mayCut reports whether the server may cut what the base row alone would hold, although it
// would not cut the sum. (What adds to an UNSIGNED counter can't: its slots are never below
// zero.)
func (inc *Increment) mayCut(strict bool) bool {
	return (inc.Ignores || !strict) && slices.ContainsFunc(inc.Deltas, func(d Delta) bool { return !d.C.Unsigned() })
}

// onBase says why the table's increments go to its base rows.
func (inc *Increment) onBase() string {
	switch t := inc.Table; {
	case t.Closed:
		return "the slots table is closed"
	case t.Unfolded:
		return strings.Join(t.Degraded, "; ")
	case t.Narrow != "":
		return "the slots table can't hold every digit"
	}
	return "on a cluster, its condition is more than the primary key"
}

// doubt says which value of a statement is none for the slots.
func (p *Plan) doubt(b Binder) string {
	touches, deltas := p.Touches, []Delta(nil)
	if inc := p.Increment; inc != nil {
		touches, deltas = inc.Touch, inc.Deltas
		for _, row := range inc.Rows {
			deltas = append(deltas, row.Deltas...)
		}
	}
	for _, set := range touches {
		if _, ok := set.SQL(b); !ok {
			return "it sets touch column " + set.C.Name + " to another time than now"
		}
	}
	for _, d := range deltas {
		if _, ok := d.Units(b); ok {
			continue
		}
		if n, ok := d.amount(b); ok && d.lowers(n) {
			return "it takes from UNSIGNED counter " + d.C.Name + ", which must not go below zero"
		}
		return "what it adds to counter " + d.C.Name + " is none of its numbers"
	}
	return "a value in it is none that slots can take"
}
