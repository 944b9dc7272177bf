package plan

import (
	"math"
	"strings"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
)

// asStored is a value that a row to be written gives the column, as the column
// will hold it. ok is false where the server may round, cut, pad or replace it: a
// comparison with the value then does not find the row.
func (b Binder) asStored(c *catalog.Column, v Operand) (_ Operand, ok bool) {
	x, ok := b.raw(v)
	if !ok || !b.matchesExactly(c, v) {
		return v, false
	}
	bytes, isBytes := x.([]byte)
	if isBytes {
		x = string(bytes)
	}
	if at, is := x.(time.Time); is {
		text, ok := b.Time(at)
		if !ok {
			return v, false
		}
		x = strings.Trim(text, "'")
	}
	switch x := x.(type) {
	case uint64:
		if x > math.MaxInt64 {
			return v, c.DataType == "bigint" && c.Unsigned() && !v.negative
		}
		return v, c.StoresInteger(int64(x), v.negative)
	case int64:
		return v, c.StoresInteger(x, v.negative)
	case bool:
		return v, c.StoresInteger(1, v.negative)
	case ServerClock:
		return v, true
	case decimalLiteral:
		return v, c.Decimal() && c.StoresDecimal(string(x))
	case string:
		if c.DataType == "date" && len(x) > len(time.DateOnly) {
			day, clock := x[:len(time.DateOnly)], x[len(time.DateOnly):]
			return Operand{param: -1, literal: day}, clock < " 23:59:59.5" // MySQL rounds
		}
		if isBytes && b.Interpolated && (c.DataType == "char" || c.DataType == "varchar") {
			v, ok = Operand{param: -1, literal: x}, b.readsAlike(c, x)
		}
		return v, ok && c.StoresText(x)
	}
	return v, false
}

// readsAlike reports whether the column makes the text of the bytes that the connection
// does. They go as a binary string, which compares with the column byte by byte: the
// column's collation finds the row only by text.
func (b Binder) readsAlike(c *catalog.Column, bytes string) bool {
	return catalog.AsciiCharsets[c.Charset] && catalog.Ascii(bytes) || strings.HasPrefix(c.Charset, "utf8") && b.Charset == "utf8mb4"
}
