package mysqlerr

import (
	"errors"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// Denied are the errors of missing privileges.
var Denied = map[uint16]bool{1044: true, 1142: true, 1143: true, 1227: true, 1370: true}

// Constraint are the errors of CHECK constraints, MariaDB's and MySQL's.
var Constraint = map[uint16]bool{4025: true, 3819: true}

// Server error numbers
// (https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html).
const (
	ErrNoColumn        = 1054
	ErrLockWait        = 1205
	ErrNoWait          = 3572 // MySQL's answer to NOWAIT
	ErrDeadlock        = 1213
	ErrOutOfRange      = 1690
	ErrBadNull         = 1048
	ErrDataRange       = 1264
	ErrBadTime         = 1292
	errChangedRow      = 1020 // MariaDB: a row changed since the snapshot
	ErrCantReopen      = 1137
	ErrMixedCollations = 1267 // of a base table's key and a slots table's, perhaps
	errWrongArguments  = 1210
	ErrSyntax          = 1064
	errNotUnique       = 1066
	errNotSupported    = 1235
	ErrUnknownTable    = 1051
	ErrDuplicateColumn = 1060
	ErrNoTable         = 1146
	ErrManyKeyParts    = 1070
	ErrLongKey         = 1071
	ErrNoDefault       = 1364
	ErrNoIndex         = 1176
	ErrNotLocked       = 1100
	ErrNoSavepoint     = 1305
	ErrYounger         = 1412 // a table is younger than the snapshot
	ErrNoStatement     = 1243 // that was prepared
	ErrManyStatements  = 1461 // are prepared on the server
	ErrReprepare       = 1615 // its tables are being altered all the time

	ErrLogsStatements = 1665 // binlog_format = STATEMENT, at this isolation level
	ErrReadOnlyServer = 1290
	ErrReadOnly       = 1792 // the transaction is
	ErrNeedsSuper     = 1419 // to make a trigger beside a binary log

	ErrInterrupted         = 1317
	errServerShutdown      = 1053
	errUnknown             = 1105
	errNetRead             = 1158
	errNetWriteInterrupted = 1161
	errCommit              = 1180
	errHook                = 3100 // Group Replication: the transaction may have been sent to the group
	errRolledBack          = 3101 // by it
	errConnectionKilled    = 1927 // MariaDB
	errStatementTime       = 1969 // MariaDB: max_statement_time. MySQL ends queries alone
)

// Unprepared are the errors of texts that are no prepared statements, which says nothing of the texts: the
// server, or a proxy, does not prepare them, or has no room.
var Unprepared = map[uint16]bool{ErrManyStatements: true, ErrReprepare: true, errNotSupported: true, ErrSyntax: true, 1047: true, 1295: true, 1390: true}

// Uncertain reports whether an error leaves open what became of the statement:
// its connection, or its COMMIT, failed. Numbers from 2000 to 2999 are of clients,
// those from 9000 on no server's: a proxy that has lost the server answers so.
func Uncertain(n uint16) bool {
	switch n {
	case errServerShutdown, errConnectionKilled, errUnknown, errCommit, errHook:
		return true
	}
	return n >= errNetRead && n <= errNetWriteInterrupted || n >= 2000 && n < 3000 || n >= 9000
}

// Waited reports whether the statement was undone because its time was up: who sends it again
// waits as long again.
func Waited(n uint16) bool { return n == ErrLockWait || n == errStatementTime }

// Beyond are the errors of a number that is out of range: of its column, or of what the server computes in.
var Beyond = map[uint16]bool{ErrDataRange: true, ErrOutOfRange: true}

// NotResolved are the errors of a query that the server could not make sense of.
var NotResolved = map[uint16]bool{1052: true, ErrNoColumn: true, 1055: true, 1056: true, ErrDuplicateColumn: true, ErrSyntax: true, errNotUnique: true, 1111: true,
	1140: true, 1191: true, errWrongArguments: true, 1214: true, 1221: true, errNotSupported: true, 1247: true, ErrMixedCollations: true, 1463: true, 3568: true, 3569: true, 3593: true}

// BadValue are errors of values that an INSERT makes of what an UPDATE may have
// taken with a warning, or otherwise.
var BadValue = map[uint16]bool{ErrDataRange: true, 1265: true, ErrMixedCollations: true, 1270: true, 1271: true, ErrBadTime: true, 1300: true, 1366: true, 1365: true, 1367: true,
	1406: true, 1411: true, 1525: true, 3854: true}

// OtherText are errors of texts that the server can't compare or convert: of a key, perhaps,
// to which another client has given another collation or character set.
var OtherText = map[uint16]bool{ErrMixedCollations: true, 3854: true}

// Number is the server's error number; 0 if the error is not the server's. What Group Replication
// rolls back at COMMIT, as another member has written the same rows, is a deadlock.
func Number(err error) uint16 {
	if err == nil {
		return 0 // spares the usual case an allocation
	}
	var e *mysql.MySQLError
	switch {
	case !errors.As(err, &e):
		return 0
	case e.Number == errRolledBack, e.Number == errCommit && strings.HasPrefix(e.Message, "Got error 149 "):
		return ErrDeadlock
	}
	return e.Number
}

// Settled reports whether the server has refused or rolled back what was sent, wherever that is asked
// later: a member that is expelled from a group rolls back what the others may commit nevertheless. Who
// sends it again at once, to the same member, is refused by that.
func Settled(err error) bool {
	var e *mysql.MySQLError
	return errors.As(err, &e) && e.Number != errRolledBack && !Uncertain(Number(err))
}

// Passing are errors that another try may not meet: locks, and a killed query.
var Passing = map[uint16]bool{ErrLockWait: true, ErrDeadlock: true, errChangedRow: true, ErrInterrupted: true, ErrNoWait: true}
