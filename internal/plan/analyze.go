package plan

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// analyzer is one statement on its way to a plan.
type analyzer struct {
	schema    *catalog.Schema
	text      string
	mode      sqltext.Mode
	db        string // default database
	toks      []sqltext.Token
	params    map[int]int // offset of a parameter → index of its argument
	into      bool        // it sets variables: SELECT … INTO @v
	moreLocks int         // locking clauses behind the first of a query
	alias     string      // of the inserted row: VALUES (…) AS alias ON DUPLICATE KEY UPDATE
}

// NewPlan decides what becomes of a statement. It does no I/O.
func NewPlan(s *catalog.Schema, text string, mode sqltext.Mode, db string) *Plan {
	a := &analyzer{schema: s, text: text, mode: mode, db: db, toks: sqltext.Tokenize(text, mode), params: map[int]int{}}
	for _, t := range a.toks {
		if t.Kind == sqltext.Param {
			a.params[t.Start] = len(a.params)
		}
	}
	k, arg := sqltext.EffectOf(a.toks)
	p, e := a.plan(), a.encounter(k)
	_, split := p.Work.(*Split)
	if e != nil && !split && k != sqltext.EffectCall {
		if parts := sqltext.Statements(text, a.toks); len(parts) > 1 {
			p, split = &Plan{Work: &Split{parts}}, true
		}
	}
	if !split {
		p.Encounter = e
	}
	p.Kind, p.Arg, p.Params = k, arg, len(a.params)
	return p
}

func (a *analyzer) plan() *Plan {
	k, _ := sqltext.EffectOf(a.toks)
	tables, via := a.schema.Reach(a.toks, a.text)
	if k == sqltext.EffectExecute && a.toks[0].Is("EXECUTE") || k == sqltext.EffectCall && len(tables) == 0 && a.toks[0].Is("HANDLER") {
		tables = a.schema.All() // the prepared text may name any, and so may the handler's OPEN
	}
	if len(tables) == 0 && len(via) == 0 { // a comment mentions one, say
		return &Plan{Work: splitInto(sqltext.Apart(a.text, a.toks, a.mode))}
	}
	if parts := sqltext.Statements(a.text, a.toks); len(parts) > 1 && k != sqltext.EffectCall {
		return &Plan{Work: &Split{parts}}
	}
	switch k {
	case sqltext.NoEffect:
		return a.dml(tables, via)
	case sqltext.EffectDDL:
		return a.ddl(tables, via)
	case sqltext.EffectLoad:
		return a.load(tables, via)
	case sqltext.EffectLock:
		return &Plan{Work: &TableLocks{readThrough(a.namedTables(tables), via)}}
	case sqltext.EffectExecute:
		if a.toks[0].Is("PREPARE") {
			return &Plan{}
		}
		return a.opaque(tables, via, "it runs a text prepared earlier")
	case sqltext.EffectTemporary:
		if a.fromQuery() {
			return a.opaque(tables, via, "it makes a table from a query")
		}
		return &Plan{}
	case sqltext.EffectSet, sqltext.EffectAutocommit, sqltext.EffectSetTransaction, sqltext.EffectCall:
		if a.toks[0].Is("HANDLER") && !sqltext.HasWord(a.toks, "READ") {
			return &Plan{} // opens or closes it
		}
		if analyzes := a.toks[0].Is("ANALYZE"); k != sqltext.EffectCall || a.toks[0].Is("DO") || analyzes { // whose strings nothing runs, unlike those of CALL
			tables, via = a.outsideStrings(tables, via)
			via = slices.DeleteFunc(via, func(d catalog.Dependent) bool { return !d.Reads && !analyzes })
		} else if a.toks[0].Is("CALL") {
			via = a.called(via)
		}
		if len(tables) == 0 && len(via) == 0 {
			return &Plan{}
		}
		return a.opaque(tables, via, "it can do anything")
	}
	return &Plan{}
}

