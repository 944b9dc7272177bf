package plan

import (
	"database/sql/driver"
	"math"
	"slices"
	"strconv"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/stock"
)

// Guarded is a Guard with its arguments.
type Guarded struct {
	stock.Want
	Shape string // all that go together have the same

	guard       *Guard
	binder      Binder
	how         computing // with its amount and its limit
	least, most int64     // what is known to be right for the counter, where that is less than the column can hold
	texts       []string  // the statement, cut at the amount and at the condition
	own         string    // the condition
	row         string    // that of the key
	from, to    string    // WHERE before the condition and behind it
}

// Numbers are the arguments where all of them are amounts, thresholds and integers of the key, none
// below zero: what the server gets apart from the text is the same to it then. nil where others are
// among them.
func (g *Guard) Numbers(b Binder) []driver.NamedValue {
	for i, arg := range b.Args {
		if n, is := arg.Value.(int64); !is || n < 0 || !g.numeric(i) {
			return nil
		}
	}
	return b.Args
}

// numeric reports whether a parameter is such a one.
func (g *Guard) numeric(param int) bool {
	if at := slices.IndexFunc(g.key.values, func(v Operand) bool { return v.param == param }); at >= 0 {
		return g.key.Columns[at].Integer()
	}
	return param == g.delta.v.param || g.floor != nil && param == g.floor.param || g.bound != nil && slices.ContainsFunc(g.bound.terms, func(d Delta) bool { return d.v.param == param })
}

// Bind puts the arguments in; false where the statement has to go by itself.
func (g *Guard) Bind(b Binder) (*Guarded, bool) {
	n, how, ok := b.whole(g.delta.v)
	if !ok || n < -stock.MostDelta || n > stock.MostDelta || !touchesNow(g.times, b) {
		return nil, false
	}
	out := &Guarded{guard: g, binder: Binder{b.Encoder, slices.Clone(b.Args)}}
	out.Delta, _ = g.delta.signed(n, true)
	limit, limited, ok := g.limit(b, out.Delta)
	if out.Limit = limit; !ok || g.floor != nil && how|limited != 0 || out.Delta == 0 || !g.goes(out.Delta) || !out.computes(how|limited) {
		return nil, false
	}
	var known [5]bool
	shape := make([]byte, 0, 256)
	out.texts, shape, known[0] = g.cut(make([]string, 0, 3), shape, g.before, b)
	out.texts, shape, known[1] = g.cut(out.texts, append(shape, 0), g.after, b)
	shape = append(shape, 0, '0'+byte(out.how))
	if out.Delta < 0 {
		shape = append(shape, '-')
	}
	for _, piece := range g.own.pieces {
		shape = append(append(shape, 0), piece...)
	}
	out.Shape = string(shape)
	out.row, known[2] = g.key.Bind(g.Name, b)
	out.from, known[3] = g.from.bind(b)
	known[4] = true
	if g.bound != nil {
		var bound bool
		if out.how&floating != 0 {
			b = g.inIntegers(b)
		}
		out.own, bound = g.own.bind(b)
		out.to, known[4] = g.to.bind(b)
		known[4] = known[4] && bound
	}
	return out, !slices.Contains(known[:], false)
}

// Is reports whether another execution would be bound as this one was, for sure.
func (x *Guarded) Is(g *Guard, b Binder) bool {
	return x.guard == g && x.binder.Encoder == b.Encoder && touchesNow(g.times, b) &&
		slices.EqualFunc(x.binder.Args, b.Args, func(was, is driver.NamedValue) bool {
			switch is.Value.(type) {
			case int64, string:
				return was.Value == is.Value
			}
			return false
		})
}

// computes notes what becomes of the counter by how the server computes; false where it can't
// be told.
func (x *Guarded) computes(how computing) bool {
	c, other := x.guard.Counter, x.guard.Other
	x.least, x.most = x.guard.Table.Bounds(c)
	if c.Unsigned() {
		how &^= unsigned
	}
	x.how = how
	if x.Rounds() {
		x.least, x.most = max(x.least, -mostFloating), min(x.most, mostFloating)
	}
	if how&unsigned != 0 {
		x.least = max(x.least, 0)
	}
	return how&floating == 0 || other == nil || bits(other) < 64
}

// goes reports whether what is added brings the counter nearer to its bound, if it has one, and
// not farther away.
func (g *Guard) goes(delta int64) bool {
	if g.floor != nil {
		return delta < 0
	}
	return g.bound == nil || g.bound.lower == (delta < 0)
}

// cut adds a piece of the statement, cut at the amount, to texts, and what it has in common with
// those that can go together with it to shape.
func (g *Guard) cut(texts []string, shape []byte, f Template, b Binder) (_ []string, _ []byte, ok bool) {
	var text []byte
	for i, p := range f.params {
		shape = append(append(shape, f.pieces[i]...), 0)
		if p == g.delta.v.param {
			texts, text = append(texts, string(text)+f.pieces[i]), nil
			continue
		}
		text = append(text, f.pieces[i]...)
		at := len(text)
		if text, ok = b.value(text, Operand{param: p}); !ok {
			return texts, shape, false
		}
		if !slices.ContainsFunc(g.times, func(at Touch) bool { return at.v.param == p && !at.now }) {
			shape = append(shape, text[at:]...)
		}
	}
	last := f.pieces[len(f.pieces)-1]
	return append(texts, string(text)+last), append(shape, last...), true
}

