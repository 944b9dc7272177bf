package plan

import (
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// once are the functions that may not be called a second time, where the row turns out
// to have slots.
var once = sqltext.WordSet(`GET_LOCK RELEASE_LOCK RELEASE_ALL_LOCKS SLEEP RAND NEXTVAL SETVAL NEXT`)

// guard has the statement fail if its row has slots: then one round trip is enough, and
// its answer is the statement's, be it that no row is changed. What it asks of counters
// is asked behind that. The rest stays as it is, for the server to find the row by; where
// that is false, the counters do not matter. Not for several rows: the second would be locked
// behind the gap of the first one's slots, in which a COMMIT that has it waits to insert its own.
// "" where the text can't be followed.
func (src source) guard(where ast.ExprNode) string {
	if src.t.Fed { // it would wait for others' slots, while others wait for the row
		return ""
	}
	for i, tok := range src.toks {
		if tok.Is("RETURNING") || tok.In(once) || sqltext.Assigns(src.toks, i) {
			return ""
		}
	}
	start, end := src.whereSpan()
	asking, ok := askingCounters(src.t, where, src.tokensIn(start, end))
	if !ok {
		return ""
	}
	free := freeOfSlots(src.t, src.name)
	var b strings.Builder
	b.WriteString(src.text[:start] + " (")
	for _, s := range asking {
		b.WriteString(src.text[start:s.Start] + "IF(" + free + ", (" + src.text[s.Start:s.End] + ") IS TRUE, FALSE)")
		start = s.End
	}
	b.WriteString(src.text[start:end] + ")")
	if asking == nil {
		b.WriteString(" AND " + free)
	}
	b.WriteString(src.text[end:])
	return b.String()
}

// freeOfSlots is a condition that fails, out of range, if the row has slots. The subquery
// locks, because under READ COMMITTED it would otherwise look at the moment before the
// statement got its row.
func freeOfSlots(t *catalog.Table, name string) string {
	return "(SELECT 18446744073709551615 + (1 + 0 * " + catalog.PrivateName + "." + sqltext.Quote(t.SlotCol) + ") FROM " + t.Slots() + " AS " + catalog.PrivateName +
		" FORCE INDEX (PRIMARY) WHERE " + t.Key.Same(catalog.PrivateName, sqltext.Quote(name)) + " LOCK IN SHARE MODE) IS NULL"
}

// askingCounters finds the conditions, all of which must hold, that read counters or
// touch columns; toks are those of the whole.
func askingCounters(t *catalog.Table, cond ast.ExprNode, toks []sqltext.Token) (found []sqltext.Span, ok bool) {
	if !readsVirtualIn(t, cond) {
		return nil, true
	}
	if p, ok := cond.(*ast.ParenthesesExpr); ok && len(toks) > 2 {
		return askingCounters(t, p.Expr, toks[1:len(toks)-1])
	}
	conds, parts := ands(cond), sqltext.SplitAtAnds(toks)
	if len(conds) != len(parts) {
		return nil, false
	}
	if len(conds) == 1 {
		return []sqltext.Span{{Start: toks[0].Start, End: toks[len(toks)-1].End}}, true
	}
	for i, c := range conds {
		more, ok := askingCounters(t, c, parts[i])
		if !ok {
			return nil, false
		}
		found = append(found, more...)
	}
	return found, true
}
