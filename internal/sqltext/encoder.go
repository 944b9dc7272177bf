package sqltext

import (
	"database/sql/driver"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// Encoder writes arguments into SQL text, so that the statements we make
// ourselves take one round trip whatever interpolateParams says.
type Encoder struct {
	Charset            string // the connection's, in which Go strings arrive at the server
	Loc                *time.Location
	NoBackslashEscapes bool
	Interpolated       bool // arguments go as text: []byte is then a binary string
}

// String writes a string, byte for byte as go-sql-driver sends it: unlike a hexadecimal
// literal with its character set, it has the connection's collation, and need not be valid.
func (l Encoder) String(buf []byte, s string) []byte {
	buf = append(buf, '\'')
	for i := range len(s) {
		switch {
		case s[i] == '\'':
			buf = append(buf, "''"...)
		case l.NoBackslashEscapes:
			buf = append(buf, s[i])
		case s[i] == 0:
			buf = append(buf, `\0`...)
		case s[i] == '\\':
			buf = append(buf, `\\`...)
		default:
			buf = append(buf, s[i])
		}
	}
	return append(buf, '\'')
}

// Arg writes one argument; ok is false for a type that has no exact text form.
func (l Encoder) Arg(buf []byte, v driver.Value) (_ []byte, ok bool) {
	switch v := v.(type) {
	case nil:
		return append(buf, "NULL"...), true
	case int64:
		return strconv.AppendInt(buf, v, 10), true
	case uint64:
		return strconv.AppendUint(buf, v, 10), true
	case bool:
		if v {
			return append(buf, '1'), true
		}
		return append(buf, '0'), true
	case string:
		return l.String(buf, v), true
	case []byte:
		switch {
		case v == nil:
			return append(buf, "NULL"...), true
		case l.Interpolated:
			return append(hex.AppendEncode(append(buf, "_binary x'"...), v), '\''), true
		}
		return l.String(buf, string(v)), true
	case json.RawMessage:
		return l.String(buf, string(v)), v != nil
	case time.Time:
		at, ok := l.Time(v)
		return append(buf, at...), ok
	}
	return buf, false
}

func (l Encoder) Time(v time.Time) (string, bool) {
	if v.IsZero() || l.Loc == nil {
		return "", false
	}
	s := v.In(l.Loc).Format("2006-01-02 15:04:05.000000000") // MySQL rounds what is more than microseconds
	return "'" + strings.TrimSuffix(strings.TrimSuffix(s, "000"), ".000000") + "'", true
}
