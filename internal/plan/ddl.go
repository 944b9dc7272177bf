package plan

import (
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// RekeysIn reports whether ALTER TABLE may give the table another primary key.
func RekeysIn(toks []sqltext.Token) bool {
	return sqltext.HasWord(toks, "PRIMARY")
}

// ddl plans a statement that changes the schema.
func (a *analyzer) ddl(tables []*catalog.Table, via []catalog.Dependent) *Plan {
	ofTable := sqltext.HasWord(a.toks[:min(4, len(a.toks))], "TABLE", "TABLES")
	named := a.namedTables(tables)
	copies := sqltext.WordAt(a.toks, 0, "CREATE") && ofTable && a.fromQuery()
	if copies {
		named = readThrough(named, via)
	}
	alters, renames := sqltext.WordAt(a.toks, 0, "ALTER") && ofTable, sqltext.WordAt(a.toks, 0, "RENAME")
	drops := sqltext.WordAt(a.toks, 0, "DROP") && ofTable || sqltext.WordAt(a.toks, 0, "TRUNCATE")
	ready := slices.ContainsFunc(named, func(t *catalog.Table) bool { return t.Missing == "" && t.Unfit == nil && !t.Taken && !t.Unseen })
	concerns := func(t *catalog.Table) bool {
		switch {
		case t.Unfit != nil, t.Taken, t.Unseen, len(t.DDL().Steps()) > 1: // what has the name is for another key, if it is ours
			return false
		case t.Missing == "", drops:
			return true
		case t.DDL().NotMade(): // others may have made it since
			return copies || !ready && (alters || renames)
		}
		// it lacks a column: nothing that goes by name or key may change
		return !ready && (renames || alters && (RekeysIn(a.toks) || len(sqltext.Renamings(a.toks)) > 0 || t.TakesNamesIn(a.toks)))
	}
	named = slices.DeleteFunc(named, func(t *catalog.Table) bool { return !concerns(t) })
	switch {
	case len(named) == 0:
		return &Plan{}
	case drops:
		return &Plan{Work: &Drop{named}}
	case slices.ContainsFunc(named, func(t *catalog.Table) bool { return t.Unfolded }): // what mends it, say
	case alters, renames, sqltext.WordAt(a.toks, 0, "CREATE") && sqltext.WordAt(a.toks, 1, "OR") && ofTable && !copies:
		return &Plan{Reason: "the table may change its key or its name", Work: &Alter{named}}
	case copies:
		return &Plan{Reason: "it makes a table from a query", Work: &Alter{named}}
	}
	return &Plan{}
}

// readThrough adds the tables that are read through views.
func readThrough(tables []*catalog.Table, via []catalog.Dependent) []*catalog.Table {
	all := slices.Clone(tables)
	for _, d := range via {
		if d.Reads {
			all = append(all, d.Tables...)
		}
	}
	catalog.SortTables(all)
	return slices.Compact(all)
}
