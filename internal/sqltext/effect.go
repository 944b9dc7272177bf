package sqltext

import (
	"slices"
	"strings"
)

// Effect is what a statement does to the session and its transaction.
type Effect uint8

const (
	NoEffect             Effect = iota // nothing
	EffectBegin                        // BEGIN, START TRANSACTION, XA START: commits what is open
	EffectCommit                       // COMMIT, XA END
	EffectRollback                     // ROLLBACK, XA ROLLBACK, XA COMMIT
	EffectSavepoint                    // SAVEPOINT x
	EffectRollbackTo                   // ROLLBACK TO x
	EffectRelease                      // RELEASE SAVEPOINT x
	EffectDDL                          // changes the schema, commits what is open
	EffectImplicit                     // commits what is open
	EffectSet                          // changes the session
	EffectAutocommit                   // SET autocommit
	EffectSetTransaction               // SET TRANSACTION …, for the next transaction
	EffectCall                         // may do anything
	EffectExecute                      // PREPARE and EXECUTE as text
	EffectLoad                         // LOAD DATA
	EffectExplain                      // answers about a statement
	EffectLock                         // LOCK TABLES, FLUSH TABLES … WITH READ LOCK
	EffectUnlock                       // UNLOCK TABLES
	EffectTemporary                    // CREATE or DROP TEMPORARY TABLE
)

// Arguments of kinds that are no names or isolation levels.
const (
	WithSnapshot = "snapshot" // of START TRANSACTION WITH CONSISTENT SNAPSHOT
	XaEnd        = "end"      // of XA END
	OnlyReads    = "do"       // of DO
	ByVariable   = "@@"       // of SET @@transaction_isolation and the like
)

// implicit are the statements that commit the open transaction
// (https://dev.mysql.com/doc/refman/8.4/en/implicit-commit.html).
var implicit = WordSet(`ALTER CREATE DROP RENAME TRUNCATE GRANT REVOKE ANALYZE CACHE CHECK FLUSH OPTIMIZE REPAIR RESET INSTALL UNINSTALL CHANGE START STOP IMPORT`)

// dataWords begin the statements that leave session and transaction alone. What
// begins with another word may do anything.
var dataWords = WordSet(`SELECT INSERT UPDATE DELETE REPLACE WITH TABLE VALUES KILL DEALLOCATE SIGNAL GET CHECKSUM`)

var ddl = WordSet(`ALTER CREATE DROP RENAME TRUNCATE`)

// EffectOf classifies by the first words; arg is a savepoint's name, an isolation
// level or one of the arguments above.
func EffectOf(toks []Token) (k Effect, arg string) {
	for len(toks) > 0 && toks[0].Punct('(') {
		toks = toks[1:]
	}
	if len(toks) == 0 {
		return NoEffect, ""
	}
	if toks[0].Kind == Versioned {
		return EffectCall, "" // code that only some servers run
	}
	switch first := strings.ToUpper(toks[0].Name); first {
	case "BEGIN":
		if len(toks) > 1 && !WordAt(toks, 1, "WORK") && !toks[1].Punct(';') {
			return EffectCall, "" // a compound statement
		}
		return EffectBegin, ""
	case "START":
		return effectOfStart(toks)
	case "COMMIT":
		return EffectCommit, ""
	case "ROLLBACK":
		return effectOfRollback(toks)
	case "SAVEPOINT":
		return EffectSavepoint, nameAt(toks, 1)
	case "RELEASE":
		return EffectRelease, nameAt(toks, 2)
	case "XA":
		return effectOfXA(toks)
	case "SET":
		return effectOfSet(toks)
	case "USE":
		return EffectSet, ""
	case "CALL", "HANDLER":
		return EffectCall, ""
	case "DO":
		return EffectCall, OnlyReads
	case "PREPARE", "EXECUTE":
		return EffectExecute, ""
	case "LOAD":
		if WordAt(toks, 1, "INDEX") {
			return EffectImplicit, ""
		}
		return EffectLoad, ""
	case "EXPLAIN", "DESCRIBE", "DESC", "SHOW", "HELP":
		return EffectExplain, ""
	case "LOCK", "UNLOCK":
		switch {
		case WordAt(toks, 1, "INSTANCE"): // which leaves tables and transactions alone
			return NoEffect, ""
		case first == "LOCK":
			return EffectLock, ""
		}
		return EffectUnlock, ""
	case "ANALYZE":
		if !WordAt(toks, 1, "TABLE") && !WordAt(toks, 2, "TABLE") {
			return EffectCall, "" // MariaDB's ANALYZE UPDATE runs the statement
		}
		return EffectImplicit, ""
	case "CREATE", "DROP":
		if WordAt(toks, 1, "TEMPORARY") || WordAt(toks, 1, "OR") && WordAt(toks, 3, "TEMPORARY") {
			return EffectTemporary, ""
		}
	}
	switch {
	case WordAt(toks, 1, "PREPARE"): // DROP PREPARE is DEALLOCATE PREPARE
		return NoEffect, ""
	case LocksTables(toks):
		return EffectLock, ""
	case toks[0].In(ddl):
		return EffectDDL, ""
	case toks[0].In(implicit):
		return EffectImplicit, ""
	case toks[0].In(dataWords):
		return NoEffect, ""
	}
	return EffectCall, ""
}

