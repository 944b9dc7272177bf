package plan

import (
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// LockedRow is a query that locks one row by its key, or by another unique one, as it was written, with
// hidden columns behind its select list: the row's key, and whether that is of the known type. If the row
// comes, it is locked, and stays so; and if it has no slots then, that is the answer.
type LockedRow struct {
	Table  *catalog.Table
	Key    KeyValue // by which it finds the row
	Text   string
	Hidden int // columns
}

// Row is the key that the hidden columns tell, and whether it is of the known type.
func (l *LockedRow) Row(hidden []string) (k catalog.Key, asKnown bool) {
	k, known := l.Table.Key.Cut(hidden)
	return k, !slices.Contains(known, "0")
}

// ByKey reports whether it finds the row by the table's key.
func (l *LockedRow) ByKey() bool { return slices.Equal(l.Key.Columns, l.Table.Key) }

// lockedRow is nil where the query may not be sent twice, has no place for hidden columns, or locks more.
func (rw rewriter) lockedRow(one singleSelect, q *Sum) *LockedRow {
	t := one.t
	keys := one.keys(one.Where)
	if !catalog.LockKeepsSlots(t) || len(q.views) != 1 || q.columns || q.views[0].Locks.Shared || len(keys) != 1 || len(t.Key) == 0 || keys[0].Momentary() ||
		!rowByRow(one.Fields) || one.Distinct || one.GroupBy != nil || one.Having != nil || one.WindowSpecs != nil || countsColumns(one.SelectStmt) ||
		one.SelectIntoOpt != nil || rw.parsed.into || rw.parsed.moreLocks > 0 || rw.acts() {
		return nil
	}
	l := &LockedRow{Table: t, Key: keys[0], Hidden: len(t.Key)}
	hidden := t.Key.Select(sqltext.Quote(one.name))
	if conds := t.Key.AsKnown(sqltext.Quote(one.name), true); conds != nil {
		hidden += ", (" + strings.Join(conds, " AND ") + ") IS TRUE"
		l.Hidden++
	}
	for _, tok := range sqltext.Outermost(rw.toks) {
		if tok.Is("FROM") {
			l.Text = rw.text[:tok.Start] + ", " + hidden + " " + rw.text[tok.Start:]
			return l
		}
	}
	return nil
}
