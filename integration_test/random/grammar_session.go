package random

import "fmt"

// settings changes the session between two statements.
func (g *gen) settings() {
	switch g.IntN(3) {
	case 0:
		g.limited()
	case 1:
		g.asIs("exec", "SET time_zone = '%s'", pick(g, "+05:00", "-03:30", "+00:00", "SYSTEM"))
		g.data()
	default:
		mode := pick(g, "STRICT_TRANS_TABLES", "STRICT_ALL_TABLES", "STRICT_TRANS_TABLES,NO_UNSIGNED_SUBTRACTION", "NO_ZERO_DATE", "STRICT_TRANS_TABLES,PIPES_AS_CONCAT", "STRICT_TRANS_TABLES,NO_AUTO_VALUE_ON_ZERO", "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO")
		if g.d.ansi {
			mode += ",ANSI_QUOTES"
		}
		if g.d.backslash {
			mode += ",NO_BACKSLASH_ESCAPES"
		}
		g.asIs("exec", "SET SESSION sql_mode = '%s'", mode)
		g.data()
	}
}

// limited runs statements under sql_select_limit, which is for ordered queries
// only: of others it is not known which rows they give.
func (g *gen) limited() {
	t := g.counted()
	if len(t.key) == 0 {
		return
	}
	s := source{t: t, cols: t.cols, full: true}
	c := pick(g, t.counters()...)
	g.asIs("exec", "SET SESSION sql_select_limit = %d", g.IntN(3))
	for range 1 + g.IntN(3) {
		switch g.IntN(5) {
		case 0:
			g.exec(g.increment())
		case 1:
			g.exec(g.absolute())
		case 2:
			g.exec(g.upsert())
		default:
			text := fmt.Sprintf("SELECT %s FROM %s WHERE %s ORDER BY %s", g.items(s, false), s.of(g), g.condition(s, false), g.orderByKey(s, true))
			g.add(g.finish("query", text, true))
		}
	}
	g.send("query", "SELECT SUM(%s) FROM %s", g.ref(s, c), s.of(g))
	g.asIs("exec", "SET SESSION sql_select_limit = DEFAULT")
}

// of names the source's table alone.
func (s source) of(g *gen) string { return g.tableName(s.t.name) }
