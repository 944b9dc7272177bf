package random

import (
	"fmt"
	"slices"
	"strings"
)

type colKind int

const (
	ordinary colKind = iota
	counter
	touch
)

type col struct {
	name     string
	typ      string // family: int, decimal, date, string, time
	def      string // of CREATE TABLE
	kind     colKind
	nullable bool
	unsigned bool
	auto     bool
	small    bool // TINYINT
	digits   bool // DECIMAL with many digits
	wide     bool // with more digits than floating-point numbers
	listed   bool // touch column of the configuration
	key      bool
	must     bool // NOT NULL without default
	value    func() value
}

type table struct {
	name        string
	cols        []*col
	key         []*col
	unique      [][]*col
	keyless     bool
	partitioned bool
	configured  bool
	checked     bool
}

func (t *table) counters() []*col {
	var out []*col
	for _, c := range t.cols {
		if c.kind == counter {
			out = append(out, c)
		}
	}
	return out
}

func (t *table) of(kind colKind) []*col {
	var out []*col
	for _, c := range t.cols {
		if c.kind == kind && !c.key {
			out = append(out, c)
		}
	}
	return out
}

func (t *table) has(name string) bool {
	for _, c := range t.cols {
		if c.name == name {
			return true
		}
	}
	return false
}

// selfish makes again produce another of f's values.
func again(f func() value) func() value {
	var g func() value
	g = func() value {
		v := f()
		v.again = g
		return v
	}
	return g
}

var words = []string{"a", "A", "b", "B", "é", "it's", "a ", "x?y", `back\slash`, "c", "-- d"}

func (g *gen) intCol(name, sqlType string, of int) *col {
	return &col{name: name, typ: "int", def: sqlType, must: true, unsigned: strings.Contains(sqlType, "UNSIGNED"),
		value: again(func() value { return g.integer(1 + g.IntN(of)) })}
}

func (g *gen) stringCol(name, sqlType string) *col {
	return &col{name: name, typ: "string", def: sqlType, must: true, value: again(func() value { return g.str(pick(g, words...)) })}
}

// counterTable makes a table with counters.
func (g *gen) counterTable(name string) *table {
	t := &table{name: name, configured: true}
	var cols []*col
	switch g.IntN(11) {
	case 9, 10:
		t.key = g.oddKey()
	case 0, 1:
		t.key = []*col{g.intCol("id", pick(g, "INT", "BIGINT", "INT UNSIGNED", "SMALLINT"), 6)}
	case 2, 3:
		id := g.intCol("id", pick(g, "INT AUTO_INCREMENT", "BIGINT UNSIGNED AUTO_INCREMENT"), 6)
		id.auto, id.must = true, false
		t.key = []*col{id}
	case 4:
		day := &col{name: "day", typ: "date", def: "DATE", must: true, value: again(func() value { return g.date(1 + g.IntN(4)) })}
		t.key = []*col{day, g.stringCol("page", pick(g, "VARCHAR(20)", "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"))}
	case 5:
		t.key = []*col{g.intCol("a", "INT", 3), g.intCol("b", "INT", 3)}
	case 6:
		t.key = []*col{g.stringCol("name", "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE "+pick(g, "utf8mb4_general_ci", "utf8mb4_bin", "utf8mb4_unicode_ci"))}
	case 7:
		t.key = []*col{g.intCol("id", "INT", 6)}
	default:
		if g.chance(60) {
			t.keyless = true
		} else {
			t.key = []*col{g.intCol("id", "INT", 6)}
		}
	}
	for _, c := range t.key {
		c.key = true
	}
	cols = append(cols, t.key...)
	var counters []*col
	for i := range 1 + g.IntN(3) {
		name := []string{"likes", "views", pick(g, "amount", "order", "rank", "group", "limit", "where")}[i]
		if slices.ContainsFunc(t.key, func(c *col) bool { return c.name == name }) {
			name = "amount"
		}
		counters = append(counters, g.counterCol(name))
	}
	rest := g.ordinaryCols(t)
	if g.chance(10) {
		desc := g.intCol("desc", "INT NULL", 4)
		desc.must, desc.nullable = false, true
		rest = append(rest, desc)
	}
	if g.chance(25) {
		rest = append(rest, &col{name: "updated_at", typ: "time", kind: touch, nullable: true,
			def: pick(g, "TIMESTAMP NULL DEFAULT '2020-01-01 00:00:00' ON UPDATE CURRENT_TIMESTAMP", "DATETIME(3) NULL DEFAULT '2020-01-01 00:00:00' ON UPDATE CURRENT_TIMESTAMP(3)")})
	}
	if g.d.clock != anyClock && g.chance(75) {
		rest = append(rest, g.touchCol())
	}
	switch g.IntN(4) {
	case 0:
		cols = append(append(cols, rest...), counters...)
	case 1:
		cols = append(append(append([]*col(nil), counters...), cols...), rest...)
	default:
		cols = append(append(cols, counters...), rest...)
	}
	t.cols = cols
	if t.keyless {
		t.unique = nil
	}
	return t
}

