package countermysql

import (
	"database/sql/driver"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// literals writes arguments into SQL text, so that the statements we make
// ourselves take one round trip whatever interpolateParams says.
type literals struct {
	charset            string // the connection's, in which Go strings arrive at the server
	loc                *time.Location
	noBackslashEscapes bool
	interpolated       bool // arguments go as text: []byte is then a binary string
}

func literalsOf(cfg *mysql.Config, s session) literals {
	l := literals{charset: s.charset, noBackslashEscapes: s.mode.noBackslashEscapes, loc: cfg.Loc, interpolated: cfg.InterpolateParams}
	if strings.Contains(cfg.FormatDSN(), "timeTruncate=") {
		l.loc = nil // go-sql-driver keeps the setting to itself
	}
	return l
}

// string writes a string. It is quoted, byte for byte as go-sql-driver sends it,
// where the character set allows: unlike a hexadecimal literal with its character
// set, it then has the connection's collation, and need not be valid.
func (l literals) string(buf []byte, s string) []byte {
	if !strings.HasPrefix(l.charset, "utf8") && l.charset != "latin1" && l.charset != "ascii" && l.charset != "binary" {
		buf = append(append(append(buf, '_'), l.charset...), " x'"...)
		return append(hex.AppendEncode(buf, []byte(s)), '\'')
	}
	buf = append(buf, '\'')
	for i := range len(s) {
		switch {
		case s[i] == '\'':
			buf = append(buf, "''"...)
		case l.noBackslashEscapes:
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

// arg writes one argument; ok is false for a type that has no exact text form.
func (l literals) arg(buf []byte, v driver.Value) (_ []byte, ok bool) {
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
		return l.string(buf, v), true
	case []byte:
		switch {
		case v == nil:
			return append(buf, "NULL"...), true
		case l.interpolated:
			return append(hex.AppendEncode(append(buf, "_binary x'"...), v), '\''), true
		}
		return l.string(buf, string(v)), true
	case json.RawMessage:
		return l.string(buf, string(v)), v != nil
	case time.Time:
		at, ok := l.time(v)
		return append(buf, at...), ok
	}
	return buf, false
}

func (l literals) time(v time.Time) (string, bool) {
	if v.IsZero() || l.loc == nil {
		return "", false
	}
	s := v.In(l.loc).Format("2006-01-02 15:04:05.000000000") // MySQL rounds what is more than microseconds
	return "'" + strings.TrimSuffix(strings.TrimSuffix(s, "000"), ".000000") + "'", true
}

// fragment is a piece of the user's statement with the places of its parameters.
type fragment struct {
	pieces []string // text between the parameters
	params []int    // index of the argument after each piece but the last
}

// fragment cuts text[start:end] at its parameters.
func (a *analysis) fragment(start, end int) fragment {
	var f fragment
	at := start
	for _, t := range a.toks {
		if t.kind == tokParam && t.start >= start && t.end <= end {
			f.pieces = append(f.pieces, a.text[at:t.start])
			f.params = append(f.params, a.params[t.start])
			at = t.end
		}
	}
	f.pieces = append(f.pieces, a.text[at:end])
	return f
}

// binder writes constants and fragments with the arguments of one call.
type binder struct {
	literals
	args []driver.NamedValue
}

// raw returns the constant's Go value, sign aside.
func (b binder) raw(v value) (any, bool) {
	if v.param < 0 {
		return v.literal, true
	}
	if v.param >= len(b.args) {
		return nil, false
	}
	return b.args[v.param].Value, true
}

// value writes a constant.
func (b binder) value(buf []byte, v value) (_ []byte, ok bool) {
	x, ok := b.raw(v)
	if !ok {
		return buf, false
	}
	if v.negative {
		buf = append(buf, "-("...)
	}
	switch x := x.(type) {
	case decimalLiteral:
		buf = append(buf, x...)
	case moment:
		buf = append(buf, x...)
	default:
		if buf, ok = b.arg(buf, x); !ok {
			return buf, false
		}
	}
	if v.negative {
		buf = append(buf, ')')
	}
	return buf, true
}

// bind writes the arguments into the fragment.
func (f fragment) bind(b binder) (string, bool) {
	if len(f.params) == 0 {
		return f.pieces[0], true
	}
	buf, ok := f.append(nil, b)
	return string(buf), ok
}

func (f fragment) append(buf []byte, b binder) (_ []byte, ok bool) {
	for i, p := range f.params {
		buf = append(buf, f.pieces[i]...)
		if p < 0 { // a key column of the batch
			buf = append(buf, fromRows(privateKey, -1-p)...)
		} else if buf, ok = b.value(buf, value{param: p}); !ok {
			return buf, false
		}
	}
	return append(buf, f.pieces[len(f.pieces)-1]...), true
}
