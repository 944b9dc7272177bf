package plan

import (
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// splice writes the sums into the select list of the simplest queries, which
// spares the server the view: columns of one table, by conditions that read no
// counter. It returns "" for all others. together is the same with one look at the slots
// for several counters; nil where that is not better.
func (a *analyzer) splice(stmt ast.StmtNode, named []*catalog.Table) (text string, together *restated) {
	s, ok := stmt.(*ast.SelectStmt)
	if !ok || len(named) != 1 || s.With != nil || s.Distinct || s.GroupBy != nil || s.Having != nil || s.WindowSpecs != nil ||
		s.LockInfo != nil || s.SelectIntoOpt != nil || s.Kind != ast.SelectStmtKindSelect {
		return "", nil
	}
	source := singleTable(s.From)
	if source == nil || a.target(source) != named[0] || source.Source.(*ast.TableName).Schema.O != "" {
		return "", nil
	}
	t, name := named[0], nameOf(source)
	if s.Where != nil && !a.plain(s.Where, t, name) {
		return "", nil
	}
	from := 1
	for from < len(a.toks) && !a.toks[from].Is("FROM") {
		from++
	}
	behind := a.followsSimply(from, source)
	if behind < 0 {
		return "", nil
	}
	list, aliased := a.spliceList(t, name, from, func(c *catalog.Column) string { return slotsql.TotalOf(t, c, name, slotsql.ReadView{}) })
	if list == "" {
		return "", nil
	}
	if s.OrderBy != nil {
		for _, item := range s.OrderBy.Items {
			c, ok := columnRef(item.Expr)
			if !ok || aliased || t.Column(c.Name.O) == nil || t.Virtual(c.Name.O) {
				return "", nil
			}
		}
	}
	start := a.text[:a.toks[1].Start]
	if a.toks[0].End == a.toks[1].Start { // SELECT*, which the sums would continue
		start += " "
	}
	return start + list + a.text[a.toks[from-1].End:], a.together(s, t, name, func(sums *slotsql.Gathered) string {
		list, _ := a.spliceList(t, name, from, sums.Total)
		return start + list + " FROM " + sums.Joined() + a.text[behind:]
	})
}

// spliceList writes the select list a.toks[1:from] with totals in place of
// counters; "" if it holds anything but columns. aliased says that one has
// another name.
func (a *analyzer) spliceList(t *catalog.Table, name string, from int, total func(*catalog.Column) string) (list string, aliased bool) {
	var b strings.Builder
	at := 1
	for at < from {
		start := at
		qualified := at+1 < from && a.toks[at].Ident() && a.toks[at+1].Punct('.')
		if qualified {
			if !a.means(a.toks[at].Name, name) {
				return "", false
			}
			at += 2
		}
		if at >= from {
			return "", false
		}
		switch tok := a.toks[at]; {
		case tok.Punct('*'):
			for i, c := range t.Columns {
				if i > 0 {
					b.WriteString(", ")
				}
				if t.Virtual(c.Name) {
					b.WriteString(total(c) + " AS " + sqltext.Quote(c.Name))
				} else {
					b.WriteString(sqltext.Quote(name) + "." + sqltext.Quote(c.Name))
				}
			}
		case tok.Ident() && t.Column(tok.Name) != nil && (qualified || !tok.In(selectOptions)):
			c, as := t.Column(tok.Name), tok.Name
			next := at + 1
			if next < from && a.toks[next].Is("AS") {
				next++
			}
			if next < from && a.toks[next].Ident() {
				as, at, aliased = a.toks[next].Name, next, true
			}
			if t.Virtual(c.Name) {
				b.WriteString(total(c) + " AS " + sqltext.Quote(as))
			} else {
				b.WriteString(a.text[a.toks[start].Start:a.toks[at].End])
			}
		default:
			return "", false
		}
		at++
		if at < from {
			if !a.toks[at].Punct(',') {
				return "", false
			}
			b.WriteString(", ")
			at++
		}
	}
	return b.String(), aliased
}

// selectOptions stand before a select list.
var selectOptions = sqltext.WordSet(`ALL DISTINCT DISTINCTROW HIGH_PRIORITY STRAIGHT_JOIN SQL_SMALL_RESULT SQL_BIG_RESULT SQL_BUFFER_RESULT SQL_NO_CACHE
 SQL_CACHE SQL_CALC_FOUND_ROWS`)
