package plan

import (
	"encoding/hex"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/countermysql/countermysql/internal/catalog"
)

// keyText is a value of a key column as the column's literal method takes it.
func (b Binder) keyText(c *catalog.Column, v Operand) (string, bool) {
	x, ok := b.raw(v)
	if !ok {
		return "", false
	}
	if bytes, is := x.([]byte); is && !b.Interpolated {
		x = string(bytes)
	}
	switch x := x.(type) {
	case int64:
		return strconv.FormatInt(x, 10), c.Integer()
	case uint64:
		return strconv.FormatUint(x, 10), c.Integer()
	case ServerClock:
		return string(x), c.DataType == "date"
	case time.Time:
		text, ok := b.Time(x)
		return strings.Trim(strings.TrimSuffix(text, " 00:00:00'"), "'"), ok && c.DataType == "date" && strings.HasSuffix(text, " 00:00:00'")
	case string:
		switch {
		case c.Integer():
			n, err := strconv.ParseInt(x, 10, 64)
			return x, err == nil && strconv.FormatInt(n, 10) == x
		case c.DataType == "date":
			_, err := time.Parse(time.DateOnly, x)
			return x, err == nil
		}
		return strings.ToUpper(hex.EncodeToString([]byte(x))), c.Collation == "" || catalog.Ascii(x) || c.Charset == "utf8mb4" && b.Charset == "utf8mb4" && utf8.ValidString(x)
	}
	return "", false
}

// matchesExactly reports whether a value compares with the column without a conversion
// that may warn: what is a warning in a query is an error in an UPDATE.
func (b Binder) matchesExactly(c *catalog.Column, v Operand) bool {
	x, ok := b.raw(v)
	if !ok {
		return false
	}
	if bytes, is := x.([]byte); is {
		x = string(bytes)
	}
	switch x := x.(type) {
	case int64, uint64, bool:
		return c.Integer() || c.Decimal() || c.DataType == "year"
	case decimalLiteral:
		return c.Decimal() // of an integer, it would be that of a column which another client has given digits
	case time.Time:
		if x.Nanosecond()%1000 != 0 {
			return false // go-sql-driver sends nine digits, of which the server makes another time
		}
		return c.Dated()
	case ServerClock:
		return c.Dated()
	case string:
		switch c.DataType {
		case "date", "datetime", "timestamp":
			for _, layout := range []string{time.DateOnly, "2006-01-02 15:04:05.999999"} {
				if _, err := time.Parse(layout, x); err == nil && len(x) <= len(layout) { // more digits would be cut off
					return true
				}
			}
			return false
		case "binary", "varbinary":
			return true
		case "char", "varchar", "enum", "set":
			return utf8.ValidString(x) || !strings.HasPrefix(b.Charset, "utf8")
		case "uuid":
			bytes, err := hex.DecodeString(strings.ReplaceAll(x, "-", ""))
			return err == nil && len(bytes) == 16
		case "inet4", "inet6":
			_, err := netip.ParseAddr(x)
			return err == nil
		}
		_, err := strconv.ParseInt(x, 10, 64)
		return err == nil && c.Integer() && c.Writes(x)
	}
	return false
}

// MatchExactly reports whether each key selects its row and no other.
func (b Binder) MatchExactly(keys []KeyValue) bool {
	for _, p := range keys {
		for i, c := range p.Columns {
			if !b.matchesExactly(c, p.values[i]) {
				return false
			}
			if p.stored {
				if _, ok := b.asStored(c, p.values[i]); !ok {
					return false
				}
			}
		}
	}
	return true
}
