package random

import (
	"slices"
	"strconv"
	"strings"
)

// nest writes queries of random depth: each part of one may hold another.
type nest struct {
	*gen
	names int
	with  []rel // common table expressions that may be read
}

// rel is a relation of a FROM clause.
type rel struct {
	text, name string // as it stands there, and what its columns are qualified by
	cols       []*col
}

// levels are the relations that a place of a query sees, the nearest last.
type levels [][]rel

func (n *nest) name() string {
	n.names++
	return "q" + strconv.Itoa(n.names)
}

// deep is a query of several columns, nested to random depth.
func (g *gen) deep() (string, bool) {
	n := &nest{gen: g}
	g.once = true
	depth := 1 + g.IntN(4)
	with := ""
	if g.chance(25) {
		for range 1 + g.IntN(2) {
			width := 1 + g.IntN(2)
			name := pick(g, n.name(), n.name(), n.name(), "note")
			if slices.ContainsFunc(n.with, func(r rel) bool { return r.name == name }) {
				continue
			}
			with += pick(g, ", ", ",\n") + name + " AS (" + n.query(depth-1, nil, width, true) + ")"
			n.with = append(n.with, rel{name, name, columnsOf(width)})
		}
		with = "WITH" + with[1:] + " "
	}
	return with + n.query(depth, nil, 1+g.IntN(3), false), false
}

// columnsOf are the columns of a query of ours.
func columnsOf(width int) []*col {
	cols := make([]*col, width)
	for i := range cols {
		cols[i] = &col{name: "c" + strconv.Itoa(i), typ: "int"}
	}
	return cols
}

// plain are the columns that deep expressions are made of: numbers which add up
// in 64 bits, in whatever order.
func plain(cols []*col) []*col {
	return slices.DeleteFunc(numeric(cols), func(c *col) bool { return c.digits || c.wide })
}

// query has columns c0, c1, … if named is set, and may refer to outer levels.
func (n *nest) query(depth int, outer levels, width int, named bool) string {
	if depth > 0 && n.chance(12) {
		return "(" + n.query(depth-1, outer, width, named) + ")" + pick(n.gen, " UNION ", " UNION ALL ") + "(" + n.query(depth-1, outer, width, named) + ")"
	}
	from, inner := n.from(depth, outer)
	where := ""
	if n.chance(70) {
		where = " WHERE " + n.predicate(depth, inner)
	}
	list := make([]string, width)
	group := ""
	form := n.IntN(4)
	for i := range list {
		switch {
		case form == 0, form == 1 && i > 0:
			list[i] = n.aggregated(depth, inner)
		case form == 1:
			c := n.column(inner, true)
			list[i], group = c, pick(n.gen, " GROUP BY 1", " GROUP BY "+c)
		default:
			list[i] = n.scalar(depth, inner)
		}
		if named {
			list[i] += " AS c" + strconv.Itoa(i)
		}
	}
	if group != "" && n.chance(30) {
		group += " HAVING " + n.aggregated(0, inner) + pick(n.gen, " > ", " <> ") + n.number()
	}
	distinct := ""
	if form > 1 && n.chance(8) {
		distinct = "DISTINCT "
	}
	return "SELECT " + distinct + strings.Join(list, ", ") + from + where + group
}

// single is a query of one column and one row.
func (n *nest) single(depth int, outer levels) string {
	from, inner := n.from(depth, outer)
	where := ""
	if n.chance(70) {
		where = " WHERE " + n.predicate(depth, inner)
	}
	return "SELECT " + n.aggregated(depth, inner) + from + where
}

// from is a FROM clause, and what can be seen behind it.
func (n *nest) from(depth int, outer levels) (string, levels) {
	r := n.rel(depth)
	rels, text := []rel{r}, " FROM "+r.text
	for depth > 0 && len(rels) < 3 && n.chance(30) {
		r := n.rel(depth - 1)
		rels = append(rels, r)
		on := " ON " + n.predicate(depth-1, append(slices.Clone(outer), rels))
		text += n.one(
			func() string { return " JOIN " + r.text + on },
			func() string { return " LEFT JOIN " + r.text + on },
			func() string { return " CROSS JOIN " + r.text },
		)
	}
	return text, append(slices.Clone(outer), rels)
}

