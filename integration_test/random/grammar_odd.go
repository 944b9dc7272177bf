package random

import (
	"fmt"
	"strings"
)

// odd adds statements of a form in which drivers have been wrong.
func (g *gen) odd() {
	pick(g, g.locks, g.copies, g.variables, g.settings, g.nextLevel, g.chains, g.columns,
		g.rowConstructors, g.grouped, g.returning, g.wrongNames, g.unchanged, g.otherKey, g.windows, g.views, g.several, g.namesakes)()
}

// send adds a statement of the given form.
func (g *gen) send(do, format string, args ...any) {
	g.add(g.finish(do, fmt.Sprintf(format, args...), false))
}

// asIs is send for what can't be prepared, or has no arguments.
func (g *gen) asIs(do, format string, args ...any) {
	g.add(Step{Do: do, SQL: fmt.Sprintf(format, args...)})
}

func (g *gen) inside() bool { return g.begun || g.inText }

// subject is a counter table, one of its counters, and both as a statement may name them.
func (g *gen) subject() (t *table, c *col, table, name string) {
	t = g.counted()
	c = pick(g, t.counters()...)
	return t, c, g.tableName(t.name), g.ident(c.name)
}

// locks locks tables and unlocks them in one of the ways there are. Counter tables are
// none of them, nor is a table whose trigger has the server lock one: TestLockTables.
func (g *gen) locks() {
	if g.inside() || g.x.trigger {
		return
	}
	lock := func() {
		var parts []string
		for _, t := range g.tables {
			if !t.configured && g.chance(60) {
				parts = append(parts, "`"+t.name+"` "+pick(g, "", "", "", "", "", "AS p ")+pick(g, "READ", "WRITE", "WRITE", "READ LOCAL"))
			}
		}
		if parts == nil {
			parts = []string{"note WRITE"}
		}
		g.asIs("exec", "LOCK TABLES %s", strings.Join(parts, ", "))
	}
	lock()
	for range 1 + g.IntN(4) {
		g.data()
	}
	switch g.IntN(5) {
	case 0:
		g.asIs("exec", "BEGIN")
		g.data()
		g.asIs("exec", "COMMIT")
	case 1:
		lock()
		g.data()
	case 2:
		g.asIs("exec", "START TRANSACTION")
		g.data()
		g.asIs("exec", "ROLLBACK")
	}
	g.asIs("exec", "UNLOCK TABLES")
	g.data()
}

// variables reads counters into user variables.
func (g *gen) variables() {
	t, c, table, name := g.subject()
	s := source{t: t, cols: t.cols, full: true}
	switch g.IntN(4) {
	case 0:
		g.send("exec", "SELECT %s INTO @a FROM %s WHERE %s ORDER BY %s LIMIT 1", g.ref(s, c), table, g.pin(s, false), g.orderByKey(s, false))
		g.asIs("query", "SELECT @a")
	case 1:
		g.asIs("exec", "SELECT MAX(%s), COUNT(*) INTO @a, @b FROM %s", name, table)
		g.asIs("query", "SELECT @a, @b")
		g.send("exec", "UPDATE %s SET %s = @a WHERE %s", table, g.ref(s, c), g.pin(s, false))
	case 2:
		g.asIs("exec", "SET @r = 0")
		g.asIs("query", "SELECT d.m FROM (SELECT MAX(%s) AS m, @r := @r + 1 FROM %s) d", name, table)
		g.asIs("query", "SELECT @r")
	default:
		g.asIs("exec", "SET @k = 0")
		g.send("exec", "UPDATE %s SET n = (@k := @k + 1) WHERE %s AND %s", table, g.pin(s, false), g.counterCondition(s, c, false))
		g.asIs("query", "SELECT @k")
	}
}

// unchanged writes under conditions on a counter that no row meets, or what is there.
func (g *gen) unchanged() {
	t, c, table, _ := g.subject()
	s := source{t: t, cols: t.cols, full: true}
	r := func() string { return g.ref(s, c) }
	g.send("exec", "UPDATE %s SET %s WHERE %s AND %s", table,
		g.one(func() string { return r() + " = " + r() + " - 1" }, func() string { return r() + " = " + r() }, func() string { return "n = n" }, func() string { return g.relative(s, c, false) }),
		g.pin(s, false), r()+pick(g, " >= ", " > ", " = ")+g.i(99))
	g.send("exec", "UPDATE %s SET n = n WHERE %s AND %s", table, g.pin(s, false), r()+" >= "+g.i(0))
}

// nextLevel sets the isolation level of the next transaction.
func (g *gen) nextLevel() {
	g.asIs("exec", "SET TRANSACTION %s", pick(g, "ISOLATION LEVEL READ COMMITTED", "ISOLATION LEVEL SERIALIZABLE", "ISOLATION LEVEL REPEATABLE READ", "READ WRITE, ISOLATION LEVEL READ COMMITTED"))
	for range g.IntN(3) {
		g.data()
	}
}

// chains ends a transaction begun as text and begins another.
func (g *gen) chains() {
	if g.begun {
		return
	}
	if !g.inText && g.chance(30) {
		g.readOnly(Step{Do: "exec", SQL: "START TRANSACTION READ ONLY"}, Step{Do: "exec", SQL: pick(g, "COMMIT", "ROLLBACK")})
		return
	}
	if !g.inText {
		g.asIs("exec", "START TRANSACTION%s", pick(g, "", " READ WRITE", " WITH CONSISTENT SNAPSHOT"))
		g.data()
	}
	g.saved = nil
	g.inText = true
	for range 1 + g.IntN(2) {
		g.asIs("exec", "%s", pick(g, "COMMIT AND CHAIN", "ROLLBACK AND CHAIN", "COMMIT WORK AND CHAIN NO RELEASE", "rollback and chain"))
		g.data()
		g.data()
	}
}

// readOnly is a transaction that refuses writes, and so queries that need any.
func (g *gen) readOnly(begin, end Step) {
	g.add(begin)
	for range 1 + g.IntN(3) {
		if g.chance(30) {
			g.exec(g.increment())
			continue
		}
		text, ordered := pick(g, g.top, g.simple, g.aggregate, g.join)()
		if g.d.mariaDB && strings.HasSuffix(text, " WITH ROLLUP") { // which needs one there
			continue
		}
		g.add(g.finish("query", g.decorate(text), ordered))
	}
	g.add(end)
}
