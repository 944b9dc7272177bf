package plan

import (
	"database/sql/driver"
	"strings"

	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// Template is a piece of the user's statement with the places of its parameters.
type Template struct {
	pieces []string // text between the parameters
	params []int    // index of the argument after each piece but the last
}

// bind writes the arguments into the template.
func (tmpl Template) bind(b Binder) (string, bool) {
	if len(tmpl.params) == 0 {
		return tmpl.pieces[0], true
	}
	buf, ok := tmpl.append(nil, b)
	return string(buf), ok
}

func (tmpl Template) append(buf []byte, b Binder) (_ []byte, ok bool) {
	for i, p := range tmpl.params {
		buf = append(buf, tmpl.pieces[i]...)
		if p < 0 { // a key column of the batch
			buf = append(buf, slotsql.FromRows(slotsql.PrivateKey, -1-p)...)
		} else if buf, ok = b.value(buf, Operand{param: p}); !ok {
			return buf, false
		}
	}
	return append(buf, tmpl.pieces[len(tmpl.pieces)-1]...), true
}

// sql is the template's text.
func (tmpl *Template) sql() string { return strings.Join(tmpl.pieces, "?") }

// written appends the template's text with the statement's own literals, and ? for its arguments.
func (tmpl Template) written(text []byte, lits *sqltext.Literals) []byte {
	for i, p := range tmpl.params {
		text = append(text, tmpl.pieces[i]...)
		if lit, is := lits.Text(p); is {
			text = append(text, lit...)
		} else {
			text = append(text, '?')
		}
	}
	return append(text, tmpl.pieces[len(tmpl.pieces)-1]...)
}

// restated is a text to be sent in a query's place whose parameters stand otherwise than
// there, or more than once.
type restated struct {
	text   Template // restLimit is no argument of the statement's
	params int      // of the statement
}

// With writes the text to send and its arguments, with a number for restLimit.
func (rs *restated) With(a Arguments, rest int64) (text string, args []driver.NamedValue, ok bool) {
	if a.Count() != rs.params {
		return "", nil, false
	}
	var buf strings.Builder
	for i, p := range rs.text.params {
		buf.WriteString(rs.text.pieces[i])
		v := driver.Value(rest)
		if p != restLimit {
			if lit, is := a.Literals.Text(p); is {
				buf.WriteString(lit)
				continue
			}
			v = a.Args[p].Value
		}
		buf.WriteByte('?')
		args = append(args, driver.NamedValue{Ordinal: len(args) + 1, Value: v})
	}
	buf.WriteString(rs.text.pieces[len(rs.text.pieces)-1])
	return buf.String(), args, true
}

// cut makes a template of a text whose parameters are these arguments.
func cut(text string, mode sqltext.Mode, params []int) Template {
	f := Template{params: params}
	at := 0
	for _, tok := range sqltext.Tokenize(text, mode) {
		if tok.Kind == sqltext.Param {
			f.pieces = append(f.pieces, text[at:tok.Start])
			at = tok.End
		}
	}
	f.pieces = append(f.pieces, text[at:])
	return f
}
