package plan

import (
	"database/sql/driver"
	"math"
	"slices"
	"strconv"

	"github.com/countermysql/countermysql/internal/stock"
)

// computing is how the server computes with a constant that is an integer, as far as it
// may be another way than with an int64.
type computing uint8

const (
	unsigned computing = 1 << iota // in BIGINT UNSIGNED, which can't go below zero
	floating                       // in DOUBLE
)

// mostFloating is up to where DOUBLE has every integer, and every sum of a few.
const mostFloating = 1 << 50

// whole reads a constant that is an integer, sign aside.
func (b Binder) whole(v Operand) (n int64, how computing, ok bool) {
	x, ok := b.raw(v)
	if bytes, is := x.([]byte); is {
		x = string(bytes)
	}
	switch x := x.(type) {
	case int64:
		return x, 0, ok
	case uint64:
		if v.param >= 0 && !b.Interpolated {
			how = unsigned
		}
		return int64(x), how, x <= math.MaxInt64 && (how == 0 || !v.negative)
	case float64:
		n = int64(x)
		return n, floating, float64(n) == x && -mostFloating <= n && n <= mostFloating
	case string:
		n, err := strconv.ParseInt(x, 10, 64)
		return n, floating, err == nil && strconv.FormatInt(n, 10) == x && -mostFloating <= n && n <= mostFloating
	}
	return 0, 0, false
}

// limit is what the counter may not be below, or above, relative to Other.
func (g *Guard) limit(b Binder, delta int64) (sum int64, how computing, ok bool) {
	switch {
	case g.floor != nil:
		sum, how, ok = b.whole(*g.floor)
		if g.floor.negative {
			sum = -sum
		}
		return sum - delta, how, ok && stock.InRange(sum)
	case g.bound == nil:
		return stock.Unlimited, 0, true
	}
	large := false
	for _, term := range g.bound.terms {
		n, of, ok := b.whole(term.v)
		large = large || n < -mostFloating || n > mostFloating
		if !ok || !stock.InRange(n) || g.bound.sums && (n < 0 || term.v.negative || of&unsigned != 0 && !g.bound.unsigned) { // an UNSIGNED number could go below zero
			return 0, 0, false
		}
		how |= of &^ unsigned // which compares as others do
		if term.subtract != term.v.negative {
			n = -n
		}
		if sum += n; !stock.InRange(sum) {
			return 0, 0, false
		}
	}
	switch {
	case !g.bound.strict:
	case g.bound.lower:
		sum++
	default:
		sum--
	}
	return sum, how, how == 0 || !large
}

// inIntegers are the arguments with integers for those which the bound computes with.
func (g *Guard) inIntegers(b Binder) Binder {
	b.Args = slices.Clone(b.Args)
	for _, term := range g.bound.terms {
		if n, _, ok := b.whole(term.v); ok && term.v.param >= 0 {
			b.Args[term.v.param] = driver.NamedValue{Ordinal: term.v.param + 1, Value: n}
		}
	}
	return b
}
