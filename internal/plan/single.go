package plan

import (
	"slices"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// singleSelect is a SELECT of one counter table, which it names once, in a FROM clause of its own
// and without any other table there.
type singleSelect struct {
	source
	*ast.SelectStmt
}

// singleSelect tells such a SELECT from other queries.
func (a *analyzer) singleSelect(stmt ast.Node, named []*catalog.Table) (one singleSelect, ok bool) {
	s, ok := stmt.(*ast.SelectStmt)
	if !ok || len(named) != 1 || s.With != nil || a.countTables(stmt) != 1 {
		return one, false
	}
	node := singleTable(s.From)
	if node == nil || a.target(node) == nil {
		return one, false
	}
	return singleSelect{a.sourceOf(node), s}, true
}

// fromClause is the token at which its FROM clause begins, and where the text goes on behind that, if it
// is a name and perhaps an alias; -1 for any other.
func (one singleSelect) fromClause() (from, behind int) {
	toks := one.toks
	from = 1
	for from < len(toks) && !toks[from].Is("FROM") {
		from++
	}
	at := from + 2
	if one.node.AsName.O != "" {
		if sqltext.WordAt(toks, at, "AS") {
			at++
		}
		at++
	}
	if at < len(toks) && !toks[at].Is("WHERE") && !toks[at].Is("ORDER") && !toks[at].Is("LIMIT") && !toks[at].Punct(';') {
		return from, -1
	}
	return from, toks[min(at, len(toks))-1].End
}

// numericKeys are the keys of its rows, if it gives them as numbers: those compare in one way only.
func (one singleSelect) numericKeys() []KeyValue {
	if keys := one.keys(one.Where); one.t.Key.Integers() && slices.Equal(keyColumns(keys), one.t.Key) {
		return keys
	}
	return nil
}

// keyedRows are its rows, if it gives their keys; nil if it does not.
func (one singleSelect) keyedRows() []RowSet {
	keys := one.keys(one.Where)
	if keys == nil || len(keys) > maxKeyed {
		return nil
	}
	return []RowSet{{Table: one.t, Name: one.name, Keys: keys}}
}

// maxKeyed bounds the rows that a query without a locking clause locks by their keys.
const maxKeyed = 8

// lockedRows are the rows that it can return if it locks, and the first of them, which are
// all that it locks if it has a LIMIT and no order by a counter: others take the next ones,
// as jobs from a queue. into says that it sets variables.
func (one singleSelect) lockedRows(into bool) (rows, first []RowSet) {
	rows = []RowSet{one.rows(one.Where)}
	if one.Limit == nil || one.GroupBy != nil || one.Having != nil || one.Distinct || into || one.SelectIntoOpt != nil || hinted(one.node) || !rowByRow(one.Fields) ||
		one.Where != nil && rows[0].Where == nil || one.OrderBy != nil && (readsVirtualIn(one.t, one.OrderBy) || one.sortKeys(one.SelectStmt, false) == nil) {
		return rows, rows
	}
	if few := one.few(one.Where != nil, one.Limit); few != nil {
		return rows, []RowSet{*few}
	}
	return rows, rows
}

// wide reports whether it needs the counters of most rows: then all slots are grouped once,
// which takes half the time of a sum for each row.
func (one singleSelect) wide() bool {
	t := one.t
	if one.LockInfo != nil || len(t.Key) == 0 {
		return false
	}
	for _, cond := range conjuncts(one.Where) {
		if _, isNull := unparen(cond).(*ast.IsNullExpr); !isNull && !onlyCounters(t, cond) {
			return false // perhaps it selects few rows
		}
	}
	if one.Limit == nil {
		return true
	}
	return one.GroupBy != nil || one.Having != nil || one.Distinct || readsVirtualIn(t, one.OrderBy) || one.Where != nil && readsVirtualIn(t, one.Where) ||
		!rowByRow(one.Fields)
}
