package random

import (
	"slices"
	"strings"
)

// copies makes tables of others, reads them, and drops them.
func (g *gen) copies() {
	t, c, table, name := g.subject()
	s := source{t: t, cols: t.cols, full: true}
	temporary := pick(g, "TEMPORARY ", "TEMPORARY ", "")
	if temporary == "" && g.inside() {
		return
	}
	query := g.one(
		func() string { return "SELECT * FROM " + table },
		func() string { return "AS SELECT n, " + g.ref(s, c) + " FROM " + table },
		func() string { return "SELECT n, MAX(" + name + ") AS m FROM " + table + " GROUP BY n" },
		func() string {
			return "SELECT o.id, (SELECT MAX(" + name + ") FROM " + table + " q WHERE q.n = o.n) AS m FROM note o"
		},
		func() string {
			if g.d.mariaDB {
				return "AS (SELECT * FROM " + table + ")"
			}
			return "TABLE " + table
		},
		func() string {
			if g.x.view {
				return pick(g, "SELECT * FROM v", "AS SELECT n FROM v WHERE likes > 1", "SELECT SUM(likes) AS total FROM v")
			}
			return "SELECT COUNT(*) AS number FROM " + table + " WHERE " + name + " > 2"
		},
	)
	g.asIs("exec", "CREATE %sTABLE copied %s", temporary, query)
	g.asIs("query", "SELECT * FROM copied")
	if g.chance(30) {
		g.data()
		g.asIs("exec", "INSERT INTO copied %s", query)
		g.asIs("query", "SELECT * FROM copied")
	}
	g.asIs("exec", "DROP %sTABLE copied", temporary)
}

// columns adds an ordinary column, and drops it.
func (g *gen) columns() {
	if g.inside() {
		return
	}
	t, c, table, name := g.subject()
	g.kept = slices.DeleteFunc(g.kept, func(k kept) bool { // its first execution may be in a transaction, that is of another statement: TestAcceptedTypes
		list, _, _ := strings.Cut(k.step.SQL, " FROM ")
		return !g.d.mariaDB && strings.Contains(list, "?")
	})
	g.asIs("exec", "ALTER TABLE %s ADD COLUMN later %s%s", table, pick(g, "INT NULL DEFAULT 7", "VARCHAR(9) NOT NULL DEFAULT '5'", "DECIMAL(5,2) NULL"), pick(g, "", " FIRST", " AFTER `"+c.name+"`"))
	for range 1 + g.IntN(3) {
		switch g.IntN(4) {
		case 0:
			g.asIs("exec", "UPDATE %s SET %s = %s + 1, later = 8", table, name, name)
		case 1:
			g.asIs("query", "SELECT later, %s FROM %s WHERE %s > 1", name, table, name)
		case 2:
			g.asIs("query", "SELECT * FROM %s", table)
		default:
			s := source{t: t, cols: t.cols, full: true}
			g.send("exec", "UPDATE %s SET later = %s WHERE %s", table, g.i(3), g.pin(s, false))
		}
	}
	g.asIs("exec", "ALTER TABLE %s DROP COLUMN later", table)
	g.asIs("query", "SELECT * FROM %s", table)
}
