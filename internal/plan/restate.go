package plan

import (
	"database/sql/driver"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/sqltext"
)

// restated is a text to be sent in a query's place whose parameters stand otherwise than
// there, or more than once.
type restated struct {
	text   Template // restLimit is no argument of the statement's
	params int      // of the statement
}

// restate makes a text of the statement's arguments.
func (a *analyzer) restate(text string, params []int) *restated {
	return &restated{cut(text, a.mode, params), len(a.params)}
}

// With writes the text to send and its arguments, with a number for restLimit.
func (r *restated) With(a Arguments, rest int64) (text string, args []driver.NamedValue, ok bool) {
	if a.Count() != r.params {
		return "", nil, false
	}
	var buf strings.Builder
	for i, p := range r.text.params {
		buf.WriteString(r.text.pieces[i])
		v := driver.Value(rest)
		if p != restLimit {
			if a.Literals != nil {
				if lit, found := slices.BinarySearch(a.Literals.At, p); found {
					buf.WriteString(a.Literals.Texts[lit])
					continue
				}
			}
			v = a.Args[p].Value
		}
		buf.WriteByte('?')
		args = append(args, driver.NamedValue{Ordinal: len(args) + 1, Value: v})
	}
	buf.WriteString(r.text.pieces[len(r.text.pieces)-1])
	return buf.String(), args, true
}

// cut makes a fragment of a text whose parameters are these arguments.
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
