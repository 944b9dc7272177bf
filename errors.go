package countermysql

import (
	"github.com/countermysql/countermysql/internal/catalog"
)

// SlotsTableError says that a counter table's slots table is missing or does
// not fit, and which DDL puts that right. With counterCreateSlots=true the
// driver runs the DDL itself, unless it would drop slots or a table of the
// application's. Its fields are the Table (database.table), the SlotsTable, the DDL, whether
// the name is Taken by another table, whether the slots table is Unseen by the user, and the
// server's Err, which errors.As finds.
type SlotsTableError = catalog.SlotsTableError

// UnfitError says why a configured table can't be a counter table. Statements
// that name the table fail with it until the table or the configuration changes. A
// table that has slots goes on where it can, see [Statistics].Degraded. Its fields are the
// Table (database.table) and the Reasons.
type UnfitError = catalog.UnfitError

// RefusedError says why the driver does not send a statement that plain MySQL would run:
// it would lose counts. Nothing was done. Its fields are the Table (database.table, or ""
// where it is no matter of one), What would be done, the Reason and the Remedy.
type RefusedError = catalog.RefusedError

// unready says why a table can't be a counter table, or not yet.
func unready(t *catalog.Table) error {
	if t.Unfit != nil {
		return &UnfitError{Table: t.String(), Reasons: t.Unfit}
	}
	return t.SlotsError()
}
