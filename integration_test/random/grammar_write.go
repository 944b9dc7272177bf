package random

import (
	"strings"
)

// counted picks a table that has counters.
func (g *gen) counted() *table {
	for {
		if t := pick(g, g.tables...); t.configured {
			return t
		}
	}
}

// delta is what is added to a counter, small enough to stay in range.
func (g *gen) delta(c *col) string {
	switch r := g.IntN(100); {
	case r < 2:
		return g.v(null)
	case r < 4:
		return g.v(g.decimal(150)) // a fraction, which an integer column rounds
	case r < 7:
		return g.i(0)
	case r < 10:
		return g.v(g.integer(-1))
	case c.digits:
		return g.v(g.digits())
	case c.typ == "decimal":
		return g.v(pick(g, g.decimal(25), g.decimal(110), g.decimal(7), g.integer(3), g.decimal(-50)))
	case c.small:
		return g.i(1)
	}
	v := g.integer(1 + g.IntN(9))
	v.again = func() value { return g.integer(1 + g.IntN(5)) }
	return g.v(v)
}

// relative is an assignment that adds to a counter.
func (g *gen) relative(s source, c *col, must bool) string {
	r := func() string { return g.name(s, c, must) }
	d := g.delta(c)
	e := ""
	switch g.IntN(16) {
	case 0, 1:
		e = d + " + " + r()
	case 2, 3:
		e = r() + " - " + d
	case 4:
		e = "COALESCE(" + r() + ", 0) + " + d
	case 5:
		e = "IFNULL(" + r() + ",0)+" + d
	case 6:
		e = "(" + r() + " + " + d + ")"
	case 7:
		e = r() + " + (" + d + ")"
	case 8:
		e = pick(g, r()+" + "+d+" + "+g.i(1), r()+" - -"+g.c(g.integer(1)), r()+" + -1", r()+"+"+d, "("+r()+") + "+d, r()+" - (-1)", "COALESCE("+r()+", 1) + "+d, r()+" + "+d+" * 2", r()+" + ABS("+d+")")
	default:
		e = r() + " + " + d
	}
	return r() + pick(g, " = ", "=", " := "[:0]+" = ") + e
}

func (g *gen) relatives(s source, must bool) string {
	cs := s.t.counters()
	out := g.relative(s, pick(g, cs...), must)
	if len(cs) > 1 && g.chance(25) {
		out = g.relative(s, cs[0], must) + ", " + g.relative(s, cs[1], must)
	}
	return out
}

func (g *gen) tail(s source) string {
	switch r := g.IntN(100); {
	case g.d.mariaDB && s.t.partitioned: // after an UPDATE of one partition, plain MariaDB finds no rows
		return ""
	case r < 85:
		return ""
	case r < 92:
		return " ORDER BY " + g.orderByKey(s, false) + " LIMIT " + g.v(g.count(1+g.IntN(2)))
	case r < 95:
		return " ORDER BY " + g.orderByKey(s, false)
	}
	return " LIMIT 100"
}

// increment is an UPDATE that adds to counters.
func (g *gen) increment() string {
	s := g.written(g.counted())
	set := g.relatives(s, false)
	if counts := g.counts(s); counts != "" && g.chance(60) {
		set = counts + g.touches(s)
	}
	where := g.where(s, false)
	if g.chance(12) {
		set += ", " + g.ordinarySet(s)
		where = g.pin(s, false) // as in absolute
	}
	text := "UPDATE " + pick(g, "", "", "", "", "", "", "LOW_PRIORITY ", "IGNORE ") + s.text + " SET " + set
	if g.chance(7) && !s.t.keyless || s.t.keyless && g.chance(60) {
		return text
	}
	return text + " WHERE " + where + g.tail(s)
}

// ordinarySet sets an ordinary column.
func (g *gen) ordinarySet(s source) string {
	cs := s.t.of(ordinary)
	c := pick(g, cs...)
	name := g.ref(s, c)
	switch {
	case c.typ == "int" && g.chance(40):
		return name + " = " + g.ref(s, c) + " + 1"
	case c.typ == "int" && g.chance(10):
		return name + " = " + g.ref(s, pick(g, s.t.counters()...)) + " % 5"
	case c.typ == "string" && g.chance(12):
		return name + " = LEFT(CONCAT(COALESCE(" + g.ref(s, c) + ", ''), " + g.ref(s, pick(g, numeric(s.cols)...)) + "), 20)"
	case s.t.has("updated_at") && g.d.clock != stoodStill && g.chance(10):
		return "updated_at = " + pick(g, "NOW()", "CURRENT_TIMESTAMP", "'2020-01-01 00:00:00'", "updated_at", "NULL")
	}
	return name + " = " + g.v(c.value())
}

