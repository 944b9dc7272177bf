package countermysql

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
)

// analysis is one statement on its way to a plan.
type analysis struct {
	schema    *schema
	text      string
	mode      lexMode
	db        string // default database
	toks      []token
	params    map[int]int // offset of a parameter → index of its argument
	into      bool        // it sets variables: SELECT … INTO @v
	moreLocks int         // locking clauses behind the first of a query
	alias     string      // of the inserted row: VALUES (…) AS alias ON DUPLICATE KEY UPDATE
}

// plan decides what becomes of a statement. It does no I/O.
func (s *schema) plan(text string, mode lexMode, db string) *plan {
	a := &analysis{schema: s, text: text, mode: mode, db: db, toks: tokenize(text, mode), params: map[int]int{}}
	for _, t := range a.toks {
		if t.kind == tokParam {
			a.params[t.start] = len(a.params)
		}
	}
	k, arg := kindOf(a.toks)
	p, e := a.plan(), a.encounter(k)
	if e != nil && p.split == nil && k != kindCall {
		if parts := statements(text, a.toks); len(parts) > 1 {
			p = &plan{split: parts}
		}
	}
	if p.split == nil {
		p.encounter = e
	}
	p.kind, p.arg, p.params = k, arg, len(a.params)
	return p
}

func (a *analysis) plan() *plan {
	k, _ := kindOf(a.toks)
	tables, via := a.schema.reach(a.toks, a.text)
	if k == kindExecute && a.toks[0].is("EXECUTE") || k == kindCall && len(tables) == 0 && a.toks[0].is("HANDLER") {
		tables = a.schema.all() // the prepared text may name any, and so may the handler's OPEN
	}
	if len(tables) == 0 && len(via) == 0 { // a comment mentions one, say
		return &plan{split: apart(a.text, a.toks, a.mode)}
	}
	if parts := statements(a.text, a.toks); len(parts) > 1 && k != kindCall {
		return &plan{split: parts}
	}
	switch k {
	case kindOther:
		return a.dml(tables, via)
	case kindDDL:
		return a.ddl(tables, via)
	case kindLoad:
		return a.load(tables, via)
	case kindLock:
		return &plan{lockTables: readThrough(a.namedTables(tables), via)}
	case kindExecute:
		if a.toks[0].is("PREPARE") {
			return &plan{}
		}
		return a.opaque(tables, via, "it runs a text prepared earlier")
	case kindTemporary:
		if a.fromQuery() {
			return a.opaque(tables, via, "it makes a table from a query")
		}
		return &plan{}
	case kindSet, kindAutocommit, kindSetTransaction, kindCall:
		if a.toks[0].is("HANDLER") && !hasWord(a.toks, "READ") {
			return &plan{} // opens or closes it
		}
		if analyzes := a.toks[0].is("ANALYZE"); k != kindCall || a.toks[0].is("DO") || analyzes { // whose strings nothing runs, unlike those of CALL
			tables, via = a.outsideStrings(tables, via)
			via = slices.DeleteFunc(via, func(d dependent) bool { return !d.reads && !analyzes })
		} else if a.toks[0].is("CALL") {
			via = a.called(via)
		}
		if len(tables) == 0 && len(via) == 0 {
			return &plan{}
		}
		return a.opaque(tables, via, "it can do anything")
	}
	return &plan{}
}

// outsideStrings keeps the tables and dependents that a name outside strings means.
func (a *analysis) outsideStrings(tables []*table, via []dependent) ([]*table, []dependent) {
	tables = slices.DeleteFunc(slices.Clone(tables), func(t *table) bool { return !a.names(t.spec.db, t.spec.name) })
	return tables, slices.DeleteFunc(slices.Clone(via), func(d dependent) bool {
		if d.kind == "routine" { // whose name may be found in other databases too, and has any case
			return !a.names("", d.name)
		}
		return !a.names(d.db, d.name)
	})
}

