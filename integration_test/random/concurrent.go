package random

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// GenerateConcurrent makes a script with a second client, which commits
// between the statements of a transaction. Whatever one of them writes is
// pinned by its key, and nobody touches what the other has locked.
func GenerateConcurrent(seed uint64, mariaDB bool) *Script {
	g := &gen{Rand: rand.New(rand.NewPCG(seed, 2)), script: &Script{Seed: seed}}
	g.d.mariaDB = mariaDB
	g.options()
	g.script.Options = slices.DeleteFunc(g.script.Options, func(o string) bool { // each client would lock what it reads
		return o == "autocommit=0" || strings.Contains(o, "SERIALIZABLE")
	})
	g.d.implicit, g.script.ReadOwn = false, "" // its accepted difference is what others commit
	t := &table{name: "post", configured: true}
	id := g.intCol("id", "INT", 6)
	id.key = true
	t.key, t.cols = []*col{id}, []*col{id}
	for _, name := range []string{"likes", "views"} {
		c := g.counterCol(name)
		c.must = false
		t.cols = append(t.cols, c)
	}
	n, title := g.intCol("n", "INT NULL", 4), g.stringCol("title", "VARCHAR(30) NULL DEFAULT 't'")
	t.cols = append(t.cols, n, title)
	slug := &col{name: "slug", typ: "string", def: "VARCHAR(10) NOT NULL UNIQUE"}
	if g.chance(40) { // nobody deletes rows then: the gaps where they were would be locked
		t.cols, t.unique = append(t.cols, slug), [][]*col{{slug}}
	}
	counters := Counter{Table: "post", Columns: []string{"likes", "views"}}
	if g.d.clock != anyClock {
		touch := g.touchCol()
		t.cols, counters.Touch = append(t.cols, touch), []string{touch.name}
	}
	note := &table{name: "note", cols: []*col{id, n, g.intCol("likes", "INT NULL", 9), title}, key: []*col{id}}
	g.tables = []*table{t, note}
	for _, x := range g.tables {
		g.script.Setup = append(g.script.Setup, "CREATE TABLE {db}.`"+x.name+"` ("+definitions(x)+", PRIMARY KEY (id)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4")
		for k := range 6 {
			saved := id.value
			id.value = func() value { return g.integer(k + 1) }
			slug.value = func() value { return g.str(fmt.Sprint("s", k+1)) }
			g.script.Setup = append(g.script.Setup, x.insertRow())
			id.value = saved
		}
		g.script.Tables = append(g.script.Tables, x.name)
	}
	g.script.Counters = []Counter{counters}
	for range 3 {
		g.add(g.finish("exec", "UPDATE post SET "+g.relatives(source{t: t, cols: t.cols}, true)+" WHERE id <> "+g.i(1+g.IntN(6)), false))
	}
	for range 1 + g.IntN(3) {
		g.transaction(t)
	}
	return g.script
}

func definitions(t *table) string {
	s := ""
	for i, c := range t.cols {
		if i > 0 {
			s += ", "
		}
		s += "`" + c.name + "` " + c.def
	}
	return s
}

