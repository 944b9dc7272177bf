package countermysql

import (
	"slices"
	"strings"
)

// kind is what a statement does to the session and its transaction.
type kind uint8

const (
	kindOther          kind = iota // nothing
	kindBegin                      // BEGIN, START TRANSACTION, XA START: commits what is open
	kindCommit                     // COMMIT, XA END
	kindRollback                   // ROLLBACK, XA ROLLBACK, XA COMMIT
	kindSavepoint                  // SAVEPOINT x
	kindRollbackTo                 // ROLLBACK TO x
	kindRelease                    // RELEASE SAVEPOINT x
	kindDDL                        // changes the schema, commits what is open
	kindImplicit                   // commits what is open
	kindSet                        // changes the session
	kindAutocommit                 // SET autocommit
	kindSetTransaction             // SET TRANSACTION …, for the next transaction
	kindCall                       // may do anything
	kindExecute                    // PREPARE and EXECUTE as text
	kindLoad                       // LOAD DATA
	kindExplain                    // answers about a statement
	kindLock                       // LOCK TABLES, FLUSH TABLES … WITH READ LOCK
	kindUnlock                     // UNLOCK TABLES
	kindTemporary                  // CREATE or DROP TEMPORARY TABLE
)

// Arguments of kinds that are no names or isolation levels.
const (
	withSnapshot = "snapshot" // of START TRANSACTION WITH CONSISTENT SNAPSHOT
	xaEnd        = "end"      // of XA END
	onlyReads    = "do"       // of DO
	byVariable   = "@@"       // of SET @@transaction_isolation and the like
)

// implicit are the statements that commit the open transaction
// (https://dev.mysql.com/doc/refman/8.4/en/implicit-commit.html).
var implicit = wordSet(`ALTER CREATE DROP RENAME TRUNCATE GRANT REVOKE ANALYZE CACHE CHECK FLUSH OPTIMIZE REPAIR RESET INSTALL UNINSTALL CHANGE START STOP IMPORT`)

// dataWords begin the statements that leave session and transaction alone. What
// begins with another word may do anything.
var dataWords = wordSet(`SELECT INSERT UPDATE DELETE REPLACE WITH TABLE VALUES KILL DEALLOCATE SIGNAL GET CHECKSUM`)

var ddl = wordSet(`ALTER CREATE DROP RENAME TRUNCATE`)

// kindOf classifies by the first words; arg is a savepoint's name, an isolation
// level or one of the arguments above.
func kindOf(toks []token) (k kind, arg string) {
	for len(toks) > 0 && toks[0].punct('(') {
		toks = toks[1:]
	}
	if len(toks) == 0 {
		return kindOther, ""
	}
	if toks[0].kind == tokVersion {
		return kindCall, "" // code that only some servers run
	}
	switch first := strings.ToUpper(toks[0].name); first {
	case "BEGIN":
		if len(toks) > 1 && !wordAt(toks, 1, "WORK") && !toks[1].punct(';') {
			return kindCall, "" // a compound statement
		}
		return kindBegin, ""
	case "START":
		return kindOfStart(toks)
	case "COMMIT":
		return kindCommit, ""
	case "ROLLBACK":
		return kindOfRollback(toks)
	case "SAVEPOINT":
		return kindSavepoint, nameAt(toks, 1)
	case "RELEASE":
		return kindRelease, nameAt(toks, 2)
	case "XA":
		return kindOfXA(toks)
	case "SET":
		return kindOfSet(toks)
	case "USE":
		return kindSet, ""
	case "CALL", "HANDLER":
		return kindCall, ""
	case "DO":
		return kindCall, onlyReads
	case "PREPARE", "EXECUTE":
		return kindExecute, ""
	case "LOAD":
		if wordAt(toks, 1, "INDEX") {
			return kindImplicit, ""
		}
		return kindLoad, ""
	case "EXPLAIN", "DESCRIBE", "DESC", "SHOW", "HELP":
		return kindExplain, ""
	case "LOCK", "UNLOCK":
		switch {
		case wordAt(toks, 1, "INSTANCE"): // which leaves tables and transactions alone
			return kindOther, ""
		case first == "LOCK":
			return kindLock, ""
		}
		return kindUnlock, ""
	case "ANALYZE":
		if !wordAt(toks, 1, "TABLE") && !wordAt(toks, 2, "TABLE") {
			return kindCall, "" // MariaDB's ANALYZE UPDATE runs the statement
		}
		return kindImplicit, ""
	case "CREATE", "DROP":
		if wordAt(toks, 1, "TEMPORARY") || wordAt(toks, 1, "OR") && wordAt(toks, 3, "TEMPORARY") {
			return kindTemporary, ""
		}
	}
	switch {
	case wordAt(toks, 1, "PREPARE"): // DROP PREPARE is DEALLOCATE PREPARE
		return kindOther, ""
	case locksTables(toks):
		return kindLock, ""
	case toks[0].in(ddl):
		return kindDDL, ""
	case toks[0].in(implicit):
		return kindImplicit, ""
	case toks[0].in(dataWords):
		return kindOther, ""
	}
	return kindCall, ""
}

