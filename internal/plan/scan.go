package plan

import (
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// tableRef is a counter table in a FROM clause: text[start:end] spans its name,
// its alias and its index hints.
type tableRef struct {
	t          *catalog.Table
	start, end int
	name       string // what the statement calls it
	hints      string // PARTITION and index hints, as written
	sel        int    // its SELECT's token, where an optimizer hint goes
	locks      sqltext.Locking
}

// frame is one level of parentheses during a scan.
type frame struct {
	sel    int  // the SELECT token of this level; -1 if none
	from   bool // inside its FROM clause
	expect bool // a table may come next
	nested bool // parentheses around joined tables
}

// notAlias are the words that can follow a table's name without being its alias.
var notAlias = sqltext.WordSet(`ON USING JOIN INNER CROSS LEFT RIGHT NATURAL STRAIGHT_JOIN WHERE GROUP HAVING ORDER LIMIT UNION INTERSECT
 EXCEPT FOR LOCK WINDOW INTO USE IGNORE FORCE PARTITION PROCEDURE FETCH SET TABLESAMPLE`)

var indexHints = sqltext.WordSet(`USE IGNORE FORCE`)

var endOfFrom = sqltext.WordSet(`WHERE GROUP HAVING ORDER LIMIT WINDOW FOR LOCK INTO PROCEDURE UNION INTERSECT EXCEPT FETCH`)

// tableRefs finds the counter tables in the FROM clauses of a query. The
// parser gives no positions for tables, so the tokens are followed here; the
// caller compares the number found with the parser's. ok is false for a
// construct that the scan does not know.
func (rw rewriter) tableRefs() (refs []tableRef, ok bool) {
	toks := rw.toks
	stack := sqltext.Nest[frame]{{sel: -1}}
	for i := 0; i < len(toks); i++ {
		top, inner := stack.Top(), frame{sel: -1}
		if top.from && top.expect {
			inner = frame{sel: top.sel, from: true, expect: true, nested: true}
		}
		switch t := toks[i]; {
		case stack.Follow(t, inner):
			if t.Punct(')') {
				stack.Top().expect = false
			}
		case t.Punct(')'), t.Punct('{'):
			return nil, false // of none that is open; ODBC's outer join
		case t.Is("SELECT"):
			*top = frame{sel: i}
		case t.Is("FROM"):
			if top.sel >= 0 && !top.nested {
				top.from, top.expect = true, true
			}
		case !top.from:
		case t.Is("JOIN"), t.Is("STRAIGHT_JOIN"), t.Punct(','):
			top.expect = true
		case t.Is("LATERAL"):
		case t.Is("FOR") && sqltext.WordAt(toks, i+1, "SYSTEM_TIME"):
			return nil, false
		case t.In(endOfFrom):
			top.from, top.expect = false, false
		case top.expect && t.Ident():
			top.expect = false
			ref, next, known := rw.tableFactor(i)
			if !known {
				return nil, false
			}
			if ref.t != nil {
				ref.sel = top.sel
				for lone, end := i, next; lone > 0 && end < len(toks) && toks[lone-1].Punct('(') && toks[end].Punct(')'); lone, end = lone-1, end+1 {
					ref.start, ref.end = toks[lone-1].Start, toks[end].End // no parentheses around a lone derived table
				}
				refs = append(refs, ref)
			}
			i = next - 1
		}
	}
	return refs, len(stack) == 1
}

// tableFactor reads a table's name, alias and hints from token i; next is the
// first token behind them.
func (rw rewriter) tableFactor(i int) (ref tableRef, next int, ok bool) {
	toks := rw.toks
	ref.start = toks[i].Start
	db, name := "", toks[i].Name
	if i+2 < len(toks) && toks[i+1].Punct('.') && toks[i+2].Ident() {
		db, name = name, toks[i+2].Name
		i += 2
	}
	i++
	if i < len(toks) && toks[i].Punct('(') {
		return tableRef{}, i, true // a table function
	}
	ref.t = rw.schema.Lookup(db, name, rw.db)
	ref.name = name
	if sqltext.WordAt(toks, i, "PARTITION") && i+1 < len(toks) && toks[i+1].Punct('(') {
		end := sqltext.ClosingParen(toks, i+1)
		ref.hints = " " + rw.text[toks[i].Start:toks[end].End]
		i = end + 1
	}
	if sqltext.WordAt(toks, i, "FOR") && sqltext.WordAt(toks, i+1, "SYSTEM_TIME") {
		return ref, i, false
	}
	if i+1 < len(toks) && toks[i].Is("AS") {
		i++
		ref.name = toks[i].Name
		if toks[i].Kind == sqltext.String { // a string can be an alias
			return ref, i, ref.t == nil
		}
		i++
	} else if i < len(toks) && toks[i].Ident() && !toks[i].In(notAlias) {
		ref.name = toks[i].Name
		i++
	}
	for i+2 < len(toks) && toks[i].In(indexHints) {
		open := i + 2
		for open < len(toks) && !toks[open].Punct('(') {
			open++
		}
		if open == len(toks) {
			return ref, i, false
		}
		end := sqltext.ClosingParen(toks, open)
		ref.hints += " " + rw.text[toks[i].Start:toks[end].End]
		i = end + 1
		if i+1 < len(toks) && toks[i].Punct(',') && toks[i+1].In(indexHints) {
			i++
		}
	}
	ref.end = toks[i-1].End
	return ref, i, true
}

// readsVirtual reports whether a query over the tables could read a counter
// or touch column: by name anywhere, by a wildcard, or by NATURAL.
func readsVirtual(toks []sqltext.Token, refs []tableRef) bool {
	for i, t := range toks {
		switch {
		case t.Is("NATURAL"):
			return true
		case t.Punct('*'):
			counts := i > 0 && toks[i-1].Punct('(')
			last := i+1 == len(toks)
			if !counts && (last || toks[i+1].Punct(',') || toks[i+1].Punct(')') || toks[i+1].Punct(';') || toks[i+1].Is("FROM") || toks[i+1].Is("INTO")) {
				return true
			}
		case t.Ident() && slices.ContainsFunc(refs, func(r tableRef) bool { return r.t.Virtual(t.Name) }):
			return true
		}
	}
	return false
}
