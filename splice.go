package countermysql

import (
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
)

// splice writes the sums into the select list of the simplest queries, which
// spares the server the view: columns of one table, by conditions that read no
// counter. It returns "" for all others. together is the same with one look at the slots
// for several counters; nil where that is not better.
func (a *analysis) splice(stmt ast.StmtNode, named []*table) (text string, together *restated) {
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
	for from < len(a.toks) && !a.toks[from].is("FROM") {
		from++
	}
	behind := a.followsSimply(from, source)
	if behind < 0 {
		return "", nil
	}
	list, aliased := a.spliceList(t, name, from, func(c *column) string { return t.totalOf(c, name, sight{}) })
	if list == "" {
		return "", nil
	}
	if s.OrderBy != nil {
		for _, item := range s.OrderBy.Items {
			c, ok := columnRef(item.Expr)
			if !ok || aliased || t.column(c.Name.O) == nil || t.virtual(c.Name.O) {
				return "", nil
			}
		}
	}
	start := a.text[:a.toks[1].start]
	if a.toks[0].end == a.toks[1].start { // SELECT*, which the sums would continue
		start += " "
	}
	return start + list + a.text[a.toks[from-1].end:], a.together(s, t, name, func(sums *gathered) string {
		list, _ := a.spliceList(t, name, from, sums.total)
		return start + list + " FROM " + sums.joined() + a.text[behind:]
	})
}

// followsSimply is where the text goes on behind a FROM clause that is a name and perhaps an
// alias; -1 for any other.
func (a *analysis) followsSimply(from int, source *ast.TableSource) int {
	at := from + 2
	if source.AsName.O != "" {
		if at < len(a.toks) && a.toks[at].is("AS") {
			at++
		}
		at++
	}
	if at < len(a.toks) && !a.toks[at].is("WHERE") && !a.toks[at].is("ORDER") && !a.toks[at].is("LIMIT") && !a.toks[at].punct(';') {
		return -1
	}
	return a.toks[min(at, len(a.toks))-1].end
}

// spliceList writes the select list a.toks[1:from] with totals in place of
// counters; "" if it holds anything but columns. aliased says that one has
// another name.
func (a *analysis) spliceList(t *table, name string, from int, total func(*column) string) (list string, aliased bool) {
	var b strings.Builder
	at := 1
	for at < from {
		start := at
		qualified := at+1 < from && a.toks[at].ident() && a.toks[at+1].punct('.')
		if qualified {
			if !a.means(a.toks[at].name, name) {
				return "", false
			}
			at += 2
		}
		if at >= from {
			return "", false
		}
		switch tok := a.toks[at]; {
		case tok.punct('*'):
			for i, c := range t.cols {
				if i > 0 {
					b.WriteString(", ")
				}
				if t.virtual(c.name) {
					b.WriteString(total(c) + " AS " + quoteIdent(c.name))
				} else {
					b.WriteString(quoteIdent(name) + "." + quoteIdent(c.name))
				}
			}
		case tok.ident() && t.column(tok.name) != nil && (qualified || !tok.in(selectOptions)):
			c, as := t.column(tok.name), tok.name
			next := at + 1
			if next < from && a.toks[next].is("AS") {
				next++
			}
			if next < from && a.toks[next].ident() {
				as, at, aliased = a.toks[next].name, next, true
			}
			if t.virtual(c.name) {
				b.WriteString(total(c) + " AS " + quoteIdent(as))
			} else {
				b.WriteString(a.text[a.toks[start].start:a.toks[at].end])
			}
		default:
			return "", false
		}
		at++
		if at < from {
			if !a.toks[at].punct(',') {
				return "", false
			}
			b.WriteString(", ")
			at++
		}
	}
	return b.String(), aliased
}

// selectOptions stand before a select list.
var selectOptions = wordSet(`ALL DISTINCT DISTINCTROW HIGH_PRIORITY STRAIGHT_JOIN SQL_SMALL_RESULT SQL_BIG_RESULT SQL_BUFFER_RESULT SQL_NO_CACHE
 SQL_CACHE SQL_CALC_FOUND_ROWS`)
