package random

import "strings"

// expr is an expression over a source's columns.
func (g *gen) expr(s source, must bool) string {
	cs := numeric(s.cols)
	if k := countersOf(s.cols); len(k) > 0 && g.chance(70) {
		cs = k
	}
	c := pick(g, cs...)
	r := func() string { return g.name(s, c, must) }
	return g.one(
		r, r, r,
		func() string { return r() + " + " + g.i(1+g.IntN(3)) },
		func() string { return r() + " * 2" },
		func() string { return "-" + r() },
		func() string { return r() + " % 3" },
		func() string { return r() + " DIV 2" },
		func() string { return r() + " / 2" },
		func() string { return "COALESCE(" + r() + ", " + g.i(0) + ")" },
		func() string { return "IFNULL(" + r() + ", -1)" },
		func() string { return "CASE WHEN " + r() + " > " + g.i(3) + " THEN 'many' ELSE 'few' END" },
		func() string { return "CASE " + r() + " WHEN 1 THEN 'one' WHEN 2 THEN 'two' END" },
		func() string { return "IF(" + r() + " > 2, " + r() + ", NULL)" },
		func() string { return "GREATEST(" + r() + ", " + g.i(4) + ")" },
		func() string { return "CAST(" + r() + " AS CHAR)" },
		func() string { return "CONCAT(" + r() + ", '-', " + g.name(s, pick(g, s.cols[:1]...), must) + ")" },
		func() string { return r() + " > " + g.i(2) },
		func() string { return r() + " IS NULL" },
		func() string { return "ABS(" + r() + ")" },
		func() string { return "LENGTH(" + r() + ")" },
		func() string { return r() + " & 3" },
		func() string { return "JSON_OBJECT('v', " + r() + ")" },
		func() string { return "NULLIF(" + r() + ", 0)" },
		func() string { return "ROUND(" + r() + ", 1)" },
		func() string { return "FORMAT(" + r() + ", 1)" },
		func() string { return "HEX(" + r() + ")" },
		func() string { return "CAST(" + r() + " AS DECIMAL(10,1))" },
		func() string { return "(SELECT MAX(o.likes) FROM note o WHERE o.n <= " + r() + ")" },
		func() string { return "(SELECT " + r() + ")" },
		func() string { return "EXISTS (SELECT 1 FROM note o WHERE o.likes = " + g.qualifiedOr(s, c) + ")" },
	)
}

func (g *gen) qualifiedOr(s source, c *col) string { return g.qualified(s, c) }

// item is an element of a select list; orderable says by what to sort by it.
func (g *gen) item(s source, must bool) string {
	switch g.IntN(10) {
	case 0, 1, 2, 3:
		c := pick(g, s.cols...)
		return g.name(s, c, must) + g.selectAlias()
	case 4, 5:
		if cs := countersOf(s.cols); len(cs) > 0 {
			return g.name(s, pick(g, cs...), must) + g.selectAlias()
		}
	}
	return g.expr(s, must) + g.selectAlias()
}

func (g *gen) selectAlias() string {
	if g.chance(70) {
		return ""
	}
	return pick(g, " ", " AS ") + pick(g, "v", "`likes`", "likes", "views", "total", "n", "'quoted'", "`a b`")
}

func (g *gen) items(s source, must bool) string {
	switch g.IntN(8) {
	case 0, 1:
		return "*"
	case 2:
		if s.alias != "" {
			return g.tableName(s.alias) + ".*"
		}
		return g.tableName(s.t.name) + ".*"
	case 3:
		if !must {
			return "*, " + g.expr(s, must)
		}
	}
	out := make([]string, 1+g.IntN(3))
	for i := range out {
		out[i] = g.item(s, must)
	}
	return strings.Join(out, ", ")
}

// condition is a WHERE of a query.
func (g *gen) condition(s source, must bool) string {
	var one string
	cs := numeric(s.cols)
	if k := countersOf(s.cols); len(k) > 0 {
		cs = k
	}
	switch {
	case s.t != nil && g.chance(45):
		one = g.where(s, must)
	case len(cs) > 0:
		one = g.counterCondition(s, pick(g, cs...), must)
	default:
		one = "1 = 1"
	}
	if g.chance(15) {
		return "(" + one + ") " + pick(g, "OR ", "AND ", "XOR ", "AND NOT ") + "(" + g.counterCondition(s, pick(g, cs...), must) + ")"
	}
	return one
}

