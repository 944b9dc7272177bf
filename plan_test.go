package countermysql

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

// col makes a column from "name type [null] [auto] [onupdate] [default]".
func col(def string) *column {
	f := strings.Fields(def)
	c := &column{name: f[0], columnType: strings.ReplaceAll(f[1], "_", " ")}
	c.dataType, _, _ = strings.Cut(c.columnType, "(")
	c.dataType, _, _ = strings.Cut(c.dataType, " ")
	for _, option := range f[2:] {
		switch option {
		case "null":
			c.nullable, c.hasDefault = true, true
		case "auto":
			c.autoInc, c.hasDefault = true, true
		case "onupdate":
			c.onUpdate, c.hasDefault = true, true
		case "default":
			c.hasDefault = true
		}
	}
	if c.stringKey() {
		c.charset, c.collation = "utf8mb4", "utf8mb4_general_ci"
	}
	if c.dataType == "decimal" {
		c.scale = 2
	}
	return c
}

// testTable makes a table; the first key is its primary key.
func testTable(name string, counters, touch []string, keys []string, defs ...string) *table {
	t := &table{spec: tableSpec{db: "forum", name: name, slotsTable: name + "_slots", counters: counters, touch: touch, slots: 16, readOwn: ReadOwnLatest}, slotCol: "slot"}
	for _, def := range defs {
		t.cols = append(t.cols, col(def))
	}
	for i, k := range keys {
		u := uniqueKey{name: fmt.Sprint("key", i)}
		for _, c := range strings.Split(k, ",") {
			u.cols = append(u.cols, t.column(c))
		}
		if i == 0 {
			u.name, t.key = "PRIMARY", u.cols
		}
		t.unique = append(t.unique, u)
	}
	t.allUnique = len(t.unique)
	for _, c := range counters {
		t.counters = append(t.counters, t.column(c))
	}
	for _, c := range t.cols {
		if c.onUpdate || strings.EqualFold(c.name, strings.Join(touch, "")) {
			t.touch = append(t.touch, c)
		}
	}
	return t
}

// indexDefinitions are those of SHOW CREATE TABLE.
var indexDefinitions = map[string]string{
	"post": "(PRIMARY KEY (`id`), UNIQUE KEY `slug` (`slug`), KEY `likes` (`likes`), KEY `seen` (`views`) /*!80000 INVISIBLE */)",
	"page": "(PRIMARY KEY (`day`,`page`), KEY `hits` (`hits` DESC,`page`) USING BTREE COMMENT 'KEY (a)', KEY `short` (`page`(3),`hits`))",
	"item": "(PRIMARY KEY (`id`), KEY `stock` (`stock`,`updated_at`), KEY `unused` (`updated_at`) IGNORED)",
}

// forum is the schema of the golden files.
func forum(mariaDB bool) *schema {
	s := &schema{server: server{mariaDB: mariaDB}, tables: map[string]*table{}, plans: newPlanCache()}
	for _, t := range []*table{
		testTable("post", []string{"likes", "views"}, nil, []string{"id", "slug"},
			"id int auto", "slug varchar(20) null", "title varchar(50) null", "deleted_at datetime null", "likes int default", "views bigint_unsigned null"),
		testTable("page", []string{"hits"}, nil, []string{"day,page"}, "day date", "page varchar(20)", "hits decimal(10,2) default"),
		testTable("item", []string{"stock"}, []string{"updated_at"}, []string{"id"}, "id bigint", "name varchar(20) null", "stock int_unsigned default", "updated_at datetime null"),
		testTable("hits", []string{"cnt"}, nil, nil, "cnt int"),
	} {
		create := indexDefinitions[t.spec.name]
		t.indexed = t.indexes(create, tokenize(create, lexMode{}))
		s.tables[s.key("forum", t.spec.name)] = t
		s.specs = append(s.specs, t.spec)
	}
	s.dependents = s.closure([]dependent{{db: "forum", name: "popular", body: "select id from post where likes > 100", reads: true}})
	s.index()
	return s
}

