package countermysql

import (
	"slices"
	"strings"
)

// index is what an index of a base table sorts by, as far as that is whole
// columns. The primary key comes after its own
// (https://dev.mysql.com/doc/refman/8.4/en/index-extensions.html).
type index []sortKey

type sortKey struct {
	c    *column
	desc bool
}

// indexes reads those that the optimizer may use from SHOW CREATE TABLE.
func (t *table) indexes(create string, toks []token) []index {
	var found []index
	for i := 2; i < len(toks); i++ {
		before := toks[i-1]
		if !toks[i].is("KEY") || !before.punct(',') && !before.is("PRIMARY") && !before.is("UNIQUE") {
			continue // a foreign key, or of words
		}
		open := i + 1
		for open < len(toks)-1 && !toks[open].punct('(') {
			open++
		}
		end := closingParen(toks, open)
		hidden := false
		for _, tok := range toks[end:] {
			if tok.punct(',') || tok.punct(')') && tok != toks[end] {
				break
			}
			hidden = hidden || tok.is("IGNORED") || tok.kind == tokVersion && strings.Contains(create[tok.start:tok.end], "INVISIBLE")
		}
		if x := t.sorts(toks[open+1 : end]); len(x) > 0 && !hidden {
			found = append(found, x)
		}
	}
	return found
}

// uniqueWith names the unique keys that have a column, be it in an expression or
// beside a part of another.
func uniqueWith(create, column string) (names []string) {
	toks := tokenize(create, lexMode{})
	for i := 1; i+2 < len(toks); i++ {
		if !toks[i].is("KEY") || !toks[i-1].is("UNIQUE") || !toks[i+2].punct('(') {
			continue
		}
		if mentionsWord(create[toks[i+2].start:toks[closingParen(toks, i+2)].end], column) {
			names = append(names, create[toks[i+1].start:toks[i+1].end])
		}
	}
	return names
}

// sorts reads an index's columns up to one that is a prefix or an expression.
func (t *table) sorts(toks []token) index {
	var x index
	for i := 0; i < len(toks); i += 2 {
		c := t.column(toks[i].name)
		if !toks[i].ident() || c == nil {
			return x
		}
		desc := i+1 < len(toks) && toks[i+1].is("DESC")
		if desc {
			i++
		}
		if i+1 < len(toks) && !toks[i+1].punct(',') {
			return x
		}
		x = append(x, sortKey{c, desc})
	}
	if len(t.unique) > 0 && t.unique[0].name == "PRIMARY" {
		for _, c := range t.unique[0].cols {
			x = append(x, sortKey{c: c})
		}
	}
	return x
}

// sortedBy reports whether an index gives the rows in this order, forwards or
// backwards.
func (t *table) sortedBy(order []sortKey) bool {
	return slices.ContainsFunc(t.indexed, func(x index) bool {
		return len(order) <= len(x) && slices.EqualFunc(order, x[:len(order)], func(by, of sortKey) bool {
			return by.c == of.c && (by.desc != of.desc) == (order[0].desc != x[0].desc)
		})
	})
}

// finds reports whether an index leads to rows by the column.
func (t *table) finds(c *column) bool {
	return slices.ContainsFunc(t.indexed, func(x index) bool { return x[0].c == c })
}