func (g *gen) ordinaryCols(t *table) []*col {
	n := g.intCol("n", "INT NULL", 4)
	n.must, n.nullable = false, true
	title := g.stringCol("title", "VARCHAR(30) NULL DEFAULT 't'")
	title.must, title.nullable = false, true
	out := []*col{n, title}
	if !t.keyless && g.chance(35) {
		slug := g.stringCol("slug", "VARCHAR(20) NULL")
		slug.must, slug.nullable = false, true
		out = append(out, slug)
		t.unique = append(t.unique, []*col{slug})
	}
	if !t.keyless && g.chance(15) {
		x, y := g.intCol("x", "INT NOT NULL DEFAULT 0", 3), g.intCol("y", "INT NULL", 4)
		x.must, y.must, y.nullable = false, false, true
		out = append(out, x, y)
		t.unique = append(t.unique, []*col{x, y})
	}
	return out
}

func (g *gen) counterCol(name string) *col {
	c := &col{name: name, kind: counter, typ: "int", nullable: g.chance(30)}
	sqlType := pick(g, "INT", "INT", "BIGINT", "TINYINT", "INT UNSIGNED", "BIGINT UNSIGNED", "SMALLINT", "DECIMAL(10,2)", "DECIMAL(12,0)", "MEDIUMINT UNSIGNED", "DECIMAL(65,30)", "DECIMAL(40,25)",
		"MEDIUMINT", "TINYINT UNSIGNED", "SMALLINT UNSIGNED", "DECIMAL(10,2) UNSIGNED", "INT(11)", "TINYINT(1)", "DECIMAL(20,0) UNSIGNED")
	c.unsigned = strings.Contains(sqlType, "UNSIGNED")
	c.small = strings.HasPrefix(sqlType, "TINYINT")
	if strings.HasPrefix(sqlType, "DECIMAL") && !strings.Contains(sqlType, ",0)") {
		c.typ = "decimal"
	}
	c.wide = strings.HasPrefix(sqlType, "BIGINT") && g.chance(35)
	c.digits = sqlType == "DECIMAL(65,30)" || sqlType == "DECIMAL(40,25)"
	c.def = sqlType
	if c.nullable {
		c.def += pick(g, " NULL", " NULL DEFAULT 0", " DEFAULT NULL", "")
	} else {
		c.def += pick(g, " NOT NULL DEFAULT 0", " NOT NULL DEFAULT 0", " NOT NULL DEFAULT 5", " NOT NULL")
		c.must = !strings.Contains(c.def, "DEFAULT")
	}
	c.value = again(func() value {
		if c.nullable && g.chance(15) {
			return null
		}
		if c.digits { // no float64: a prepared statement on MySQL keeps its type
			return g.digits()
		}
		sign := 1
		if !c.unsigned && g.chance(25) {
			sign = -1
		}
		switch {
		case c.typ == "decimal":
			return g.decimal(sign * g.IntN(2000))
		case c.wide && g.chance(60):
			return g.huge(sign, c.unsigned)
		}
		return g.integer(sign * g.IntN(10))
	})
	return c
}

