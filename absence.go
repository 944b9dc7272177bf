package countermysql

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
)

// absence is a listed table, or a listed column, which was not there when the schema
// was read. What was absent is not known to be absent: another process may have made it
// since, and counted in it.
type absence struct {
	t      *table
	column string // "": the table
	shows  bool   // a query meets the column only if its answer has one of that name
}

// query fails with errNoTable or errNoColumn while it is absent. In a transaction, a
// table whose column is missing is then locked against DDL; one that is missing is not.
func (b absence) query() string {
	switch {
	case b.column == "":
		return "SELECT 1 FROM " + b.t.base() + " LIMIT 0"
	case b.t.column(b.column) != nil: // see makesDo
		return "SELECT " + quoteIdent(b.column) + " FROM " + b.t.slots() + " LIMIT 0"
	}
	return "SELECT " + quoteIdent(b.column) + " FROM " + b.t.base() + " LIMIT 0"
}

// absences are those of a table.
func (t *table) absences() (all []absence) {
	switch {
	case len(t.cols) == 0:
		return []absence{{t: t}}
	case t.unfit != nil || len(t.counters) > 0 && t.missing != "": // its statements fail
		return nil
	}
	for _, name := range slices.Concat(t.spec.counters, t.spec.touch) {
		if !t.virtual(name) {
			all = append(all, absence{t: t, column: name})
		}
	}
	return all
}

// absences are what a view, routine, trigger or foreign key may meet.
func (d dependent) absences() (all []absence) {
	words := identifiers(d.body)
	for _, t := range d.bare {
		for _, b := range t.absences() {
			if b.column == "" || d.changesKey || words[strings.ToLower(b.column)] {
				all = append(all, b)
			}
		}
	}
	return all
}

// encounter is what a statement may meet that was absent.
type encounter struct {
	absences []absence
	reads    bool // it only reads
	twice    bool // and may be sent twice, as it calls no function that may do something
}

// encounter finds what the statement may meet; nil if that is nothing. It may find too
// much: that costs the statement a look, and a write a transaction of its own.
func (a *analysis) encounter(k kind) *encounter {
	n := a.schema.meant(a.toks, a.text)
	if namesNoTable(a.toks) {
		n.tables, n.bare = a.schema.all(), inOrder(a.schema.bare)
	}
	var candidates, all []absence
	for _, t := range slices.Concat(n.tables, n.bare) {
		candidates = append(candidates, t.absences()...)
	}
	if candidates == nil && n.unready == nil {
		return nil
	}
	var stmt ast.StmtNode
	if k == kindOther {
		stmt = a.parse()
	}
	for _, b := range candidates {
		if a.meets(&b, k, stmt) {
			all = append(all, b)
		}
	}
	for _, d := range n.unready {
		if stmt == nil || len(a.through(stmt, []dependent{d})) > 0 {
			all = append(all, d.absences()...)
		}
	}
	if all == nil {
		return nil
	}
	reads := effectsOf(stmt).reads && !a.into && !lockingRead(a.toks)
	return &encounter{all, reads, reads && !calls(a.toks)}
}

// meets reports whether the statement may meet what was absent.
func (a *analysis) meets(b *absence, k kind, stmt ast.StmtNode) bool {
	key := a.schema.key(b.t.spec.db, b.t.spec.name)
	named := func(n *ast.TableName) bool { return a.schema.key(cmp.Or(n.Schema.O, a.db), n.Name.O) == key }
	switch {
	case stmt != nil && !some(stmt, named), stmt == nil && k != kindCall && k != kindExecute && !a.names(b.t.spec.db, b.t.spec.name):
		return false
	case stmt == nil, b.column == "", a.names("", b.column):
		return true
	case a.schema.tables[key] != nil && b.t.column(b.column) == nil: // its view does not show it, and what is exact reads all columns of the slots table
		return false
	}
	star, natural := a.star(), hasWord(a.toks, "NATURAL")
	switch s := stmt.(type) {
	case *ast.SelectStmt, *ast.SetOprStmt:
		b.shows = !natural
		return star || natural || hasWord(a.toks, "TABLE")
	case *ast.InsertStmt:
		return s.IsReplace || s.Select != nil && (star || natural || hasWord(a.toks, "TABLE")) || a.rekeys(b.t, s.OnDuplicate)
	case *ast.UpdateStmt:
		return hasWord(a.toks, "SELECT") && (star || natural) || a.rekeys(b.t, s.List)
	}
	return true
}

// star reports whether a select list takes all columns: t.*, or * at its beginning.
func (a *analysis) star() bool {
	for i, t := range a.toks[1:] {
		if before := a.toks[i]; t.punct('*') && (before.punct('.') || before.in(beforeList) || before.kind == tokHint) {
			return true
		}
	}
	return false
}

