package plan

import (
	"slices"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
)

// mayJoin lets the increment of one row share a transaction.
func (inc *Increment) mayJoin() {
	key := inc.Keys[0]
	for i, v := range key.values {
		if v.negative || !key.Columns[i].Joins() {
			return
		}
	}
	inc.Joins = true
	if !inc.Narrowed {
		return
	}
	rest := Template{pieces: inc.where.pieces, params: slices.Clone(inc.where.params)}
	for i, p := range rest.params {
		for k, v := range key.values {
			if v.param == p {
				rest.params[i] = -1 - k
			}
		}
	}
	inc.rest = &rest
}

// On a cluster whose nodes can all be written, a lock is one node's alone. Two nodes that
// have written the same row conflict when they commit, but a slot is another row than its
// base row (https://mariadb.com/kb/en/about-galera-replication/). So an increment that
// must not pass what another node does to the row goes to the base row.

// Verbatim reports whether an increment goes to the base row. On a cluster that is also
// where its condition may have changed on another node.
func (inc *Increment) Verbatim() bool {
	return inc.Table.Verbatim() || inc.Table.Cluster && (!inc.ByKey || inc.Narrowed)
}

// BoundIncrement is an increment with its arguments.
type BoundIncrement struct {
	*Increment
	Conditions []string // one, or one for each row of an upsert
	Deltas     [][]int64
	Touch      []string      // by touch column of the table; "" if not touched
	ID         string        // the row's key, if that is all of the condition and one integer; or ""
	Named      []catalog.Key // by the rows of an upsert; nil: in other words than the server's
	Zero       bool          // adds nothing
}

// Bind puts the arguments in; false where the exact way is needed.
func (inc *Increment) Bind(b Binder) (*BoundIncrement, bool) {
	out := &BoundIncrement{Increment: inc, Touch: make([]string, len(inc.Table.Touch))}
	if !times(inc.Table, inc.Touch, b, out.Touch) {
		return nil, false
	}
	if len(inc.Rows) > 0 {
		return out, inc.bindRows(b, out)
	}
	deltas, zero, ok := inc.sum(inc.Deltas, b)
	if !ok {
		return nil, false
	}
	out.Deltas, out.Zero = [][]int64{deltas}, zero
	if inc.where.pieces == nil {
		return out, true // verbatim: only the deltas had to be looked at
	}
	where, ok := inc.where.bind(b)
	if !ok {
		out.Zero = true // an argument without an exact text: verbatim
	}
	out.Conditions = []string{where}
	if inc.Joins && inc.ByKey && !inc.Narrowed && len(inc.Table.Key) == 1 && inc.Table.Key[0].Integer() {
		if id, ok := b.keyText(inc.Table.Key[0], inc.Keys[0].values[0]); ok {
			out.ID = id
		}
	}
	return out, true
}

// times writes what a table's touch columns are set to; "" if nothing.
func times(t *catalog.Table, touches []Touch, b Binder, into []string) bool {
	for i, c := range t.Touch {
		if c.OnUpdate {
			into[i] = catalog.CurrentTimestamp(int64(c.Scale))
		}
		for _, set := range touches {
			if set.C == c {
				at, ok := set.SQL(b)
				if !ok {
					return false
				}
				into[i] = at
			}
		}
	}
	return true
}

// units writes the deltas in the order of the table's counters. zero says that
// they are no increment: they add nothing, or may only make a number of NULL.
func (inc *Increment) units(deltas []Delta, b Binder, into []int64) (zero, ok bool) {
	zero = true
	fills := false
	for _, d := range deltas {
		n, ok := d.Units(b)
		if !ok {
			return false, false
		}
		for i, c := range inc.Table.Counters {
			if c == d.C {
				into[i] = n
			}
		}
		zero = zero && n == 0
		fills = fills || n == 0 && d.fills && d.C.Nullable
	}
	return zero || fills, true
}

func (inc *Increment) sum(deltas []Delta, b Binder) (sums []int64, zero, ok bool) {
	sums = make([]int64, len(inc.Table.Counters))
	zero, ok = inc.units(deltas, b, sums)
	return sums, zero, ok
}

// bindRows binds the rows of an upsert.
func (inc *Increment) bindRows(b Binder, out *BoundIncrement) bool {
	zero := false
	var named []catalog.Key
	for _, r := range inc.Rows {
		where, ok := r.key.Bind(inc.Name, b)
		zero = zero || !ok
		if id, ok := r.key.Key(inc.Table, b); ok && len(inc.Rows) > 1 {
			named = append(named, id)
		}
		for _, v := range r.values {
			n, ok := Delta{C: v.c, v: v.v}.Units(b)
			zero = zero || !ok || !v.c.Holds(n)
		}
		deltas, none, ok := inc.sum(r.Deltas, b)
		if !ok {
			return false
		}
		zero = zero || none
		out.Conditions = append(out.Conditions, where)
		out.Deltas = append(out.Deltas, deltas)
	}
	out.Zero = zero // a row that changes nothing, or that an INSERT would refuse: verbatim
	if len(named) == len(inc.Rows) {
		out.Named = named
	}
	return true
}

