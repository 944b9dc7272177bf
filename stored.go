package countermysql

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// asStored is a value that a row to be written gives the column, as the column
// will hold it. ok is false where the server may round, cut, pad or replace it: a
// comparison with the value then does not find the row.
func (b binder) asStored(c *column, v value) (_ value, ok bool) {
	x, ok := b.raw(v)
	if !ok || !b.sound(c, v) {
		return v, false
	}
	bytes, isBytes := x.([]byte)
	if isBytes {
		x = string(bytes)
	}
	if at, is := x.(time.Time); is {
		text, ok := b.time(at)
		if !ok {
			return v, false
		}
		x = strings.Trim(text, "'")
	}
	switch x := x.(type) {
	case uint64:
		if x > math.MaxInt64 {
			return v, c.dataType == "bigint" && c.unsigned() && !v.negative
		}
		return v, c.storesInteger(int64(x), v.negative)
	case int64:
		return v, c.storesInteger(x, v.negative)
	case bool:
		return v, c.storesInteger(1, v.negative)
	case moment:
		return v, true
	case decimalLiteral:
		return v, c.decimal() && c.storesDecimal(string(x))
	case string:
		if c.dataType == "date" && len(x) > len(time.DateOnly) {
			day, clock := x[:len(time.DateOnly)], x[len(time.DateOnly):]
			return value{param: -1, literal: day}, clock < " 23:59:59.5" // MySQL rounds
		}
		if isBytes && b.interpolated && (c.dataType == "char" || c.dataType == "varchar") {
			v, ok = value{param: -1, literal: x}, b.readsAlike(c, x)
		}
		return v, ok && c.storesText(x)
	}
	return v, false
}

func (c *column) storesInteger(n int64, negative bool) bool {
	if negative {
		n = -n
	}
	switch {
	case c.decimal():
		return c.storesDecimal(strconv.FormatInt(n, 10))
	case c.dataType == "year":
		return n > 1901 && n < 2155
	}
	return c.holds(n)
}

func (c *column) storesDecimal(s string) bool {
	whole, frac, _ := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	return len(frac) <= c.scale && len(whole) <= c.length()-c.scale && (!c.unsigned() || s[0] != '-')
}

// readsAlike reports whether the column makes the text of the bytes that the connection
// does. They go as a binary string, which compares with the column byte by byte: the
// column's collation finds the row only by text.
func (b binder) readsAlike(c *column, bytes string) bool {
	return asciiCharsets[c.charset] && ascii(bytes) || strings.HasPrefix(c.charset, "utf8") && b.charset == "utf8mb4"
}

func (c *column) storesText(s string) bool {
	switch c.dataType {
	case "char", "varchar":
		return utf8.RuneCountInString(s) <= c.length() && c.hasCharacters(s) && (c.dataType != "char" || !strings.HasSuffix(s, " "))
	case "binary":
		return len(s) == c.length()
	case "varbinary":
		return len(s) <= c.length()
	case "enum", "set":
		return strings.Contains(c.columnType, "'"+s+"'")
	case "datetime", "timestamp":
		_, digits, _ := strings.Cut(s, ".")
		return len(strings.TrimRight(digits, "0")) <= c.scale
	}
	if c.integer() {
		n, err := strconv.ParseInt(s, 10, 64)
		return err == nil && c.holds(n)
	}
	return true
}

// hasCharacters reports whether the column's character set has those of s.
func (c *column) hasCharacters(s string) bool {
	if ascii(s) || c.charset == "utf8mb4" {
		return true
	}
	return strings.HasPrefix(c.charset, "utf8") && !slices.ContainsFunc([]rune(s), func(r rune) bool { return r > 0xffff })
}

// length is the first number in the column's type, of char(20), of decimal(20,2); 0 if there is none.
func (c *column) length() (n int) {
	_, number, _ := strings.Cut(c.columnType, "(")
	for i := 0; i < len(number) && '0' <= number[i] && number[i] <= '9'; i++ {
		n = 10*n + int(number[i]-'0')
	}
	return n
}

// setsKey reports whether the body of a trigger may set a column of a unique key:
// SET NEW.id = …, or as an argument of a procedure.
func (t *table) setsKey(body string) bool {
	toks := tokenize(body, lexMode{})
	for i, tok := range toks {
		switch {
		case tok.is("CALL"):
			return true
		case !tok.is("NEW") || i+3 >= len(toks) || !toks[i+3].punct('=') && !toks[i+3].punct(':'):
		case slices.ContainsFunc(t.unique, func(k uniqueKey) bool { return findColumn(k.cols, toks[i+2].name) != nil }):
			return true
		}
	}
	return false
}
