package sqltext

import (
	"slices"
	"strings"
)

// Effect is what a statement does to the session and its transaction: one of the types below,
// or nil, if it does nothing.
type Effect interface{ effect() }

type (
	// Begin is BEGIN, START TRANSACTION, XA START: it commits what is open.
	Begin struct{ Snapshot bool } // WITH CONSISTENT SNAPSHOT

	// Commit is COMMIT and XA END.
	Commit struct{ XA bool }

	// Rollback is ROLLBACK, XA ROLLBACK and XA COMMIT, as what was pending was sent by XA END.
	Rollback struct{}

	// Savepoint is SAVEPOINT, ROLLBACK TO (Returns) and RELEASE SAVEPOINT (Releases). The name
	// is in lower case.
	Savepoint struct {
		Name              string
		Returns, Releases bool
	}

	// DDL changes the schema and commits what is open, which Implicit does too.
	DDL      struct{}
	Implicit struct{}

	// Set changes the session.
	Set struct{}

	// SetAutocommit is SET autocommit: with neither On nor Off that can't be told.
	SetAutocommit struct{ On, Off bool }

	// SetTransaction is SET TRANSACTION, for the next transaction, and what sets the variables
	// that are for it, ByVariable. Level is "" if it is not named.
	SetTransaction struct {
		Level      string
		ByVariable bool
	}

	// Call may do anything; DO only reads.
	Call struct{ OnlyReads bool }

	Execute   struct{} // PREPARE and EXECUTE as text
	Load      struct{} // LOAD DATA
	Explain   struct{} // answers about a statement
	Lock      struct{} // LOCK TABLES, FLUSH TABLES … WITH READ LOCK
	Unlock    struct{} // UNLOCK TABLES
	Temporary struct{} // CREATE or DROP TEMPORARY TABLE
)

func (Begin) effect()          {}
func (Commit) effect()         {}
func (Rollback) effect()       {}
func (Savepoint) effect()      {}
func (DDL) effect()            {}
func (Implicit) effect()       {}
func (Set) effect()            {}
func (SetAutocommit) effect()  {}
func (SetTransaction) effect() {}
func (Call) effect()           {}
func (Execute) effect()        {}
func (Load) effect()           {}
func (Explain) effect()        {}
func (Lock) effect()           {}
func (Unlock) effect()         {}
func (Temporary) effect()      {}

// implicit are the statements that commit the open transaction
// (https://dev.mysql.com/doc/refman/8.4/en/implicit-commit.html).
var implicit = WordSet(`ALTER CREATE DROP RENAME TRUNCATE GRANT REVOKE ANALYZE CACHE CHECK FLUSH OPTIMIZE REPAIR RESET INSTALL UNINSTALL CHANGE START STOP IMPORT`)

// dataWords begin the statements that leave session and transaction alone. What
// begins with another word may do anything.
var dataWords = WordSet(`SELECT INSERT UPDATE DELETE REPLACE WITH TABLE VALUES KILL DEALLOCATE SIGNAL GET CHECKSUM`)

// ofSession begin those whose words say what becomes of the session and its transaction.
var ofSession = WordSet(`SAVEPOINT RELEASE ROLLBACK COMMIT XA SET USE`)

var ddl = WordSet(`ALTER CREATE DROP RENAME TRUNCATE`)

// EffectOf classifies by the first words.
func EffectOf(toks []Token) Effect {
	for len(toks) > 0 && toks[0].Punct('(') {
		toks = toks[1:]
	}
	if len(toks) == 0 {
		return nil
	}
	if toks[0].Kind == Versioned || toks[0].In(ofSession) && versioned(toks) {
		return Call{} // code that only some servers run
	}
	switch first := strings.ToUpper(toks[0].Name); first {
	case "BEGIN":
		if len(toks) > 1 && !WordAt(toks, 1, "WORK") && !toks[1].Punct(';') {
			return Call{} // a compound statement
		}
		return Begin{}
	case "START":
		return effectOfStart(toks)
	case "COMMIT":
		return Commit{}
	case "ROLLBACK":
		return effectOfRollback(toks)
	case "SAVEPOINT":
		return Savepoint{Name: nameAt(toks, 1)}
	case "RELEASE":
		return Savepoint{Name: nameAt(toks, 2), Releases: true}
	case "XA":
		return effectOfXA(toks)
	case "SET":
		return effectOfSet(toks)
	case "USE":
		return Set{}
	case "CALL", "HANDLER":
		return Call{}
	case "DO":
		return Call{OnlyReads: true}
	case "PREPARE", "EXECUTE":
		return Execute{}
	case "LOAD":
		if WordAt(toks, 1, "INDEX") {
			return Implicit{}
		}
		return Load{}
	case "EXPLAIN", "DESCRIBE", "DESC", "SHOW", "HELP":
		return Explain{}
	case "LOCK", "UNLOCK":
		switch {
		case WordAt(toks, 1, "INSTANCE"): // which leaves tables and transactions alone
			return nil
		case first == "LOCK":
			return Lock{}
		}
		return Unlock{}
	case "ANALYZE":
		if !WordAt(toks, 1, "TABLE") && !WordAt(toks, 2, "TABLE") {
			return Call{} // MariaDB's ANALYZE UPDATE runs the statement
		}
		return Implicit{}
	case "CREATE", "DROP":
		if WordAt(toks, 1, "TEMPORARY") || WordAt(toks, 1, "OR") && WordAt(toks, 3, "TEMPORARY") {
			return Temporary{}
		}
	}
	switch {
	case WordAt(toks, 1, "PREPARE"): // DROP PREPARE is DEALLOCATE PREPARE
		return nil
	case LocksTables(toks):
		return Lock{}
	case toks[0].In(ddl):
		return DDL{}
	case toks[0].In(implicit):
		return Implicit{}
	case toks[0].In(dataWords):
		return nil
	}
	return Call{}
}