// outsideStrings keeps the tables and dependents that a name outside strings means.
func (a *analyzer) outsideStrings(tables []*catalog.Table, via []catalog.Dependent) ([]*catalog.Table, []catalog.Dependent) {
	tables = slices.DeleteFunc(slices.Clone(tables), func(t *catalog.Table) bool { return !a.names(t.Spec.DB, t.Spec.Name) })
	return tables, slices.DeleteFunc(slices.Clone(via), func(d catalog.Dependent) bool {
		if d.Kind == "routine" { // whose name may be found in other databases too, and has any case
			return !a.names("", d.Name)
		}
		return !a.names(d.DB, d.Name)
	})
}

// opaque is the exact way for what is not understood: every key of every
// table it could reach.
func (a *analyzer) opaque(tables []*catalog.Table, via []catalog.Dependent, reason string) *Plan {
	tables = slices.Clone(tables)
	for _, d := range via {
		for _, t := range d.Tables {
			if !slices.Contains(tables, t) {
				tables = append(tables, t)
			}
		}
	}
	catalog.SortTables(tables)
	if p := refusal(tables); p != nil {
		return p
	}
	p := &Plan{Reason: reason, Work: &Exact{Rows: allOf(tables)}}
	if !a.onlyReads() {
		p.Writes = anyRow(tables)
	}
	return p
}

// refusal is the plan of a statement that names an unfit table; nil if all are fit.
func refusal(tables []*catalog.Table) *Plan {
	for _, t := range tables {
		if t.Unfit != nil || t.Missing != "" {
			return &Plan{Work: &Refused{t}}
		}
	}
	return nil
}

// dml plans a query or a data change.
func (a *analyzer) dml(tables []*catalog.Table, via []catalog.Dependent) *Plan {
	stmt := a.parse()
	if stmt == nil {
		named, reached := a.outsideStrings(tables, via)
		if a.onlyReads() { // fires no trigger, and makes no foreign key act
			reached = slices.DeleteFunc(reached, func(d catalog.Dependent) bool { return !d.Reads })
		}
		if len(named) == 0 && len(reached) == 0 {
			return &Plan{}
		}
		p := a.opaque(named, reached, "it could not be parsed")
		p.Fallback = true
		return p
	}
	named, ctes := a.resolve(stmt)
	through := a.through(stmt, via)
	if len(named) == 0 && len(through) == 0 {
		return &Plan{}
	}
	if p := refusal(named); p != nil {
		return p
	}
	for _, t := range named {
		if slices.ContainsFunc(ctes, func(name string) bool { return strings.EqualFold(name, t.Spec.Name) }) {
			return a.opaque(named, through, "a common table expression has the table's name")
		}
	}
	return a.indirect(stmt, named, through)
}

