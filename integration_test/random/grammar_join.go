package random

import (
	"fmt"
	"slices"
	"strings"
)

// join is a query over several tables.
func (g *gen) join() (string, bool) {
	t := g.counted()
	u := pick(g, g.tables...)
	p, o := g.as(t, "p"), g.as(u, "o")
	if g.chance(20) {
		o = g.as(t, "o") // a self-join
	}
	pc, oc := pick(g, t.counters()...), pick(g, numeric(o.cols)...)
	list := pick(g, "*", "p.*", "o.*, p."+g.ident(pc.name), "p."+g.ident(pc.name)+", o."+g.ident(oc.name), "p."+g.ident(pc.name)+" + o."+g.ident(oc.name), "COUNT(*)", "SUM(p."+g.ident(pc.name)+")", g.item(p, true)+", "+g.item(o, true), g.ident(pc.name))
	on := g.one(
		func() string { return "p.n = o.n" },
		func() string { return "p.n = o.n" },
		func() string { return "o." + g.ident(oc.name) + " = p." + g.ident(pc.name) },
		func() string { return "p." + g.ident(pc.name) + " > o." + g.ident(oc.name) },
		func() string { return "p.n = o.n AND " + g.counterCondition(p, pc, true) },
	)
	text := "SELECT " + list + " FROM " + g.one(
		func() string { return p.text + " JOIN " + o.text + " ON " + on },
		func() string { return p.text + " INNER JOIN " + o.text + " ON (" + on + ")" },
		func() string { return p.text + " LEFT JOIN " + o.text + " ON " + on },
		func() string { return p.text + " RIGHT JOIN " + o.text + " ON " + on },
		func() string { return o.text + " LEFT OUTER JOIN " + p.text + " ON " + on },
		func() string { return p.text + ", " + o.text + " WHERE " + on },
		func() string { return p.text + " CROSS JOIN " + o.text },
		func() string { return p.text + " JOIN " + o.text + " USING (n)" },
		func() string { return p.text + " LEFT JOIN " + o.text + " USING (n, title)" },
		func() string { return p.text + " JOIN " + o.text + " USING (likes)" },
		func() string { return p.text + " NATURAL JOIN " + o.text },
		func() string { return p.text + " NATURAL LEFT JOIN " + o.text },
		func() string { return "(" + p.text + " JOIN " + o.text + " ON " + on + ")" },
		func() string { return p.text + " LEFT JOIN (" + o.text + " JOIN note z ON z.n = o.n) ON " + on },
		func() string { return "note z JOIN " + p.text + " ON z.n = p.n LEFT JOIN " + o.text + " ON " + on },
		func() string { return p.text + " STRAIGHT_JOIN " + o.text + " ON " + on },
	)
	cond := g.condition(p, true)
	if g.chance(40) {
		if slices.Contains(strings.Fields(text), "WHERE") {
			text += " AND " + cond
		} else {
			text += " WHERE " + cond
		}
	}
	if g.chance(5) {
		text += pick(g, " FOR UPDATE", " LOCK IN SHARE MODE")
	}
	return text, false
}

