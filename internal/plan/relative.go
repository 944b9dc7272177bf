package plan

import (
	"math"
	"strconv"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"

	"github.com/countermysql/countermysql/internal/catalog"
)

// Delta is what a relative write adds to one counter.
type Delta struct {
	C        *catalog.Column
	v        Operand
	subtract bool
	inserted bool // VALUES(c): what the row would have inserted
	fills    bool // COALESCE(c, 0): NULL becomes a number, even if nothing is added
}

// relative reads c + d, d + c, c - d, and the same with COALESCE(c, 0) or
// IFNULL(c, 0), where d is a constant.
func (src source) relative(c *catalog.Column, e ast.ExprNode) (Delta, bool) {
	b, ok := unparen(e).(*ast.BinaryOperationExpr)
	if !ok || b.Op != opcode.Plus && b.Op != opcode.Minus {
		return Delta{}, false
	}
	l, r := b.L, b.R
	if !src.refersTo(c, l) {
		if b.Op == opcode.Minus || !src.refersTo(c, r) {
			return Delta{}, false
		}
		l, r = r, l
	}
	_, bare := columnRef(l)
	d := Delta{C: c, subtract: b.Op == opcode.Minus, fills: !bare}
	if src.insertedValue(c, r) {
		d.inserted = true
		return d, true
	}
	d.v, ok = src.params.constant(r)
	return d, ok
}

func (src source) refersTo(c *catalog.Column, e ast.ExprNode) bool {
	if f, ok := unparen(e).(*ast.FuncCallExpr); ok && (f.FnName.L == "coalesce" || f.FnName.L == "ifnull") && len(f.Args) == 2 {
		zero, isConstant := src.params.constant(f.Args[1])
		return isConstant && zero.literal == int64(0) && src.refersTo(c, f.Args[0])
	}
	ref, ok := columnRef(e)
	return ok && strings.EqualFold(ref.Name.O, c.Name) && src.means(ref.Table.O, src.name) && !src.aliased(ref)
}

// insertedValue reads VALUES(c), and alias.c of the row alias.
func (src source) insertedValue(c *catalog.Column, e ast.ExprNode) bool {
	e = unparen(e)
	if v, ok := e.(*ast.ValuesExpr); ok {
		return strings.EqualFold(v.Column.Name.Name.O, c.Name)
	}
	ref, ok := columnRef(e)
	return ok && src.alias != "" && ref.Table.O != "" && src.means(ref.Table.O, src.alias) && strings.EqualFold(ref.Name.O, c.Name)
}

// Units is the delta in units of the counter's last digit. ok is false where
// the exact way is needed: NULL, text, a fraction that the column would round,
// a decrement of an UNSIGNED counter, a number out of range.
func (d Delta) Units(b Binder) (n int64, ok bool) {
	n, ok = d.amount(b)
	return n, ok && !d.lowers(n) && d.C.Spans(n)
}

// lowers reports whether an UNSIGNED counter might go below zero: - -1 does, too, with
// NO_UNSIGNED_SUBTRACTION, beyond 63 bits.
func (d Delta) lowers(n int64) bool { return d.C.Unsigned() && (d.subtract || n < 0) }

// amount is the delta, whatever the counter can hold.
func (d Delta) amount(b Binder) (n int64, ok bool) {
	x, ok := b.raw(d.v)
	if !ok {
		return 0, false
	}
	switch x := x.(type) {
	case int64:
		n = x
	case uint64:
		// a prepared statement computes with BIGINT UNSIGNED, which can't go below zero
		n, ok = int64(x), x <= math.MaxInt64 && (d.v.param < 0 || b.Interpolated || d.C.Unsigned() && !d.subtract)
	case bool:
		if x {
			n = 1
		}
	case decimalLiteral:
		return d.decimal(string(x))
	default:
		return 0, false
	}
	for range d.C.Fraction() {
		ok = ok && n <= math.MaxInt64/10 && n >= math.MinInt64/10
		n *= 10
	}
	return d.signed(n, ok)
}

func (d Delta) signed(n int64, ok bool) (int64, bool) {
	if d.subtract != d.v.negative {
		ok = ok && n != math.MinInt64
		n = -n
	}
	return n, ok
}

func (d Delta) decimal(s string) (int64, bool) {
	whole, frac, _ := strings.Cut(s, ".")
	if len(frac) > d.C.Fraction() {
		return 0, false
	}
	n, err := strconv.ParseInt(whole+frac+strings.Repeat("0", d.C.Fraction()-len(frac)), 10, 64)
	return d.signed(n, err == nil)
}
