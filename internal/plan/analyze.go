package plan

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// Make plans a statement. One that names no listed table, as most do, is not parsed.
func Make(s *catalog.Schema, text string, mode sqltext.Mode, db string) *Plan {
	var p *Plan
	toks := sqltext.Tokenize(text, mode)
	if s.Mentions(text) || sqltext.NamesNoTable(toks) {
		p = NewPlan(s, text, mode, db)
		p.Named = true
	} else {
		p = &Plan{Effect: sqltext.EffectOf(toks), Work: splitInto(sqltext.OneByOne(text, toks, mode))}
	}
	p.Locking, p.Fixes = sqltext.LockingRead(toks), sqltext.ConsistentRead(toks)
	p.Simple = p.Effect == nil && p.Work == nil && p.Writes == nil && p.Sweep == nil && p.Encounter == nil
	return p
}

// NewPlan decides what becomes of a statement. It does no I/O.
func NewPlan(s *catalog.Schema, text string, mode sqltext.Mode, db string) *Plan {
	a := newAnalyzer(s, text, mode, db)
	effect := sqltext.EffectOf(a.toks)
	p, e := a.plan(effect), a.encounter(effect)
	_, split := p.Work.(*Split)
	if _, calls := effect.(sqltext.Call); e != nil && !split && !calls {
		if parts := sqltext.Statements(text, a.toks); len(parts) > 1 {
			p, split = &Plan{Work: &Split{parts}}, true
		}
	}
	if !split {
		p.Encounter = e
	}
	_, loads := effect.(sqltext.Load)
	p.Once = sqltext.AssignsAny(a.toks) || loads && sqltext.HasWord(a.toks, "LOCAL")
	p.Effect, p.Params = effect, len(a.params)
	return p
}

// analyzer is one statement on its way to a plan.
type analyzer struct {
	*namespace
	parsed parsed
}

func newAnalyzer(s *catalog.Schema, text string, mode sqltext.Mode, db string) *analyzer {
	return &analyzer{namespace: &namespace{statement: newStatement(s.Server, text, mode), schema: s, db: db}}
}

// plan tells what the statement may do with counter tables by its first words, and which of
// them it names.
func (a *analyzer) plan(effect sqltext.Effect) *Plan {
	tables, via := a.schema.Reach(a.toks, a.text)
	via, feeders := splitFeeders(via)
	p := a.planned(effect, tables, via, feeders != nil)
	switch p.Work.(type) {
	case *Split, *Refused:
		return p
	}
	if feeders != nil {
		return a.feed(p, effect, feeders)
	}
	return p
}

// planned is the plan apart from what triggers do to slots, if that is feeds.
func (a *analyzer) planned(effect sqltext.Effect, tables []*catalog.Table, via []catalog.Dependent, feeds bool) *Plan {
	_, calls := effect.(sqltext.Call)
	if effect == (sqltext.Execute{}) && a.toks[0].Is("EXECUTE") || calls && len(tables) == 0 && a.toks[0].Is("HANDLER") {
		tables = a.schema.All() // the prepared text may name any, and so may the handler's OPEN
	}
	named := len(tables) > 0 || len(via) > 0 // or a comment mentions one, say
	if parts := sqltext.Statements(a.text, a.toks); (named || feeds) && len(parts) > 1 && !calls {
		return &Plan{Work: &Split{parts}}
	}
	if !named {
		return &Plan{Work: splitInto(sqltext.OneByOne(a.text, a.toks, a.mode))}
	}
	switch effect.(type) {
	case nil:
		return a.dml(tables, via)
	case sqltext.DDL:
		return a.ddl(tables, via)
	case sqltext.Load:
		return a.load(tables, via)
	case sqltext.Lock:
		return &Plan{Work: &TableLocks{readThrough(a.namedTables(tables), via)}}
	case sqltext.Execute:
		if a.toks[0].Is("PREPARE") {
			return &Plan{}
		}
		return a.opaque(tables, via, "it runs a text prepared earlier")
	case sqltext.Temporary:
		if a.fromQuery() {
			return a.opaque(tables, via, "it makes a table from a query")
		}
		return &Plan{}
	case sqltext.Set, sqltext.SetAutocommit, sqltext.SetTransaction, sqltext.Call:
		return a.anything(calls, tables, via)
	}
	return &Plan{}
}

// anything plans a statement that changes the session, or runs what is not seen.
func (a *analyzer) anything(calls bool, tables []*catalog.Table, via []catalog.Dependent) *Plan {
	if a.toks[0].Is("HANDLER") && !sqltext.HasWord(a.toks, "READ") {
		return &Plan{} // opens or closes it
	}
	if analyzes := a.toks[0].Is("ANALYZE"); !calls || a.toks[0].Is("DO") || analyzes { // whose strings nothing runs, unlike those of CALL
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

// opaque is the exact way for what is not understood: every key of every
// table it could reach.
func (a *analyzer) opaque(tables []*catalog.Table, via []catalog.Dependent, reason string) *Plan {
	tables = slices.Clone(tables)
	for _, d := range via {
		tables = with(tables, d.Tables...)
	}
	catalog.SortTables(tables)
	if p := a.refusal(tables); p != nil {
		return p
	}
	p := &Plan{Reason: reason, Work: &Exact{Rows: allOf(tables)}}
	if !a.onlyReads() {
		p.Writes = anyRow(tables)
	}
	return p
}

// refusal is the plan of a statement that names an unfit table; nil if all are fit.
func (a *analyzer) refusal(tables []*catalog.Table) *Plan {
	for _, t := range tables {
		if t.Unfit != nil || t.Missing != "" && !(a.schema.Made && t.DDL().NotMade()) {
			return &Plan{Work: &Refused{t}}
		}
	}
	return nil
}

// dml plans a query or a data change.
func (a *analyzer) dml(tables []*catalog.Table, via []catalog.Dependent) *Plan {
	a.parsed = a.parse()
	stmt := a.parsed.stmt
	a.alias = a.parsed.alias
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
	if p := a.refusal(named); p != nil {
		return p
	}
	for _, t := range named {
		if slices.ContainsFunc(ctes, func(name string) bool { return strings.EqualFold(name, t.Spec.Name) }) {
			return a.opaque(named, through, "a common table expression has the table's name")
		}
	}
	p := a.indirect(stmt, named, through)
	a.notes(p, stmt)
	return p
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
