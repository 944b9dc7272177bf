package countermysql

import (
	"github.com/countermysql/countermysql/internal/catalog"
)

// SlotsTableError says that a counter table's slots table is missing or does
// not fit, and which DDL puts that right. With counterCreateSlots=true the
// driver runs the DDL itself, unless it would drop slots or a table of the
// application's.
type SlotsTableError = catalog.SlotsTableError

// UnfitError says why a configured table can't be a counter table. Statements
// that name the table fail with it until the table or the configuration changes. A
// table that has slots goes on where it can, see [Statistics].Degraded.
type UnfitError = catalog.UnfitError

// RefusedError says why the driver does not send a statement that plain MySQL would run:
// it would lose counts. Nothing was done.
type RefusedError = catalog.RefusedError

// unready says why a table can't be a counter table, or not yet.
func unready(t *catalog.Table) error {
	if t.Unfit != nil {
		return &UnfitError{Table: t.String(), Reasons: t.Unfit}
	}
	return t.SlotsError()
}
