package catalog

import (
	"fmt"
	"strings"
)

// ConfigError is one mistake in a configuration; the root has it under its own name.
type ConfigError struct {
	Place   string // "DSN parameter counterSlots", "counters.yaml:7", "Config.Tables[1].Slots"
	Problem string
	Remedy  string
}

// Error returns "countermysql: <place>: <problem>; <remedy>".
func (e *ConfigError) Error() string {
	return "countermysql: " + e.Place + ": " + e.Problem + "; " + e.Remedy
}

// SlotsTableError says that a counter table's slots table is missing or does not fit, and
// which DDL puts that right; the root has it under its own name.
type SlotsTableError struct {
	Table      string // database.table
	SlotsTable string
	DDL        string
	Taken      bool  // the name is that of another table, which the DDL drops
	Unseen     bool  // the user may not see the slots table, if there is one
	Err        error // of the server, which hides the slots table, or refused the DDL; nil if the driver did not run it
}

// Unwrap returns Err.
func (e *SlotsTableError) Unwrap() error { return e.Err }

func (e *SlotsTableError) Error() string {
	if e.Taken {
		return fmt.Sprintf("countermysql: table %s can't have its slots in %s, which is another table; choose another name with slots_table, or, if nobody needs that table, run:\n%s", e.Table, e.SlotsTable, e.DDL)
	}
	if e.Unseen {
		return fmt.Sprintf("countermysql: the user may not see the slots table %s of table %s, %v; have an administrator grant SELECT, INSERT, UPDATE, DELETE on it, and, if there is none, run:\n%s", e.SlotsTable, e.Table, e.Err, e.DDL)
	}
	if e.Err != nil {
		return fmt.Sprintf("countermysql: table %s has no slots table %s that fits, and the server refuses this, %v:\n%s", e.Table, e.SlotsTable, e.Err, e.DDL)
	}
	if strings.HasPrefix(e.DDL, "DROP") {
		return fmt.Sprintf("countermysql: slots table %s has not the key of table %s; add what it holds to the base rows, by the columns of its own key, and empty it; then set counterCreateSlots=true, or run:\n%s", e.SlotsTable, e.Table, e.DDL)
	}
	return fmt.Sprintf("countermysql: table %s has no slots table %s that fits; set counterCreateSlots=true, or run:\n%s", e.Table, e.SlotsTable, e.DDL)
}

// Ready reports whether statements may name the table.
func Ready(t *Table) bool { return t.Unfit == nil && t.Missing == "" }

// Unready says why statements that name the table fail: it can't be a counter table, or not yet;
// nil: they don't.
func Unready(t *Table) error {
	switch {
	case t.Unfit != nil:
		return &UnfitError{Table: t.String(), Reasons: t.Unfit}
	case t.Missing != "":
		return t.SlotsError()
	}
	return nil
}

// Unfoldable is Unready, or why what is in slots can't be added to base rows.
func Unfoldable(t *Table) error {
	if t.Unfit == nil && t.Unfolded {
		return &UnfitError{Table: t.String(), Reasons: t.Degraded}
	}
	return Unready(t)
}

// SlotsError says what a table's slots table lacks.
func (t *Table) SlotsError() *SlotsTableError {
	return &SlotsTableError{Table: t.String(), SlotsTable: t.Spec.SlotsTable, DDL: t.Missing, Taken: t.Taken, Unseen: t.Unseen, Err: t.Unmade}
}

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