// direct plans a parsed statement that names counter tables.
func (a *analyzer) direct(stmt ast.StmtNode, named []*catalog.Table) *Plan {
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
func (a *analyzer) names(db, name string) bool {
	means := func(i int, in string) bool {
		return db == "" || a.schema.Key(in, a.toks[i].Name) == a.schema.Key(db, name)
	}
	for i, t := range a.toks {
		bare := i > 1 && a.toks[i-2].End < a.toks[i-1].Start // to MariaDB, FROM .t may be a table without a database
		quoted, isQuoted := t.DoubleQuoted(a.text)
		switch {
		case t.Kind == sqltext.Versioned,
			t.Ident() && strings.EqualFold(t.Name, name) && (means(i, a.databaseOf(i)) || bare && means(i, a.db)),
			isQuoted && strings.EqualFold(quoted, name):
			return true
		}
	}
	return false
}

// databaseOf is the database of the table that token i names.
func (a *analyzer) databaseOf(i int) string {
	if i > 1 && a.toks[i-1].Punct('.') && a.toks[i-2].Ident() {
		return a.toks[i-2].Name
	}
	return a.db
}

// parse parses the statement without what the parser can't read, which is blanked
// out, so that offsets stay. What it would take for code of TiDB's is a comment.
func (a *analyzer) parse() ast.StmtNode {
	if slices.ContainsFunc(a.toks, func(t sqltext.Token) bool { return t.Kind == sqltext.Versioned }) {
		return nil
	}
	if sqltext.WordAt(a.toks, 0, "UPDATE") && (sqltext.WordAt(a.toks, 1, "HIGH_PRIORITY") || sqltext.WordAt(a.toks, 1, "DELAYED")) {
		return nil // TiDB knows them there, and the servers don't
	}
	text, at := []byte(a.text), 0
	for _, t := range append(a.toks, sqltext.Token{Start: len(text)}) {
		between := text[at:t.Start]
		copy(between, bytes.ReplaceAll(between, []byte("/*T!"), []byte("/*  ")))
		at = t.End
	}
	ok := a.unreadable(func(first, last int) {
		for i := a.toks[first].Start; i < a.toks[last].End; i++ {
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
func (a *analyzer) unreadable(f func(first, last int)) (ok bool) {
	query := a.onlyReads() || a.toks[0].Is("WITH")
	insert := sqltext.WordAt(a.toks, 0, "INSERT") || sqltext.WordAt(a.toks, 0, "REPLACE")
	depth, locked := 0, -1 // the token behind a locking clause
	for i, t := range a.toks {
		switch {
		case t.Punct('('):
			depth++
		case t.Punct(')'):
			depth--
		case depth == 0 && query && t.Is("INTO"):
			if last := a.lastVariable(i); last > i { // or it is a file
				f(i, last)
				a.into = true
			}
		case sqltext.Locks(a.toks, i):
			_, _, end := sqltext.ReadLock(a.toks, i)
			if i == locked {
				f(i, end-1)
				a.moreLocks++
			}
			locked = end
		case t.Is("MODE") && i > 0 && a.toks[i-1].Is("SHARE"):
			switch {
			case sqltext.WordAt(a.toks, i+1, "NOWAIT"):
				f(i+1, i+1)
			case sqltext.WordAt(a.toks, i+1, "SKIP"), sqltext.WordAt(a.toks, i+1, "WAIT"):
				f(i+1, min(i+2, len(a.toks)-1))
			}
		case depth == 0 && t.Is("RETURNING") && (insert || a.toks[0].Is("DELETE")):
			if sqltext.HasWord(a.toks[i:], "SELECT") {
				return false // its subquery may read a counter
			}
			last := len(a.toks) - 1
			for a.toks[last].Punct(';') {
				last--
			}
			f(i, last)
		case depth == 0 && insert && !a.schema.Server.MariaDB && t.Is("AS") && sqltext.WordAt(a.toks, i+2, "ON") && sqltext.WordAt(a.toks, i+3, "DUPLICATE") && a.toks[i+1].Ident():
			a.alias = a.toks[i+1].Name
			f(i, i+1)
		}
	}
	return true
}

// lastVariable is the last token of the list of variables behind token i; i, if there
// is none.
func (a *analyzer) lastVariable(i int) int {
	isVariable := func(i int) bool { return i < len(a.toks) && a.toks[i].Kind == sqltext.Variable }
	if !isVariable(i + 1) {
		return i
	}
	for i++; isVariable(i+2) && a.toks[i+1].Punct(','); i += 2 {
	}
	return i
}

// resolve lists the counter tables that the statement's table names mean, and
// the names of its common table expressions.
func (a *analyzer) resolve(stmt ast.Node) (tables []*catalog.Table, ctes []string) {
	every(stmt, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TableName:
			if t := a.schema.Lookup(n.Schema.O, n.Name.O, a.db); t != nil && !slices.Contains(tables, t) {
				tables = append(tables, t)
			}
		case *ast.CommonTableExpression:
			ctes = append(ctes, n.Name.O)
		}
		return true
	})
	catalog.SortTables(tables)
	return tables, ctes
}