// opaque is the exact way for what is not understood: every key of every
// table it could reach.
func (a *analysis) opaque(tables []*table, via []dependent, reason string) *plan {
	tables = slices.Clone(tables)
	for _, d := range via {
		for _, t := range d.tables {
			if !slices.Contains(tables, t) {
				tables = append(tables, t)
			}
		}
	}
	sortTables(tables)
	if p := refusal(tables); p != nil {
		return p
	}
	p := &plan{class: exact, reason: reason, scopes: allOf(tables), reads: tables}
	if !a.onlyReads() {
		p.writes = anyRow(tables)
	}
	return p
}

// refusal is the plan of a statement that names an unfit table; nil if all are fit.
func refusal(tables []*table) *plan {
	for _, t := range tables {
		if t.unfit != nil {
			return &plan{class: refused, err: &UnfitError{Table: t.String(), Reasons: t.unfit}}
		}
		if t.missing != "" {
			return &plan{class: refused, err: t.slotsError()}
		}
	}
	return nil
}

// dml plans a query or a data change.
func (a *analysis) dml(tables []*table, via []dependent) *plan {
	stmt := a.parse()
	if stmt == nil {
		named, reached := a.outsideStrings(tables, via)
		if a.onlyReads() { // fires no trigger, and makes no foreign key act
			reached = slices.DeleteFunc(reached, func(d dependent) bool { return !d.reads })
		}
		if len(named) == 0 && len(reached) == 0 {
			return &plan{}
		}
		p := a.opaque(named, reached, "it could not be parsed")
		p.fallback = true
		return p
	}
	named, ctes := a.resolve(stmt)
	through := a.through(stmt, via)
	if len(named) == 0 && len(through) == 0 {
		return &plan{}
	}
	if p := refusal(named); p != nil {
		return p
	}
	for _, t := range named {
		if slices.ContainsFunc(ctes, func(name string) bool { return strings.EqualFold(name, t.spec.name) }) {
			return a.opaque(named, through, "a common table expression has the table's name")
		}
	}
	return a.indirect(stmt, named, through)
}

// direct plans a parsed statement that names counter tables.
func (a *analysis) direct(stmt ast.StmtNode, named []*table) *plan {
	switch stmt := stmt.(type) {
	case *ast.SelectStmt, *ast.SetOprStmt:
		return a.selection(stmt, named)
	case *ast.UpdateStmt:
		return a.update(stmt, named)
	case *ast.DeleteStmt:
		return a.deletion(stmt, named)
	case *ast.InsertStmt:
		return a.insertion(stmt, named)
	}
	return a.opaque(named, nil, "it is no statement that the driver knows")
}

// names reports whether a name outside strings, or one that is all of a string in double
// quotes, as under ANSI_QUOTES, means what has that name in a database; "": in any.
func (a *analysis) names(db, name string) bool {
	means := func(i int, in string) bool {
		return db == "" || a.schema.key(in, a.toks[i].name) == a.schema.key(db, name)
	}
	for i, t := range a.toks {
		bare := i > 1 && a.toks[i-2].end < a.toks[i-1].start // to MariaDB, FROM .t may be a table without a database
		quoted, isQuoted := t.doubleQuoted(a.text)
		switch {
		case t.kind == tokVersion,
			t.ident() && strings.EqualFold(t.name, name) && (means(i, a.databaseOf(i)) || bare && means(i, a.db)),
			isQuoted && strings.EqualFold(quoted, name):
			return true
		}
	}
	return false
}

// databaseOf is the database of the table that token i names.
func (a *analysis) databaseOf(i int) string {
	if i > 1 && a.toks[i-1].punct('.') && a.toks[i-2].ident() {
		return a.toks[i-2].name
	}
	return a.db
}