func nameAt(toks []Token, i int) string {
	if i < len(toks) {
		return strings.ToLower(toks[i].Name)
	}
	return ""
}

func effectOfStart(toks []Token) (k Effect, arg string) {
	if !WordAt(toks, 1, "TRANSACTION") {
		return EffectImplicit, ""
	}
	if HasWord(toks, "SNAPSHOT") {
		return EffectBegin, WithSnapshot
	}
	return EffectBegin, ""
}

func effectOfRollback(toks []Token) (k Effect, arg string) {
	for i := range toks {
		if WordAt(toks, i, "TO") {
			if WordAt(toks, i+1, "SAVEPOINT") && i+2 < len(toks) && toks[i+2].Ident() {
				i++
			}
			return EffectRollbackTo, nameAt(toks, i+1)
		}
	}
	return EffectRollback, ""
}

func effectOfXA(toks []Token) (k Effect, arg string) {
	switch {
	case WordAt(toks, 1, "START"), WordAt(toks, 1, "BEGIN"):
		return EffectBegin, ""
	case WordAt(toks, 1, "END"):
		return EffectCommit, XaEnd
	case WordAt(toks, 1, "ROLLBACK"), WordAt(toks, 1, "COMMIT"): // what was pending was sent by XA END
		return EffectRollback, ""
	}
	return NoEffect, ""
}

func effectOfSet(toks []Token) (Effect, string) {
	if WordAt(toks, 1, "TRANSACTION") {
		for i := range toks {
			if WordAt(toks, i, "LEVEL") && i+1 < len(toks) {
				return EffectSetTransaction, strings.ToUpper(words(toks[i+1:]))
			}
		}
		return EffectSetTransaction, ""
	}
	if WordAt(toks, 1, "PASSWORD") || WordAt(toks, 1, "DEFAULT") && WordAt(toks, 2, "ROLE") {
		return EffectImplicit, ""
	}
	for i, t := range toks {
		if t.Is("STATEMENT") && i == 1 {
			return EffectCall, "" // MariaDB's SET STATEMENT … FOR runs another statement
		}
		if strings.EqualFold(t.Variable(), "autocommit") { // @@session.autocommit too
			return EffectAutocommit, switches(toks[i+1:])
		}
		if t.Kind == Variable && nextOnly[strings.ToLower(t.Name)] {
			return EffectSetTransaction, ByVariable
		}
	}
	return EffectSet, ""
}

// nextOnly are the variables that, without a scope, are for the next transaction only.
var nextOnly = map[string]bool{"transaction_isolation": true, "tx_isolation": true, "transaction_read_only": true, "tx_read_only": true}

// NextLevel is the SQL of the level that SET @@transaction_isolation gives; "" if the
// text sets none.
func NextLevel(text string, mode Mode) string {
	toks := Tokenize(text, mode)
	for i, t := range toks {
		if t.Kind != Variable || !nextOnly[strings.ToLower(t.Name)] || !strings.HasSuffix(strings.ToLower(t.Name), "isolation") {
			continue
		}
		for i++; i < len(toks) && (toks[i].Punct(':') || toks[i].Punct('=')); i++ {
		}
		first, depth := i, 0
		for ; i < len(toks) && (depth > 0 || !toks[i].Punct(',') && !toks[i].Punct(';')); i++ {
			switch {
			case toks[i].Punct('('):
				depth++
			case toks[i].Punct(')'):
				depth--
			}
		}
		switch {
		case i == first:
			return ""
		case i > first+1 || !toks[first].Ident():
			return text[toks[first].Start:toks[i-1].End]
		case toks[first].Is("DEFAULT"):
			return "@@global." + t.Name
		}
		return "'" + toks[first].Name + "'"
	}
	return ""
}