func nameAt(toks []token, i int) string {
	if i < len(toks) {
		return strings.ToLower(toks[i].name)
	}
	return ""
}

func kindOfStart(toks []token) (k kind, arg string) {
	if !wordAt(toks, 1, "TRANSACTION") {
		return kindImplicit, ""
	}
	if hasWord(toks, "SNAPSHOT") {
		return kindBegin, withSnapshot
	}
	return kindBegin, ""
}

func kindOfRollback(toks []token) (k kind, arg string) {
	for i := range toks {
		if wordAt(toks, i, "TO") {
			if wordAt(toks, i+1, "SAVEPOINT") && i+2 < len(toks) && toks[i+2].ident() {
				i++
			}
			return kindRollbackTo, nameAt(toks, i+1)
		}
	}
	return kindRollback, ""
}

func kindOfXA(toks []token) (k kind, arg string) {
	switch {
	case wordAt(toks, 1, "START"), wordAt(toks, 1, "BEGIN"):
		return kindBegin, ""
	case wordAt(toks, 1, "END"):
		return kindCommit, xaEnd
	case wordAt(toks, 1, "ROLLBACK"), wordAt(toks, 1, "COMMIT"): // what was pending was sent by XA END
		return kindRollback, ""
	}
	return kindOther, ""
}

func kindOfSet(toks []token) (kind, string) {
	if wordAt(toks, 1, "TRANSACTION") {
		for i := range toks {
			if wordAt(toks, i, "LEVEL") && i+1 < len(toks) {
				return kindSetTransaction, strings.ToUpper(words(toks[i+1:]))
			}
		}
		return kindSetTransaction, ""
	}
	if wordAt(toks, 1, "PASSWORD") || wordAt(toks, 1, "DEFAULT") && wordAt(toks, 2, "ROLE") {
		return kindImplicit, ""
	}
	for i, t := range toks {
		if t.is("STATEMENT") && i == 1 {
			return kindCall, "" // MariaDB's SET STATEMENT … FOR runs another statement
		}
		if strings.EqualFold(t.variable(), "autocommit") { // @@session.autocommit too
			return kindAutocommit, switches(toks[i+1:])
		}
		if t.kind == tokVar && nextOnly[strings.ToLower(t.name)] {
			return kindSetTransaction, byVariable
		}
	}
	return kindSet, ""
}

// nextOnly are the variables that, without a scope, are for the next transaction only.
var nextOnly = map[string]bool{"transaction_isolation": true, "tx_isolation": true, "transaction_read_only": true, "tx_read_only": true}

// nextLevel is the SQL of the level that SET @@transaction_isolation gives; "" if the
// text sets none.
func nextLevel(text string, mode lexMode) string {
	toks := tokenize(text, mode)
	for i, t := range toks {
		if t.kind != tokVar || !nextOnly[strings.ToLower(t.name)] || !strings.HasSuffix(strings.ToLower(t.name), "isolation") {
			continue
		}
		for i++; i < len(toks) && (toks[i].punct(':') || toks[i].punct('=')); i++ {
		}
		first, depth := i, 0
		for ; i < len(toks) && (depth > 0 || !toks[i].punct(',') && !toks[i].punct(';')); i++ {
			switch {
			case toks[i].punct('('):
				depth++
			case toks[i].punct(')'):
				depth--
			}
		}
		switch {
		case i == first:
			return ""
		case i > first+1 || !toks[first].ident():
			return text[toks[first].start:toks[i-1].end]
		case toks[first].is("DEFAULT"):
			return "@@global." + t.name
		}
		return "'" + toks[first].name + "'"
	}
	return ""
}