// parse parses the statement without what the parser can't read, which is blanked
// out, so that offsets stay. What it would take for code of TiDB's is a comment.
func (a *analysis) parse() ast.StmtNode {
	if slices.ContainsFunc(a.toks, func(t token) bool { return t.kind == tokVersion }) {
		return nil
	}
	if wordAt(a.toks, 0, "UPDATE") && (wordAt(a.toks, 1, "HIGH_PRIORITY") || wordAt(a.toks, 1, "DELAYED")) {
		return nil // TiDB knows them there, and the servers don't
	}
	text, at := []byte(a.text), 0
	for _, t := range append(a.toks, token{start: len(text)}) {
		between := text[at:t.start]
		copy(between, bytes.ReplaceAll(between, []byte("/*T!"), []byte("/*  ")))
		at = t.end
	}
	ok := a.unreadable(func(first, last int) {
		for i := a.toks[first].start; i < a.toks[last].end; i++ {
			text[i] = ' '
		}
	})
	if !ok {
		return nil
	}
	return parse(string(text), a.mode)
}

// unreadable calls f with the first and last tokens of what the parser can't read, and
// notes what has to be known of it: the variables of SELECT … INTO, a second locking
// clause, NOWAIT and its like behind LOCK IN SHARE MODE, a RETURNING clause, the row
// alias of an upsert. ok is false where that is not all.
func (a *analysis) unreadable(f func(first, last int)) (ok bool) {
	query := a.onlyReads() || a.toks[0].is("WITH")
	insert := wordAt(a.toks, 0, "INSERT") || wordAt(a.toks, 0, "REPLACE")
	depth, locked := 0, -1 // the token behind a locking clause
	for i, t := range a.toks {
		switch {
		case t.punct('('):
			depth++
		case t.punct(')'):
			depth--
		case depth == 0 && query && t.is("INTO"):
			if last := a.lastVariable(i); last > i { // or it is a file
				f(i, last)
				a.into = true
			}
		case locks(a.toks, i):
			_, _, end := readLock(a.toks, i)
			if i == locked {
				f(i, end-1)
				a.moreLocks++
			}
			locked = end
		case t.is("MODE") && i > 0 && a.toks[i-1].is("SHARE"):
			switch {
			case wordAt(a.toks, i+1, "NOWAIT"):
				f(i+1, i+1)
			case wordAt(a.toks, i+1, "SKIP"), wordAt(a.toks, i+1, "WAIT"):
				f(i+1, min(i+2, len(a.toks)-1))
			}
		case depth == 0 && t.is("RETURNING") && (insert || a.toks[0].is("DELETE")):
			if hasWord(a.toks[i:], "SELECT") {
				return false // its subquery may read a counter
			}
			last := len(a.toks) - 1
			for a.toks[last].punct(';') {
				last--
			}
			f(i, last)
		case depth == 0 && insert && !a.schema.server.mariaDB && t.is("AS") && wordAt(a.toks, i+2, "ON") && wordAt(a.toks, i+3, "DUPLICATE") && a.toks[i+1].ident():
			a.alias = a.toks[i+1].name
			f(i, i+1)
		}
	}
	return true
}

// lastVariable is the last token of the list of variables behind token i; i, if there
// is none.
func (a *analysis) lastVariable(i int) int {
	isVariable := func(i int) bool { return i < len(a.toks) && a.toks[i].kind == tokVar }
	if !isVariable(i + 1) {
		return i
	}
	for i++; isVariable(i+2) && a.toks[i+1].punct(','); i += 2 {
	}
	return i
}

// resolve lists the counter tables that the statement's table names mean, and
// the names of its common table expressions.
func (a *analysis) resolve(stmt ast.Node) (tables []*table, ctes []string) {
	every(stmt, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TableName:
			if t := a.schema.lookup(n.Schema.O, n.Name.O, a.db); t != nil && !slices.Contains(tables, t) {
				tables = append(tables, t)
			}
		case *ast.CommonTableExpression:
			ctes = append(ctes, n.Name.O)
		}
		return true
	})
	sortTables(tables)
	return tables, ctes
}
