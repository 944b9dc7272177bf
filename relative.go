package countermysql

import (
	"math"
	"strconv"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"
)

// delta is what a relative write adds to one counter.
type delta struct {
	c        *column
	v        value
	subtract bool
	inserted bool // VALUES(c): what the row would have inserted
	fills    bool // COALESCE(c, 0): NULL becomes a number, even if nothing is added
}

// relative reads c + d, d + c, c - d, and the same with COALESCE(c, 0) or
// IFNULL(c, 0), where d is a constant.
func (a *analysis) relative(c *column, name string, e ast.ExprNode) (delta, bool) {
	b, ok := unparen(e).(*ast.BinaryOperationExpr)
	if !ok || b.Op != opcode.Plus && b.Op != opcode.Minus {
		return delta{}, false
	}
	l, r := b.L, b.R
	if !a.refersTo(c, name, l) {
		if b.Op == opcode.Minus || !a.refersTo(c, name, r) {
			return delta{}, false
		}
		l, r = r, l
	}
	_, bare := columnRef(l)
	d := delta{c: c, subtract: b.Op == opcode.Minus, fills: !bare}
	if a.insertedValue(c, r) {
		d.inserted = true
		return d, true
	}
	d.v, ok = a.constant(r)
	return d, ok
}

func (a *analysis) refersTo(c *column, name string, e ast.ExprNode) bool {
	if f, ok := unparen(e).(*ast.FuncCallExpr); ok && (f.FnName.L == "coalesce" || f.FnName.L == "ifnull") && len(f.Args) == 2 {
		zero, isConstant := a.constant(f.Args[1])
		return isConstant && zero.literal == int64(0) && a.refersTo(c, name, f.Args[0])
	}
	ref, ok := columnRef(e)
	return ok && strings.EqualFold(ref.Name.O, c.name) && a.means(ref.Table.O, name) && !a.aliased(ref)
}

// aliased reports whether a column could be the inserted row's as well: the server
// refuses it.
func (a *analysis) aliased(ref *ast.ColumnName) bool {
	return a.alias != "" && (ref.Table.O == "" || a.means(ref.Table.O, a.alias))
}

// insertedValue reads VALUES(c), and alias.c of the row alias.
func (a *analysis) insertedValue(c *column, e ast.ExprNode) bool {
	e = unparen(e)
	if v, ok := e.(*ast.ValuesExpr); ok {
		return strings.EqualFold(v.Column.Name.Name.O, c.name)
	}
	ref, ok := columnRef(e)
	return ok && a.alias != "" && ref.Table.O != "" && a.means(ref.Table.O, a.alias) && strings.EqualFold(ref.Name.O, c.name)
}

// units is the delta in units of the counter's last digit. ok is false where
// the exact way is needed: NULL, text, a fraction that the column would round,
// a decrement of an UNSIGNED counter, a number out of range.
func (d delta) units(b binder) (n int64, ok bool) {
	x, ok := b.raw(d.v)
	if !ok {
		return 0, false
	}
	switch x := x.(type) {
	case int64:
		n = x
	case uint64:
		// a prepared statement computes with BIGINT UNSIGNED, which can't go below zero
		n, ok = int64(x), x <= math.MaxInt64 && (d.v.param < 0 || b.interpolated || d.c.unsigned() && !d.subtract)
	case bool:
		if x {
			n = 1
		}
	case decimalLiteral:
		return d.decimal(string(x))
	default:
		return 0, false
	}
	for range d.c.fraction() {
		ok = ok && n <= math.MaxInt64/10 && n >= math.MinInt64/10
		n *= 10
	}
	return d.signed(n, ok)
}

func (d delta) signed(n int64, ok bool) (int64, bool) {
	if d.subtract != d.v.negative {
		ok = ok && n != math.MinInt64
		n = -n
	}
	return n, ok && !(d.c.unsigned() && (d.subtract || n < 0)) && d.c.spans(n) // - -1 is below zero too, with NO_UNSIGNED_SUBTRACTION, beyond 63 bits
}

// spans reports whether two numbers of the column can differ by n. If not, the
// statement fails, and its slot could never be added to the base row.
func (c *column) spans(n int64) bool {
	if c.decimal() {
		return c.length() > 17 || math.Abs(float64(n)) < 2*math.Pow10(c.length())
	}
	bits := integerBits[c.dataType]
	return bits == 64 || n > -1<<bits && n < 1<<bits
}

func (d delta) decimal(s string) (int64, bool) {
	whole, frac, _ := strings.Cut(s, ".")
	if len(frac) > d.c.fraction() {
		return 0, false
	}
	n, err := strconv.ParseInt(whole+frac+strings.Repeat("0", d.c.fraction()-len(frac)), 10, 64)
	return d.signed(n, err == nil)
}

// fraction is the number of digits after a counter's point.
func (c *column) fraction() int {
	if c.decimal() {
		return c.scale
	}
	return 0
}

// formatUnits writes units as a number of the column.
func (c *column) formatUnits(n int64) string { return string(c.appendUnits(nil, n)) }

func (c *column) appendUnits(buf []byte, n int64) []byte {
	if c.fraction() == 0 {
		return strconv.AppendInt(buf, n, 10)
	}
	return appendDigits(buf, strconv.FormatInt(n, 10), c.fraction())
}

// appendDigits writes digits, perhaps behind a sign, with a point before the last f.
func appendDigits(buf []byte, s string, f int) []byte {
	if f == 0 {
		return append(buf, s...)
	}
	if s[0] == '-' {
		buf, s = append(buf, '-'), s[1:]
	}
	if len(s) <= f {
		s = strings.Repeat("0", f-len(s)+1) + s
	}
	return append(append(append(buf, s[:len(s)-f]...), '.'), s[len(s)-f:]...)
}