// absolute is an UPDATE that needs or overwrites a counter's value.
func (g *gen) absolute() string {
	s := g.written(g.counted())
	c := pick(g, s.t.counters()...)
	r := func() string { return g.ref(s, c) }
	other := pick(g, s.t.counters()...)
	took := g.ref(s, other)
	if other.wide && !c.wide { // where the session is not strict it would be cut to the end of the range: semantics.md, 6
		took += " % 20"
	}
	set := r() + " = " + g.one(
		func() string { return g.v(c.value()) },
		func() string { return g.i(0) },
		func() string { return "DEFAULT" },
		func() string { return "GREATEST(" + r() + " - " + g.i(1) + ", 0)" },
		func() string { return "LEAST(" + r() + " + 1, 20)" },
		func() string { return "IF(" + r() + " > 0, " + r() + " - 1, 0)" },
		func() string { return "CASE WHEN " + r() + " > 2 THEN 0 ELSE " + r() + " + 1 END" },
		func() string { return took },
		func() string { return took + " + 1" },
		func() string { return "(SELECT COUNT(*) FROM note)" },
		func() string {
			return "(SELECT MAX(o.likes) FROM note o WHERE o.n = " + g.qualified(s, s.t.col("n")) + ")"
		},
		func() string { return "DEFAULT(" + g.ident(c.name) + ")" },
		func() string { return r() },
		func() string { return "FLOOR(" + r() + " / 2)" },
	)
	switch g.IntN(6) {
	case 0:
		return "UPDATE " + s.text + " SET " + set
	// with a subquery in the WHERE it depends on MySQL's plan which value a later assignment sees
	case 1:
		return "UPDATE " + s.text + " SET " + set + ", " + g.ordinarySet(s) + " WHERE " + g.pin(s, false)
	case 2:
		return "UPDATE " + s.text + " SET " + g.relative(s, other, false) + ", " + set + " WHERE " + g.pin(s, false)
	}
	return "UPDATE " + s.text + " SET " + set + " WHERE " + g.where(s, false) + g.tail(s)
}

// conditional is a write whose condition or order reads a counter.
func (g *gen) conditional() string {
	s := g.written(g.counted())
	c := pick(g, s.t.counters()...)
	cond := g.counterCondition(s, c, false)
	if g.chance(70) {
		cond = pick(g, g.pin(s, false)+" AND "+cond, cond+" AND "+g.where(s, false))
	}
	switch g.IntN(5) {
	case 0:
		return "DELETE FROM " + g.plainTable(s.t) + " WHERE " + strings.ReplaceAll(g.counterCondition(source{t: s.t, cols: s.cols}, c, false), "", "")
	case 1:
		return "UPDATE " + s.text + " SET " + g.ordinarySet(s) + " WHERE " + cond
	case 2:
		if len(s.t.key) > 0 && !(g.d.mariaDB && s.t.partitioned) {
			return "UPDATE " + s.text + " SET " + g.relative(s, c, false) + " ORDER BY " + g.ref(s, c) + pick(g, " DESC", "") + ", " + g.orderByKey(s, false) + " LIMIT " + g.v(g.count(1))
		}
	}
	return "UPDATE " + s.text + " SET " + g.relative(s, c, false) + " WHERE " + cond
}

func (g *gen) plainTable(t *table) string { return pick(g, "", "", "{db}.") + g.tableName(t.name) }

func (g *gen) counterCondition(s source, c *col, must bool) string {
	r := func() string { return g.name(s, c, must) }
	v := func() string { return g.v(c.compared(c.value())) }
	i := func(n int) string { return g.v(c.compared(g.integer(n))) }
	list := func() string { return v() + strings.Repeat(", "+v(), g.IntN(4)) }
	return g.one(
		func() string { return r() + pick(g, " > ", " >= ", " < ", " <> ", " = ") + v() },
		func() string { return r() + " >= " + i(1) },
		func() string { return r() + " IS NULL" },
		func() string { return r() + " IS NOT NULL" },
		func() string { return r() + " BETWEEN " + i(1) + " AND " + i(6) },
		func() string { return r() + " IN (" + list() + ")" },
		func() string { return "COALESCE(" + r() + ", 0) + 1 > " + i(3) },
		func() string { return "NOT (" + r() + " = " + v() + ")" },
		func() string { return r() + " <=> " + v() },
		func() string { return v() + " <= " + r() },
		func() string { return r() + " > (SELECT ROUND(AVG(o.likes)) FROM note o)" },
		func() string { return r() + " IN (SELECT o.likes FROM note o)" },
		func() string { return r() + " LIKE '1%'" },
	)
}

