package countermysql

import (
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
)

// splice writes the sums into the select list of the simplest queries, which
// spares the server the view: columns of one table, by conditions that read no
// counter. It returns "" for all others.
func (a *analysis) splice(stmt ast.StmtNode, named []*table) string {
	s, ok := stmt.(*ast.SelectStmt)
	if !ok || len(named) != 1 || s.With != nil || s.Distinct || s.GroupBy != nil || s.Having != nil || s.WindowSpecs != nil ||
		s.LockInfo != nil || s.SelectIntoOpt != nil || s.Kind != ast.SelectStmtKindSelect {
		return ""
	}
	source := singleTable(s.From)
	if source == nil || a.target(source) != named[0] || source.Source.(*ast.TableName).Schema.O != "" {
		return ""
	}
	t, name := named[0], nameOf(source)
	if s.Where != nil && !a.plain(s.Where, t, name) {
		return ""
	}
	from := 1
	for from < len(a.toks) && !a.toks[from].is("FROM") {
		from++
	}
	if !a.followsSimply(from, source) {
		return ""
	}
	list, aliased := a.spliceList(t, name, from)
	if list == "" {
		return ""
	}
	if s.OrderBy != nil {
		for _, item := range s.OrderBy.Items {
			c, ok := columnRef(item.Expr)
			if !ok || aliased || t.column(c.Name.O) == nil || t.virtual(c.Name.O) {
				return ""
			}
		}
	}
	if a.toks[0].end == a.toks[1].start { // SELECT*, which the sums would continue
		list = " " + list
	}
	return a.text[:a.toks[1].start] + list + a.text[a.toks[from-1].end:]
}

// followsSimply reports whether the FROM clause is a name and perhaps an alias.
func (a *analysis) followsSimply(from int, source *ast.TableSource) bool {
	at := from + 2
	if source.AsName.O != "" {
		if at < len(a.toks) && a.toks[at].is("AS") {
			at++
		}
		at++
	}
	return at >= len(a.toks) || a.toks[at].is("WHERE") || a.toks[at].is("ORDER") || a.toks[at].is("LIMIT") || a.toks[at].punct(';')
}

// spliceList writes the select list a.toks[1:from] with sums in place of
// counters; "" if it holds anything but columns. aliased says that one has
// another name.
func (a *analysis) spliceList(t *table, name string, from int) (list string, aliased bool) {
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
				b.WriteString(t.spliced(c, name, c.name))
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
				b.WriteString(t.spliced(c, name, as))
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

// spliced is a column of the table that the query calls name.
func (t *table) spliced(c *column, name, as string) string {
	if !t.virtual(c.name) {
		return quoteIdent(name) + "." + quoteIdent(c.name)
	}
	return t.totalOf(c, name, sight{}) + " AS " + quoteIdent(as)
}
