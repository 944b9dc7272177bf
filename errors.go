package countermysql

import (
	"github.com/countermysql/countermysql/internal/catalog"
)

// SlotsTableError says that a counter table's slots table is missing or does
// not fit, and which DDL puts that right. With counterCreateSlots=true the
// driver runs the DDL itself, unless it would drop slots or a table of the
// application's.
//
//	Table      string database.table
//	SlotsTable string in the same database
//	DDL        string one statement, or two with "; " between
//	Taken      bool   the name is that of another table, which the DDL would drop
//	Unseen     bool   the user may not see the slots table, if there is one
//	Err        error  of the server, which errors.As finds; nil if the driver did not run the DDL
type SlotsTableError = catalog.SlotsTableError

// UnfitError says why a configured table can't be a counter table. Statements
// that name the table fail with it until the table or the configuration changes. A
// table that has slots goes on where it can, see [Statistics].Degraded.
//
//	Table   string   database.table
//	Reasons []string for people, each with its remedy
type UnfitError = catalog.UnfitError

// RefusedError says why the driver does not send a statement that plain MySQL would run:
// it would lose counts. Nothing was done.
//
//	Table  string database.table, or "" where it is no matter of one
//	What   string the statement, or what it would do
//	Reason string for people
//	Remedy string for people
type RefusedError = catalog.RefusedError