// edit writes ordinary columns, or the key.
func (g *gen) edit() string {
	t := pick(g, g.tables...)
	s := g.written(t)
	if t.configured && len(t.key) > 0 && g.chance(15) {
		k := pick(g, t.key...)
		set := g.ref(s, k) + " = "
		if k.typ == "int" && g.chance(60) {
			set += g.ref(s, k) + " + " + g.i(pick(g, 1, 10, 20))
		} else {
			set += g.v(k.value())
		}
		return "UPDATE " + pick(g, "", "", "IGNORE ") + s.text + " SET " + set + pick(g, "", ", "+g.relatives(s, false)) + " WHERE " + g.pin(s, false)
	}
	if !t.configured {
		return "UPDATE note SET " + pick(g, "likes = likes + 1", "likes = "+g.i(3), "n = n + 1", "title = "+g.v(g.str("z"))) + pick(g, "", " WHERE id = "+g.i(1+g.IntN(6)))
	}
	set := g.ordinarySet(s)
	if g.chance(20) { // as in absolute
		return "UPDATE " + s.text + " SET " + set + ", " + g.ordinarySet(s) + " WHERE " + g.pin(s, false)
	}
	if g.chance(15) {
		return "UPDATE " + s.text + " SET " + set
	}
	return "UPDATE " + s.text + " SET " + set + " WHERE " + g.where(s, false) + g.tail(s)
}

// remove is a DELETE.
func (g *gen) remove() string {
	t := g.counted()
	s := source{t: t, cols: t.cols, text: g.plainTable(t), full: true}
	if t.partitioned && g.chance(20) {
		s.text += " PARTITION (p1)"
	}
	text := "DELETE " + pick(g, "", "", "", "QUICK ", "IGNORE ") + "FROM " + s.text
	switch r := g.IntN(100); {
	case r < 4:
		return text
	case r < 7:
		return "TRUNCATE " + pick(g, "", "TABLE ") + g.plainTable(t)
	case r < 9:
		return "DELETE FROM note WHERE id = " + g.i(1+g.IntN(6))
	case r < 15 && len(t.key) > 0:
		return text + " WHERE " + g.where(s, false) + " ORDER BY " + g.orderByKey(s, false) + " LIMIT " + g.v(g.count(1))
	case r < 18 && len(t.key) > 0:
		return text + " ORDER BY " + g.ref(s, pick(g, t.counters()...)) + " DESC, " + g.orderByKey(s, false) + " LIMIT 1"
	}
	if g.chance(75) {
		return text + " WHERE " + g.pin(s, false)
	}
	return text + " WHERE " + g.where(s, false)
}

// joined is an UPDATE or DELETE of several tables.
func (g *gen) joined() string {
	t := g.counted()
	p, o := g.as(t, "p"), g.as(pick(g, g.tables...), "o")
	if len(o.t.key) == 0 || o.t.key[0].typ != "int" || len(o.t.key) > 1 {
		o = g.as(g.tables[len(g.tables)-1], "o")
	}
	on := g.qualified(p, t.col("n")) + " = " + g.qualified(o, o.t.key[0])
	c := pick(g, t.counters()...)
	join := p.text + pick(g, " JOIN ", " INNER JOIN ", " LEFT JOIN ") + o.text + " ON " + on
	where := pick(g, "", " WHERE "+g.where(p, true), " WHERE "+g.qualified(o, o.t.key[0])+" < "+g.i(4), " WHERE "+g.counterCondition(p, c, true))
	return g.one(
		func() string { return "UPDATE " + join + " SET " + g.relative(p, c, true) + where },
		func() string { return "UPDATE " + join + " SET p.title = " + g.v(g.str("j")) + where },
		func() string { return "UPDATE " + join + " SET " + g.qualified(p, c) + " = 1, o.title = 'q'" + where },
		func() string {
			return "UPDATE " + p.text + ", " + o.text + " SET " + g.relative(p, c, true) + " WHERE " + on
		},
		func() string { return "DELETE p FROM " + join + where },
		func() string { return "DELETE FROM p USING " + join + where },
		func() string { return "DELETE p, o FROM " + p.text + " JOIN " + o.text + " ON " + on + where },
		func() string { return "UPDATE " + join + " SET p.n = o.likes % 3" + where },
		func() string {
			most := g.ident(c.name)
			if c.wide {
				most += " % 20"
			}
			return "UPDATE note SET likes = (SELECT MAX(" + most + ") FROM " + g.tableName(t.name) + ") WHERE id = " + g.i(2)
		},
		func() string {
			return "DELETE FROM note WHERE likes IN (SELECT " + g.ident(c.name) + " FROM " + g.tableName(t.name) + ")"
		},
	)
}
