package countermysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/ddl"
	"github.com/countermysql/countermysql/internal/increment"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/sale"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/stock"
)

// Class is what becomes of a statement.
type Class string

const (
	ClassBuffered  Class = "buffered"  // added up in memory, as TableConfig.Buffered has it
	ClassIncrement Class = "increment" // goes to a slot, or to a cold row
	ClassSum       Class = "sum"       // reads counters
	ClassExact     Class = "exact"     // needs a counter's value: its rows are rolled up for it
	ClassVerbatim  Class = "verbatim"  // sent as it is
)

// Explanation says what becomes of a statement.
type Explanation struct {
	Class  Class
	Reason string // for people: why it is not fast, or not buffered, of statements about counters: the first condition that is not met
	Steps  []ExplainedStep
}

// ExplainedStep is one thing that the driver does, in order.
type ExplainedStep struct {
	When string // for people: for what, or on what condition
	SQL  string // what is sent; "" where that is not one statement
	Args []any
}

// Explain says what would be sent for a statement outside a transaction, and
// what of it waits for COMMIT inside one. It changes nothing; the rows of an
// increment of several rows are looked up. Of a statement that the driver
// refuses it returns the error; but where only a slots table is missing, it says
// what would become of a query or a data change behind the CREATE TABLE.
func Explain(ctx context.Context, db *sql.DB, query string, args ...any) (*Explanation, error) {
	c, err := connectorOf(ctx, db)
	if err != nil {
		return nil, err
	}
	own, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer own.Close()
	k := &call{conn: own, text: query, explained: true}
	if len(sqltext.Tokenize(query, k.conn.Settings.Mode)) == 0 {
		return nil, errors.New("countermysql: there is no statement to explain")
	}
	for i, arg := range args {
		v := driver.NamedValue{Ordinal: i + 1, Value: arg}
		if err := k.conn.CheckNamedValue(&v); err != nil {
			return nil, err
		}
		k.args = append(k.args, v)
	}
	if k.planUse, err = k.conn.plan(ctx, query); err != nil {
		return nil, err
	}
	out := &Explanation{}
	if refused, ok := k.Plan.Work.(*plan.Refused); ok {
		if !refused.For.DDL().NotMade() {
			return nil, unready(refused.For)
		}
		made := *c.watcher.Current()
		made.Made = true
		k.planUse = c.planWith(newPlanCache(), planKey{&made, k.conn.Settings.Mode, query, k.conn.Settings.DB})
		for _, t := range made.All() {
			if t == refused.For || slices.Contains(k.Plan.Tables(), t) && t.DDL().NotMade() {
				out.step("the slots table of "+t.String()+" is missing: until this has run, by countermysql init or, with counterCreateSlots=true, by the application, the statement fails", t.Missing, nil)
			}
		}
	}
	if refused, ok := k.Plan.Work.(*plan.Refused); ok { // by another table
		return nil, unready(refused.For)
	}
	toks := sqltext.Tokenize(query, k.conn.Settings.Mode)
	if err := k.conn.ddl.May(ctx, k.Plan, toks); err != nil {
		return nil, err
	}
	if n := sqltext.Parameters(toks); n != len(args) { // what becomes of it depends on them
		return nil, fmt.Errorf("countermysql: expected %d arguments, got %d", n, len(args))
	}
	return k.explain(ctx, out, args)
}

