package countermysql

import (
	"slices"
	"strings"
)

// tableRef is a counter table in a FROM clause: text[start:end] spans its name,
// its alias and its index hints.
type tableRef struct {
	t          *table
	start, end int
	name       string // what the statement calls it
	hints      string // PARTITION and index hints, as written
	sel        int    // its SELECT's token, where an optimizer hint goes
	locks      locking
}

// frame is one level of parentheses during a scan.
type frame struct {
	sel    int  // the SELECT token of this level; -1 if none
	from   bool // inside its FROM clause
	expect bool // a table may come next
	nested bool // parentheses around joined tables
}

// notAlias are the words that can follow a table's name without being its alias.
var notAlias = wordSet(`ON USING JOIN INNER CROSS LEFT RIGHT NATURAL STRAIGHT_JOIN WHERE GROUP HAVING ORDER LIMIT UNION INTERSECT
 EXCEPT FOR LOCK WINDOW INTO USE IGNORE FORCE PARTITION PROCEDURE FETCH SET TABLESAMPLE`)

var indexHints = wordSet(`USE IGNORE FORCE`)

var endOfFrom = wordSet(`WHERE GROUP HAVING ORDER LIMIT WINDOW FOR LOCK INTO PROCEDURE UNION INTERSECT EXCEPT FETCH`)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

func (t token) in(set map[string]bool) bool {
	return t.kind == tokWord && set[strings.ToUpper(t.name)]
}

// tableRefs finds the counter tables in the FROM clauses of a query. The
// parser gives no positions for tables, so the tokens are followed here; the
// caller compares the number found with the parser's. ok is false for a
// construct that the scan does not know.
func (a *analysis) tableRefs() (refs []tableRef, ok bool) {
	toks := a.toks
	stack := nest[frame]{{sel: -1}}
	for i := 0; i < len(toks); i++ {
		top, inner := stack.top(), frame{sel: -1}
		if top.from && top.expect {
			inner = frame{sel: top.sel, from: true, expect: true, nested: true}
		}
		switch t := toks[i]; {
		case stack.follow(t, inner):
			if t.punct(')') {
				stack.top().expect = false
			}
		case t.punct(')'), t.punct('{'):
			return nil, false // of none that is open; ODBC's outer join
		case t.is("SELECT"):
			*top = frame{sel: i}
		case t.is("FROM"):
			if top.sel >= 0 && !top.nested {
				top.from, top.expect = true, true
			}
		case !top.from:
		case t.is("JOIN"), t.is("STRAIGHT_JOIN"), t.punct(','):
			top.expect = true
		case t.is("LATERAL"):
		case t.is("FOR") && wordAt(toks, i+1, "SYSTEM_TIME"):
			return nil, false
		case t.in(endOfFrom):
			top.from, top.expect = false, false
		case top.expect && t.ident():
			top.expect = false
			ref, next, known := a.tableFactor(i)
			if !known {
				return nil, false
			}
			if ref.t != nil {
				ref.sel = top.sel
				for lone, end := i, next; lone > 0 && end < len(toks) && toks[lone-1].punct('(') && toks[end].punct(')'); lone, end = lone-1, end+1 {
					ref.start, ref.end = toks[lone-1].start, toks[end].end // no parentheses around a lone derived table
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
func (a *analysis) tableFactor(i int) (ref tableRef, next int, ok bool) {
	toks := a.toks
	ref.start = toks[i].start
	db, name := "", toks[i].name
	if i+2 < len(toks) && toks[i+1].punct('.') && toks[i+2].ident() {
		db, name = name, toks[i+2].name
		i += 2
	}
	i++
	if i < len(toks) && toks[i].punct('(') {
		return tableRef{}, i, true // a table function
	}
	ref.t = a.schema.lookup(db, name, a.db)
	ref.name = name
	if wordAt(toks, i, "PARTITION") && i+1 < len(toks) && toks[i+1].punct('(') {
		end := closingParen(toks, i+1)
		ref.hints = " " + a.text[toks[i].start:toks[end].end]
		i = end + 1
	}
	if wordAt(toks, i, "FOR") && wordAt(toks, i+1, "SYSTEM_TIME") {
		return ref, i, false
	}
	if i+1 < len(toks) && toks[i].is("AS") {
		i++
		ref.name = toks[i].name
		if toks[i].kind == tokString { // a string can be an alias
			return ref, i, ref.t == nil
		}
		i++
	} else if i < len(toks) && toks[i].ident() && !toks[i].in(notAlias) {
		ref.name = toks[i].name
		i++
	}
	for i+2 < len(toks) && toks[i].in(indexHints) {
		open := i + 2
		for open < len(toks) && !toks[open].punct('(') {
			open++
		}
		if open == len(toks) {
			return ref, i, false
		}
		end := closingParen(toks, open)
		ref.hints += " " + a.text[toks[i].start:toks[end].end]
		i = end + 1
		if i+1 < len(toks) && toks[i].punct(',') && toks[i+1].in(indexHints) {
			i++
		}
	}
	ref.end = toks[i-1].end
	return ref, i, true
}

// closingParen returns the index of the token that closes the parenthesis at
// open, or the last token.
func closingParen(toks []token, open int) int {
	depth := 0
	for i := open; i < len(toks); i++ {
		switch {
		case toks[i].punct('('):
			depth++
		case toks[i].punct(')'):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(toks) - 1
}

// readsVirtual reports whether a query over the tables could read a counter
// or touch column: by name anywhere, by a wildcard, or by NATURAL.
func readsVirtual(toks []token, refs []tableRef) bool {
	for i, t := range toks {
		switch {
		case t.is("NATURAL"):
			return true
		case t.punct('*'):
			counts := i > 0 && toks[i-1].punct('(')
			last := i+1 == len(toks)
			if !counts && (last || toks[i+1].punct(',') || toks[i+1].punct(')') || toks[i+1].punct(';') || toks[i+1].is("FROM") || toks[i+1].is("INTO")) {
				return true
			}
		case t.ident() && slices.ContainsFunc(refs, func(r tableRef) bool { return r.t.virtual(t.name) }):
			return true
		}
	}
	return false
}
