package random

import (
	"regexp"
	"slices"
	"time"
)

// touchCol is a column that the configuration lists as touched.
func (g *gen) touchCol() *col {
	types := []string{"DATETIME(6) NULL", "DATETIME(6) NOT NULL DEFAULT '2020-01-01 00:00:00'", "TIMESTAMP(6) NULL DEFAULT NULL"}
	if g.d.clock == stoodStill { // equal times are found equal
		types = append(types, "DATETIME NULL", "TIMESTAMP(3) NULL DEFAULT NULL", "DATETIME NOT NULL DEFAULT '2020-01-01 00:00:00'", "TIMESTAMP NULL DEFAULT '2020-01-01 00:00:00'")
	}
	return &col{name: pick(g, "seen", "Last_At"), typ: "time", kind: touch, nullable: true, listed: true, def: pick(g, types...), value: again(func() value {
		if g.chance(20) {
			return ahead()
		}
		return g.moment(g.IntN(3))
	})}
}

// touched is the listed touch column; nil if there is none.
func (t *table) touched() *col {
	for _, c := range t.cols {
		if c.listed {
			return c
		}
	}
	return nil
}

// touches sets the listed touch column to the present moment, most often, with a comma before.
func (g *gen) touches(s source) string {
	c := s.t.touched()
	set := ", " + g.ref(s, c) + " = "
	switch {
	case g.chance(8):
		return set + g.v(g.moment(g.IntN(3))) // long ago, but after what the column began with
	case g.chance(6):
		return set + g.v(ahead())
	case g.chance(3) && g.d.clock == stoodStill:
		return set + g.ref(s, c)
	case g.d.clock == application:
		return set + g.v(value{lit: "'" + time.Unix(1_900_000_000, 0).UTC().Format(time.DateTime) + "'", args: []any{Present{}}})
	}
	if digits := fraction.FindString(c.def); g.d.clock == stoodStill && digits != "" { // with fewer of them, now is earlier than it was, which is an accepted difference
		return set + pick(g, "NOW"+digits, "CURRENT_TIMESTAMP"+digits, "now"+digits, "LOCALTIME"+digits, "(NOW"+digits+")", "UTC_TIMESTAMP()", "NOW() + INTERVAL 1 HOUR")
	}
	return set + pick(g, "NOW()", "CURRENT_TIMESTAMP", "CURRENT_TIMESTAMP(6)", "NOW(3)", "now()", "LOCALTIME", "(NOW())", "UTC_TIMESTAMP()", "NOW() + INTERVAL 1 HOUR")
}

// fraction is how many digits a column has behind the second.
var fraction = regexp.MustCompile(`\(\d\)`)

// counts adds to a counter that can't be NULL: where nothing is added, a touch is an
// accepted difference. It is "" if there is none.
func (g *gen) counts(s source) string {
	cs := slices.DeleteFunc(s.t.counters(), func(c *col) bool { return c.nullable })
	if s.t.touched() == nil || len(cs) == 0 {
		return ""
	}
	c := pick(g, cs...)
	return g.ref(s, c) + " = " + g.ref(s, c) + " + " + g.i(1+g.IntN(5))
}

// ahead is a time to come.
func ahead() value {
	t := time.Date(2035, 6, 1, 12, 0, 0, 0, time.UTC)
	return value{lit: "'" + t.Format(time.DateTime) + "'", args: []any{t, t.Format(time.DateTime)}}
}

// sometime is a condition on the listed touch column.
func (g *gen) sometime(s source, must bool) string {
	r := g.name(s, s.t.touched(), must)
	if g.d.clock == stoodStill && g.chance(50) {
		return r + pick(g, " <= NOW()", " = '2023-11-14 22:13:20'", " >= '2023-11-14 22:13:20.5'", " < NOW(6)")
	}
	return pick(g, r+" IS NULL", r+" > '2021-01-01'", r+" BETWEEN '2021-01-01' AND '2034-01-01'", r+" IS NOT NULL")
}
