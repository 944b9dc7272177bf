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

// tripOfRows is a statement for the rows that have these keys; nil where it may not be one. It looks at their
// slots before it changes any, so that triggers would run twice where one has some. Who takes units of a row
// that has a reserve would wait for it.
func (src source) tripOfRows(keys []KeyValue, where ast.ExprNode, waits bool) *OneTrip {
	t := src.t
	if len(keys) < 2 || !mayLockFirst(t, keys) || hinted(src.node) || !src.plain(where) || !src.maySendTwice() || readsOthers(src.toks) {
		return nil
	}
	start, end := src.whereSpan()
	return &OneTrip{waits, false, src.inOrder(src.text[:start]+" ("+src.text[start:end]+") AND ", src.text[end:]), RowSet{Table: t, Name: src.name, Keys: keys}}
}

// mayLockFirst reports whether rows of the table may be locked by these keys before a statement looks at their slots.
func mayLockFirst(t *catalog.Table, keys []KeyValue) bool {
	return slices.Equal(keys[0].Columns, t.Key) && t.Key.Integers() && !catalog.Reserves(t) && !t.Fed
}

// tripOfInserted is that of an INSERT or REPLACE which names all keys by which its rows meet others, or get: the look
// comes with the first of them. What rows have left in slots that are no more is looked at, too.
func (ins inserted) tripOfInserted(rows RowSet) *OneTrip {
	t := ins.t
	if !rows.Collides || len(rows.Keys) < len(ins.Lists) || t.AllUnique > 1 || !mayLockFirst(t, rows.Keys) || t.InsertTriggers || t.UpdateTriggers || t.DeleteTriggers ||
		len(ins.PartitionNames) > 0 || ins.mayIgnore(ins.IgnoreErr) || !ins.maySendTwice() ||
		slices.ContainsFunc(ins.OnDuplicate, func(set *ast.Assignment) bool { return t.Changes(t.Key, set.Column.Name.O) }) {
		return nil
	}
	given := ins.given()
	if readsOthers(ins.toks[given+1:]) {
		return nil
	}
	start, end := ins.valueSpan(given, slices.Index(ins.cols, t.Key[0]))
	return &OneTrip{true, false, ins.inOrder(ins.text[:start]+"IF(", ", "+ins.text[start:end]+", NULL)"+ins.text[end:]), rows}
}

// given is the token VALUES, or SET, behind which the values are.
func (ins inserted) given() (at int) {
	for i, tok := range sqltext.Outermost(ins.toks) {
		switch {
		case tok.Is("AS"), tok.Is("ON"):
			return at
		case tok.Is("SET"), (tok.Is("VALUES") || tok.Is("VALUE")) && ins.toks[i+1].Punct('('): // the last: the table may be called so
			at = i
		}
	}
	return at
}

// valueSpan is the text of what the first row gives a column; given is [inserted.given].
func (ins inserted) valueSpan(given, col int) (start, end int) {
	row := ins.toks[given+1:]
	if !ins.Setlist {
		row = row[1:sqltext.ClosingParen(row, 0)]
	}
	first, last := 0, len(row)-1
	for i, tok := range sqltext.Outermost(row) {
		if ends := tok.Is("AS") || tok.Is("ON") || tok.Punct(';'); ends || tok.Punct(',') {
			if last = i - 1; ends || col == 0 {
				break
			}
			first, last, col = i+1, len(row)-1, col-1
		}
	}
	if ins.Setlist { // name = value
		first += 1 + slices.IndexFunc(row[first:], func(tok sqltext.Token) bool { return tok.Punct('=') })
	}
	return row[first].Start, row[last].End
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
		if tok.Is("RETURNING") || tok.In(once) || sqltext.Assigns(src.toks, i) {
			return false
		}
	}
	return true
}

// readsOthers reports whether an UPDATE or DELETE may read other tables than its own, or the values of an INSERT.
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
	return &OneTrip{waits || reads, reads, src.inOrder(b.String()), RowSet{}}
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