// nested is a query with subqueries, derived tables, CTEs, UNION, windows.
func (g *gen) nested() (string, bool) {
	t := g.counted()
	s := g.from(t)
	c := pick(g, t.counters()...)
	name := g.ident(c.name)
	table := g.plainTable(t)
	n := func() string { return g.i(1 + g.IntN(5)) }
	key := "1"
	if len(t.key) > 0 {
		key = g.columnList(t.key)
	}
	where := func() string { return pick(g, "", " WHERE "+g.condition(s, false)) }
	u := pick(g, g.tables...)
	uc := pick(g, numeric(u.cols)...)
	return g.one(
		func() string { return "SELECT (SELECT SUM(" + name + ") FROM " + table + ") AS total" },
		func() string {
			return "SELECT o.*, (SELECT MAX(p." + name + ") FROM " + table + " p WHERE p.n = o.n) m FROM note o"
		},
		func() string {
			return "SELECT id FROM note WHERE likes IN (SELECT " + name + " FROM " + s.text + where() + ")"
		},
		func() string {
			return "SELECT id FROM note o WHERE EXISTS (SELECT 1 FROM " + table + " p WHERE p." + name + " > o.likes)"
		},
		func() string {
			return "SELECT " + g.items(s, false) + " FROM " + s.text + " WHERE " + g.ref(s, c) + " = (SELECT MAX(z." + name + ") FROM " + table + " z)"
		},
		func() string {
			return "SELECT " + g.items(s, false) + " FROM " + s.text + " WHERE " + g.ref(s, c) + pick(g, " >= ALL", " > ANY", " = SOME") + " (SELECT z." + name + " FROM " + table + " z WHERE z.n = " + n() + ")"
		},
		func() string {
			return "SELECT d.* FROM (SELECT " + g.items(s, false) + " FROM " + s.text + where() + ") d"
		},
		func() string {
			return "SELECT d." + name + ", COUNT(*) FROM (SELECT * FROM " + s.text + ") AS d GROUP BY d." + name
		},
		func() string {
			return "SELECT d.m FROM (SELECT n, MAX(" + g.ref(s, c) + ") AS m FROM " + s.text + " GROUP BY n) d WHERE d.m > " + n()
		},
		func() string {
			return "SELECT p." + name + ", d.s FROM " + table + " p JOIN (SELECT n, SUM(" + name + ") s FROM " + table + " GROUP BY n) d ON d.n = p.n"
		},
		func() string {
			return "WITH c AS (SELECT " + g.ident("n") + ", " + g.ref(s, c) + " FROM " + s.text + where() + ") SELECT * FROM c"
		},
		func() string {
			return "WITH c (x, y) AS (SELECT n, " + name + " FROM " + table + ") SELECT x, SUM(y) FROM c GROUP BY x"
		},
		func() string {
			return "WITH c AS (SELECT * FROM " + table + "), d AS (SELECT MAX(" + name + ") m FROM c) SELECT c." + name + ", d.m FROM c JOIN d"
		},
		func() string {
			return "WITH RECURSIVE seq AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM seq WHERE i < 5) SELECT seq.i, p." + name + " FROM seq LEFT JOIN " + table + " p ON p.n = seq.i"
		},
		func() string {
			return "WITH RECURSIVE seq AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM seq WHERE i < (SELECT MAX(" + name + ") FROM " + table + ") AND i < 9) SELECT COUNT(*) FROM seq"
		},
		func() string {
			return "WITH " + g.tableName(t.name) + " AS (SELECT 1 AS " + name + ") SELECT * FROM " + g.tableName(t.name)
		},
		func() string {
			return "SELECT " + g.ref(s, c) + " FROM " + s.text + where() + pick(g, " UNION ", " UNION ALL ", " UNION DISTINCT ") + "SELECT likes FROM note"
		},
		func() string {
			return "(SELECT n, " + g.ref(s, c) + " FROM " + s.text + ") UNION ALL (SELECT n, likes FROM note WHERE id < " + n() + ") ORDER BY 1, 2"
		},
		func() string {
			return "SELECT " + name + " FROM " + table + pick(g, " EXCEPT ", " INTERSECT ") + "SELECT likes FROM note"
		},
		func() string {
			return "SELECT n, " + g.ref(s, c) + ", RANK() OVER (ORDER BY " + g.ref(s, c) + " DESC) FROM " + s.text
		},
		func() string {
			return "SELECT n, SUM(" + g.ref(s, c) + ") OVER (PARTITION BY n) FROM " + s.text + where()
		},
		func() string {
			return "SELECT " + key + ", ROW_NUMBER() OVER w FROM " + table + " WINDOW w AS (ORDER BY " + name + ", " + key + ")"
		},
		func() string { return "SELECT COUNT(*) FROM " + s.text + " WHERE " + g.condition(s, false) },
		func() string {
			return "SELECT " + g.ref(s, c) + " IN (SELECT likes FROM note), EXISTS (SELECT 1 FROM " + table + " y WHERE y." + name + " > 5) FROM " + s.text
		},
		func() string {
			return "SELECT z.id, p." + name + " FROM note z LEFT JOIN (" + table + " p) ON p.n = z.n"
		},
		func() string {
			return "SELECT " + fmt.Sprintf("(SELECT COUNT(*) FROM %s q WHERE q.%s >= p.%s)", table, name, name) + ", p." + name + " FROM " + table + " p"
		},
		func() string {
			return "SELECT x." + name + " FROM " + table + " x WHERE x." + name + " > (SELECT AVG(y." + g.ident(uc.name) + ") FROM " + g.tableName(u.name) + " y WHERE y.n = x.n)"
		},
		func() string { return "VALUES ROW(1, (SELECT MAX(" + name + ") FROM " + table + "))" },
		func() string { return "TABLE " + table },
		func() string {
			return "SELECT " + name + ", " + name + " AS b FROM " + table + " GROUP BY " + name + " HAVING b > " + n()
		},
		func() string { return "SELECT n AS " + name + " FROM " + table + " ORDER BY " + name },
		func() string { return "SELECT DISTINCT " + name + " FROM " + table + " ORDER BY " + name },
		func() string {
			return "SELECT p.n, x.m FROM " + table + " p, (SELECT MAX(" + name + ") m FROM " + table + ") x WHERE p." + name + " = x.m"
		},
	), false
}