// levels are the isolation levels by their numbers.
var levels = []string{"READ UNCOMMITTED", "READ COMMITTED", repeatableRead, serializable}

// setsLevel reports whether SET gives the session a level, which the next transaction
// has then, too.
func setsLevel(toks []token) bool {
	return slices.ContainsFunc(toks, func(t token) bool {
		name := strings.ToLower(t.variable())
		return t.is("ISOLATION") || name == "transaction_isolation" || name == "tx_isolation"
	}) && !slices.ContainsFunc(toks, func(t token) bool {
		return t.is("GLOBAL") || t.kind == tokVar && strings.HasPrefix(strings.ToLower(t.name), "global.")
	})
}

// switches reads "= 1;" and the like: "on", "off", or "" if it can't be told.
func switches(toks []token) string {
	for len(toks) > 0 && (toks[0].punct(':') || toks[0].punct('=')) {
		toks = toks[1:]
	}
	if len(toks) == 0 || len(toks) > 1 && !toks[1].punct(';') {
		return ""
	}
	switch {
	case toks[0].is("ON"), toks[0].is("TRUE"), toks[0].name == "1":
		return "on"
	case toks[0].is("OFF"), toks[0].is("FALSE"), toks[0].name == "0":
		return "off"
	}
	return ""
}

// usesTables reports whether a query or data change ends what SET TRANSACTION said
// of the next transaction: outside one it is that transaction itself.
func usesTables(toks []token) bool {
	return len(toks) > 0 && (!toks[0].is("SELECT") || hasWord(toks, "FROM"))
}

// readers begin the statements that may read tables without locks.
var readers = wordSet(`SELECT WITH TABLE VALUES EXPLAIN DESCRIBE DESC`)

// lockingRead reports whether a statement is a query that locks what it reads.
func lockingRead(toks []token) bool {
	if len(toks) == 0 || !toks[0].punct('(') && !toks[0].is("SELECT") && !toks[0].is("WITH") {
		return false
	}
	for i := range toks {
		if locks(toks, i) {
			return true
		}
	}
	return false
}

// builtin stand before parentheses in SET and DO, and are no stored functions. The list
// is not complete: what others there are may read, as those may.
var builtin = wordSet(`DO SELECT FROM WHERE ON AS IN ANY ALL EXISTS AND OR XOR NOT UNION INTERVAL COUNT SUM MIN MAX AVG COALESCE IFNULL IF NULLIF GREATEST LEAST
	CAST CONVERT CONCAT NOW SLEEP GET_LOCK RELEASE_LOCK RELEASE_ALL_LOCKS LAST_INSERT_ID`)

// consistentRead reports whether a statement reads tables without locks. Queries in SET
// and DO lock what they read, as INSERT … SELECT does, unlike those of functions that
// they call.
func consistentRead(toks []token) bool {
	if len(toks) > 0 && (toks[0].is("SET") || toks[0].is("DO")) {
		for i, t := range toks[1:] {
			if t.punct('(') && toks[i].ident() && !toks[i].in(builtin) {
				return true
			}
		}
		return false
	}
	if len(toks) == 0 || !toks[0].punct('(') && !toks[0].in(readers) {
		return len(toks) > 0 && toks[0].is("CHECKSUM")
	}
	if toks[0].is("EXPLAIN") || toks[0].is("DESCRIBE") || toks[0].is("DESC") {
		if len(toks) < 2 || !toks[1].is("ANALYZE") {
			return false // only that one runs the query
		}
	}
	from, unlocked := false, 0 // SELECTs: the locks of one are not for another
	for i, t := range toks {
		switch {
		case t.is("SELECT"):
			unlocked++
		case t.is("FROM"), t.is("TABLE"):
			from = true
		case locks(toks, i):
			if i+2 >= len(toks) || !toks[i+2].is("OF") { // which leaves other tables out
				unlocked--
			}
		}
	}
	return from && (unlocked > 0 || toks[0].is("TABLE"))
}

// words joins the words up to the first punctuation.
func words(toks []token) string {
	var all []string
	for _, t := range toks {
		if t.kind != tokWord {
			break
		}
		all = append(all, t.name)
	}
	return strings.Join(all, " ")
}