// create writes CREATE TABLE.
func (t *table) create(g *gen) string {
	var parts []string
	for _, c := range t.cols {
		def := "`" + c.name + "` " + c.def
		if c.key && !strings.Contains(def, "NULL") {
			def += " NOT NULL"
		}
		parts = append(parts, def)
	}
	if len(t.key) > 0 {
		kind := "PRIMARY KEY ("
		if len(t.key) == 1 && !t.key[0].auto && g.chance(10) {
			kind = "UNIQUE KEY uk ("
		}
		parts = append(parts, kind+names(t.key)+")")
	}
	for i, u := range t.unique {
		parts = append(parts, fmt.Sprintf("UNIQUE KEY u%d (%s)", i, names(u)))
	}
	if cs := t.counters(); len(cs) > 0 && t.configured {
		if g.chance(35) {
			parts = append(parts, "KEY by_counter (`"+pick(g, cs...).name+"`)")
		}
		if c := pick(g, cs...); !c.wide && g.chance(6) {
			parts = append(parts, "CHECK (`"+c.name+"` > -20)")
			t.checked = true
		}
	}
	if t.has("n") && g.chance(30) {
		parts = append(parts, "KEY by_n (n)")
	}
	return "CREATE TABLE {db}.`" + t.name + "` (" + strings.Join(parts, ", ") + ") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4" + g.partitions(t, strings.Join(parts, " "))
}

func names(cols []*col) string {
	out := make([]string, len(cols))
	for i, c := range cols {
		out[i] = "`" + c.name + "`"
	}
	return strings.Join(out, ", ")
}

// insertRow writes one row of the start.
func (t *table) insertRow() string {
	var cols []*col
	var vals []string
	for _, c := range t.cols {
		if c.kind == touch {
			continue
		}
		cols = append(cols, c)
		vals = append(vals, plainLiteral(c.value().args[0]))
	}
	return "INSERT IGNORE INTO {db}.`" + t.name + "` (" + names(cols) + ") VALUES (" + strings.Join(vals, ", ") + ")"
}

// plainLiteral is a literal under the default sql_mode, which the setup has.
func plainLiteral(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		return "'" + strings.ReplaceAll(strings.ReplaceAll(v, `\`, `\\`), "'", "''") + "'"
	}
	return fmt.Sprint(v)
}

// schema makes the tables of a script.
func (g *gen) schema() {
	tableNames := []string{"post", pick(g, "page", "order", "page_hits"), "hits", "votes"}
	for i := range pick(g, 1, 1, 2, 3, 4) {
		g.tables = append(g.tables, g.counterTable(tableNames[i]))
	}
	note := &table{name: "note"}
	id := g.intCol("id", "INT", 6)
	id.key = true
	likes := g.intCol("likes", "INT NULL", 9)
	likes.must, likes.nullable = false, true
	n := g.intCol("n", "INT NULL", 4)
	n.must, n.nullable = false, true
	title := g.stringCol("title", "VARCHAR(30) NULL DEFAULT 't'")
	title.must, title.nullable = false, true
	note.key, note.cols = []*col{id}, []*col{id, n, likes, title}
	g.tables = append(g.tables, note)
	for _, t := range g.tables {
		g.script.Setup = append(g.script.Setup, t.create(g))
		rows := 2 + g.IntN(4)
		if t.keyless {
			rows = pick(g, 1, 1, 1, 0)
		}
		for range rows {
			g.script.Setup = append(g.script.Setup, t.insertRow())
		}
		g.script.Tables = append(g.script.Tables, t.name)
		if t.configured {
			c := Counter{Table: t.name}
			for _, x := range t.cols {
				switch {
				case x.kind == counter:
					c.Columns = append(c.Columns, x.name)
				case x.listed:
					c.Touch = append(c.Touch, x.name)
				}
			}
			g.script.Counters = append(g.script.Counters, c)
		}
	}
}
