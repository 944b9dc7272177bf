package countermysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"

	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// Explanation says what becomes of a statement.
type Explanation struct {
	Class  string // increment, sum, exact or verbatim
	Reason string // why it is exact; "" for the others
	Steps  []ExplainedStep
}

// ExplainedStep is one thing that the driver does, in order.
type ExplainedStep struct {
	When string // for what, or on what condition
	SQL  string // what is sent; "" where that is not one statement
	Args []any
}

// Explain says what would be sent for a statement outside a transaction, and
// what of it waits for COMMIT inside one. It changes nothing; the rows of an
// increment of several rows are looked up. Of a statement that the driver
// refuses it returns the error.
func Explain(ctx context.Context, db *sql.DB, query string, args ...any) (*Explanation, error) {
	c, err := connectorOf(ctx, db)
	if err != nil {
		return nil, err
	}
	raw, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer raw.Close()
	k := &call{conn: raw.(*conn), text: query}
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
	if k.Plan.Class == plan.Refused {
		return nil, unready(k.Plan.Unready)
	}
	if n := sqltext.Parameters(sqltext.Tokenize(query, k.conn.session.mode)); n != len(args) { // what becomes of it depends on them
		return nil, fmt.Errorf("countermysql: expected %d arguments, got %d", n, len(args))
	}
	return k.explain(ctx, args)
}

func (k *call) explain(ctx context.Context, args []any) (*Explanation, error) {
	p := k.Plan
	out := &Explanation{Class: plan.Verbatim.String()}
	if p.Cleaning != nil {
		out.step("first, if a row was deleted by others: what it has left in slots under this key is removed", "", nil)
	}
	exactly := p.Class == plan.Exact
	if p.Increment != nil {
		b, ok := p.Increment.Bind(k.binder())
		exactly = exactly || !ok
		if ok && !b.Zero && p.Class == plan.Counting && !b.Verbatim() {
			stmt, shared, err := k.explainCount(ctx, b)
			if err != nil {
				return nil, err
			}
			if stmt != "" {
				k.explainDirect(out, b)
				k.explainIncrement(out, stmt, shared, args)
				return out, nil
			}
		}
	}
	exactly = exactly || !p.TouchesNow(k.binder())
	switch {
	case exactly:
		k.explainExact(out, args)
	case p.Query != nil:
		out.Class = plan.Summing.String()
		if look := p.Query.Look; look != nil {
			out.step("while its tables have no slots, as the last hidden columns tell, this is the answer", k.own(look.Text), args)
			if look.Rows.Text != "" {
				out.step("while they have some, but none of the rows has, as the last hidden columns tell, this is the answer", k.own(look.Rows.Text), args)
			}
		}
		text, sent := k.summed()
		if p.Query.Top != nil || p.Query.Short != nil {
			args = make([]any, len(sent))
			for i, v := range sent {
				args[i] = v.Value
			}
		}
		out.step("the counters are read as base row + slots", text, args)
		if p.Query.Locking {
			out.step("inside a transaction: the base rows are locked before", "", nil)
		}
	default:
		out.step("as it is"+k.onBase(), k.text, args)
		for _, t := range p.Dropped {
			out.step("then the slots go too", t.EndSQL(k.truncates()), nil)
		}
	}
	return out, nil
}

func (e *Explanation) step(when, sql string, args []any) {
	e.Steps = append(e.Steps, ExplainedStep{when, sql, args})
}

func (k *call) explainDirect(out *Explanation, b *plan.Bound) {
	c := k.conn
	if e, joins := k.entryOf(b); len(b.Conditions) == 1 && b.One && joins && c.cools(k.state.batch) {
		out.step("on the base row, unless increments of it have met within a second or somebody has it locked", c.directly(k.state.batch, e, true), nil)
	}
}

