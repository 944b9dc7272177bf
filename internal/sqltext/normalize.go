package sqltext

import (
	"database/sql/driver"
	"slices"
	"strconv"
	"strings"
)

// Literals are the literals of a text that shares its plan with all texts that
// differ in nothing else. To the plan they are parameters.
type Literals struct {
	params int   // of the plan: literals and the text's own
	At     []int // which of them is the literal
	Texts  []string
	Values []driver.Value
}

// Text is the literal that a parameter of the plan stands for; false if it is the text's own.
func (lits *Literals) Text(param int) (text string, is bool) {
	if lits == nil {
		return "", false
	}
	at, is := slices.BinarySearch(lits.At, param)
	if !is {
		return "", false
	}
	return lits.Texts[at], true
}

// Normalize replaces the literals that are compared, added or inserted by
// parameters. All others may mean something to the plan, as in LIMIT 1,
// ORDER BY 1, COALESCE(c, 0), or to the names of columns, and stay.
func Normalize(text string, mode Mode) (string, *Literals) {
	toks := Tokenize(text, mode)
	if len(toks) == 0 {
		return text, nil
	}
	query := toks[0].Is("SELECT")
	if !query && !toks[0].Is("UPDATE") && !toks[0].Is("INSERT") && !toks[0].Is("DELETE") {
		return text, nil
	}
	var b strings.Builder
	lits, at, condition := &Literals{}, 0, !query
	depth, lists := 0, map[int]bool{} // depths of IN (…) and VALUES (…)
	for i, t := range toks {
		switch {
		case t.Kind == Versioned:
			return text, nil
		case t.Punct('('):
			depth++
			lists[depth] = i > 0 && (toks[i-1].Is("IN") || toks[i-1].Is("VALUES")) || i > 1 && toks[i-1].Punct(',') && toks[i-2].Punct(')') && lists[depth]
		case t.Punct(')'):
			depth--
		case t.Punct(';') && i < len(toks)-1:
			return text, nil
		case depth == 0 && query && t.Is("WHERE"):
			condition = true
		case depth == 0 && query && t.In(EndOfWhere), t.Is("SELECT") && i > 0:
			condition = false
		case t.Kind == Param:
			lits.params++
		case condition && i > 0 && (toks[i-1].Kind == Punctuation && strings.Contains("=+-<>", toks[i-1].Name) || lists[depth] && (toks[i-1].Punct('(') || toks[i-1].Punct(','))):
			v, ok := literalValue(text[t.Start:t.End], t, mode)
			if !ok || i+1 < len(toks) && !toks[i+1].Punct(')') && !toks[i+1].Punct(',') && !toks[i+1].Punct(';') && toks[i+1].Kind != Word {
				continue
			}
			lits.At = append(lits.At, lits.params)
			lits.params++
			lits.Texts = append(lits.Texts, text[t.Start:t.End])
			lits.Values = append(lits.Values, v)
			b.WriteString(text[at:t.Start] + "?")
			at = t.End
		}
	}
	if lits.At == nil {
		return text, nil
	}
	return b.String() + text[at:], lits
}

// literalValue reads an integer or a plain string.
func literalValue(s string, t Token, mode Mode) (driver.Value, bool) {
	switch t.Kind {
	case Number:
		n, err := strconv.ParseInt(s, 10, 64)
		return n, err == nil && strings.Trim(s, "0123456789") == ""
	case String:
		if s[0] != '\'' || len(s) < 2 || s[len(s)-1] != '\'' || strings.Contains(s, `\`) && !mode.NoBackslashEscapes {
			return nil, false
		}
		return strings.ReplaceAll(s[1:len(s)-1], "''", "'"), true
	}
	return nil, false
}

// Merge puts the literals between the arguments of a call.
func (l *Literals) Merge(args []driver.NamedValue) []driver.NamedValue {
	return l.MergeInto(make([]driver.NamedValue, 0, l.params), args)
}

// MergeInto is Merge into a slice that is empty.
func (l *Literals) MergeInto(all, args []driver.NamedValue) []driver.NamedValue {
	for n, lit := 0, 0; n < l.params; n++ {
		switch {
		case lit < len(l.At) && l.At[lit] == n:
			all = append(all, driver.NamedValue{Ordinal: n + 1, Value: l.Values[lit]})
			lit++
		case len(args) == 0:
			return all // too few: the server will say so
		default:
			all, args = append(all, args[0]), args[1:]
		}
	}
	return all
}

// Fill writes the literals back into a text made from the normalized one.
func (l *Literals) Fill(text string, mode Mode) string {
	var b strings.Builder
	at, n, lit := 0, 0, 0
	for _, t := range Tokenize(text, mode) {
		if t.Kind != Param {
			continue
		}
		if lit < len(l.At) && l.At[lit] == n {
			b.WriteString(text[at:t.Start] + l.Texts[lit])
			at = t.End
			lit++
		}
		n++
	}
	return b.String() + text[at:]
}
