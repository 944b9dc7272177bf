package countermysql

import (
	"database/sql/driver"
	"strconv"
	"strings"
)

// inlined are the literals of a text that shares its plan with all texts that
// differ in nothing else. To the plan they are parameters.
type inlined struct {
	params int   // of the plan: literals and the text's own
	at     []int // which of them is the literal
	texts  []string
	values []driver.Value
}

// skeleton replaces the literals that are compared, added or inserted by
// parameters. All others may mean something to the plan, as in LIMIT 1,
// ORDER BY 1, COALESCE(c, 0), or to the names of columns, and stay.
func skeleton(text string, mode lexMode) (string, *inlined) {
	toks := tokenize(text, mode)
	if len(toks) == 0 {
		return text, nil
	}
	query := toks[0].is("SELECT")
	if !query && !toks[0].is("UPDATE") && !toks[0].is("INSERT") && !toks[0].is("DELETE") {
		return text, nil
	}
	var b strings.Builder
	lits, at, condition := &inlined{}, 0, !query
	depth, lists := 0, map[int]bool{} // depths of IN (…) and VALUES (…)
	for i, t := range toks {
		switch {
		case t.kind == tokVersion:
			return text, nil
		case t.punct('('):
			depth++
			lists[depth] = i > 0 && (toks[i-1].is("IN") || toks[i-1].is("VALUES")) || i > 1 && toks[i-1].punct(',') && toks[i-2].punct(')') && lists[depth]
		case t.punct(')'):
			depth--
		case t.punct(';') && i < len(toks)-1:
			return text, nil
		case depth == 0 && query && t.is("WHERE"):
			condition = true
		case depth == 0 && query && t.in(endOfWhere), t.is("SELECT") && i > 0:
			condition = false
		case t.kind == tokParam:
			lits.params++
		case condition && i > 0 && (toks[i-1].kind == tokPunct && strings.Contains("=+-<>", toks[i-1].name) || lists[depth] && (toks[i-1].punct('(') || toks[i-1].punct(','))):
			v, ok := literalValue(text[t.start:t.end], t, mode)
			if !ok || i+1 < len(toks) && !toks[i+1].punct(')') && !toks[i+1].punct(',') && !toks[i+1].punct(';') && toks[i+1].kind != tokWord {
				continue
			}
			lits.at = append(lits.at, lits.params)
			lits.params++
			lits.texts = append(lits.texts, text[t.start:t.end])
			lits.values = append(lits.values, v)
			b.WriteString(text[at:t.start] + "?")
			at = t.end
		}
	}
	if lits.at == nil {
		return text, nil
	}
	return b.String() + text[at:], lits
}

// literalValue reads an integer or a plain string.
func literalValue(s string, t token, mode lexMode) (driver.Value, bool) {
	switch t.kind {
	case tokNumber:
		n, err := strconv.ParseInt(s, 10, 64)
		return n, err == nil && strings.Trim(s, "0123456789") == ""
	case tokString:
		if s[0] != '\'' || len(s) < 2 || s[len(s)-1] != '\'' || strings.Contains(s, `\`) && !mode.noBackslashEscapes {
			return nil, false
		}
		return strings.ReplaceAll(s[1:len(s)-1], "''", "'"), true
	}
	return nil, false
}

// merge puts the literals between the arguments of a call.
func (l *inlined) merge(args []driver.NamedValue) []driver.NamedValue {
	all := make([]driver.NamedValue, 0, l.params)
	for n, lit := 0, 0; n < l.params; n++ {
		switch {
		case lit < len(l.at) && l.at[lit] == n:
			all = append(all, driver.NamedValue{Ordinal: n + 1, Value: l.values[lit]})
			lit++
		case len(args) == 0:
			return all // too few: the server will say so
		default:
			all, args = append(all, args[0]), args[1:]
		}
	}
	return all
}

// fill writes the literals back into a text made from the skeleton.
func (l *inlined) fill(text string, mode lexMode) string {
	var b strings.Builder
	at, n, lit := 0, 0, 0
	for _, t := range tokenize(text, mode) {
		if t.kind != tokParam {
			continue
		}
		if lit < len(l.at) && l.at[lit] == n {
			b.WriteString(text[at:t.start] + l.texts[lit])
			at = t.end
			lit++
		}
		n++
	}
	return b.String() + text[at:]
}
