package plan

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// Absence is a listed table, or a listed column, which was not there when the schema
// was read. What was absent is not known to be absent: another process may have made it
// since, and counted in it.
type Absence struct {
	t      *catalog.Table
	Column string // "": the table
	Shows  bool   // a query meets the column only if its answer has one of that name
}

// Query fails with ErrNoTable or ErrNoColumn while it is absent. In a transaction, a
// table whose column is missing is then locked against DDL; one that is missing is not.
func (ab Absence) Query() string {
	switch {
	case ab.Column == "":
		return "SELECT " + sqltext.Uncached + "1 FROM " + ab.t.Base() + " LIMIT 0"
	case ab.t.Column(ab.Column) != nil: // see [catalog.Table.MakesDo]
		return "SELECT " + sqltext.Uncached + sqltext.Quote(ab.Column) + " FROM " + ab.t.Slots() + " LIMIT 0"
	}
	return "SELECT " + sqltext.Uncached + sqltext.Quote(ab.Column) + " FROM " + ab.t.Base() + " LIMIT 0"
}

// MayShow reports whether an answer with these columns may show it.
func (ab Absence) MayShow(columns []string) bool {
	return !ab.Shows || slices.ContainsFunc(columns, func(name string) bool {
		return strings.EqualFold(name[strings.LastIndexByte(name, '.')+1:], ab.Column) // columnsWithAlias
	})
}

// absencesOf are those of a table.
func absencesOf(t *catalog.Table) (all []Absence) {
	switch {
	case len(t.Columns) == 0:
		return []Absence{{t: t}}
	case t.Unfit != nil || len(t.Counters) > 0 && t.Missing != "": // its statements fail
		return nil
	}
	for _, name := range slices.Concat(t.Spec.Counters, t.Spec.Touch) {
		if !t.Virtual(name) {
			all = append(all, Absence{t: t, Column: name})
		}
	}
	return all
}

// absencesVia are what a view, routine, trigger or foreign key may meet.
func absencesVia(d catalog.Dependent) (all []Absence) {
	words := sqltext.Identifiers(d.Body)
	for _, t := range d.Bare {
		for _, b := range absencesOf(t) {
			if b.Column == "" || d.ChangesKey || words[strings.ToLower(b.Column)] {
				all = append(all, b)
			}
		}
	}
	return all
}

// encounter is what a statement may meet that was absent.
type encounter struct {
	Absences []Absence
	Reads    bool // it only reads
	Twice    bool // and may be sent twice, as it calls no function that may do something
}

// Looks are the absences to look for before the statement and behind it, inside a transaction or not; data
// says that it is no DDL.
func (e *encounter) Looks(inside, data bool) (before, behind []Absence) {
	for _, ab := range e.Absences {
		late := e.Twice && (!inside || ab.Shows)
		if !late {
			before = append(before, ab)
		}
		if late || ab.Column == "" && data && (e.Twice || !e.Reads) { // nothing keeps it from being made meanwhile
			behind = append(behind, ab)
		}
	}
	return before, behind
}

// encounter finds what the statement may meet; nil if that is nothing. It may find too
// much: that costs the statement a look, and a write a transaction of its own.
func (a *analyzer) encounter(effect sqltext.Effect) *encounter {
	if effect == (sqltext.DDL{}) && sqltext.MakesTable(a.toks) { // or fails, as it is there
		return nil
	}
	n := a.schema.Meant(a.toks, a.text)
	if sqltext.NamesNoTable(a.toks) {
		n.Tables, n.Bare = a.schema.All(), catalog.InOrder(a.schema.Bare)
	}
	var candidates, all []Absence
	for _, t := range slices.Concat(n.Tables, n.Bare) {
		candidates = append(candidates, absencesOf(t)...)
	}
	if candidates == nil && n.Unready == nil {
		return nil
	}
	var read parsed
	if effect == nil {
		read = a.parse()
	}
	for _, b := range candidates {
		if a.meets(&b, effect, read.stmt) {
			all = append(all, b)
		}
	}
	for _, d := range n.Unready {
		if read.stmt == nil || len(a.through(read.stmt, []catalog.Dependent{d})) > 0 {
			all = append(all, absencesVia(d)...)
		}
	}
	if all == nil {
		return nil
	}
	reads := effectsOf(read.stmt).reads && !read.into && !sqltext.LockingRead(a.toks)
	return &encounter{all, reads, reads && !sqltext.Calls(a.toks)}
}

// meets reports whether the statement may meet what was absent.
func (a *analyzer) meets(b *Absence, effect sqltext.Effect, stmt ast.StmtNode) bool {
	key := a.schema.Key(b.t.Spec.DB, b.t.Spec.Name)
	named := func(n *ast.TableName) bool { return a.schema.Key(cmp.Or(n.Schema.O, a.db), n.Name.O) == key }
	_, calls := effect.(sqltext.Call)
	switch {
	case stmt != nil && !some(stmt, named), stmt == nil && !calls && effect != (sqltext.Execute{}) && !a.mentions(b.t.Spec.DB, b.t.Spec.Name):
		return false
	case stmt == nil, b.Column == "", a.mentions("", b.Column):
		return true
	case a.schema.Tables[key] != nil && b.t.Column(b.Column) == nil: // its view does not show it, and what is exact reads all columns of the slots table
		return false
	}
	star, natural := a.star(), sqltext.HasWord(a.toks, "NATURAL")
	switch s := stmt.(type) {
	case *ast.SelectStmt, *ast.SetOprStmt:
		b.Shows = !natural
		return star || natural || sqltext.HasWord(a.toks, "TABLE")
	case *ast.InsertStmt:
		return s.IsReplace || s.Select != nil && (star || natural || sqltext.HasWord(a.toks, "TABLE")) || rekeys(b.t, s.OnDuplicate)
	case *ast.UpdateStmt:
		return sqltext.HasWord(a.toks, "SELECT") && (star || natural) || rekeys(b.t, s.List)
	}
	return true
}

// rekeys reports whether assignments may give rows of the table other keys.
func rekeys(t *catalog.Table, sets []*ast.Assignment) bool {
	return slices.ContainsFunc(sets, func(set *ast.Assignment) bool { return t.Changes(t.Key, set.Column.Name.O) })
}

// ErrAppeared says that what was absent is there. Nothing was done.
var ErrAppeared = errors.New("countermysql: a table or column has appeared; try again")
