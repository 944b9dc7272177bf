package random

import (
	"strings"
	"time"
)

// oddKey is a primary key of a type that few tables have there.
func (g *gen) oddKey() []*col {
	keyed := func(name, typ, def string, values ...value) []*col {
		return []*col{{name: name, typ: typ, def: def, must: true, value: again(func() value { return pick(g, values...) })}}
	}
	var letters []value
	for _, s := range []string{"a", "b", "c", "d"} {
		letters = append(letters, g.str(s))
	}
	switch g.IntN(10) {
	case 0:
		return keyed("tag", "string", "BINARY(2)", g.str("aa"), g.str("ab"), g.str("b"), g.str("Aa"))
	case 1:
		return keyed("tag", "string", "VARBINARY(8)", g.str("a"), g.str("a "), g.str("A"), g.str("b\x00"))
	case 2:
		return keyed("kind", "string", "ENUM('b', 'a', 'd', 'c')", letters...)
	case 3:
		return keyed("kinds", "string", "SET('b', 'a', 'c', 'd')", append(letters, g.str("a,c"), g.str("b,a"))...)
	case 4:
		return keyed("at", "date", "TIMESTAMP", g.moment(0), g.moment(1), g.moment(3600))
	case 5:
		return keyed("at", "date", "DATETIME(3)", g.moment(0), g.moment(1), g.moment(2))
	case 6:
		return keyed("year", "date", "YEAR", year(2001), year(2002), year(2024))
	case 7:
		return keyed("price", "string", "DECIMAL(6,2)", g.decimal(100), g.decimal(150), g.decimal(7), g.decimal(-20))
	case 8:
		return []*col{g.intCol(pick(g, "key", "group", "where", "limit"), "INT", 6)}
	}
	return append(keyed("kind", "string", "ENUM('b', 'a', 'd', 'c')", letters...), g.intCol("group", "SMALLINT", 3))
}

func year(n int) value {
	return value{lit: time.Date(n, 1, 1, 0, 0, 0, 0, time.UTC).Format("2006"), args: []any{int64(n), n, uint16(n)}}
}

// moment is a time some seconds after the first of the year, now and then with a fraction.
func (g *gen) moment(seconds int) value {
	t := time.Date(2024, 1, 1, 0, 0, seconds, 0, time.UTC)
	s := t.Format("2006-01-02 15:04:05")
	return value{lit: "'" + s + "'", args: []any{s, t, []byte(s), t.Add(time.Duration(g.IntN(3)) * 123456789)}}
}

// partitions partitions some tables.
func (g *gen) partitions(t *table, definition string) string {
	if !t.configured || t.name == "kid" || len(t.key) == 0 || len(t.unique) > 0 || !g.chance(12) {
		return ""
	}
	t.partitioned = true
	if len(t.key) == 1 && t.key[0].typ == "int" && g.chance(60) {
		return " PARTITION BY HASH (" + names(t.key) + ") PARTITIONS 3"
	}
	if !strings.Contains(definition, "PRIMARY KEY") {
		return " PARTITION BY KEY (" + names(t.key) + ") PARTITIONS 3"
	}
	return " PARTITION BY KEY () PARTITIONS 3"
}
