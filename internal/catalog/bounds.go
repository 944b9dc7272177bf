package catalog

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/countermysql/countermysql/internal/sqltext"
)

// bound is what a CHECK constraint says of a column: which numbers it may hold.
type bound struct {
	column      *Column
	least, most int64
}

// Bounds are the numbers that CHECK constraints let a column hold, where Bounded.
func (t *Table) Bounds(c *Column) (least, most int64) {
	least, most = math.MinInt64, math.MaxInt64
	for _, b := range t.bounds {
		if b.column == c {
			least, most = max(least, b.least), min(most, b.most)
		}
	}
	return least, most
}

// bind reads the condition of a CHECK constraint, as the server tells it; false if it says
// anything but that integer columns are not beyond constants.
func (t *Table) bind(toks []sqltext.Token) bool {
	if parts := sqltext.SplitAtAnds(inner(toks)); len(parts) > 1 {
		return !slices.ContainsFunc(parts, func(part []sqltext.Token) bool { return !t.bind(part) })
	}
	toks = inner(toks)
	at := slices.IndexFunc(toks, func(tok sqltext.Token) bool { return tok.Is("BETWEEN") || comparing(tok) })
	if at < 0 {
		return false
	}
	left, behind := toks[:at], at+1
	for behind < len(toks) && comparing(toks[behind]) {
		behind++
	}
	right, relation := toks[behind:], strings.ToUpper(names(toks[at:behind]))
	if relation == "BETWEEN" {
		and := slices.IndexFunc(right, func(tok sqltext.Token) bool { return tok.Is("AND") })
		return and > 0 && t.bound(left, ">=", right[:and]) && t.bound(left, "<=", right[and+1:])
	}
	return t.bound(left, relation, right) || t.bound(right, flipped[relation], left)
}

var flipped = map[string]string{">=": "<=", ">": "<", "<=": ">=", "<": ">"}

func comparing(tok sqltext.Token) bool {
	return tok.Kind == sqltext.Punctuation && strings.Contains("<>=!", tok.Name)
}

// bound notes what a comparison of a column with a constant says.
func (t *Table) bound(column []sqltext.Token, relation string, constant []sqltext.Token) bool {
	column = inner(column)
	if len(column) != 1 || column[0].Kind != sqltext.Name {
		return false
	}
	c := t.Column(column[0].Name)
	n, err := strconv.ParseInt(strings.NewReplacer("(", "", ")", "").Replace(names(constant)), 10, 64)
	if c == nil || !c.Integer() || err != nil || n <= math.MinInt64/2 || n >= math.MaxInt64/2 || slices.ContainsFunc(constant, func(tok sqltext.Token) bool { return tok.Kind != sqltext.Number && tok.Kind != sqltext.Punctuation }) {
		return false
	}
	b := bound{c, math.MinInt64, math.MaxInt64}
	switch relation {
	case ">=":
		b.least = n
	case ">":
		b.least = n + 1
	case "<=":
		b.most = n
	case "<":
		b.most = n - 1
	default:
		return false
	}
	t.bounds = append(t.bounds, b)
	return true
}

// inner are the tokens without the parentheses around all of them.
func inner(toks []sqltext.Token) []sqltext.Token {
	for len(toks) > 1 && toks[0].Punct('(') && sqltext.ClosingParen(toks, 0) == len(toks)-1 && toks[len(toks)-1].Punct(')') {
		toks = toks[1 : len(toks)-1]
	}
	return toks
}

// names are those of tokens, without blanks.
func names(toks []sqltext.Token) string {
	var b strings.Builder
	for _, tok := range toks {
		b.WriteString(tok.Name)
	}
	return b.String()
}
