package plan

import (
	"database/sql/driver"

	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// Template is a piece of the user's statement with the places of its parameters.
type Template struct {
	pieces []string // text between the parameters
	params []int    // index of the argument after each piece but the last
}

// fragment cuts text[start:end] at its parameters.
func (a *analyzer) fragment(start, end int) Template {
	var f Template
	at := start
	for _, t := range a.toks {
		if t.Kind == sqltext.Param && t.Start >= start && t.End <= end {
			f.pieces = append(f.pieces, a.text[at:t.Start])
			f.params = append(f.params, a.params[t.Start])
			at = t.End
		}
	}
	f.pieces = append(f.pieces, a.text[at:end])
	return f
}

// Binder writes constants and fragments with the arguments of one call.
type Binder struct {
	sqltext.Encoder
	Args []driver.NamedValue
}

// Arguments are what one execution brings to a plan.
type Arguments struct {
	Binder                     // with the literals of the text, if it shares the plan with others
	Given    int               // arguments of the caller's
	Literals *sqltext.Literals // of the text; nil: none
	Binary   bool              // the server gets the arguments apart from the text
}

// Count is how many arguments the plan gets.
func (a Arguments) Count() int {
	if a.Literals == nil {
		return a.Given
	}
	return a.Given + len(a.Literals.At)
}

// raw returns the constant's Go value, sign aside.
func (b Binder) raw(v Operand) (any, bool) {
	if v.param < 0 {
		return v.literal, true
	}
	if v.param >= len(b.Args) {
		return nil, false
	}
	return b.Args[v.param].Value, true
}

// value writes a constant.
func (b Binder) value(buf []byte, v Operand) (_ []byte, ok bool) {
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
	case ServerClock:
		buf = append(buf, x...)
	default:
		if buf, ok = b.Arg(buf, x); !ok {
			return buf, false
		}
	}
	if v.negative {
		buf = append(buf, ')')
	}
	return buf, true
}

// bind writes the arguments into the fragment.
func (f Template) bind(b Binder) (string, bool) {
	if len(f.params) == 0 {
		return f.pieces[0], true
	}
	buf, ok := f.append(nil, b)
	return string(buf), ok
}

func (f Template) append(buf []byte, b Binder) (_ []byte, ok bool) {
	for i, p := range f.params {
		buf = append(buf, f.pieces[i]...)
		if p < 0 { // a key column of the batch
			buf = append(buf, slotsql.FromRows(slotsql.PrivateKey, -1-p)...)
		} else if buf, ok = b.value(buf, Operand{param: p}); !ok {
			return buf, false
		}
	}
	return append(buf, f.pieces[len(f.pieces)-1]...), true
}
