package random

import (
	"slices"
	"strings"
)

// returning are writes that answer with rows, on MariaDB.
func (g *gen) returning() {
	if !g.d.mariaDB {
		return
	}
	t, c, table, name := g.subject()
	if t.keyless {
		return // a row more, and it can't have counters
	}
	s := source{t: t, cols: t.cols, full: true}
	list := pick(g, "*", name, "n, "+name+" + 1 AS x", "(SELECT MAX(q."+name+") FROM "+table+" q) AS m", "(SELECT COUNT(*) FROM note) AS m, "+name)
	switch g.IntN(4) {
	case 0:
		g.send("query", "DELETE FROM %s WHERE %s RETURNING %s", table, g.where(s, false), list)
	case 1:
		g.send("query", "DELETE FROM note WHERE id = %s RETURNING id, (SELECT MAX(%s) FROM %s) AS m", g.i(1+g.IntN(6)), g.ref(s, c), table)
	case 2:
		cols := g.insertCols(t)
		g.send("query", "REPLACE INTO %s (%s) VALUES %s RETURNING %s", table, g.columnList(cols), g.rows(cols, 1), list)
	default:
		if text := g.upsert(); strings.HasPrefix(text, "INSERT") {
			g.send("query", "%s RETURNING %s", text, list)
		}
	}
}

// otherKey is an upsert or REPLACE in which another unique key than the primary one decides.
func (g *gen) otherKey() {
	var ts []*table
	for _, t := range g.tables {
		if t.configured && len(t.unique) > 0 {
			ts = append(ts, t)
		}
	}
	if ts == nil {
		return
	}
	t := pick(g, ts...)
	c := pick(g, t.counters()...)
	var cols []*col
	var vals []string
	for _, x := range t.cols {
		switch {
		case x.key && x.auto && g.chance(60):
			continue
		case x.key && x.typ == "int":
			cols, vals = append(cols, x), append(vals, g.i(g.IntN(40)+6))
			continue
		case x.key, x.must, x.kind == counter && g.chance(50), slices.ContainsFunc(t.unique, func(u []*col) bool { return slices.Contains(u, x) }):
			cols, vals = append(cols, x), append(vals, g.v(x.value()))
		}
	}
	if g.chance(25) {
		g.send("exec", "REPLACE INTO %s (%s) VALUES (%s)", g.plainTable(t), g.columnList(cols), strings.Join(vals, ", "))
		return
	}
	s := source{t: t, cols: t.cols, full: true}
	set := g.relative(s, c, false)
	if slices.Contains(cols, c) && g.chance(50) {
		set = g.ident(c.name) + " = " + g.ident(c.name) + " + VALUES(" + g.ident(c.name) + ")"
	}
	g.send("exec", "INSERT INTO %s (%s) VALUES (%s) ON DUPLICATE KEY UPDATE %s", g.plainTable(t), g.columnList(cols), strings.Join(vals, ", "), set)
	if g.chance(30) {
		g.asIs("query", "SELECT * FROM %s", g.tableName(t.name))
	}
}

// views reads and writes the view of the first table.
func (g *gen) views() {
	if !g.x.view {
		return
	}
	t := g.tables[0]
	if t.name == "kid" {
		t = g.tables[1]
	}
	c := g.ident(pick(g, t.counters()...).name)
	switch g.IntN(7) {
	case 0:
		g.asIs("query", "SELECT n, SUM(%s) FROM v GROUP BY n", c)
	case 1:
		g.asIs("query", "SELECT v.%s, o.id FROM v JOIN note o ON o.n = v.n", c)
	case 2:
		g.send("exec", "UPDATE v SET %s = %s + %s WHERE n = %s", c, c, g.i(2), g.i(1+g.IntN(4)))
	case 3:
		g.send("exec", "DELETE FROM v WHERE %s > %s AND n = %s", c, g.i(5), g.i(1))
	case 4:
		g.asIs("exec", "UPDATE v SET %s = 3 WHERE %s > 4", c, c)
	case 5:
		g.asIs("query", "SELECT id, (SELECT MAX(%s) FROM v) AS m FROM note", c)
	default:
		g.asIs("query", "SELECT * FROM v x WHERE x.%s >= 1 FOR UPDATE", c)
	}
}
