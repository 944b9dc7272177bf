package random

import "strings"

// rowConstructors compares rows that have a counter.
func (g *gen) rowConstructors() {
	t := g.counted()
	s := g.written(t)
	c := pick(g, t.counters()...)
	r, n := g.ref(s, c), g.ref(s, t.col("n"))
	other := pick(g, g.tables...)
	of := "SELECT n, " + g.ident(pick(g, numeric(other.cols)...).name) + " FROM " + g.tableName(other.name)
	if g.chance(20) {
		g.asIs("exec", "DELETE FROM %s WHERE (%s, n) IN (SELECT likes, n FROM note)", g.tableName(t.name), g.ident(c.name))
		return
	}
	cond := g.one(
		func() string { return "(" + n + ", " + r + ") IN (" + of + ")" },
		func() string { return "(" + n + ", " + r + ") IN (SELECT o.n, o.likes FROM note o)" },
		func() string { return "(" + n + ", " + r + ") NOT IN (SELECT o.n, o.likes FROM note o)" },
		func() string {
			return "(" + r + ", " + n + ") IN ((" + g.i(1) + ", " + g.i(2) + "), (" + g.i(3) + ", " + g.i(1) + "))"
		},
		func() string {
			return "(" + n + ", " + r + ")" + pick(g, " = ", " > ", " <= ", " <=> ") + "(" + g.i(2) + ", " + g.i(3) + ")"
		},
		func() string { return "ROW(" + r + ", 1) = ROW(" + g.i(3) + ", 1)" },
		func() string { return "(" + r + ", " + n + ") = (SELECT MAX(likes), MAX(n) FROM note)" },
	)
	switch g.IntN(4) {
	case 0:
		g.send("exec", "UPDATE %s SET %s WHERE %s", s.text, g.relative(s, c, false), cond)
	default:
		g.send("query", "SELECT %s FROM %s WHERE %s", g.items(s, false), s.text, cond)
	}
}

// grouped groups and orders by aliases that have a counter's name.
func (g *gen) grouped() {
	_, c, table, name := g.subject()
	alias := pick(g, name, name, "views", "likes")
	alike := pick(g, name, name+", n", "n, "+name, table+"."+g.ident(c.name), "n")
	form := pick(g, [2]string{"MAX(n)", alike}, [2]string{"COUNT(*)", alike}, [2]string{"MIN(" + name + ")", alike},
		[2]string{name + " % 2", name + " % 2"}, [2]string{"n", "n, " + alias}, [2]string{"n", "n, " + name})
	list, by := form[0]+" AS "+alias+pick(g, "", ", COUNT(*)"), form[1]
	g.asIs("query", "SELECT %s FROM %s GROUP BY %s%s", list, table, by, pick(g, "", "", " HAVING COUNT(*) > 0", " HAVING "+alias+" > 1", " ORDER BY "+alias+" + 0"))
}

// wrongNames names tables and columns that there are not, or more than once.
func (g *gen) wrongNames() {
	t, c, table, name := g.subject()
	s := source{t: t, cols: t.cols, full: true}
	if t.keyless {
		return // a row more, and it can't have counters
	}
	pin := g.pin(s, false)
	wrong := pick(g, "nosuch.", "note.", "{db}x.", "nosuch.nosuch.", "`p`.")
	plus := name + " = " + name + " + 1"
	do, text, _ := strings.Cut(g.one(
		func() string { return "exec\x00UPDATE " + table + " SET " + wrong + plus + " WHERE " + pin },
		func() string { return "exec\x00UPDATE " + table + " SET " + plus + " WHERE " + wrong + "n = 1" },
		func() string { return "exec\x00UPDATE " + table + " p SET " + table + "." + plus + " WHERE " + pin },
		func() string {
			return "exec\x00UPDATE " + table + " SET " + name + " = " + wrong + name + " + 1 WHERE " + pin
		},
		func() string { return "exec\x00UPDATE " + table + " SET " + plus + ", " + plus + " WHERE " + pin },
		func() string {
			return "exec\x00UPDATE " + table + " SET " + plus + ", " + name + " = 3 WHERE " + pin
		},
		func() string {
			return "exec\x00INSERT INTO " + table + " (" + g.columnList(append(g.insertCols(t), c, c)) + ") VALUES " + g.rows(append(g.insertCols(t), c, c), 1)
		},
		func() string {
			cols := g.insertCols(t)
			return "exec\x00INSERT INTO " + table + " (" + g.columnList(cols) + ") VALUES " + g.rows(cols, 1) + " ON DUPLICATE KEY UPDATE " + wrong + plus
		},
		func() string {
			cols := g.insertCols(t)
			return "exec\x00INSERT INTO " + table + " (" + g.columnList(cols) + ") VALUES " + g.rows(cols, 1) + " ON DUPLICATE KEY UPDATE " + plus + ", " + plus
		},
		func() string { return "query\x00SELECT " + wrong + name + " FROM " + table + " WHERE " + pin },
		func() string { return "query\x00SELECT " + name + " FROM " + table + " ORDER BY " + wrong + name },
		func() string { return "query\x00SELECT " + name + " FROM " + table + " a JOIN " + table + " b" },
		func() string { return "query\x00SELECT " + name + " FROM " + table + ", " + table },
		func() string { return "query\x00SELECT " + wrong + "* FROM " + table },
		func() string { return "query\x00SELECT " + name + " FROM " + table + " GROUP BY " + wrong + name },
		func() string {
			return "query\x00SELECT " + name + " FROM " + table + " HAVING " + wrong + name + " > 1"
		},
		func() string {
			return "query\x00SELECT d." + name + " FROM (SELECT " + name + ", " + name + " FROM " + table + ") d"
		},
		func() string { return "exec\x00DELETE FROM " + table + " WHERE " + wrong + name + " = 1" },
	), "\x00")
	g.add(g.finish(do, text, false))
}

// windows are queries with window functions, and LATERAL.
func (g *gen) windows() {
	t, _, table, name := g.subject()
	if len(t.key) == 0 {
		return
	}
	key := g.columnList(t.key)
	over := pick(g, " OVER (ORDER BY "+key+")", " OVER (PARTITION BY n ORDER BY "+key+")", " OVER (ORDER BY "+name+", "+key+")")
	if !g.d.mariaDB && g.chance(25) {
		g.asIs("query", pick(g,
			"SELECT o.id, l.m FROM note o, LATERAL (SELECT MAX(p.%[1]s) AS m FROM %[2]s p WHERE p.n = o.n) l",
			"SELECT o.id, l.%[1]s FROM note o LEFT JOIN LATERAL (SELECT * FROM %[2]s p WHERE p.n = o.n) l ON TRUE",
			"SELECT p.%[1]s, l.x FROM %[2]s p JOIN LATERAL (SELECT p.%[1]s + 1 AS x) l"), name, table)
		return
	}
	g.asIs("query", "SELECT %s, %s%s%s FROM %s%s", key,
		pick(g, "LAG("+name+")", "LEAD("+name+", 1, 0)", "SUM("+name+")", "FIRST_VALUE("+name+")", "NTILE(2)", "MAX("+name+")", "DENSE_RANK()", "COUNT("+name+")", "AVG("+name+")"),
		over, pick(g, "", " AS "+name, " + 1"), table, pick(g, "", " WHERE "+name+" > 1"))
}
