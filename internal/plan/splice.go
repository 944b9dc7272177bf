package plan

import (
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// splice writes the sums into the select list of the simplest queries, which
// spares the server the view: columns, by conditions that read no counter. It returns "" for all others. together is the same with one look at the slots
// for several counters; nil where that is not better.
func (one singleSelect) splice() (text string, together *restated) {
	t, s := one.t, one.SelectStmt
	if !picksRows(s) || one.node.Source.(*ast.TableName).Schema.O != "" || s.Where != nil && !one.plain(s.Where) {
		return "", nil
	}
	from, behind := one.fromClause()
	if behind < 0 {
		return "", nil
	}
	list, aliased := one.spliceList(from, func(c *catalog.Column) string { return slotsql.TotalOf(t, c, one.name, slotsql.ReadView{}) })
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
	start := one.text[:one.toks[1].Start]
	if one.toks[0].End == one.toks[1].Start { // SELECT*, which the sums would continue
		start += " "
	}
	return start + list + one.text[one.toks[from-1].End:], one.together(func(sums *slotsql.Gathered) string {
		list, _ := one.spliceList(from, sums.Total)
		return start + list + " FROM " + sums.Joined() + one.text[behind:]
	})
}

// spliceList writes the select list one.toks[1:from] with totals in place of
// counters; "" if it holds anything but columns. aliased says that one has
// another name.
func (one singleSelect) spliceList(from int, total func(*catalog.Column) string) (list string, aliased bool) {
	t, name := one.t, one.name
	var b strings.Builder
	at := 1
	for at < from {
		start := at
		qualified := at+1 < from && one.toks[at].Ident() && one.toks[at+1].Punct('.')
		if qualified {
			if !one.means(one.toks[at].Name, name) {
				return "", false
			}
			at += 2
		}
		if at >= from {
			return "", false
		}
		switch tok := one.toks[at]; {
		case tok.Punct('*'):
			for i, c := range t.Columns {
				if i > 0 {
					b.WriteString(", ")
				}
				if t.Virtual(c.Name) {
					b.WriteString(total(c) + " AS " + sqltext.Quote(c.Name))
				} else {
					b.WriteString(sqltext.Qualified(name, c.Name))
				}
			}
		case tok.Ident() && t.Column(tok.Name) != nil && (qualified || !tok.In(selectOptions)):
			c, as := t.Column(tok.Name), tok.Name
			next := at + 1
			if next < from && one.toks[next].Is("AS") {
				next++
			}
			if next < from && one.toks[next].Ident() {
				as, at, aliased = one.toks[next].Name, next, true
			}
			if t.Virtual(c.Name) {
				b.WriteString(total(c) + " AS " + sqltext.Quote(as))
			} else {
				b.WriteString(one.text[one.toks[start].Start:one.toks[at].End])
			}
		default:
			return "", false
		}
		at++
		if at < from {
			if !one.toks[at].Punct(',') {
				return "", false
			}
			b.WriteString(", ")
			at++
		}
	}
	return b.String(), aliased
}

// selectOptions stand between SELECT and its list.
var selectOptions = sqltext.WordSet(`ALL DISTINCT DISTINCTROW HIGH_PRIORITY STRAIGHT_JOIN SQL_SMALL_RESULT SQL_BIG_RESULT SQL_BUFFER_RESULT SQL_NO_CACHE
 SQL_CACHE SQL_CALC_FOUND_ROWS`)
