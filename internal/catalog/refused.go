package catalog

import (
	"fmt"
	"strings"
)

// UnfitError says why a configured table can't be a counter table. Statements
// that name the table fail with it until the table or the configuration changes. A
// table that has slots goes on where it can. The root has it under its own name.
type UnfitError struct {
	Table   string // database.table
	Reasons []string
}

func (e *UnfitError) Error() string {
	return fmt.Sprintf("countermysql: table %s can't have counters: %s", e.Table, strings.Join(e.Reasons, "; "))
}

// RefusedError says why the driver does not send a statement that plain MySQL would run:
// it would lose counts. Nothing was done. The root has it under its own name.
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