// rel is a table, a common table expression, or a derived table, which sees nothing
// from outside.
func (n *nest) rel(depth int) rel {
	name := n.name()
	as := pick(n.gen, " ", " AS ") + name
	switch {
	case depth > 0 && n.chance(25):
		width := 1 + n.IntN(2)
		return rel{"(" + n.query(depth-1, nil, width, true) + ")" + as, name, columnsOf(width)}
	case len(n.with) > 0 && n.chance(40):
		w := pick(n.gen, n.with...)
		return rel{w.text + as, name, w.cols}
	}
	t := n.counted()
	if n.chance(25) && !slices.ContainsFunc(n.with, func(r rel) bool { return r.name == "note" }) {
		t = n.tables[len(n.tables)-1]
	}
	if n.chance(30) && !slices.ContainsFunc(n.with, func(r rel) bool { return r.name == t.name }) {
		return rel{n.tableName(t.name) + as, name, t.cols}
	}
	return rel{"{db}." + n.tableName(t.name) + as, name, t.cols}
}

// column names one that can be seen, most often a near one, and a counter if there is one.
func (n *nest) column(see levels, near bool) string {
	at := len(see) - 1
	for !near && at > 0 && n.chance(30) {
		at--
	}
	r := pick(n.gen, see[at]...)
	cols := plain(r.cols)
	if counters := countersOf(cols); len(counters) > 0 && n.chance(60) {
		cols = counters
	}
	if len(cols) == 0 {
		return n.number()
	}
	c := pick(n.gen, cols...)
	others := 0
	for _, level := range see[at:] {
		for _, o := range level {
			if slices.ContainsFunc(o.cols, func(x *col) bool { return strings.EqualFold(x.name, c.name) }) {
				others++
			}
		}
	}
	bare := others == 1 && n.chance(40)
	name := n.ident(c.name)
	if c.def == "" { // of a query: in which letters MySQL shows its name depends on its plan
		name = strings.ToLower(name)
	}
	if bare {
		return name
	}
	return r.name + "." + name
}

func (n *nest) number() string { return n.v(n.count(n.IntN(6))) }

func (n *nest) aggregated(depth int, see levels) string {
	c := n.column(see, true)
	return n.one(
		func() string { return "COUNT(*)" },
		func() string { return "MAX(" + c + ")" },
		func() string { return "MIN(" + c + ")" },
		func() string { return "SUM(" + c + ")" },
		func() string { return "COUNT(" + c + ")" },
		func() string { return "COUNT(DISTINCT " + c + ")" },
		func() string { return "COALESCE(MAX(" + c + "), 0) + " + n.number() },
		func() string {
			if depth == 0 {
				return "MAX(" + c + ")"
			}
			return "SUM(CASE WHEN " + n.predicate(0, see[len(see)-1:]) + " THEN " + c + " ELSE 0 END)"
		},
	)
}

// scalar is a number.
func (n *nest) scalar(depth int, see levels) string {
	if depth <= 0 || n.chance(30) {
		if n.chance(15) {
			return n.number()
		}
		return n.column(see, false)
	}
	e := func() string { return n.scalar(depth-1, see) }
	return n.one(
		func() string { return n.sum(e) },
		func() string { return "(" + n.sum(e) + ")" },
		func() string { return "COALESCE(" + e() + ", " + e() + ")" },
		func() string { return "IF(" + n.predicate(depth-1, see) + ", " + e() + ", " + e() + ")" },
		func() string {
			return "CASE WHEN " + n.predicate(depth-1, see) + " THEN " + e() + " ELSE " + e() + " END"
		},
		func() string { return "GREATEST(" + e() + ", " + e() + ")" },
		func() string { return "NULLIF(" + e() + ", " + e() + ")" },
		func() string { return "ABS(" + e() + ")" },
		func() string { return "(" + e() + ") % 7" },
		func() string { return "(" + n.single(depth-1, see) + ")" },
		func() string { return "(" + n.single(depth-1, see) + ")" },
	)
}

