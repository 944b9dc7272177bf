package random

import (
	"strconv"
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
	switch g.IntN(16) {
	case 10:
		return keyed("name", "string", "CHAR(6) CHARACTER SET latin1 COLLATE "+pick(g, "latin1_swedish_ci", "latin1_bin"), g.str("a"), g.str("A"), g.str("é"), g.str("b "))
	case 11: // beyond int64
		return keyed("id", "string", "BIGINT UNSIGNED", whole(18446744073709551615), whole(9223372036854775809), whole(9223372036854775808), whole(7))
	case 12: // beyond float64
		return keyed("id", "string", "BIGINT", whole(9007199254740993), whole(9007199254740992), whole(9007199254740995), whole(7))
	case 13:
		return keyed("at", "date", "TIME", clockTime("10:00:00"), clockTime("-01:30:00"), clockTime("25:00:01"))
	case 14:
		return append([]*col{g.intCol("a", "TINYINT UNSIGNED", 2)}, append(keyed("b", "string", "VARCHAR(5)", letters...), g.intCol("c", "BIGINT", 2))...)
	case 15:
		if g.d.mariaDB {
			return keyed("uid", "string", pick(g, "UUID", "VARCHAR(36) CHARACTER SET ascii"), g.str("6ccd780c-baba-1026-9564-5b8c656024db"), g.str("6ccd780c-baba-1026-9564-5b8c656024dc"), g.str("00000000-0000-0000-0000-000000000001"))
		}
		return keyed("name", "string", "VARCHAR(10) COLLATE utf8mb4_0900_as_cs", letters...)
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

// whole is a number that needs all digits.
func whole(n uint64) value {
	s := strconv.FormatUint(n, 10)
	return value{lit: s, args: []any{n, s, []byte(s)}}
}

func clockTime(s string) value { return value{lit: "'" + s + "'", args: []any{s, []byte(s)}} }

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
