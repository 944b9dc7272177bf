package plan

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// OneTrip is a statement that fails if a row of its has slots: then one round trip is enough, and
// its answer is the statement's, be it that no row is changed.
type OneTrip struct {
	Waits bool // behind its look at the slots it may wait for a child, a parent or an index entry
	Reads bool // so it may for what it reads of others by triggers, functions or subqueries: another isolation level would show them otherwise

	texts []Template // cut where several rows are locked, and their slots looked at
	rows  RowSet     // those
}

// Several reports whether it may be of more than one row.
func (o *OneTrip) Several() bool { return o.rows.Table != nil }

// Text is what is sent; false where several keys can't be told. Several rows are locked first: else the
// second would be behind the gap of the first one's slots, in which a COMMIT that has it waits to insert its
// own.
func (o *OneTrip) Text(a Arguments) (string, bool) {
	text := o.texts[0].written(nil, a.Literals)
	if !o.Several() {
		return string(text), true
	}
	rows := o.rows
	where, ok := rows.Bind(a.Binder)
	slots, _ := BindKeys(rows.Keys, catalog.PrivateName, a.Binder)
	text = append(text, slotsql.AreFree(rows.Table, rows.Name, where, slots, len(rows.Keys))...)
	return string(o.texts[1].written(text, a.Literals)), ok && a.MatchExactly(rows.Keys)
}

// Apart is the text of one row whose literals are parameters.
func (o *OneTrip) Apart() string { return o.texts[0].sql() }

// tripOfRows is an UPDATE of the rows that have these keys; nil where it may not be one. It looks at their
// slots before it changes any, and has their gaps then: so it may wait for nothing more, such as an index, a
// parent, or another table's row, while a COMMIT waits to insert a slot there. Nor may it be without the gaps:
// then rows come that it has not looked at. Who takes units of a row that has a reserve would wait for it.
func (up singleUpdate) tripOfRows(keys []KeyValue) *OneTrip {
	t := up.t
	if len(keys) < 2 || !slices.Equal(keys[0].Columns, t.Key) || !t.Key.Integers() || catalog.Reserves(t) || t.Fed || t.UpdateTriggers ||
		up.Order != nil || up.Limit != nil || hinted(up.node) || !up.plain(up.Where) || !up.maySendTwice() || readsOthers(up.toks) || up.waits() {
		return nil
	}
	start, end := up.whereSpan()
	return &OneTrip{texts: up.inOrder(up.text[:start]+" ("+up.text[start:end]+") AND ", up.text[end:]), rows: RowSet{Table: t, Name: up.name, Keys: keys}}
}

// inOrder makes templates of a text in pieces, which has the statement's parameters in their order.
func (st *statement) inOrder(texts ...string) (cuts []Template) {
	first := 0
	for _, text := range texts {
		var params []int
		for range sqltext.Parameters(sqltext.Tokenize(text, st.mode)) {
			params = append(params, first)
			first++
		}
		cuts = append(cuts, cut(text, st.mode, params))
	}
	return cuts
}

// maySendTwice reports whether the statement may be sent again where the first try was refused, and returns
// no rows.
func (src source) maySendTwice() bool {
	for i, tok := range src.toks {
		if tok.Is("RETURNING") || sqltext.Acts(src.toks, i) || tok.Is("RAND") || sqltext.Assigns(src.toks, i) {
			return false
		}
	}
	return true
}

// readsOthers reports whether an UPDATE or DELETE may read other tables than its own.
func readsOthers(toks []sqltext.Token) bool {
	return sqltext.HasWord(toks, "SELECT", "TABLE") || sqltext.CallsOwn(toks)
}

// waits reports whether it may wait for a parent, or for who has locked a part of an index. Of counters and touch
// columns nobody has without the rows, but a transaction that fills another table by their order.
func (up singleUpdate) waits() bool {
	return slices.ContainsFunc(up.t.InIndexes, func(c *catalog.Column) bool {
		return !up.t.Virtual(c.Name) && slices.ContainsFunc(up.List, func(set *ast.Assignment) bool { return up.t.Changes([]*catalog.Column{c}, set.Column.Name.O) })
	})
}

// tripOfRow has what a statement of one row asks of counters asked behind a condition that the row has no
// slots. The rest stays as it is, for the server to find the row by; where that is false, the counters do not
// matter. nil where the text can't be followed.
func (src source) tripOfRow(where ast.ExprNode, waits, triggers bool) *OneTrip {
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
	reads := triggers || readsOthers(src.toks)
	return &OneTrip{Waits: waits || reads, Reads: reads, texts: src.inOrder(b.String())}
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
