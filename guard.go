package countermysql

import (
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"
)

// once are the functions that may not be called a second time, where the row turns out
// to have slots.
var once = wordSet(`GET_LOCK RELEASE_LOCK RELEASE_ALL_LOCKS SLEEP RAND NEXTVAL SETVAL NEXT`)

// guard has the statement fail if its row has slots: then one round trip is enough, and
// its answer is the statement's, be it that no row is changed. What it asks of counters
// is asked behind that. The rest stays as it is, for the server to find the row by; where
// that is false, the counters do not matter. "" where the text can't be followed.
func (a *analysis) guard(t *table, name string, where ast.ExprNode) string {
	for i, tok := range a.toks {
		if tok.is("RETURNING") || tok.in(once) || assigns(a.toks, i) {
			return ""
		}
	}
	start, end := a.whereSpan()
	first := 0
	for a.toks[first].start < start {
		first++
	}
	last := len(a.toks) - 1
	for a.toks[last].end > end {
		last--
	}
	asking, ok := a.askingCounters(t, where, a.toks[first:last+1])
	if !ok {
		return ""
	}
	// The subquery locks, because under READ COMMITTED it would otherwise look at the
	// moment before the statement got its row.
	free := "(SELECT 18446744073709551615 + (1 + 0 * " + privateName + "." + quoteIdent(t.slotCol) + ") FROM " + t.slots() + " AS " + privateName +
		" WHERE " + t.sameKey(privateName, quoteIdent(name)) + " LOCK IN SHARE MODE) IS NULL" // out of range if there is one
	var b strings.Builder
	b.WriteString(a.text[:start] + " (")
	for _, s := range asking {
		b.WriteString(a.text[start:s.start] + "IF(" + free + ", (" + a.text[s.start:s.end] + ") IS TRUE, FALSE)")
		start = s.end
	}
	b.WriteString(a.text[start:end] + ")")
	if asking == nil {
		b.WriteString(" AND " + free)
	}
	b.WriteString(a.text[end:])
	return b.String()
}

// span is a part of a statement's text.
type span struct{ start, end int }

// askingCounters finds the conditions, all of which must hold, that read counters or
// touch columns; toks are those of the whole.
func (a *analysis) askingCounters(t *table, cond ast.ExprNode, toks []token) (found []span, ok bool) {
	if !a.readsVirtualIn(t, cond) {
		return nil, true
	}
	if p, ok := cond.(*ast.ParenthesesExpr); ok && len(toks) > 2 {
		return a.askingCounters(t, p.Expr, toks[1:len(toks)-1])
	}
	conds, parts := ands(cond), splitAtAnds(toks)
	if len(conds) != len(parts) {
		return nil, false
	}
	if len(conds) == 1 {
		return []span{{toks[0].start, toks[len(toks)-1].end}}, true
	}
	for i, c := range conds {
		more, ok := a.askingCounters(t, c, parts[i])
		if !ok {
			return nil, false
		}
		found = append(found, more...)
	}
	return found, true
}

// ands splits a condition at its ANDs, but for those in parentheses.
func ands(cond ast.ExprNode) []ast.ExprNode {
	if b, ok := cond.(*ast.BinaryOperationExpr); ok && b.Op == opcode.LogicAnd {
		return append(ands(b.L), ands(b.R)...)
	}
	return []ast.ExprNode{cond}
}

// splitAtAnds splits the tokens of a condition at its ANDs. That of a BETWEEN is none,
// nor are those of a CASE, which is left in one piece.
func splitAtAnds(toks []token) [][]token {
	var parts [][]token
	first, betweens, cases := 0, 0, 0
	for i, t := range outermost(toks) {
		switch {
		case t.is("CASE"):
			cases++
		case t.is("END"):
			cases--
		case cases > 0:
		case t.is("BETWEEN"):
			betweens++
		case t.is("AND") && betweens > 0:
			betweens--
		case t.is("AND"):
			parts = append(parts, toks[first:i])
			first = i + 1
		case t.punct('&') && i+1 < len(toks) && toks[i+1].punct('&'):
			parts = append(parts, toks[first:i])
			first = i + 2
		}
	}
	return append(parts, toks[first:])
}