// amount is what stands in place of the statement's to add delta.
func (g *Guard) amount(delta int64) string {
	if g.delta.subtract != g.delta.v.negative {
		delta = -delta
	}
	if delta < 0 {
		return "(" + strconv.FormatInt(delta, 10) + ")"
	}
	return strconv.FormatInt(delta, 10)
}

// Together is the statement for many of one shape, by one of them, one after the other. It
// changes the row if there is enough for all. Where it does not, nothing is known.
func (x *Guarded) Together(all stock.Want) string {
	g, counter := x.guard, sqltext.Qualified(x.guard.Name, x.guard.Counter.Name)
	cond, relation := "", " <= "
	if x.Delta < 0 {
		relation = " >= "
	}
	switch {
	case g.bound == nil:
	case g.Other != nil: // as numbers that may go below zero
		other := "CAST(" + sqltext.Qualified(g.Name, g.Other.Name) + " AS DECIMAL(30))"
		cond = "CAST(" + counter + " AS DECIMAL(30)) " + map[int64]string{1: "- ", -1: "+ "}[g.sign] + other + relation + strconv.FormatInt(all.Limit, 10)
	default:
		cond = counter + relation + strconv.FormatInt(all.Limit, 10)
	}
	more := x.within(counter, all.Delta)
	whatever := x.Delta < 0 && g.Counter.Unsigned() && g.Other == nil && more == "" && g.Table.CheckedBy == ""
	if g.floor != nil {
		more += " AND " + counter + " >= " + strconv.FormatInt(all.Limit, 10)
	}
	return x.text(g.amount(all.Delta), whatever, cond, more)
}

// within is true of a counter that is known to be right, and so with sum added.
func (x *Guarded) within(counter string, sum int64) (cond string) {
	if x.least > math.MinInt64 {
		cond += " AND " + counter + " >= " + strconv.FormatInt(max(x.least, x.least-sum), 10)
	}
	if x.most < math.MaxInt64 {
		cond += " AND " + counter + " <= " + strconv.FormatInt(min(x.most, x.most-sum), 10)
	}
	return cond
}

// Alone is the statement itself, where the server rounds nothing in it. It fails if the row has
// slots.
func (x *Guarded) Alone() string {
	amount := x.guard.amount(x.Delta)
	if x.how&unsigned != 0 {
		amount = "CAST(" + amount + " AS UNSIGNED)"
	}
	return x.text(amount, false, x.own, "")
}

// Rounds reports whether the server computes in DOUBLE, which does not have all numbers of the
// column.
func (x *Guarded) Rounds() bool { return x.how&floating != 0 && bits(x.guard.Counter) == 64 }

func bits(c *catalog.Column) uint { return catalog.IntegerBits[c.DataType] }

// Locked is the statement for many, by one of them who is served, where the row is locked and
// has no slots.
func (x *Guarded) Locked(delta int64) string {
	return x.texts[0] + x.guard.amount(delta) + x.texts[1] + x.own + x.texts[2]
}

// text is the statement with another amount and condition, and more that has to hold. Where
// slots are never below zero, and the base row has enough, it does not matter what they hold.
func (x *Guarded) text(amount string, whatever bool, cond, more string) string {
	g := x.guard
	switch {
	case g.bound == nil && whatever:
		cond = more
	case g.bound == nil:
		cond = " AND " + g.free + more
	case !whatever:
		cond = "IF(" + g.free + ", (" + cond + more + ") IS TRUE, FALSE)"
	}
	return x.texts[0] + amount + x.texts[1] + cond + x.texts[2]
}

// From is the table as the statement calls it.
func (g *Guard) From() string { return g.Table.Base() + " AS " + sqltext.Quote(g.Name) }

// Row is the condition of the row's key.
func (x *Guarded) Row() string { return x.row }

// Look is the query of what a row is like, if all but the bound's own condition holds.
func (x *Guarded) Look() string {
	g := x.guard
	fields := sqltext.Qualified(g.Name, g.Counter.Name)
	if g.Other != nil {
		fields += ", " + sqltext.Qualified(g.Name, g.Other.Name)
	}
	where := x.from
	if g.bound != nil {
		where += "TRUE" + x.to
	}
	return "SELECT " + fields + " FROM " + g.From() + " WHERE " + where + " FOR UPDATE"
}

// Base is what limits are relative to, by the value of Other.
func (g *Guard) Base(other int64) int64 { return g.sign * other }

// MayFail reports whether the server may have an error for who is refused: an UNSIGNED
// number would go below zero in the condition.
func (g *Guard) MayFail() bool { return g.bound == nil || g.bound.mayFail }

// Range is what the counter can hold, and what is known to be right for it.
func (x *Guarded) Range() (least, most int64) {
	least, most = x.guard.holds()
	return max(least, x.least), min(most, x.most)
}

// holds is what the column can hold, as far as it can be computed with.
func (g *Guard) holds() (least, most int64) {
	bits, positive := bits(g.Counter), g.Counter.Unsigned()
	switch {
	case bits == 64 && positive:
		return 0, stock.MostLimit
	case bits == 64:
		return -stock.MostLimit, stock.MostLimit
	case positive:
		return 0, math.MaxInt64 >> (63 - bits)
	}
	return -1 << (bits - 1), 1<<(bits-1) - 1
}
