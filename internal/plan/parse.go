package plan

import (
	"bytes"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/mysql"

	"github.com/countermysql/countermysql/internal/sqltext"
)

// parsed is a statement as the parser reads it, and what is to be known of the rest.
type parsed struct {
	stmt      ast.StmtNode // nil: the parser can't read it
	into      bool         // it sets variables: SELECT … INTO @v
	moreLocks int          // locking clauses behind the first of a query
	alias     string       // of the inserted row: VALUES (…) AS alias ON DUPLICATE KEY UPDATE
}

// parse parses the statement without what the parser can't read, which is blanked
// out, so that offsets stay. What it would take for code of TiDB's is a comment.
func (st *statement) parse() (out parsed) {
	if slices.ContainsFunc(st.toks, func(t sqltext.Token) bool { return t.Kind == sqltext.Versioned }) {
		return parsed{}
	}
	if sqltext.WordAt(st.toks, 0, "UPDATE") && (sqltext.WordAt(st.toks, 1, "HIGH_PRIORITY") || sqltext.WordAt(st.toks, 1, "DELAYED")) {
		return parsed{} // TiDB knows them there, and the servers don't
	}
	text, at := []byte(st.text), 0
	for _, t := range append(st.toks, sqltext.Token{Start: len(text)}) {
		between := text[at:t.Start]
		copy(between, bytes.ReplaceAll(between, []byte("/*T!"), []byte("/*  ")))
		at = t.End
	}
	ok := out.unreadable(st, func(first, last int) {
		for i := st.toks[first].Start; i < st.toks[last].End; i++ {
			text[i] = ' '
		}
	})
	if !ok {
		return parsed{}
	}
	out.stmt = parse(string(text), st.mode)
	return out
}

// unreadable calls f with the first and last tokens of what the parser can't read, and
// notes what has to be known of it: the variables of SELECT … INTO, a second locking
// clause, NOWAIT and its like behind LOCK IN SHARE MODE, a RETURNING clause, the row
// alias of an upsert. ok is false where that is not all.
func (read *parsed) unreadable(st *statement, f func(first, last int)) (ok bool) {
	query := st.onlyReads() || st.toks[0].Is("WITH")
	insert := sqltext.WordAt(st.toks, 0, "INSERT") || sqltext.WordAt(st.toks, 0, "REPLACE")
	depth, locked := 0, -1 // the token behind a locking clause
	for i, t := range st.toks {
		switch {
		case t.Punct('('):
			depth++
		case t.Punct(')'):
			depth--
		case depth == 0 && query && t.Is("INTO"):
			if last := st.lastVariable(i); last > i { // or it is a file
				f(i, last)
				read.into = true
			}
		case sqltext.Locks(st.toks, i):
			_, _, end := sqltext.ReadLock(st.toks, i)
			if i == locked {
				f(i, end-1)
				read.moreLocks++
			}
			locked = end
		case t.Is("MODE") && i > 0 && st.toks[i-1].Is("SHARE"):
			switch {
			case sqltext.WordAt(st.toks, i+1, "NOWAIT"):
				f(i+1, i+1)
			case sqltext.WordAt(st.toks, i+1, "SKIP"), sqltext.WordAt(st.toks, i+1, "WAIT"):
				f(i+1, min(i+2, len(st.toks)-1))
			}
		case depth == 0 && t.Is("RETURNING") && (insert || st.toks[0].Is("DELETE")):
			if sqltext.HasWord(st.toks[i:], "SELECT") {
				return false // its subquery may read a counter
			}
			f(i, st.lastToken())
		case depth == 0 && insert && !st.server.MariaDB && t.Is("AS") && sqltext.WordAt(st.toks, i+2, "ON") && sqltext.WordAt(st.toks, i+3, "DUPLICATE") && st.toks[i+1].Ident():
			read.alias = st.toks[i+1].Name
			f(i, i+1)
		}
	}
	return true
}

// lastVariable is the last token of the list of variables behind token i; i, if there
// is none.
func (st *statement) lastVariable(i int) int {
	isVariable := func(i int) bool { return i < len(st.toks) && st.toks[i].Kind == sqltext.Variable }
	if !isVariable(i + 1) {
		return i
	}
	for i++; isVariable(i+2) && st.toks[i+1].Punct(','); i += 2 {
	}
	return i
}

// parse returns the statement, or nil where the parser can't read it.
func parse(text string, mode sqltext.Mode) (stmt ast.StmtNode) {
	defer func() {
		if recover() != nil { // the parser is not ours; what it can't take is exact
			stmt = nil
		}
	}()
	if misread(text, mode) {
		return nil
	}
	p := parsers.Get().(*parser.Parser)
	var sqlMode mysql.SQLMode
	if mode.AnsiQuotes {
		sqlMode |= mysql.ModeANSIQuotes
	}
	if mode.NoBackslashEscapes {
		sqlMode |= mysql.ModeNoBackslashEscapes
	}
	p.SetSQLMode(sqlMode)
	stmts, _, err := p.ParseSQL(text)
	if err != nil || len(stmts) != 1 {
		return nil
	}
	stmt = stmts[0] // ParseSQL reuses the slice, not the statement
	if len(text) < bigText {
		parsers.Put(p)
	}
	return stmt
}

// parsers are not safe for concurrent use, so each is held by one goroutine at
// a time; a parser keeps the memory of its largest text, so big texts get their own.
var parsers = sync.Pool{New: func() any { return parser.New() }}

const bigText = 1 << 16

// misread reports whether the parser would take a byte for a space that is part
// of a name to the server: 0x85 or 0xA0 where no character of UTF-8 can begin.
func misread(text string, mode sqltext.Mode) bool {
	return !utf8.ValidString(text) && slices.ContainsFunc(sqltext.Tokenize(text, mode), func(t sqltext.Token) bool {
		return t.Kind == sqltext.Word && (text[t.Start] == 0x85 || text[t.Start] == 0xA0)
	})
}
