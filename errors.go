package countermysql

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"
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

// Server error numbers
// (https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html).
const (
	errNoColumn        = 1054
	errLockWait        = 1205
	errNoWait          = 3572 // MySQL's answer to NOWAIT
	errDeadlock        = 1213
	errOutOfRange      = 1690
	errBadNull         = 1048
	errDataRange       = 1264
	errChangedRow      = 1020 // MariaDB: a row changed since the snapshot
	errCantReopen      = 1137
	errNotPreparable   = 1295
	errMixedCollations = 1267 // of a base table's key and a slots table's, perhaps
	errWrongArguments  = 1210
	errSyntax          = 1064
	errNotUnique       = 1066
	errNotSupported    = 1235
	errUnknownTable    = 1051
	errDuplicateColumn = 1060
	errNoTable         = 1146
	errNoDefault       = 1364
	errNoIndex         = 1176
	errNotLocked       = 1100
	errNoSavepoint     = 1305

	errReadOnlyServer = 1290
	errReadOnly       = 1792 // the transaction is READ ONLY

	errServerShutdown      = 1053
	errUnknown             = 1105
	errNetRead             = 1158
	errNetWriteInterrupted = 1161
	errCommit              = 1180
	errConnectionKilled    = 1927 // MariaDB
)

// uncertain reports whether an error leaves open what became of the statement:
// its connection, or its COMMIT, failed. Numbers from 2000 to 2999 are of clients,
// those from 9000 on no server's: a proxy that has lost the server answers so.
func uncertain(n uint16) bool {
	switch n {
	case errServerShutdown, errConnectionKilled, errUnknown, errCommit:
		return true
	}
	return n >= errNetRead && n <= errNetWriteInterrupted || n >= 2000 && n < 3000 || n >= 9000
}

// notResolved are the errors of a query that the server could not make sense of.
var notResolved = map[uint16]bool{1052: true, errNoColumn: true, 1055: true, 1056: true, 1060: true, errSyntax: true, errNotUnique: true, 1111: true,
	1140: true, 1191: true, errWrongArguments: true, 1214: true, 1221: true, errNotSupported: true, 1247: true, errMixedCollations: true, 1463: true, 3568: true, 3569: true, 3593: true}

// badValue are errors of values that an INSERT makes of what an UPDATE may have
// taken with a warning, or otherwise.
var badValue = map[uint16]bool{1264: true, 1265: true, errMixedCollations: true, 1270: true, 1271: true, 1292: true, 1300: true, 1366: true, 1365: true, 1367: true,
	1406: true, 1411: true, 1525: true, 3854: true}

// errorNumber is the server's error number; 0 if the error is not the server's.
func errorNumber(err error) uint16 {
	if err == nil {
		return 0 // spares the usual case an allocation
	}
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}
