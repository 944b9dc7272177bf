package traffic

import "github.com/countermysql/countermysql/internal/catalog"

// Table is what is under way on a table, by whatever definition of it statements were
// planned.
type Table struct {
	Leases  Leases
	Claims  Claims
	Slots   Slots
	Reserve Reserve
}

// ByTable is something of each counter table. It is the table's of that name, whatever
// becomes of its definition.
type ByTable[T any] map[tableName]*T

// tableName is the name of a counter table, as it is configured.
type tableName struct{ db, name string }

// ForTables makes it, of zero values.
func ForTables[T any](specs []catalog.Spec) ByTable[T] {
	all := ByTable[T]{}
	for _, spec := range specs {
		all[tableName{spec.DB, spec.Name}] = new(T)
	}
	return all
}

// Of is that of a table.
func (all ByTable[T]) Of(t *catalog.Table) *T { return all[tableName{t.Spec.DB, t.Spec.Name}] }
