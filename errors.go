package countermysql

import (
	"fmt"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
)

// UnfitError says why a configured table can't be a counter table. Statements
// that name the table fail with it until the table or the configuration changes. A
// table that has slots goes on where it can, see [Statistics].Degraded.
type UnfitError struct {
	Table   string // database.table
	Reasons []string
}

func (e *UnfitError) Error() string {
	return fmt.Sprintf("countermysql: table %s can't have counters: %s", e.Table, strings.Join(e.Reasons, "; "))
}

// SlotsTableError says that a counter table's slots table is missing or does
// not fit, and which DDL puts that right. With counterCreateSlots=true the
// driver runs the DDL itself, unless it would drop slots or a table of the
// application's.
type SlotsTableError = catalog.SlotsTableError

// unready says why a table can't be a counter table, or not yet.
func unready(t *catalog.Table) error {
	if t.Unfit != nil {
		return &UnfitError{Table: t.String(), Reasons: t.Unfit}
	}
	return t.SlotsError()
}

// RefusedError says why the driver does not send a statement that plain MySQL would run:
// it would lose counts. Nothing was done.
type RefusedError struct {
	Table  string // database.table; "" where it is no matter of one
	What   string // the statement, or what it would do
	Reason string
	Remedy string
}

func (e *RefusedError) Error() string {
	of := ""
	if e.Table != "" {
		of = "table " + e.Table + ": "
	}
	return "countermysql: " + of + e.What + " is refused: " + e.Reason + "; " + e.Remedy
}