func (k *call) explain(ctx context.Context, out *Explanation, args []any) (*Explanation, error) {
	p, r := k.Plan, k.route(nil)
	for _, w := range p.Writes {
		if w.Feeds {
			out.step("its triggers add to slots of "+w.Table.String()+", as its derived counters are", "", nil)
			if history := w.Table.History; history.Updates {
				out.step("which its own triggers write to the history "+history.Table+" once that is rolled up", "", nil)
			}
		}
	}
	for _, t := range p.Recorded {
		out.step("what its counters in the rows of "+t.String()+" change by, triggers write to the history "+t.History.Table+"; of what goes to slots, once that is rolled up", "", nil)
	}
	for _, name := range p.Overrides {
		out.step("derived counter "+name+" is not what its formula says any more, until countermysql recount --repair", "", nil)
	}
	if p.Sweep != nil {
		out.step("first, if a row was deleted by others: what it has left in slots under this key is removed", "", nil)
	}
	if r.Class == plan.ClassIncrement {
		x, how, err := k.conn.Explain(ctx, k.counts(), r.Bound)
		switch {
		case err != nil:
			return nil, err
		case how == increment.Done:
			out.Class, out.Reason = Class(r.Class.String()), r.Reason
			if r.Buffered {
				out.Class = ClassBuffered
				out.step("if its row was met in the last minute: added in memory and acknowledged; every "+k.state.buffer.Every().String()+", with all that wait and the number of the flush", x.Flush, nil)
				out.step("unless one of their rows is locked, gone or can't hold the number: then those that can be stored, in a transaction with that number", x.Strict, nil)
			}
			k.explainIncrement(out, x, args)
			return out, nil
		}
		r = k.otherwise(how)
	}
	if out.Class, out.Reason = Class(r.Class.String()), r.Reason; r.Class == plan.ClassVerbatim && r.Reason == p.Reason && k.wantsNow() {
		out.Reason = k.wanting()
	}
	switch r.Class {
	case plan.ClassExact:
		k.explainExact(out, args)
	case plan.ClassSum:
		k.explainSum(out, args)
	default:
		on := ""
		if p.Increment() != nil {
			on = ", on the base row"
		}
		out.step("as it is"+on, k.text, args)
		if drop, ok := p.Work.(*plan.Drop); ok {
			for _, t := range drop.Tables {
				out.step("then the slots go too", t.DDL().End(ddl.Truncates(sqltext.Tokenize(k.text, k.conn.Settings.Mode))), nil)
			}
		}
	}
	return out, nil
}

func (k *call) explainSum(out *Explanation, args []any) {
	q := k.Plan.Sum()
	x := k.query()
	x.ExplainLooks(func(when, text string) { out.step(when, k.Own(text), args) })
	text, sent := x.Summed(k.conn.Settings.WholeDates)
	if q.Top != nil || q.Short != nil {
		args = make([]any, len(sent))
		for i, v := range sent {
			args[i] = v.Value
		}
	}
	out.step("the counters are read as base row + slots", text, args)
	if q.Locking {
		out.step("inside a transaction: the base rows are locked before", "", nil)
	}
}

func (e *Explanation) step(when, sql string, args []any) {
	e.Steps = append(e.Steps, ExplainedStep{when, sql, args})
}

func (k *call) explainIncrement(out *Explanation, x increment.Explanation, args []any) {
	if x.Direct != "" {
		out.step("on the base row, unless increments of it have met within a second or somebody has it locked", x.Direct, nil)
	}
	if x.Shared {
		out.step("at once, or with those of other callers in one statement (alone, and waiting, if a row is locked)", x.Statement, nil)
	} else {
		out.step("at once", x.Statement, nil)
	}
	out.step("inside a transaction: pending until COMMIT, with its others", "", nil)
	itself := "the statement itself"
	if len(k.Plan.Increment().Table.Touch) > 0 {
		itself += ", in a transaction that locks its row first"
	}
	out.step("if no row takes it (there is none, its counter is NULL, its time is later): "+itself, k.text, args)
	k.explainTogether(out, "while updates of its row that need its value are under way, or were a moment ago: on the base row, with the increments that come meanwhile")
}

// explainTogether adds the statement for it and others of its row, if there is one.
func (k *call) explainTogether(out *Explanation, when string) bool {
	g := k.Plan.Exactly().Guard
	if g == nil || !sale.Sells(k.conn.Caller) {
		return false
	}
	x, ok := g.Bind(k.binder())
	if ok {
		out.step(when, x.Together(stock.Enough([]stock.Want{x.Want})), nil)
	}
	return ok
}

