package random

import (
	"slices"
	"strings"
)

// insertCols chooses the columns that an INSERT names.
func (g *gen) insertCols(t *table) []*col {
	var cols []*col
	for _, c := range t.cols {
		switch {
		case c.kind == touch && !(c.listed && g.chance(25)):
		case c.must, c.key && !c.auto && g.chance(97), c.kind == counter && g.chance(60), c.auto && g.chance(50), g.chance(50):
			cols = append(cols, c)
		}
	}
	if g.chance(20) {
		g.Shuffle(len(cols), func(i, j int) { cols[i], cols[j] = cols[j], cols[i] })
	}
	if len(cols) == 0 {
		cols = t.key
	}
	return cols
}

func (g *gen) insertValue(c *col) string {
	if c.auto && g.chance(30) {
		return g.one(func() string { return g.v(null) }, func() string { return "0" }, func() string { return "DEFAULT" })
	}
	if !c.must && !c.key && g.chance(5) {
		return "DEFAULT"
	}
	if c.kind == counter && g.chance(5) {
		return g.i(1) + " + 1"
	}
	return g.v(c.value())
}

func (g *gen) rows(cols []*col, n int) string {
	rows := make([]string, n)
	for i := range rows {
		vals := make([]string, len(cols))
		for j, c := range cols {
			vals[j] = g.insertValue(c)
		}
		rows[i] = "(" + strings.Join(vals, ", ") + ")"
	}
	return strings.Join(rows, ", ")
}

func (g *gen) columnList(cols []*col) string {
	out := make([]string, len(cols))
	for i, c := range cols {
		out[i] = g.ident(c.name)
	}
	return strings.Join(out, ", ")
}

// insert is INSERT or REPLACE; it answers with rows where it says RETURNING.
func (g *gen) insert() (text string, rows bool) {
	t := pick(g, g.tables...)
	if t.keyless {
		t = g.tables[len(g.tables)-1]
	}
	cols := g.insertCols(t)
	table := g.plainTable(t)
	if t.partitioned && g.chance(15) {
		table += " PARTITION (p0, p1)"
	}
	verb := pick(g, "INSERT INTO ", "INSERT INTO ", "INSERT INTO ", "INSERT IGNORE INTO ", "INSERT ", "REPLACE INTO ", "REPLACE ", "insert into ")
	switch r := g.IntN(100); {
	case r < 12:
		sets := make([]string, len(cols))
		for i, c := range cols {
			sets[i] = g.ident(c.name) + " = " + g.insertValue(c)
		}
		text = verb + table + " SET " + strings.Join(sets, ", ")
	case r < 22:
		text = verb + table + " " + g.insertSelect(t)
	case r < 26 && !slices.ContainsFunc(t.cols, func(c *col) bool { return c.kind == touch }):
		text = verb + table + " VALUES " + g.rows(t.cols, 1)
	default:
		text = verb + table + " (" + g.columnList(cols) + ") " + pick(g, "VALUES ", "VALUES ", "VALUE ") + g.rows(cols, pick(g, 1, 1, 1, 2, 3))
	}
	if g.d.mariaDB && g.chance(20) {
		return text + " RETURNING " + pick(g, "*", g.columnList(t.key), g.columnList(t.key)+", "+g.ident(comparableCols(t.cols)[g.IntN(len(comparableCols(t.cols)))].name)), true
	}
	return text, false
}