// sum adds, where no sum of a negative number and one that can't be negative makes the
// server refuse a row that it may also not look at.
func (n *nest) sum(e func() string) string {
	unsigned := slices.ContainsFunc(n.tables, func(t *table) bool {
		return slices.ContainsFunc(t.cols, func(c *col) bool { return c.unsigned })
	})
	if unsigned {
		return "COALESCE(" + e() + ", " + e() + ")"
	}
	return e() + " + " + e()
}

// predicate is a condition.
func (n *nest) predicate(depth int, see levels) string {
	e := func() string { return n.scalar(depth-1, see) }
	p := func() string { return n.predicate(depth-1, see) }
	compare := func() string { return e() + pick(n.gen, " = ", " > ", " <= ", " <> ", " <=> ") + e() }
	if depth <= 0 {
		return n.one(compare, func() string { return e() + " IS NOT NULL" }, func() string { return e() + " IN (" + n.number() + ", " + n.number() + ")" })
	}
	return n.one(
		compare, compare,
		func() string { return "(" + p() + ") AND (" + p() + ")" },
		func() string { return "(" + p() + ") OR (" + p() + ")" },
		func() string { return "NOT (" + p() + ")" },
		func() string { return "(" + p() + ") IS NOT TRUE" },
		func() string { return e() + " BETWEEN " + n.number() + " AND " + e() },
		func() string { return e() + pick(n.gen, " IN (", " NOT IN (") + n.query(depth-1, see, 1, false) + ")" },
		func() string {
			return e() + pick(n.gen, " > ALL (", " = ANY (", " <= SOME (") + n.query(depth-1, see, 1, false) + ")"
		},
		func() string { return pick(n.gen, "EXISTS (", "NOT EXISTS (") + n.query(depth-1, see, 1, false) + ")" },
		func() string {
			n.byRow = true
			return "(" + n.column(see, false) + ", " + n.column(see, false) + ") IN (" + n.query(depth-1, see, 2, false) + ")"
		},
	)
}

// deepWrite is a change whose conditions or values are nested to random depth.
func (g *gen) deepWrite() string {
	t := g.counted()
	n := &nest{gen: g}
	g.once = true
	name := g.tableName(t.name)
	see := levels{{rel{name, name, t.cols}}}
	s := source{t: t, cols: t.cols, text: name, full: true}
	depth := 1 + g.IntN(3)
	return g.one(
		func() string {
			return "UPDATE " + name + " SET " + g.relatives(s, false) + " WHERE " + n.predicate(depth, see)
		},
		func() string {
			return "UPDATE " + name + " SET " + g.relatives(s, false) + " WHERE " + g.pin(s, false) + " AND (" + n.predicate(depth, see) + ")"
		},
		func() string {
			return "UPDATE " + name + " SET " + g.ident("n") + " = (" + n.scalar(depth, see) + ") % 5 WHERE " + g.pin(s, false)
		},
		func() string {
			return "UPDATE note SET likes = (" + n.single(depth, levels{{rel{"note", "note", g.tables[len(g.tables)-1].cols}}}) + ") % 9 WHERE id = " + g.i(1+g.IntN(5))
		},
		func() string {
			return "DELETE FROM " + name + " WHERE " + g.pin(s, false) + " AND (" + n.predicate(depth, see) + ")"
		},
		func() string {
			return "DELETE FROM note WHERE id = " + g.i(1+g.IntN(5)) + " AND (" + n.predicate(depth, levels{{rel{"note", "note", g.tables[len(g.tables)-1].cols}}}) + ")"
		},
		func() string {
			return "INSERT IGNORE INTO note (id, likes) SELECT 60 + FLOOR(c0) % 30, MAX(c0) % 9 FROM (" + n.query(depth, nil, 1, true) + ") d WHERE c0 IS NOT NULL GROUP BY 60 + FLOOR(c0) % 30"
		},
	)
}