// prepare makes the template of an increment of one row.
func (inc *Increment) prepare() {
	t := inc.Table
	inc.used = slotsql.Places(t.Counters, func(_ int, c *catalog.Column) bool {
		return slices.ContainsFunc(inc.Deltas, func(d Delta) bool { return d.C == c })
	})
	inc.touched = slotsql.Places(t.Touch, func(_ int, c *catalog.Column) bool {
		return c.OnUpdate || slices.ContainsFunc(inc.Touch, func(set Touch) bool { return set.C == c })
	})
	inc.Text = slotsql.NewTemplate(t, inc.Name, inc.Keys[0].Columns, inc.used, inc.touched, true)
	inc.directly = slotsql.NewDirectTemplate(t, inc.Name, inc.Keys[0].Columns, inc.used, inc.touched, true)
}

// takeApart makes the statement for the base row with its numbers apart, where the key, what
// is added and what else it sets are integers and the present time.
func (inc *Increment) takeApart() {
	t := inc.Table
	if !inc.Joins || !inc.ByKey || inc.Narrowed || inc.Touch != nil ||
		slices.ContainsFunc(t.Key, func(c *catalog.Column) bool { return !c.Integer() }) || slices.ContainsFunc(inc.Deltas, func(d Delta) bool { return !d.C.Integer() }) {
		return
	}
	now := make([]string, len(t.Touch))
	times(t, nil, Binder{}, now)
	inc.apart = inc.directly.Apart(&slotsql.Upsert{Table: t, Name: inc.Name, Columns: t.Key, Entries: []*slotsql.RowIncrement{{Touch: now}}})
}

// warns reports whether the condition that an increment has beside its key may warn.
func (inc *Increment) warns(b Binder) bool {
	return inc.doubtful || slices.ContainsFunc(inc.compares, func(cmp comparison) bool {
		return slices.ContainsFunc(cmp.values, func(v Operand) bool { return !b.warningFree(cmp.c, v) })
	})
}

func (inc *Increment) class() Class {
	if inc.BaseOnly {
		return ClassVerbatim
	}
	return ClassIncrement
}

func (inc *Increment) exactly() *Exact { return inc.Exact }

// SendBatch is how many entries one statement carries.
const SendBatch = 500

// Increment is a relative write on one table that can go to slots.
type Increment struct {
	Table    *catalog.Table
	Exact    *Exact  // how it runs where slots can't take it, nor base rows alone
	BaseOnly bool    // it goes to base rows, where what it adds is as right
	Wanted   []Touch // columns that alone keep it from slots, because they are no touch columns

	Name  string // what where calls the table
	where Template
	Most  int  // how many rows where can match; 0: not known
	One   bool // where matches one row at most
	ByKey bool // where gives the key itself: a row under another key is another row

	Narrowed bool         // where has more than the key
	Ignores  bool         // a number out of range may be cut: IGNORE, or a hint that sets the sql_mode
	cutsKey  bool         // as settings has it
	compares []comparison // of a narrowed where
	doubtful bool         // which does more than compare
	Deltas   []Delta
	Touch    []Touch
	Rows     []upsertRow // the rows of an upsert; then where is empty

	Text          slotsql.Template // of one row, outside a transaction
	directly      slotsql.Template // the same for the base row
	used, touched []int            // its counters and touch columns
	apart         string           // directly, with its numbers apart; "": not all are numbers

	Keys  []KeyValue // the keys that where gives
	Joins bool       // others' increments may come along
	rest  *Template  // where, with the key's parameters read from the batch; nil: the key is all
}

// matches prepares the increment of the rows that a condition with such keys matches.
func (inc *Increment) matches(src source, where ast.ExprNode, keys []KeyValue) {
	inc.One, inc.Most = len(keys) == 1, len(keys)
	inc.ByKey = slices.Equal(keys[0].Columns, inc.Table.Key)
	inc.where = Template{pieces: []string{"TRUE"}}
	if where != nil {
		inc.where = src.template(src.whereSpan())
	}
	inc.Keys = keys
	if inc.Narrowed = len(conjuncts(where)) > len(keys[0].Columns); inc.Narrowed {
		all, ok := src.comparisons(where)
		inc.compares, inc.doubtful = all, !ok
	}
	if inc.One {
		inc.prepare()
		inc.mayJoin()
		inc.takeApart()
	}
}
