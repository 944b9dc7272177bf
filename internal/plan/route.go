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
	Buffers      bool // increments of its table may be acknowledged before they are stored
	BuffersNow   bool // and those of this session are, now
	Held         bool // the transaction may have locked rows of the increment's table, on a cluster
}

// Route is what becomes of one execution of a statement.
type Route struct {
	Class  Class
	Reason string          // why it is not fast: the first condition that was not met
	Bare   bool            // nothing is done for it besides
	Lone   bool            // an increment of one row outside a transaction, which the filler has
	Bound  *BoundIncrement // any other increment

	Buffered bool // it is acknowledged before it is stored, if its row is known to be there
}

// Route says what becomes of an execution. It asks nobody: what the rows are like is found
// out by what is sent, which falls back to OnBase or to the exact way. f takes an increment
// of one row outside a transaction; nil: it is bound like the others.
func (p *Plan) Route(a Arguments, s Setting, f *Filler) Route {
	work := p.Work
	if _, refused := work.(*Refused); refused {
		return Route{Class: ClassRefused}
	}
	switch {
	case s.Locked: // of other tables: the server refuses
		return Route{Bare: true, Reason: "tables are locked by LOCK TABLES"}
	case slices.ContainsFunc(a.Args, func(v driver.NamedValue) bool { return v.Name != "" }):
		return Route{Bare: true, Reason: "the server knows no named arguments"}
	}
	switch w := work.(type) {
	case *Exact, *Alter:
		return Route{Class: ClassExact, Reason: p.Reason}
	case *Increment:
		return w.route(p, a, s, f)
	case *Sum:
		if w.Converted.Some() && w.Converted.Given(a) {
			return Route{Class: ClassExact, Reason: "an argument is compared with a column as it would not be with a sum"}
		}
		return Route{Class: ClassSum}
	case *Update:
		if w.cutsKey && !s.Strict {
			return Route{Class: ClassExact, Reason: "the server may cut the key"}
		}
		if !touchesNow(w.Touches, a.Binder) {
			return Route{Class: ClassExact, Reason: doubt(w.Touches, nil, a.Binder)}
		}
	}
	return Route{Reason: p.Reason}
}

// route is that of an increment, whose plan is p.
func (inc *Increment) route(p *Plan, a Arguments, s Setting, f *Filler) Route {
	b := a.Binder
	if s.Refused || a.Count() != p.Params || s.SafeUpdates && len(inc.Table.Key) == 0 {
		return inc.OnBase(b, s, "the server refuses it")
	}
	if f != nil && inc.One && !inc.Verbatim() && !s.Transaction && f.Bind(inc, b) {
		return inc.buffered(Route{Class: ClassIncrement, Lone: true}, b, s)
	}
	bound, ok := inc.Bind(b)
	switch {
	case !ok:
		return Route{Class: ClassExact, Reason: inc.doubt(b)}
	case inc.BaseOnly && !inc.Table.Verbatim():
		return inc.OnBase(b, s, p.Reason)
	case inc.Verbatim():
		return inc.OnBase(b, s, inc.notTaken())
	case bound.Zero:
		return inc.OnBase(b, s, "it adds nothing, or a value in it has no exact text")
	case s.Held:
		return inc.OnBase(b, s, "on a cluster, its transaction may have locked the row")
	case !b.MatchExactly(inc.Keys):
		return inc.OnBase(b, s, "a value in its condition is not of the key's type")
	case s.Transaction && s.Serializable:
		return inc.OnBase(b, s, "the transaction is SERIALIZABLE")
	case s.Transaction && (s.ReadOnly || s.GivenUp):
		return inc.OnBase(b, s, "the server refuses it")
	case (s.Transaction || !inc.One) && inc.warns(b):
		return inc.OnBase(b, s, "its condition may give a warning")
	}
	return inc.buffered(Route{Class: ClassIncrement, Bound: bound}, b, s)
}

// buffered is the route of an increment, which may wait in memory.
func (inc *Increment) buffered(r Route, b Binder, s Setting) Route {
	if !s.Buffers {
		return r
	}
	switch why := inc.mayWait(b, s); {
	case why != "":
		r.Reason = "not buffered: " + why
	case !s.BuffersNow:
		r.Reason = "not buffered: the session has been changed, or the buffer is not open"
	default:
		r.Buffered = true
	}
	return r
}

// OnBase is the route of a relative write that the base row takes: verbatim, or the exact
// way where that may make another value of it than the sum would have.
func (inc *Increment) OnBase(b Binder, s Setting, reason string) Route {
	switch {
	case inc.mayCut(s.Strict):
		return Route{Class: ClassExact, Reason: "the server may cut what the base row alone would hold"}
	case !touchesNow(inc.Touch, b):
		return Route{Class: ClassExact, Reason: inc.doubt(b)}
	}
	return Route{Reason: reason}
}

// mayCut reports whether the server may cut what the base row alone would hold, although it
// would not cut the sum. (What adds to an UNSIGNED counter can't: its slots are never below
// zero.)
func (inc *Increment) mayCut(strict bool) bool {
	return !strict && inc.cutsKey || (inc.Ignores || !strict) && slices.ContainsFunc(inc.Deltas, func(d Delta) bool { return !d.C.Unsigned() })
}

// notTaken says why the table's slots take no increment, or not this one.
func (inc *Increment) notTaken() string {
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

// doubt says which value of an increment is none for the slots.
func (inc *Increment) doubt(b Binder) string {
	deltas := slices.Clone(inc.Deltas)
	for _, row := range inc.Rows {
		deltas = append(deltas, row.Deltas...)
	}
	return doubt(inc.Touch, deltas, b)
}

// doubt says which value of a data change is none for the slots.
func doubt(touches []Touch, deltas []Delta, b Binder) string {
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

// mayWait says why an increment can't be acknowledged before it is stored; "": it can. One
// whose time counts, or for whose row more has to hold than its key, has to be seen by the
// server at once.
func (inc *Increment) mayWait(b Binder, s Setting) string {
	switch {
	case s.Transaction:
		return "it is inside a transaction"
	case inc.Rows != nil:
		return "it may insert a row"
	case !inc.One:
		return "it may be of several rows"
	case len(inc.Table.Key) == 0:
		return "the table has no key"
	case !inc.ByKey:
		return "its condition is not on the primary key"
	case inc.Narrowed:
		return "its condition has more than the primary key"
	case len(inc.touched) > 0:
		return "it sets touch column " + inc.Table.Touch[inc.touched[0]].Name
	case inc.Ignores:
		return "it ignores errors"
	case !inc.Joins:
		return "a key of this type can't be told from its text"
	}
	for _, i := range inc.used {
		if c := inc.Table.Counters[i].Name; !inc.Table.Spec.Buffered.Takes(c) {
			return "counter " + c + " is not buffered"
		}
	}
	for i, c := range inc.Keys[0].Columns {
		v := inc.Keys[0].values[i]
		x, ok := b.raw(v)
		switch x.(type) {
		case int64, uint64:
			ok = ok && c.Integer()
		case ServerClock:
			return "its key depends on the server's clock"
		default:
			_, ok = b.keyText(c, v)
		}
		if !ok {
			return "a value of its key has no exact text"
		}
	}
	return ""
}