func (g *gen) hint(s source) string {
	name := s.alias
	if name == "" {
		name = s.t.name
	}
	return pick(g, "", "", "", "", "", "", "SQL_NO_CACHE ", "STRAIGHT_JOIN ", "/*+ MAX_EXECUTION_TIME(10000) */ ", "/*+ NO_INDEX_MERGE(`"+name+"`) */ ", "ALL ", "SQL_BUFFER_RESULT ",
		"HIGH_PRIORITY ", "SQL_SMALL_RESULT ", "/* c */ ")
}

// indexHint is none most of the time, as in tables without a primary key.
func (g *gen) indexHint(t *table) string {
	if !g.chance(8) || len(t.key) == 0 || strings.Contains(strings.Join(g.script.Setup, ""), "UNIQUE KEY uk") {
		return ""
	}
	return pick(g, " USE INDEX (PRIMARY)", " FORCE INDEX (PRIMARY)", " IGNORE INDEX (PRIMARY)", " USE INDEX ()", " FORCE INDEX FOR ORDER BY (PRIMARY)", " FORCE KEY FOR JOIN (PRIMARY)",
		" IGNORE INDEX FOR GROUP BY (PRIMARY)", " USE INDEX FOR ORDER BY (PRIMARY) IGNORE KEY FOR JOIN (PRIMARY)")
}

// simple is a SELECT from one table.
func (g *gen) simple() (string, bool) {
	t := pick(g, g.tables...)
	if g.chance(80) {
		t = g.counted()
	}
	s := g.from(t)
	from := s.text + g.indexHint(t)
	distinct := ""
	if g.chance(6) {
		distinct = "DISTINCT "
	}
	list := g.items(s, false)
	if strings.Contains(strings.ToLower(list), "updated_at") {
		distinct = "" // the two databases may write at different seconds
	}
	hint := g.hint(s)
	if distinct != "" {
		hint = ""
	}
	text := "SELECT " + hint + distinct + list + " FROM " + from
	if g.chance(65) {
		text += " WHERE " + g.condition(s, false)
	}
	if distinct != "" {
		return text, false
	}
	if g.chance(4) {
		text += " HAVING " + pick(g, "likes", "views", g.ident(t.counterName())) + " > " + g.c(g.integer(1))
	}
	ordered := false
	if g.chance(50) && len(t.key) > 0 {
		text += " ORDER BY " + g.order(s, list) + g.orderByKey(s, true)
		ordered = true
		switch g.IntN(6) {
		case 0:
			text += " LIMIT " + g.v(g.count(1+g.IntN(3)))
		case 1:
			text += " LIMIT " + g.v(g.count(2)) + " OFFSET " + g.v(g.count(g.IntN(2)))
		case 2:
			text += " LIMIT " + g.v(g.count(1)) + ", " + g.v(g.count(2))
		}
	} else if t.keyless {
		text += pick(g, "", " LIMIT 1")
	} else if g.chance(5) {
		text += " ORDER BY NULL"
	}
	if g.chance(12) {
		text += pick(g, " FOR UPDATE", " LOCK IN SHARE MODE", " FOR UPDATE")
		if g.d.mariaDB {
			text = strings.Replace(text, " FOR SHARE", " LOCK IN SHARE MODE", 1)
		}
	}
	return text, ordered
}

// top is a query for the first rows by a counter, in an order that an index of it has.
func (g *gen) top() (string, bool) {
	t := g.counted()
	if len(t.key) == 0 {
		return g.simple()
	}
	s := g.from(t)
	by, list := pick(g, t.counters()...), g.items(s, false)
	if strings.Count(list, by.name) > 1 {
		list = "*" // MySQL may find the order ambiguous
	}
	text := "SELECT " + list + " FROM " + s.text + g.indexHint(t)
	switch g.IntN(5) {
	case 0, 1:
		text += " WHERE " + g.condition(s, false)
	case 2:
		text += " WHERE " + g.ref(s, t.col("n")) + pick(g, " IS NULL", " IS NOT NULL", " <> "+g.i(2))
	}
	desc := pick(g, "", " DESC", " DESC")
	text += " ORDER BY " + g.ref(s, by) + desc
	for _, c := range t.key {
		text += ", " + g.name(s, c, false) + desc
	}
	switch g.IntN(3) {
	case 0:
		return text + " LIMIT " + g.v(g.count(g.IntN(3))) + ", " + g.v(g.count(g.IntN(3))), true
	case 1:
		return text + " LIMIT " + g.v(g.count(1+g.IntN(3))) + " OFFSET " + g.v(g.count(g.IntN(3))), true
	}
	return text + " LIMIT " + g.v(g.count(1+g.IntN(3))), true
}

