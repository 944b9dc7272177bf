package plan

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/stock"
)

// Guarded is a Guard with its arguments.
type Guarded struct {
	stock.Want
	Shape string // all that go together have the same

	guard *Guard
	texts []string // the statement, cut at the amount and at the condition
	own   string   // the condition
	row   string   // that of the key
	rest  string   // WHERE without the condition
}

// Row names the row that the statement is for; ok is false where it has to go by itself.
func (g *Guard) Row(b Binder) (id string, ok bool) {
	k := make(catalog.Key, len(g.key.Columns))
	for i, c := range g.key.Columns {
		if k[i], ok = b.keyText(c, g.key.values[i]); !ok {
			return "", false
		}
	}
	return g.key.Columns[0].Name + "\x00" + k.ID(), b.MatchExactly([]KeyValue{g.key})
}

// Bind puts the arguments in; false where the statement has to go by itself.
func (g *Guard) Bind(b Binder) (*Guarded, bool) {
	x, _ := b.raw(g.delta.v)
	n, whole := x.(int64)
	if !whole || n < -stock.MostDelta || n > stock.MostDelta || slices.ContainsFunc(g.times, func(at Touch) bool { _, ok := at.SQL(b); return !ok }) {
		return nil, false
	}
	out := &Guarded{guard: g}
	out.Delta, _ = g.delta.signed(n, true)
	var ok [6]bool
	if out.Limit, ok[0] = g.limit(b); out.Delta == 0 || (out.Delta < 0) != g.lower() {
		return nil, false
	}
	var after, to string
	out.texts, out.Shape, ok[1] = g.cut(g.before, b)
	texts, shape, more := g.cut(g.after, b)
	after, ok[2] = texts[0], more
	out.texts, out.Shape = append(out.texts, after), out.Shape+"\x00"+shape+"\x00"+strings.Join(g.own.pieces, "\x00")
	out.row, ok[3] = g.key.Bind(g.Name, b)
	out.rest, ok[4] = g.from.bind(b)
	ok[5] = true
	if g.bound != nil {
		var bound bool
		out.own, bound = g.own.bind(b)
		to, ok[5] = g.to.bind(b)
		out.rest, ok[5] = out.rest+"TRUE"+to, ok[5] && bound
	}
	return out, !slices.Contains(ok[:], false)
}

// lower reports whether the guard keeps the counter from becoming less.
func (g *Guard) lower() bool { return g.bound == nil || g.bound.lower }

// cut writes a piece of the statement, cut at the amount, and what it has in common with
// those that can go together with it.
func (g *Guard) cut(f Template, b Binder) (texts []string, shape string, ok bool) {
	var text, all []byte
	for i, p := range f.params {
		text, all = append(text, f.pieces[i]...), append(append(all, f.pieces[i]...), 0)
		if p == g.delta.v.param {
			texts, text = append(texts, string(text)), nil
			continue
		}
		at := len(text)
		if text, ok = b.value(text, Operand{param: p}); !ok {
			return []string{""}, "", false
		}
		if !slices.ContainsFunc(g.times, func(at Touch) bool { return at.v.param == p && !at.now }) {
			all = append(all, text[at:]...)
		}
	}
	last := f.pieces[len(f.pieces)-1]
	return append(texts, string(text)+last), string(all) + last, true
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
	g, counter := x.guard, sqltext.Quote(x.guard.Name)+"."+sqltext.Quote(x.guard.Counter.Name)
	cond, relation := "", " <= "
	if g.lower() {
		relation = " >= "
	}
	switch {
	case g.bound == nil:
	case g.Other != nil: // as numbers that may go below zero
		other := "CAST(" + sqltext.Quote(g.Name) + "." + sqltext.Quote(g.Other.Name) + " AS DECIMAL(30))"
		cond = "CAST(" + counter + " AS DECIMAL(30)) " + map[int64]string{1: "- ", -1: "+ "}[g.sign] + other + relation + strconv.FormatInt(all.Limit, 10)
	default:
		cond = counter + relation + strconv.FormatInt(all.Limit, 10)
	}
	return x.text(all.Delta, g.lower() && g.Counter.Unsigned() && g.Other == nil, cond)
}

// Alone is the statement itself. It fails if the row has slots.
func (x *Guarded) Alone() string { return x.text(x.Delta, false, x.own) }

// Locked is the statement for many, by one of them who is served, where the row is locked and
// has no slots.
func (x *Guarded) Locked(delta int64) string {
	return x.texts[0] + x.guard.amount(delta) + x.texts[1] + x.own + x.texts[2]
}

// text is the statement with another amount and condition. Where slots are never below zero,
// and the base row has enough, it does not matter what they hold.
func (x *Guarded) text(delta int64, whatever bool, cond string) string {
	g := x.guard
	switch {
	case g.bound == nil && whatever:
		cond = ""
	case g.bound == nil:
		cond = " AND " + g.free
	case !whatever:
		cond = "IF(" + g.free + ", (" + cond + ") IS TRUE, FALSE)"
	}
	return x.texts[0] + g.amount(delta) + x.texts[1] + cond + x.texts[2]
}

// From is the table as the statement calls it.
func (g *Guard) From() string { return g.Table.Base() + " AS " + sqltext.Quote(g.Name) }

// Row is the condition of the row's key.
func (x *Guarded) Row() string { return x.row }

// Look is the query of what a row is like, if all but the bound's own condition holds.
func (x *Guarded) Look() string {
	g := x.guard
	fields := sqltext.Quote(g.Name) + "." + sqltext.Quote(g.Counter.Name)
	if g.Other != nil {
		fields += ", " + sqltext.Quote(g.Name) + "." + sqltext.Quote(g.Other.Name)
	}
	return "SELECT " + fields + " FROM " + g.From() + " WHERE " + x.rest + " FOR UPDATE"
}

// Base is what limits are relative to, by the value of Other.
func (g *Guard) Base(other int64) int64 { return g.sign * other }

// MayFail reports whether the server may have an error for who is refused: an UNSIGNED
// number would go below zero in the condition.
func (g *Guard) MayFail() bool { return g.bound == nil || g.bound.mayFail }

// Range is what the counter can hold, as far as it can be computed with.
func (g *Guard) Range() (least, most int64) {
	bits, unsigned := catalog.IntegerBits[g.Counter.DataType], g.Counter.Unsigned()
	switch {
	case bits == 64 && unsigned:
		return 0, stock.MostLimit
	case bits == 64:
		return -stock.MostLimit, stock.MostLimit
	case unsigned:
		return 0, math.MaxInt64 >> (63 - bits)
	}
	return -1 << (bits - 1), 1<<(bits-1) - 1
}