// insertSelect fills a table from another, or from itself, under new keys.
func (g *gen) insertSelect(t *table) string {
	from := pick(g, g.tables...)
	s := g.from(from)
	var cols []*col
	var exprs []string
	for _, c := range t.cols {
		switch {
		case c.kind == touch || c.auto:
			continue
		case c.key && c.typ == "int" && len(from.key) == 1 && from.key[0].typ == "int" && len(t.key) == 1:
			exprs = append(exprs, g.ref(s, from.key[0])+" + "+g.i(10+g.IntN(3)))
		case c.key || c.must && c.kind != counter:
			exprs = append(exprs, g.v(c.value()))
		case c.kind == counter && len(numeric(from.cols)) > 0 && g.chance(60):
			exprs = append(exprs, "COALESCE("+g.ref(s, pick(g, numeric(from.cols)...))+", 0) % 20")
		case c.must:
			exprs = append(exprs, g.v(c.value()))
		case from.has(c.name) && c.name != "slug" && g.chance(60):
			exprs = append(exprs, g.ref(s, from.col(c.name)))
		default:
			continue
		}
		cols = append(cols, c)
	}
	if len(cols) == 0 {
		cols, exprs = []*col{t.col("n")}, []string{g.ref(s, from.col("n"))}
	}
	text := "(" + g.columnList(cols) + ") SELECT " + strings.Join(exprs, ", ") + " FROM " + s.text
	if g.chance(70) {
		text += " WHERE " + g.pin(s, false)
	}
	if len(from.key) > 0 {
		text += " ORDER BY " + g.orderByKey(s, false)
	}
	return text
}

// upsert is INSERT … ON DUPLICATE KEY UPDATE.
func (g *gen) upsert() string {
	t := g.counted()
	if t.keyless {
		return g.increment()
	}
	cols := g.insertCols(t)
	for _, k := range t.key {
		if !slices.Contains(cols, k) && g.chance(90) {
			cols = append(cols, k)
		}
	}
	n := pick(g, 1, 1, 1, 1, 2, 3)
	ignore := pick(g, "", "", "", "", "IGNORE ")
	if slices.ContainsFunc(t.counters(), func(c *col) bool { return c.wide && c.unsigned }) {
		ignore = "" // two huge numbers would leave the end of the range: semantics.md, 6
	}
	text := "INSERT " + ignore + pick(g, "INTO ", "INTO ", "") + g.plainTable(t)
	if g.chance(8) {
		sets := make([]string, len(cols))
		for i, c := range cols {
			sets[i] = g.ident(c.name) + " = " + g.insertValue(c)
		}
		text += " SET " + strings.Join(sets, ", ")
	} else {
		text += " (" + g.columnList(cols) + ") VALUES " + g.rows(cols, n)
	}
	alias := ""
	if !g.d.mariaDB && g.chance(40) {
		alias = pick(g, "new", "nw", "`new`")
		text += " AS " + alias
	}
	s := source{t: t, cols: t.cols, full: alias == ""}
	c := pick(g, t.counters()...)
	inserted := func(c *col) string {
		if alias != "" {
			return alias + "." + g.ident(c.name)
		}
		if g.d.mariaDB && g.chance(15) {
			return "VALUE(" + g.ident(c.name) + ")"
		}
		return "VALUES(" + g.ident(c.name) + ")"
	}
	must := alias != ""
	set := g.one(
		func() string { return g.relative(s, c, must) },
		func() string { return g.relative(s, c, must) },
		func() string { return g.name(s, c, must) + " = " + g.name(s, c, must) + " + " + inserted(c) },
		func() string { return g.name(s, c, must) + " = " + g.name(s, c, must) + " + " + inserted(c) },
		func() string { return g.name(s, c, must) + " = " + inserted(c) + " + " + g.name(s, c, must) },
		func() string { return g.name(s, c, must) + " = " + g.name(s, c, must) + " - " + inserted(c) },
		func() string {
			return g.name(s, c, must) + " = COALESCE(" + g.name(s, c, must) + ", 0) + " + inserted(c)
		},
		func() string { return g.name(s, c, must) + " = " + inserted(c) },
		func() string {
			return g.name(s, c, must) + " = GREATEST(" + g.name(s, c, must) + ", " + inserted(c) + ")"
		},
		func() string { return g.name(s, c, must) + " = " + g.v(c.value()) },
		func() string { return g.qualified(s, t.col("title")) + " = " + inserted(t.col("title")) },
		func() string { return g.qualified(s, t.col("n")) + " = " + g.i(2) },
		func() string { k := t.key[0]; return g.name(s, k, must) + " = " + g.name(s, k, must) },
		func() string { return g.relatives(s, must) },
	)
	if g.chance(15) {
		set += ", " + g.qualified(s, t.col("title")) + " = " + g.v(g.str("up"))
	}
	return text + " ON DUPLICATE KEY UPDATE " + set
}