func (t *table) counterName() string {
	if cs := t.counters(); len(cs) > 0 {
		return cs[0].name
	}
	return "likes"
}

// order is what comes before the key in ORDER BY, with a comma.
func (g *gen) order(s source, list string) string {
	if g.chance(45) {
		return ""
	}
	desc := pick(g, "", " DESC", " ASC")
	c := pick(g, comparableCols(s.cols)...)
	if k := countersOf(s.cols); len(k) > 0 && g.chance(70) {
		c = pick(g, k...)
	}
	if c.typ == "string" {
		return ""
	}
	return g.one(
		func() string { return g.ref(s, c) },
		func() string { return g.ref(s, c) },
		func() string { return g.qualified(s, c) },
		func() string { return g.ref(s, c) + " + 0" },
		func() string { return "-" + g.ref(s, c) },
		func() string { return "COALESCE(" + g.ref(s, c) + ", 0)" },
		func() string { return g.ref(s, c) + " IS NULL" },
		func() string { return g.ref(s, c) + " % 2" },
		func() string {
			if strings.Contains(list, "*") || strings.Contains(list, "updated_at") {
				return g.ref(s, c)
			}
			return "1"
		},
	) + desc + ", "
}

// aggregate is a query with aggregates or groups.
func (g *gen) aggregate() (string, bool) {
	t := g.counted()
	s := g.from(t)
	s.text += g.indexHint(t)
	agg := func() string {
		c := pick(g, t.counters()...)
		r := g.ref(s, c)
		return g.one(
			func() string { return "COUNT(*)" },
			func() string { return "SUM(" + r + ")" },
			func() string { return "MAX(" + r + ")" },
			func() string { return "MIN(" + r + ")" },
			func() string { return "AVG(" + r + ")" },
			func() string { return "COUNT(" + r + ")" },
			func() string { return "COUNT(DISTINCT " + r + ")" },
			func() string { return "SUM(" + r + " > 2)" },
			func() string { return "SUM(DISTINCT " + r + ")" },
			func() string { return "MAX(" + r + ") - MIN(" + r + ")" },
			func() string { return "GROUP_CONCAT(" + r + " ORDER BY " + r + ")" },
			func() string { return "COALESCE(SUM(" + r + "), 0)" },
			func() string { return "BIT_OR(" + r + ")" },
			func() string { return "SUM(" + r + " * " + g.ref(s, t.col("n")) + ")" },
			func() string { return "count(*)" },
		)
	}
	where := ""
	if g.chance(40) {
		where = " WHERE " + g.condition(s, false)
	}
	if g.chance(35) {
		text := "SELECT " + agg() + g.selectAlias() + pick(g, "", ", "+agg()) + " FROM " + s.text + where
		if g.chance(15) {
			text += " HAVING " + agg() + " > " + g.i(1)
		}
		return text, false
	}
	c := pick(g, comparableCols(t.cols)...)
	if g.chance(55) {
		c = pick(g, t.counters()...)
	}
	if c.typ == "string" {
		c = t.col("n") // of equal strings any may be shown
	}
	by := g.ref(s, c)
	shown, group := by, by
	switch g.IntN(7) {
	case 0:
		group = "1"
	case 1:
		shown += " AS grp"
		group = "grp"
	case 2:
		if !c.digits { // MariaDB shows either of 0 and -0
			shown, group = by+" % 2", by+" % 2"
		}
	case 3:
		if len(t.key) == 1 {
			shown, group = by, g.ref(s, t.key[0])
			if t.key[0].typ == "string" {
				group = shown
			}
		}
	}
	text := "SELECT " + shown + ", " + agg() + " FROM " + s.text + where + " GROUP BY " + group
	if !strings.HasPrefix(c.def, "YEAR") && g.chance(6) { // of which MySQL says another type there
		return text + " WITH ROLLUP", false
	}
	if g.chance(25) {
		text += " HAVING " + pick(g, agg()+" > "+g.i(0), "COUNT(*) >= "+g.i(1), g.ref(s, c)+" IS NOT NULL", "grp > 0")
	}
	return text + pick(g, "", "", " ORDER BY 1", " ORDER BY "+by, " ORDER BY COUNT(*) DESC", " ORDER BY NULL"), false
}

// query is any SELECT.
func (g *gen) query() (string, bool) {
	switch r := g.IntN(100); {
	case r < 8:
		return g.top()
	case r < 50:
		return g.simple()
	case r < 62:
		return g.aggregate()
	case r < 75:
		return g.join()
	case r < 87:
		return g.deep()
	}
	return g.nested()
}
