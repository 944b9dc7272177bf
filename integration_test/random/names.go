package random

import "strings"

// source is a table of a FROM clause, as a statement may name it.
type source struct {
	t     *table
	text  string // in the FROM clause
	alias string // "" if the table's name is the name
	full  bool   // {db}.table.column is allowed
	cols  []*col
}

// from names a table in one of the ways there are.
func (g *gen) from(t *table) source {
	s := source{t: t, cols: t.cols}
	name := g.tableName(t.name)
	switch g.IntN(8) {
	case 0:
		s.text, s.full = "{db}."+name, true
	case 1:
		s.text, s.full = "`{db}` . "+name, true
	case 2, 3:
		s.alias = pick(g, "p", "x1", "T")
		s.text = name + pick(g, " ", " AS ") + g.tableName(s.alias)
	case 4:
		s.alias = pick(g, "p", "x1", "T")
		s.text = "{db}." + name + " AS " + s.alias
	default:
		s.text, s.full = name, true
	}
	if t.partitioned && g.chance(25) {
		partition := pick(g, " PARTITION (p0)", " PARTITION (p0, p2)", " partition(p1)")
		s.text, s.alias, s.full = name+partition, "", true
		if g.chance(30) {
			s.text, s.alias, s.full = name+partition+" AS p", "p", false
		}
	}
	return s
}

// written is from for an UPDATE: behind one that names a PARTITION, plain MariaDB forgets rows
// (TestForgottenPartitions).
func (g *gen) written(t *table) source {
	s := g.from(t)
	for g.d.mariaDB && strings.Contains(strings.ToUpper(s.text), " PARTITION") {
		s = g.from(t)
	}
	return s
}

// as is from with a given alias, for joins.
func (g *gen) as(t *table, alias string) source {
	return source{t: t, cols: t.cols, alias: alias, text: pick(g, "", "", "{db}.") + g.tableName(t.name) + pick(g, " ", " AS ") + alias}
}

// ref names a column.
func (g *gen) ref(s source, c *col) string {
	name := g.ident(c.name)
	switch g.IntN(6) {
	case 0, 1:
		return g.qualified(s, c)
	case 2:
		if s.full && s.t != nil {
			return "{db}." + g.tableName(s.t.name) + "." + name
		}
	}
	return name
}

// qualified names a column with its table. Behind a point no word is reserved.
func (g *gen) qualified(s source, c *col) string {
	if reserved[c.name] && g.chance(50) {
		name := s.alias
		if name == "" {
			name = s.t.name
		}
		return g.tableName(name) + "." + pick(g, c.name, c.name, strings.ToUpper(c.name))
	}
	if s.alias != "" {
		return g.tableName(s.alias) + "." + g.ident(c.name)
	}
	return g.tableName(s.t.name) + "." + g.ident(c.name)
}

// name names a column with its table if must is set.
func (g *gen) name(s source, c *col, must bool) string {
	if must {
		return g.qualified(s, c)
	}
	return g.ref(s, c)
}

// numeric are the columns whose values are numbers.
func numeric(cols []*col) []*col {
	var out []*col
	for _, c := range cols {
		if c.typ == "int" || c.typ == "decimal" {
			out = append(out, c)
		}
	}
	return out
}

func countersOf(cols []*col) []*col {
	var out []*col
	for _, c := range cols {
		if c.kind == counter {
			out = append(out, c)
		}
	}
	return out
}

// comparable are the columns whose values do not depend on the time.
func comparableCols(cols []*col) []*col {
	var out []*col
	for _, c := range cols {
		if c.kind != touch {
			out = append(out, c)
		}
	}
	return out
}

// decorate adds what changes nothing: comments, space, a semicolon.
func (g *gen) decorate(text string) string {
	switch g.IntN(25) {
	case 0:
		text = "/* post.likes ? */ " + text
	case 1:
		text = "-- name: it's a \"comment\" ?\n" + text
	case 2:
		text += " ;"
	case 3:
		text += ";"
	case 4:
		text = "  \n\t" + strings.Replace(text, " ", " /* c */ ", 1)
	case 5:
		text += " # likes"
	case 6:
		text += " -- likes"
	case 7:
		text = strings.Replace(strings.Replace(text, "SELECT ", "select ", 1), "UPDATE ", "update\n", 1)
	}
	return text
}