func nameAt(toks []Token, i int) string {
	if i < len(toks) {
		return strings.ToLower(toks[i].Name)
	}
	return ""
}

// versioned reports whether the first statement of a text has code that only some servers run.
func versioned(toks []Token) bool {
	i := slices.IndexFunc(toks, func(t Token) bool { return t.Kind == Versioned || t.Punct(';') })
	return i >= 0 && toks[i].Kind == Versioned
}

func effectOfStart(toks []Token) Effect {
	switch {
	case WordAt(toks, 1, "TRANSACTION"):
		return Begin{Snapshot: HasWord(toks, "SNAPSHOT")}
	case versioned(toks):
		return Call{}
	}
	return Implicit{}
}

func effectOfRollback(toks []Token) Effect {
	for i := range toks {
		if WordAt(toks, i, "TO") {
			if WordAt(toks, i+1, "SAVEPOINT") && i+2 < len(toks) && toks[i+2].Ident() {
				i++
			}
			return Savepoint{Name: nameAt(toks, i+1), Returns: true}
		}
	}
	return Rollback{}
}

func effectOfXA(toks []Token) Effect {
	switch {
	case WordAt(toks, 1, "START"), WordAt(toks, 1, "BEGIN"):
		return Begin{}
	case WordAt(toks, 1, "END"):
		return Commit{XA: true}
	case WordAt(toks, 1, "ROLLBACK"), WordAt(toks, 1, "COMMIT"): // what was pending was sent by XA END
		return Rollback{}
	}
	return nil
}

func effectOfSet(toks []Token) Effect {
	if WordAt(toks, 1, "TRANSACTION") {
		for i := range toks {
			if WordAt(toks, i, "LEVEL") && i+1 < len(toks) {
				return SetTransaction{Level: strings.ToUpper(words(toks[i+1:]))}
			}
		}
		return SetTransaction{}
	}
	if WordAt(toks, 1, "PASSWORD") || WordAt(toks, 1, "DEFAULT") && WordAt(toks, 2, "ROLE") {
		return Implicit{}
	}
	for i, t := range toks {
		if t.Is("STATEMENT") && i == 1 {
			return Call{} // MariaDB's SET STATEMENT … FOR runs another statement
		}
		if strings.EqualFold(t.Variable(), "autocommit") { // @@session.autocommit too
			return switches(toks[i+1:])
		}
		if t.Kind == Variable && nextOnly[strings.ToLower(t.Name)] {
			return SetTransaction{ByVariable: true}
		}
	}
	return Set{}
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

// switches reads "= 1;" and the like.
func switches(toks []Token) SetAutocommit {
	for len(toks) > 0 && (toks[0].Punct(':') || toks[0].Punct('=')) {
		toks = toks[1:]
	}
	if len(toks) == 0 || len(toks) > 1 && !toks[1].Punct(';') {
		return SetAutocommit{}
	}
	switch {
	case toks[0].Is("ON"), toks[0].Is("TRUE"), toks[0].Name == "1":
		return SetAutocommit{On: true}
	case toks[0].Is("OFF"), toks[0].Is("FALSE"), toks[0].Name == "0":
		return SetAutocommit{Off: true}
	}
	return SetAutocommit{}
}

// UsesTables reports whether a query or data change ends what SET TRANSACTION said
// of the next transaction: outside one it is that transaction itself.
func UsesTables(toks []Token) bool {
	return len(toks) > 0 && (!toks[0].Is("SELECT") || HasWord(toks, "FROM"))
}

// AsksOfLast reports whether a statement begins no transaction, and may ask what the last one has to say:
// SHOW WARNINGS, GET DIAGNOSTICS, SELECT ROW_COUNT(). What is sent before it would take its place.
func AsksOfLast(toks []Token) bool {
	return len(toks) > 0 && (toks[0].Is("SHOW") || toks[0].Is("GET") || !UsesTables(toks))
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
