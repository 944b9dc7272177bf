package countermysql

import (
	"database/sql/driver"
	"slices"
	"strings"
)

// restated is a text to be sent in a query's place whose parameters stand otherwise than
// there, or more than once.
type restated struct {
	text   fragment // restLimit is no argument of the statement's
	params int      // of the statement
}

// restate makes a text of the statement's arguments.
func (a *analysis) restate(text string, params []int) *restated {
	return &restated{cut(text, a.mode, params), len(a.params)}
}

// bind writes the text to send and its arguments. ok is false where MySQL may have given
// the statement's parameters types that they would not have there.
func (r *restated) bind(k *call) (text string, args []driver.NamedValue, ok bool) {
	if k.stmt != nil && (k.stmt.mixed || k.plan.keepsTypes) {
		return "", nil, false
	}
	return r.with(k, 0)
}

// with is bind with a number for restLimit.
func (r *restated) with(k *call, rest int64) (text string, args []driver.NamedValue, ok bool) {
	given := len(k.args)
	if k.lits != nil {
		given += len(k.lits.at)
	}
	if given != r.params {
		return "", nil, false
	}
	b := k.binder()
	var buf strings.Builder
	for i, p := range r.text.params {
		buf.WriteString(r.text.pieces[i])
		v := driver.Value(rest)
		if p != restLimit {
			if k.lits != nil {
				if lit, found := slices.BinarySearch(k.lits.at, p); found {
					buf.WriteString(k.lits.texts[lit])
					continue
				}
			}
			v = b.args[p].Value
		}
		buf.WriteByte('?')
		args = append(args, driver.NamedValue{Ordinal: len(args) + 1, Value: v})
	}
	buf.WriteString(r.text.pieces[len(r.text.pieces)-1])
	return buf.String(), args, true
}

// cut makes a fragment of a text whose parameters are these arguments.
func cut(text string, mode lexMode, params []int) fragment {
	f := fragment{params: params}
	at := 0
	for _, tok := range tokenize(text, mode) {
		if tok.kind == tokParam {
			f.pieces = append(f.pieces, text[at:tok.start])
			at = tok.end
		}
	}
	f.pieces = append(f.pieces, text[at:])
	return f
}