// describe writes a plan for the golden files.
func describe(p *plan) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("%s", p.class)
	if p.reason != "" {
		line("  because %s", p.reason)
	}
	if p.err != nil {
		line("  error: %v", p.err)
	}
	if p.query != nil {
		if look := p.query.look; look != nil {
			always := ""
			if look.always {
				always = ", and no row is an answer"
			}
			line("  looks by %s%s", look.text, always)
			if look.rows.text != "" {
				line("  or by %s", look.rows.text)
			}
		}
		line("  sends %s", p.query.sql)
		if top := p.query.top; top != nil {
			line("  or %s", describeFragment(top.text))
		}
		if short := p.query.short; short != nil {
			line("  or %s", describeFragment(short.text))
		}
	}
	if p.query != nil && p.query.locking {
		for _, t := range p.reads {
			line("  locks %s", p.query.lockings(t)[0].clause)
		}
	}
	if p.guarded != "" {
		line("  tries %s", p.guarded)
	}
	if inc := p.increment; inc != nil {
		for _, d := range inc.deltas {
			sign := "+"
			if d.subtract {
				sign = "-"
			}
			what := describeValue(d.v)
			if d.inserted {
				what = "the inserted value"
			}
			line("  adds to %s.%s: %s %s", inc.t, d.c.name, sign, what)
		}
		for _, t := range inc.touch {
			line("  touches %s", t.c.name)
		}
		if inc.where.pieces != nil {
			line("  where %s", describeFragment(inc.where))
		}
		for _, r := range inc.rows {
			line("  row %s", describePin(r.key))
		}
	}
	for _, s := range p.scopes {
		switch {
		case s.pins != nil:
			line("  exact for %s: %s", s.t, describePins(s.pins))
		case s.where != nil:
			line("  exact for %s: %s", s.t, describeFragment(*s.where))
		default:
			line("  exact for %s: every row", s.t)
		}
	}
	for _, w := range p.writes {
		line("  writes %s: %s", w.t, describePins(w.pins))
	}
	if p.cleaning != nil {
		line("  clears left-over slots of %s: %s", p.cleaning.t, describePins(p.cleaning.pins))
	}
	for _, t := range p.dropped {
		line("  the slots of %s go too", t)
	}
	for _, t := range p.lockTables {
		line("  locks the slots of %s too", t)
	}
	for _, part := range p.split {
		line("  statement %s", strings.TrimSpace(part))
	}
	return b.String()
}

func describeValue(v value) string {
	s := fmt.Sprintf("argument %d", v.param+1)
	if v.param < 0 {
		s = fmt.Sprintf("%v", v.literal)
	}
	if v.negative {
		s = "-" + s
	}
	return s
}

func describePin(p pin) string {
	parts := make([]string, len(p.cols))
	for i, c := range p.cols {
		parts[i] = c.name + " = " + describeValue(p.values[i])
	}
	return strings.Join(parts, ", ")
}

func describePins(pins []pin) string {
	if pins == nil {
		return "any row"
	}
	parts := make([]string, len(pins))
	for i, p := range pins {
		parts[i] = "(" + describePin(p) + ")"
	}
	return strings.Join(parts, " ")
}

func describeFragment(f fragment) string {
	s := ""
	for i, p := range f.pieces {
		s += p
		if i < len(f.params) {
			s += fmt.Sprintf("{argument %d}", f.params[i]+1)
		}
	}
	return strings.TrimSpace(s)
}

// TestPlans proves what becomes of each form of statement. A golden file holds
// statements, each ended by an empty line's "=>" block with its plan.
func TestPlans(t *testing.T) {
	files, err := filepath.Glob("testdata/*.sql")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			was, err := os.ReadFile(file)
			require.NoError(t, err)
			s := forum(strings.Contains(file, "mariadb"))
			mode := lexMode{ansiQuotes: strings.Contains(file, "ansi"), noBackslashEscapes: strings.Contains(file, "ansi")}
			var now bytes.Buffer
			blocks := strings.SplitAfter(strings.TrimSpace(string(was)), "\n\n")
			for _, block := range blocks {
				stmt, golden, _ := strings.Cut(strings.TrimSpace(block), "\n=> ")
				plan := strings.TrimSpace(describe(s.plan(stmt, mode, "forum")))
				fmt.Fprintf(&now, "%s\n=> %s\n\n", stmt, plan)
				if !*update {
					require.Equal(t, golden, plan, "%s", stmt)
				}
			}
			if *update {
				require.NoError(t, os.WriteFile(file, now.Bytes(), 0o644))
			}
		})
	}
}
