package catalog

import (
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/sqltext"
)

// index is one of a base table, and what it sorts by, as far as that is whole
// columns. The primary key comes after its own
// (https://dev.mysql.com/doc/refman/8.4/en/index-extensions.html).
type index struct {
	Name string
	By   []SortKey
}

type SortKey struct {
	C    *Column
	Desc bool
}

// Indexes reads those that the optimizer may use from SHOW CREATE TABLE.
func (t *Table) Indexes(create string, toks []sqltext.Token) []index {
	var found []index
	for _, d := range indexesOf(toks) {
		hidden := false
		for _, tok := range toks[d.end:] {
			if tok.Punct(',') || tok.Punct(')') && tok != toks[d.end] {
				break
			}
			hidden = hidden || tok.Is("IGNORED") || tok.Kind == sqltext.Versioned && strings.Contains(create[tok.Start:tok.End], "INVISIBLE")
		}
		if by := t.sorts(toks[d.open+1 : d.end]); len(by) > 0 && !hidden {
			found = append(found, index{d.name, by})
		}
	}
	return found
}

// definition is where an index is defined: between the parentheses of what it is of.
type definition struct {
	name      string
	open, end int
	primary   bool
}

func indexesOf(toks []sqltext.Token) (found []definition) {
	for i := 2; i < len(toks); i++ {
		before := toks[i-1]
		if !toks[i].Is("KEY") || !before.Punct(',') && !before.Is("PRIMARY") && !before.Is("UNIQUE") {
			continue // a foreign key, or of words
		}
		open := i + 1
		for open < len(toks)-1 && !toks[open].Punct('(') {
			open++
		}
		found = append(found, definition{toks[i+1].Name, open, sqltext.ClosingParen(toks, open), before.Is("PRIMARY")})
	}
	return found
}

// inIndexes are the columns of which an index but the primary key has something, whether the optimizer
// may use it or not.
func inIndexes(t *Table, toks []sqltext.Token) (cols []*Column) {
	for _, d := range indexesOf(toks) {
		for _, tok := range toks[d.open+1 : d.end] {
			if c := t.Column(tok.Name); c != nil && !d.primary {
				cols = append(cols, c)
			}
		}
	}
	return cols
}

// ChangesIndex reports whether an index may change with an increment.
func ChangesIndex(t *Table) bool {
	return slices.ContainsFunc(t.InIndexes, func(c *Column) bool {
		return c.OnUpdate || c.generated != "" || t.Virtual(c.Name)
	})
}

// sorts reads an index's columns up to one that is a prefix or an expression.
func (t *Table) sorts(toks []sqltext.Token) []SortKey {
	var x []SortKey
	for i := 0; i < len(toks); i += 2 {
		c := t.Column(toks[i].Name)
		if !toks[i].Ident() || c == nil {
			return x
		}
		desc := i+1 < len(toks) && toks[i+1].Is("DESC")
		if desc {
			i++
		}
		if i+1 < len(toks) && !toks[i+1].Punct(',') {
			return x
		}
		x = append(x, SortKey{c, desc})
	}
	if len(t.Unique) > 0 && t.Unique[0].Name == "PRIMARY" {
		for _, c := range t.Unique[0].Columns {
			x = append(x, SortKey{C: c})
		}
	}
	return x
}

// SortedBy reports whether an index gives the rows in this order, forwards or
// backwards.
func (t *Table) SortedBy(order []SortKey) bool {
	return slices.ContainsFunc(t.Indexed, func(x index) bool {
		return len(order) <= len(x.By) && slices.EqualFunc(order, x.By[:len(order)], func(by, of SortKey) bool {
			return by.C == of.C && (by.Desc != of.Desc) == (order[0].Desc != x.By[0].Desc)
		})
	})
}

// Finds reports whether an index leads to rows by the column.
func (t *Table) Finds(c *Column) bool {
	return slices.ContainsFunc(t.Indexed, func(x index) bool { return x.By[0].C == c })
}
