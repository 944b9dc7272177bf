package plan

import (
	"cmp"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// countByDifference is a COUNT(*) by a condition on counters: the base rows that meet it,
// which their indexes find, and for the rows whose counters have changed in slots, whether
// they meet it now and did without. A sum for every row takes ten times as long where few
// have slots.
func (one singleSelect) countByDifference() *restated {
	t, name, s := one.t, one.name, one.SelectStmt
	if !picksRows(s) || s.OrderBy != nil || s.Limit != nil || s.Where == nil || len(t.Key) == 0 ||
		one.node.Source.(*ast.TableName).Schema.O != "" || !one.countsRows(s) {
		return nil
	}
	from, behind := one.fromClause()
	start, end := one.whereSpan()
	if behind < 0 || start == 0 || !one.local(s.Where) || !compares(s.Where) || one.keys(s.Where) != nil {
		return nil
	}
	g := &slotsql.Gathered{Table: t, Name: name}
	now, ok := one.withTotals(s.Where, start, end, g)
	if !ok || len(g.Columns) == 0 {
		return nil
	}
	for _, c := range g.Columns {
		if t.Counter(c.Name) == nil {
			return nil
		}
	}
	where := one.template(start, end)
	was := strings.Join(where.pieces, "?")
	field := s.Fields.Fields[0]
	as := cmp.Or(field.AsName.O, one.text[one.toks[1].Start:one.toks[4].End])
	text := "SELECT CAST(COUNT(*) + " + slotsql.Finished("(SELECT COALESCE(SUM((("+now+") IS TRUE) - (("+was+") IS TRUE)), 0) FROM ("+g.Slots()+g.Changed()+") AS "+catalog.PrivateName+
		" STRAIGHT_JOIN "+t.Base()+" AS "+sqltext.Quote(name)+" ON "+g.On()+")", "COUNT(*)") + " AS SIGNED) AS " + sqltext.Quote(as) + " " + one.text[one.toks[from].Start:]
	params := append(append([]int{}, where.params...), where.params...)
	return one.restate(text, append(params, where.params...))
}

// withTotals writes text[start:end] with totals in place of counters. ok is false where it
// is not certain that each name is a column's.
func (st *statement) withTotals(where ast.ExprNode, start, end int, g *slotsql.Gathered) (text string, ok bool) {
	refs, found := 0, 0
	every(where, func(n ast.Node) bool {
		if c, is := n.(*ast.ColumnName); is && g.Table.Virtual(c.Name.O) {
			refs++
			ok = ok || c.Schema.O != ""
		}
		return true
	})
	if ok { // the database's name stands before the table's
		return "", false
	}
	var b strings.Builder
	at := start
	for i, tok := range st.toks {
		switch {
		case tok.Start < start || tok.End > end:
		case tok.Kind == sqltext.Param:
			b.WriteString(st.text[at:tok.Start] + "?")
			at = tok.End
		case tok.Ident() && g.Table.Virtual(tok.Name) && (i+1 == len(st.toks) || !st.toks[i+1].Punct('.')): // or it is the table's name here
			first := i
			if st.toks[i-1].Punct('.') {
				first -= 2
			}
			b.WriteString(st.text[at:st.toks[first].Start] + g.Total(g.Table.Column(tok.Name)))
			at, found = tok.End, found+1
		}
	}
	b.WriteString(st.text[at:end])
	return b.String(), found == refs
}
