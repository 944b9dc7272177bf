package plan

import (
	"errors"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// look is a query as it was written, with hidden columns behind its select list that say
// of each table whose counters it reads whether that has slots. Where none has, the base rows are the
// answer, by the plain plan and with the plain types; and as both are asked in one
// statement, they are of one moment.
type look struct {
	Text   string
	Tables []*catalog.Table // one hidden column each
	Always bool             // which rows there are depends on no counter: without any, the answer is true, too

	Rows RowLook // sent where some table has slots
}

// look makes the text; nil where the query can't be sent twice, or has no place for
// hidden columns.
func (rw rewriter) look(stmt ast.StmtNode, top *topRead) *look {
	s, ok := stmt.(*ast.SelectStmt)
	if !ok || s.Kind != ast.SelectStmtKindSelect || s.LockInfo != nil || s.SelectIntoOpt != nil || rw.parsed.into || rw.parsed.moreLocks > 0 || rw.actsTwice() || countsColumns(s) {
		return nil
	}
	at, from, until := -1, len(rw.toks), len(rw.toks)
	for i, t := range sqltext.Outermost(rw.toks) {
		switch {
		case at < 0 && t.Is("FROM"):
			at, from = t.Start, i
		case at >= 0 && (sqltext.Orders(rw.toks, i) || t.Is("LIMIT")):
			until = min(until, i)
		}
	}
	if at < 0 { // SELECT EXISTS (…)
		if s.From != nil || s.Where != nil || s.Having != nil || s.GroupBy != nil || s.OrderBy != nil || s.Limit != nil || !rw.toks[0].Is("SELECT") {
			return nil
		}
		at = rw.toks[rw.lastToken()].End
	}
	l := &look{}
	var hidden strings.Builder
	for _, t := range rw.named {
		if readsVirtual(rw.toks, refsOf([]*catalog.Table{t})) {
			l.Tables = append(l.Tables, t)
			hidden.WriteString(", " + slotsql.HasSlots(t))
		}
	}
	l.Text = rw.text[:at] + hidden.String() + " " + rw.text[at:]
	rows := rw.toks[from:until]
	l.Always = !s.Distinct && s.GroupBy == nil && s.With == nil && !sqltext.HasWord(rows, "SELECT", "HAVING", "NATURAL") && !readsVirtual(rows, refsOf(rw.named))
	if l.Always {
		l.Rows = rw.rowsLooked(s, top, func(hidden []string) string {
			return rw.text[:at] + ", " + strings.Join(hidden, ", ") + " " + rw.text[at:]
		})
	}
	return l
}

// countsColumns reports whether a place in ORDER BY or GROUP BY may be behind the select list,
// where a hidden column would be.
func countsColumns(s *ast.SelectStmt) bool {
	var by []*ast.ByItem
	if s.OrderBy != nil {
		by = append(by, s.OrderBy.Items...)
	}
	if s.GroupBy != nil {
		by = append(by, s.GroupBy.Items...)
	}
	return slices.ContainsFunc(by, func(item *ast.ByItem) bool {
		at, ok := item.Expr.(*ast.PositionExpr)
		return ok && (at.N > len(s.Fields.Fields) || wild(s))
	})
}

// Blames reports whether an error may be that of a look alone: of a value that lacks what is in
// slots, or of a text that the server does not take, or a packet.
func Blames(err error) bool {
	var e *mysql.MySQLError
	return OfRow(err) || errors.Is(err, mysql.ErrPktTooLarge) || errors.As(err, &e) && (string(e.SQLState[:2]) == "42" || mysqlerr.NotResolved[e.Number])
}

// OfRow reports whether an error is one of values: of the classes 21, cardinality, and
// 22, data exception.
func OfRow(err error) bool {
	var e *mysql.MySQLError
	return err != nil && errors.As(err, &e) && e.SQLState[0] == '2' && (e.SQLState[1] == '1' || e.SQLState[1] == '2')
}
