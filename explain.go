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
	"github.com/countermysql/countermysql/internal/exact"
	"github.com/countermysql/countermysql/internal/increment"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/sqltext"
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
	if k.planUse, err = k.conn.planOf(ctx, query, nil); err != nil {
		return nil, err
	}
	out := &Explanation{}
	if refused, ok := k.Plan.Work.(*plan.Refused); ok {
		if !refused.For.DDL().NotMade() {
			return nil, catalog.Unready(refused.For)
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
		return nil, catalog.Unready(refused.For)
	}
	toks := sqltext.Tokenize(query, k.conn.Settings.Mode)
	if err := k.conn.ddl.May(ctx, k.Plan, query); err != nil {
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
	if out.Class, out.Reason = Class(r.Class.String()), r.Reason; r.Class == plan.ClassVerbatim && r.Reason == p.Reason && p.Increment().WantsNow(k.binder()) {
		out.Reason = k.wanting()
	}
	switch r.Class {
	case plan.ClassExact:
		k.conn.ExplainExact(k.exactly(), out.teller(args))
	case plan.ClassSum:
		k.explainSum(out, args)
	default:
		on := ""
		if p.Increment() != nil {
			on = ", on the base row"
		}
		if drop, ok := p.Work.(*plan.Drop); ok {
			k.conn.ddl.ExplainDrop(drop, k.text, out.teller(args))
		} else {
			out.step("as it is"+on, k.text, args)
		}
	}
	return out, nil
}

func (k *call) explainSum(out *Explanation, args []any) {
	q := k.Plan.Sum()
	x := k.query()
	x.ExplainLooks(func(when, text string) { out.step(when, k.Own(text), args) })
	if l := q.Locked; l != nil {
		out.step("inside a transaction, first: if a row comes, and has no slots, as a look behind it tells, this is the answer", k.Own(l.Text), args)
	}
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

// teller adds steps whose texts have the statement's arguments, or none.
func (e *Explanation) teller(args []any) exact.Tell {
	return func(when, text string, own bool) {
		if own {
			e.step(when, text, args)
		} else {
			e.step(when, text, nil)
		}
	}
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
	if k.exactly().OfLockableRow() {
		out.step("inside a transaction that has locked the row, which has no slots: as it is", k.text, args)
	}
	itself := "the statement itself"
	if len(k.Plan.Increment().Table.Touch) > 0 {
		itself += ", in a transaction that locks its row first"
	}
	out.step("if no row takes it (there is none, its counter is NULL, its time is later): "+itself, k.text, args)
	k.conn.ExplainTogether(k.exactly(), "while updates of its row that need its value are under way, or were a moment ago: on the base row, with the increments that come meanwhile", out.teller(args))
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
