package countermysql

import (
	"encoding/hex"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// joins reports whether a value of the column, as applications write it, can
// be written so that joining with it finds what comparing with it finds.
func (c *column) joins() bool {
	switch c.dataType {
	case "char", "varchar":
		return asciiCharsets[c.charset]
	case "binary", "varbinary", "date":
		return true
	}
	return c.integer()
}

// asciiCharsets are those whose characters below 128 are ASCII.
var asciiCharsets = map[string]bool{"utf8mb4": true, "utf8mb3": true, "utf8": true, "latin1": true, "ascii": true}

// key is the table's key that the pin gives; ok is false if it gives another, or in
// other words than the server does.
func (p pin) key(t *table, b binder) (k key, ok bool) {
	k = make(key, len(t.key))
	if len(t.key) == 0 || !slices.Equal(p.cols, t.key) {
		return k, false
	}
	for i, c := range t.key {
		if k[i], ok = b.keyText(c, p.values[i]); !ok || p.values[i].negative {
			return k, false
		}
	}
	return k, true
}

// keyText is a value of a key column as the column's literal method takes it.
func (b binder) keyText(c *column, v value) (string, bool) {
	x, ok := b.raw(v)
	if !ok {
		return "", false
	}
	if bytes, is := x.([]byte); is && !b.interpolated {
		x = string(bytes)
	}
	switch x := x.(type) {
	case int64:
		return strconv.FormatInt(x, 10), c.integer()
	case uint64:
		return strconv.FormatUint(x, 10), c.integer()
	case moment:
		return string(x), c.dataType == "date"
	case time.Time:
		text, ok := b.time(x)
		return strings.Trim(strings.TrimSuffix(text, " 00:00:00'"), "'"), ok && c.dataType == "date" && strings.HasSuffix(text, " 00:00:00'")
	case string:
		switch {
		case c.integer():
			n, err := strconv.ParseInt(x, 10, 64)
			return x, err == nil && strconv.FormatInt(n, 10) == x
		case c.dataType == "date":
			_, err := time.Parse(time.DateOnly, x)
			return x, err == nil
		}
		return strings.ToUpper(hex.EncodeToString([]byte(x))), c.collation == "" || ascii(x) || c.charset == "utf8mb4" && b.charset == "utf8mb4" && utf8.ValidString(x)
	}
	return "", false
}

// sound reports whether a value compares with the column without a conversion
// that may warn: what is a warning in a query is an error in an UPDATE.
func (b binder) sound(c *column, v value) bool {
	x, ok := b.raw(v)
	if !ok {
		return false
	}
	if bytes, is := x.([]byte); is {
		x = string(bytes)
	}
	switch x := x.(type) {
	case int64, uint64, bool:
		return c.integer() || c.decimal() || c.dataType == "year"
	case decimalLiteral:
		return c.decimal() // of an integer, it would be that of a column which another client has given digits
	case time.Time:
		if x.Nanosecond()%1000 != 0 {
			return false // go-sql-driver sends nine digits, of which the server makes another time
		}
		return c.dataType == "date" || c.dataType == "datetime" || c.dataType == "timestamp"
	case moment:
		return c.dataType == "date" || c.dataType == "datetime" || c.dataType == "timestamp"
	case string:
		switch c.dataType {
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
			return utf8.ValidString(x) || !strings.HasPrefix(b.charset, "utf8")
		case "uuid":
			bytes, err := hex.DecodeString(strings.ReplaceAll(x, "-", ""))
			return err == nil && len(bytes) == 16
		case "inet4", "inet6":
			_, err := netip.ParseAddr(x)
			return err == nil
		}
		_, err := strconv.ParseInt(x, 10, 64)
		return err == nil && c.integer() && c.writes(x)
	}
	return false
}

// soundPins reports whether each pin selects its row and no other.
func (b binder) soundPins(pins []pin) bool {
	for _, p := range pins {
		for i, c := range p.cols {
			if !b.sound(c, p.values[i]) {
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

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