// beforeList are the words after which a select list begins.
var beforeList = wordSet(`SELECT ALL DISTINCT DISTINCTROW HIGH_PRIORITY STRAIGHT_JOIN SQL_SMALL_RESULT SQL_BIG_RESULT SQL_BUFFER_RESULT SQL_CACHE SQL_NO_CACHE SQL_CALC_FOUND_ROWS`)

// rekeys reports whether assignments may give rows of the table other keys.
func (a *analysis) rekeys(t *table, sets []*ast.Assignment) bool {
	return slices.ContainsFunc(sets, func(set *ast.Assignment) bool { return t.changes(t.key, set.Column.Name.O) })
}

// errAppeared says that what was absent is there. Nothing was done.
var errAppeared = errors.New("countermysql: a table or column has appeared; try again")

// runEncounter runs a statement that may meet what was absent, so that it is right also
// where that is there by now: then the schema is read, and it is planned anew. What only
// reads, outside a transaction, looks after it has succeeded: mostly it fails. All else
// looks before, in a transaction, in which a table that is there stays as it is.
func (c *conn) runEncounter(ctx context.Context, k *call) (outcome, error) {
	e, inside, data := k.encounter, c.inTransaction(), k.plan.kind == kindOther
	if c.locks != unlocked || c.xaEnded {
		return c.runKnown(ctx, k)
	}
	var before, behind []absence
	for _, b := range e.absences {
		switch {
		case c.temporary.made[strings.ToLower(b.t.spec.name)]: // it has the name, in this session
			continue
		case e.twice && (!inside || b.shows):
			behind = append(behind, b)
			continue
		}
		before = append(before, b)
		if b.column == "" && data && (e.twice || !e.reads) {
			behind = append(behind, b) // nothing keeps it from being made meanwhile
		}
	}
	outside := func(query string) error {
		_, err := c.connector.query(by(ctx, c.initial.kin), query)
		return err
	}
	ran := false
	try := func() (out outcome, err error) {
		if err = c.appeared(before, func(query string) error { return c.opens(ctx, query) }); err != nil {
			return outcome{}, err
		}
		if out, err = c.runKnown(ctx, k); err != nil {
			return out, err
		}
		ran = true
		met := shown(behind, out)
		if err = c.appeared(met, outside); err == nil && len(met) > 0 && e.twice && !inside {
			// It has met one of another kind of that name, or one that has gone again since: then it fails now.
			_ = out.close()
			if out, err = c.runKnown(ctx, k); err == nil {
				err = c.appeared(shown(behind, out), outside)
			} else if n := errorNumber(err); n == errNoTable || n == errNoColumn {
				return outcome{}, errAppeared
			}
		}
		if err != nil {
			_ = out.close() // the first error is the one to report
			return outcome{}, err
		}
		return out, nil
	}
	out, err := outcome{}, c.begin(ctx)
	switch {
	case err != nil:
	case inside || e.reads || !data:
		out, err = try()
	default:
		err = again(ctx, func() (err error) {
			out, err = c.alone(ctx, try)
			return err
		})
	}
	switch {
	case err == nil || !ran && !errors.Is(err, errAppeared):
		return out, err
	case ran && inside && !e.reads:
		if errors.Is(err, errAppeared) {
			err = nil
		}
		return outcome{}, cmp.Or(err, c.asDeadlock("a table was made that the statement has written"))
	case !errors.Is(err, errAppeared):
		return outcome{}, c.cut(ctx, err)
	}
	if _, err := c.connector.learn(ctx); err != nil {
		return outcome{}, c.cut(ctx, err)
	}
	if k.planUse, err = c.planOf(ctx, k.text, k.stmt); err != nil {
		return outcome{}, err
	}
	k.merged = nil
	return c.runKnown(ctx, k)
}

// shown are the absences that a query's answer may show.
func shown(all []absence, out outcome) []absence {
	return slices.DeleteFunc(slices.Clone(all), func(b absence) bool {
		return b.shows && out.rows != nil && !slices.ContainsFunc(out.rows.Columns(), func(name string) bool {
			return strings.EqualFold(name[strings.LastIndexByte(name, '.')+1:], b.column) // columnsWithAlias
		})
	})
}

// appeared is errAppeared if any of the absences has ended.
func (c *conn) appeared(all []absence, look func(query string) error) error {
	for _, b := range all {
		err := look(b.query())
		switch n := errorNumber(err); {
		case err == nil:
			return errAppeared
		case n != errNoTable && n != errNoColumn && !denied[n]:
			return err
		}
	}
	return nil
}

// opens has the server open a table; its answer is no error of the application's.
func (c *conn) opens(ctx context.Context, query string) error {
	rows, err := c.queryer.QueryContext(ctx, query, nil)
	if err != nil {
		return err
	}
	return rows.Close()
}