// key is a condition that pins the primary key.
func (g *gen) pin(s source, must bool) string {
	if len(s.t.key) == 0 {
		return pick(g, "1 = 1", "TRUE")
	}
	conds := make([]string, len(s.t.key))
	for i, c := range s.t.key {
		conds[i] = g.equals(g.name(s, c, must), c)
	}
	if len(conds) == 2 && g.chance(20) {
		conds[0], conds[1] = conds[1], conds[0]
	}
	return strings.Join(conds, pick(g, " AND ", " and "))
}

func (g *gen) equals(name string, c *col) string {
	switch g.IntN(12) {
	case 0:
		return g.v(c.value()) + " = " + name
	case 1:
		return "(" + name + " = " + g.v(c.value()) + ")"
	case 2, 3:
		return name + " IN (" + g.list(c) + ")"
	case 4:
		if c.typ == "int" {
			return name + " = " + g.v(g.integer(99))
		}
	}
	return name + " = " + g.v(c.value())
}

func (g *gen) list(c *col) string {
	vals := make([]string, 1+g.IntN(4))
	for i := range vals {
		vals[i] = g.v(c.value())
	}
	return strings.Join(vals, ", ")
}

// where is the condition of a data change, without counters.
func (g *gen) where(s source, must bool) string {
	t := s.t
	n := func() string {
		for _, c := range t.cols {
			if c.name == "n" {
				return g.name(s, c, must)
			}
		}
		return "1"
	}
	title := func() string {
		for _, c := range t.cols {
			if c.name == "title" {
				return g.name(s, c, must)
			}
		}
		return "'t'"
	}
	if t.touched() != nil && g.chance(6) {
		return g.sometime(s, must)
	}
	switch r := g.IntN(100); {
	case r < 50:
		return g.pin(s, must)
	case r < 60 && len(t.unique) > 0:
		u := pick(g, t.unique...)
		conds := make([]string, len(u))
		for i, c := range u {
			conds[i] = g.equals(g.name(s, c, must), c)
		}
		return strings.Join(conds, " AND ")
	case r < 68:
		return g.pin(s, must) + " AND " + pick(g, n()+" = "+g.i(1+g.IntN(4)), title()+" IS NOT NULL", n()+" IS NULL", "("+n()+" > "+g.i(1)+" OR "+title()+" LIKE "+g.v(g.str("%a%"))+")", "NOT "+n()+" <=> "+g.i(2))
	case r < 74:
		return n() + " = " + g.i(1+g.IntN(4))
	case r < 78:
		return n() + pick(g, " > ", " <> ", " >= ", " < ") + g.i(1+g.IntN(4))
	case r < 81:
		return title() + pick(g, " = ", " LIKE ", " <> ") + g.v(g.str(pick(g, words...)))
	case r < 84 && len(t.key) > 0:
		return "(" + g.pin(s, must) + ") OR (" + g.pin(s, must) + ")"
	case r < 87 && len(t.key) == 1 && t.key[0].typ == "int":
		k := g.name(s, t.key[0], must)
		return k + pick(g, " > ", " <= ", " <> ", " != ") + g.i(1+g.IntN(5)) + pick(g, "", " AND "+k+" < 100")
	case r < 90 && len(t.key) == 2:
		return g.equals(g.name(s, t.key[0], must), t.key[0])
	case r < 93:
		return "EXISTS (SELECT 1 FROM note o WHERE o.n = " + g.qualified(s, t.col("n")) + ")"
	case r < 95 && len(t.key) == 2:
		return "(" + g.name(s, t.key[0], must) + ", " + g.name(s, t.key[1], must) + ") IN ((" + g.v(t.key[0].value()) + ", " + g.v(t.key[1].value()) + "), (" + g.v(t.key[0].value()) + ", " + g.v(t.key[1].value()) + "))"
	case r < 97:
		return n() + " IN (SELECT n FROM note WHERE id < " + g.i(4) + ")"
	}
	return g.pin(s, must)
}

func (t *table) col(name string) *col {
	for _, c := range t.cols {
		if c.name == name {
			return c
		}
	}
	return t.cols[0]
}

// orderByKey is a total order of a table's rows.
func (g *gen) orderByKey(s source, must bool) string {
	if len(s.t.key) == 0 {
		return "1"
	}
	parts := make([]string, len(s.t.key))
	for i, c := range s.t.key {
		parts[i] = g.name(s, c, must) + pick(g, "", "", " DESC", " ASC")
	}
	return strings.Join(parts, ", ")
}