// explainParts adds what a guarded update does first inside a transaction.
func (k *call) explainParts(out *Explanation, args []any) {
	x := k.exactly()
	e, _, ok := k.conn.Part(x)
	if !ok {
		return
	}
	when := "else, inside a transaction: on the base row, if it has enough by itself"
	if g := x.Guard; g.Reserves() {
		e.Slot = catalog.FirstReserved
		out.step("inside a transaction, while several want the row: locked is a row of its reserve that has enough", slotsql.LockReserved(g.Table, e.Key, e.Slot, g.Counter, e.Touch), nil)
		out.step("and written before COMMIT, with the increments of its row that are pending", slotsql.TakeReserved(g.Table, &e), nil)
		when += "; behind the first row of its reserve, if it has one"
	}
	out.step(when, k.text, args)
}

func (k *call) explainExact(out *Explanation, args []any) {
	p := k.Plan.Exactly()
	if p.Guarded != "" {
		if _, _, ok := k.conn.Part(k.exactly()); ok && sale.Sells(k.conn.Caller) {
			out.step("as it is, if its base row may be expected to have enough by itself", k.text, args)
		}
		out.step("in one round trip, if the rows have no slots", k.Own(p.Guarded), args)
	}
	if !k.explainTogether(out, "while another one of its row is under way: together with those that wait, if there is enough for all (else one after the other)") {
		if _, ok := p.TextElsewhere(k.text, k.arguments()); ok && sale.Sells(k.conn.Caller) {
			out.step("while another one of its row is under way: behind it, in one transaction with those that wait", k.text, args)
		}
	}
	k.explainParts(out, args)
	if p.Guarded != "" {
		out.step("else, in a transaction:", "", nil)
	} else {
		out.step("in a transaction:", "", nil)
	}
	locked := func(s plan.RowSet, where, when string) {
		out.step(when, slotsql.LockSQL(s.Table, sqltext.Quote(s.Name), s.Locking(), where, "FOR UPDATE"), nil)
	}
	n, locksGaps, kept, itself, behind := p.Restriction, k.conn.LocksGaps(), false, "then the statement itself", func() {}
	if n != nil && !(locksGaps && n.By == nil && n.First == nil) {
		var s plan.RowSet
		var where string
		if s, where, kept = n.Rows(p.Rows[0], k.binder(), locksGaps); kept && n.By == nil {
			locked(s, where, "the rows that it changes are locked")
		} else if kept {
			behind = func() { locked(s, where, "and those that its condition matches then") }
		}
		if kept && !locksGaps {
			itself += ", for none but these rows"
		}
	}
	again := p.Moves && !kept
	for _, s := range p.Rows {
		where, ok := s.Bind(k.binder())
		_, collides := k.conn.Collisions(k.exactly())
		switch {
		case kept && n.By == nil:
		case collides:
			out.step("the rows that it meets are locked by their keys", "", nil)
		case !ok || s.Where == nil && s.Keys == nil:
			again = k.Plan.Writes != nil
			out.step("every row of "+s.Table.String()+" that has slots is locked", "", nil)
		default:
			locked(s, where, "the rows concerned are locked")
		}
	}
	behind()
	if slices.ContainsFunc(p.Rows, func(s plan.RowSet) bool { return s.Table.Fed }) {
		out.step("what triggers have added to their slots is added to them and taken off another slot", "", nil)
	}
	out.step("their slots are added to them and deleted", "", nil)
	if again {
		itself += ", and again if others have incremented one of its rows meanwhile"
	}
	out.step(itself, k.text, args)
}

// String writes the explanation for people.
func (e *Explanation) String() string {
	var b strings.Builder
	b.WriteString(string(e.Class))
	if e.Reason != "" {
		b.WriteString(": " + e.Reason)
	}
	for i, s := range e.Steps {
		fmt.Fprintf(&b, "\n%d. %s", i+1, s.When)
		if s.SQL != "" {
			b.WriteString("\n   " + s.SQL)
		}
		if len(s.Args) > 0 {
			fmt.Fprintf(&b, "\n   arguments: %v", s.Args)
		}
	}
	return b.String()
}