// Levels are the isolation levels by their numbers.
var Levels = []string{"READ UNCOMMITTED", "READ COMMITTED", RepeatableRead, Serializable}

// SetsLevel reports whether SET gives the session a level, which the next transaction
// has then, too.
func SetsLevel(toks []Token) bool {
	return slices.ContainsFunc(toks, func(t Token) bool {
		name := strings.ToLower(t.Variable())
		return t.Is("ISOLATION") || name == "transaction_isolation" || name == "tx_isolation"
	}) && !slices.ContainsFunc(toks, func(t Token) bool {
		return t.Is("GLOBAL") || t.Kind == Variable && strings.HasPrefix(strings.ToLower(t.Name), "global.")
	})
}

// switches reads "= 1;" and the like: "on", "off", or "" if it can't be told.
func switches(toks []Token) string {
	for len(toks) > 0 && (toks[0].Punct(':') || toks[0].Punct('=')) {
		toks = toks[1:]
	}
	if len(toks) == 0 || len(toks) > 1 && !toks[1].Punct(';') {
		return ""
	}
	switch {
	case toks[0].Is("ON"), toks[0].Is("TRUE"), toks[0].Name == "1":
		return "on"
	case toks[0].Is("OFF"), toks[0].Is("FALSE"), toks[0].Name == "0":
		return "off"
	}
	return ""
}

// UsesTables reports whether a query or data change ends what SET TRANSACTION said
// of the next transaction: outside one it is that transaction itself.
func UsesTables(toks []Token) bool {
	return len(toks) > 0 && (!toks[0].Is("SELECT") || HasWord(toks, "FROM"))
}

// readers begin the statements that may read tables without locks.
var readers = WordSet(`SELECT WITH TABLE VALUES EXPLAIN DESCRIBE DESC`)

// LockingRead reports whether a statement is a query that locks what it reads.
func LockingRead(toks []Token) bool {
	if len(toks) == 0 || !toks[0].Punct('(') && !toks[0].Is("SELECT") && !toks[0].Is("WITH") {
		return false
	}
	for i := range toks {
		if Locks(toks, i) {
			return true
		}
	}
	return false
}

// builtin stand before parentheses in SET and DO, and are no stored functions. The list
// is not complete: what others there are may read, as those may.
var builtin = WordSet(`DO SELECT FROM WHERE ON AS IN ANY ALL EXISTS AND OR XOR NOT UNION INTERVAL COUNT SUM MIN MAX AVG COALESCE IFNULL IF NULLIF GREATEST LEAST
	CAST CONVERT CONCAT NOW SLEEP GET_LOCK RELEASE_LOCK RELEASE_ALL_LOCKS LAST_INSERT_ID`)

// ConsistentRead reports whether a statement reads tables without locks. Queries in SET
// and DO lock what they read, as INSERT … SELECT does, unlike those of functions that
// they call.
func ConsistentRead(toks []Token) bool {
	if len(toks) > 0 && (toks[0].Is("SET") || toks[0].Is("DO")) {
		for i, t := range toks[1:] {
			if t.Punct('(') && toks[i].Ident() && !toks[i].In(builtin) {
				return true
			}
		}
		return false
	}
	if len(toks) == 0 || !toks[0].Punct('(') && !toks[0].In(readers) {
		return len(toks) > 0 && toks[0].Is("CHECKSUM")
	}
	if toks[0].Is("EXPLAIN") || toks[0].Is("DESCRIBE") || toks[0].Is("DESC") {
		if len(toks) < 2 || !toks[1].Is("ANALYZE") {
			return false // only that one runs the query
		}
	}
	from, unlocked := false, 0 // SELECTs: the locks of one are not for another
	for i, t := range toks {
		switch {
		case t.Is("SELECT"):
			unlocked++
		case t.Is("FROM"), t.Is("TABLE"):
			from = true
		case Locks(toks, i):
			if i+2 >= len(toks) || !toks[i+2].Is("OF") { // which leaves other tables out
				unlocked--
			}
		}
	}
	return from && (unlocked > 0 || toks[0].Is("TABLE"))
}

// words joins the words up to the first punctuation.
func words(toks []Token) string {
	var all []string
	for _, t := range toks {
		if t.Kind != Word {
			break
		}
		all = append(all, t.Name)
	}
	return strings.Join(all, " ")
}

// isolation levels as the server names them
// (https://dev.mysql.com/doc/refman/8.4/en/innodb-transaction-isolation-levels.html).
const (
	RepeatableRead = "REPEATABLE READ"
	Serializable   = "SERIALIZABLE"
)