func (k *call) explainIncrement(out *Explanation, stmt string, shared bool, args []any) {
	out.Class = plan.Counting.String()
	if shared {
		out.step("at once, or with those of other callers in one statement (alone, and waiting, if a row is locked)", stmt, nil)
	} else {
		out.step("at once", stmt, nil)
	}
	out.step("inside a transaction: pending until COMMIT, with its others", "", nil)
	out.step("if no row takes it (there is none, its counter is NULL, its time is later): the statement itself", k.text, args)
}

func (k *call) explainExact(out *Explanation, args []any) {
	p := k.Plan
	out.Class, out.Reason = plan.Exact.String(), p.Reason
	if out.Reason == "" {
		out.Reason = k.doubt()
	}
	if p.Guarded != "" {
		out.step("in one round trip, if the rows have no slots", k.own(p.Guarded), args)
		out.step("else, in a transaction:", "", nil)
	} else {
		out.step("in a transaction:", "", nil)
	}
	for _, s := range p.Scopes {
		where, ok := s.Bind(k.binder())
		if !ok || s.Where == nil && s.Pins == nil {
			out.step("every row of "+s.Table.String()+" that has slots is locked", "", nil)
			continue
		}
		out.step("the rows concerned are locked", slotsql.LockSQL(s.Table, sqltext.Quote(s.Name), s.From(), where, "FOR UPDATE"), nil)
	}
	out.step("their slots are added to them and deleted", "", nil)
	out.step("then the statement itself", k.text, args)
}

// onBase says why what adds to counters adds to base rows.
func (k *call) onBase() string {
	switch inc := k.Plan.Increment; {
	case inc == nil:
		return ""
	case inc.Table.Closed:
		return ", on the base row: the slots table is closed"
	case inc.Table.Degraded != nil:
		return ", on the base row: " + strings.Join(inc.Table.Degraded, "; ")
	case inc.Table.Narrow != "":
		return ", on the base row: the slots table can't hold every digit"
	case k.wantsNow():
		return ", on the base row: " + k.wanting()
	}
	return ", on the base row: what goes to slots finds its rows by one unique key (an upsert by the table's only one), sets nothing but counters and touch columns, adds something, and has no LIMIT or ORDER BY"
}

// doubt says which value of a statement is none for the slots.
func (k *call) doubt() string {
	b := k.binder()
	touches, deltas := k.Plan.Touches, []plan.Delta(nil)
	if inc := k.Plan.Increment; inc != nil {
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
		name, signed := d.C.Name, *d.C
		signed.ColumnType = strings.ReplaceAll(signed.ColumnType, "unsigned", "")
		d.C = &signed
		if _, ok := d.Units(b); ok {
			return "it takes from UNSIGNED counter " + name + ", which must not go below zero"
		}
		return "what it adds to counter " + name + " is none of its numbers"
	}
	return "a value in it is none that slots can take"
}

// explainCount is the statement that takes an increment to slots, and whether
// it may be shared; "" if there is none for these rows.
func (k *call) explainCount(ctx context.Context, b *plan.Bound) (stmt string, shared bool, err error) {
	c := k.conn
	defer c.unlease()
	if len(b.Conditions) == 1 && b.One {
		e, joins := k.entryOf(b)
		if joins {
			return k.state.batch.statement(c, []*slotsql.RowIncrement{e}), true, nil
		}
		return c.upsertOne(b, e), false, nil
	}
	hits, how, err := c.findAll(ctx, b)
	if err != nil || how != done {
		return "", false, err
	}
	entries, ok := merged(b, hits)
	if !ok {
		return "", false, nil
	}
	way := c.connector.batch(b.Table, b.Name, b.Table.Key)
	if c.grouped() && c.request(entries).Fits() {
		return way.statement(c, entries), true, nil
	}
	return way.waiting(c, entries), false, nil
}

// String writes the explanation for people.
func (e *Explanation) String() string {
	var b strings.Builder
	b.WriteString(e.Class)
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
