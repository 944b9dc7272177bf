package plan

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// once are the functions that may not be called a second time, where the row turns out
// to have slots.
var once = sqltext.WordSet(`GET_LOCK RELEASE_LOCK RELEASE_ALL_LOCKS SLEEP RAND NEXTVAL SETVAL NEXT`)

// OneTrip is a statement that fails if a row of its has slots: then one round trip is enough, and
// its answer is the statement's, be it that no row is changed.
type OneTrip struct {
	texts []string // cut where several rows are locked, and their slots looked at
	rows  RowSet   // those
}

// Several reports whether it may be of more than one row.
func (o *OneTrip) Several() bool { return o.rows.Table != nil }

// Text is what is sent; false where several keys can't be told. Several rows are locked first: else the
// second would be behind the gap of the first one's slots, in which a COMMIT that has it waits to insert its
// own.
func (o *OneTrip) Text(b Binder) (string, bool) {
	if !o.Several() {
		return o.texts[0], true
	}
	rows := o.rows
	where, ok := rows.Bind(b)
	slots, _ := BindKeys(rows.Keys, catalog.PrivateName, b)
	return o.texts[0] + slotsql.AreFree(rows.Table, rows.Name, where, slots, len(rows.Keys)) + o.texts[1], ok && b.MatchExactly(rows.Keys)
}

// tripOfRows is an UPDATE of the rows that have these keys; nil where it may not be one. It looks at their
// slots before it changes any, and has their gaps then: so it may wait for nothing more, such as an index, a
// parent, or another table's row, while a COMMIT waits to insert a slot there. Who takes units of a row that
// has a reserve would wait for it.
func (up singleUpdate) tripOfRows(keys []KeyValue) *OneTrip {
	t := up.t
	if len(keys) < 2 || !slices.Equal(keys[0].Columns, t.Key) || !t.Key.Integers() || catalog.Reserves(t) || t.Fed || t.UpdateTriggers ||
		up.Order != nil || up.Limit != nil || hinted(up.node) || !up.plain(up.Where) || !up.maySendTwice() ||
		slices.ContainsFunc(up.List, func(set *ast.Assignment) bool {
			return !up.local(set.Expr) || slices.Contains(t.InIndexes, t.Column(set.Column.Name.O))
		}) {
		return nil
	}
	start, end := up.whereSpan()
	return &OneTrip{[]string{up.text[:start] + " (" + up.text[start:end] + ") AND ", up.text[end:]}, RowSet{Table: t, Name: up.name, Keys: keys}}
}

// maySendTwice reports whether the statement may be sent again where the first try was refused, and returns
// no rows.
func (src source) maySendTwice() bool {
	for i, tok := range src.toks {
		if tok.Is("RETURNING") || tok.In(once) || sqltext.Assigns(src.toks, i) {
			return false
		}
	}
	return true
}

// tripOfRow has what a statement of one row asks of counters asked behind a condition that the row has no
// slots. The rest stays as it is, for the server to find the row by; where that is false, the counters do not
// matter. nil where the text can't be followed.
func (src source) tripOfRow(where ast.ExprNode) *OneTrip {
	if src.t.Fed || !src.maySendTwice() { // it would wait for others' slots, while others wait for the row
		return nil
	}
	start, end := src.whereSpan()
	asking, ok := askingCounters(src.t, where, src.tokensIn(start, end))
	if !ok {
		return nil
	}
	free := slotsql.IsFree(src.t, src.name)
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
	return &OneTrip{texts: []string{b.String()}}
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