// pinned is a write of one row.
func (g *gen) pinned(t *table, id int) string {
	s := source{t: t, cols: t.cols, text: "post", full: true}
	pin := value{lit: fmt.Sprint(id), args: []any{int64(id), id, fmt.Sprint(id)}}
	where := g.one(func() string { return " WHERE id = " + g.v(pin) }, func() string { return " WHERE id = " + g.v(pin) },
		func() string { return " WHERE " + g.v(pin) + " = id" })
	insert := fmt.Sprintf("INSERT INTO post (id, likes, views) VALUES (%d, 1, 2)", id)
	remove := "DELETE FROM post"
	if len(t.unique) > 0 {
		if g.chance(40) {
			where = " WHERE slug = " + g.v(g.str(fmt.Sprint("s", id)))
		}
		insert = fmt.Sprintf("INSERT INTO post (id, slug, likes, views) VALUES (%d, 's%d', 1, 2)", id, id)
		remove = "UPDATE post SET n = 7"
	}
	c := pick(g, t.counters()...)
	return g.one(
		func() string { return "UPDATE post SET " + g.relative(s, c, false) + where },
		func() string { return "UPDATE post SET " + g.relative(s, c, false) + where },
		func() string { return "UPDATE post SET " + g.relatives(s, false) + where },
		func() string { return "UPDATE post SET " + g.relative(s, c, false) + ", n = 3" + where },
		func() string {
			if counts := g.counts(s); counts != "" {
				return "UPDATE post SET " + counts + g.touches(s) + where
			}
			return "UPDATE post SET title = 'f'" + where
		},
		func() string { return "UPDATE post SET title = 'e'" + where },
		func() string { return "UPDATE post SET " + c.name + " = " + g.v(c.value()) + where },
		func() string { return "UPDATE post SET " + c.name + " = GREATEST(" + c.name + " - 1, 0)" + where },
		func() string {
			return "UPDATE post SET " + c.name + " = " + c.name + " - 1" + where + " AND " + c.name + " >= 1"
		},
		func() string { return "SELECT * FROM post" + where + pick(g, " FOR UPDATE", " LOCK IN SHARE MODE") },
		func() string {
			return fmt.Sprintf("%s ON DUPLICATE KEY UPDATE %s = %s + 2", insert, c.name, c.name)
		},
		func() string { return remove + where },
	)
}

// transaction writes some keys and reads all, while another client writes the
// other keys.
func (g *gen) transaction(t *table) {
	level := pick(g, sql.LevelDefault, sql.LevelRepeatableRead, sql.LevelReadCommitted)
	text := g.chance(40)
	if text {
		if level == sql.LevelReadCommitted {
			g.add(Step{Do: "exec", SQL: "SET TRANSACTION ISOLATION LEVEL READ COMMITTED"})
		}
		g.add(Step{Do: "exec", SQL: pick(g, "BEGIN", "START TRANSACTION", "START TRANSACTION WITH CONSISTENT SNAPSHOT")})
	} else {
		g.add(Step{Do: "begin", Level: int(level)})
	}
	mine, theirs, strict := map[int]bool{}, map[int]bool{}, g.d.strict
	for range 4 + g.IntN(10) {
		id := 1 + g.IntN(6)
		switch g.IntN(6) {
		case 0, 1:
			if strict && theirs[id] {
				continue
			}
			mine[id] = true
			s := g.finish("query", g.pinned(t, id), false)
			if s.SQL[:6] != "SELECT" {
				s.Do = "exec"
			}
			g.add(s)
		case 2, 3:
			if mine[id] {
				continue
			}
			theirs[id] = true
			s := g.finish("other", g.pinned(t, id), false)
			s.Prepared = false
			if len(s.Args) > 1 {
				s.Args = s.Args[:1]
			}
			if s.SQL[:6] == "SELECT" || s.SQL[:6] == "DELETE" && g.chance(60) {
				continue
			}
			g.add(s)
		case 4:
			if len(mine) < 2 && g.chance(40) && !strict { // it waits for rows that are locked
				g.add(Step{Do: "rollup"})
			}
			g.add(g.finish(pick(g, "query", "query", "query", "otherquery"), pick(g, "SELECT * FROM post ORDER BY id", "SELECT * FROM post ORDER BY id", "SELECT SUM(likes), SUM(views) FROM post", fmt.Sprintf("SELECT * FROM post WHERE id = %d", id), "SELECT id FROM post WHERE likes > 5 ORDER BY id", "SELECT id, title, n FROM post ORDER BY id", "SELECT * FROM note ORDER BY id"), true))
		default:
			if g.chance(30) {
				g.savepoint()
			}
		}
	}
	end := pick(g, "commit", "commit", "rollback")
	g.saved = nil
	if text {
		g.add(Step{Do: "exec", SQL: end})
	} else {
		g.add(Step{Do: end})
	}
}
