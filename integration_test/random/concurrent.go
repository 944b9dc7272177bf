package random

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
)

// GenerateConcurrent makes a script with a second client, which commits
// between the statements of a transaction. Whatever one of them writes is
// pinned by its key, and nobody touches what the other has locked.
func GenerateConcurrent(seed uint64, mariaDB bool) *Script {
	g := &gen{Rand: rand.New(rand.NewPCG(seed, 2)), script: &Script{Seed: seed}}
	g.d.mariaDB = mariaDB
	g.options()
	g.script.ReadOwn = "" // its accepted difference is what others commit
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
	note := &table{name: "note", cols: []*col{id, n, g.intCol("likes", "INT NULL", 9), title}, key: []*col{id}}
	g.tables = []*table{t, note}
	for _, x := range g.tables {
		g.script.Setup = append(g.script.Setup, "CREATE TABLE {db}.`"+x.name+"` ("+definitions(x)+", PRIMARY KEY (id)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4")
		for k := range 6 {
			saved := id.value
			id.value = func() value { return g.integer(k + 1) }
			g.script.Setup = append(g.script.Setup, x.insertRow())
			id.value = saved
		}
		g.script.Tables = append(g.script.Tables, x.name)
	}
	g.script.Counters = []Counter{{"post", []string{"likes", "views"}}}
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
	where := fmt.Sprintf(" WHERE id = %s", g.v(value{lit: fmt.Sprint(id), args: []any{int64(id), id, fmt.Sprint(id)}}))
	c := pick(g, t.counters()...)
	return g.one(
		func() string { return "UPDATE post SET " + g.relative(s, c, false) + where },
		func() string { return "UPDATE post SET " + g.relative(s, c, false) + where },
		func() string { return "UPDATE post SET " + g.relatives(s, false) + where },
		func() string { return "UPDATE post SET " + g.relative(s, c, false) + ", n = 3" + where },
		func() string { return "UPDATE post SET title = 'e'" + where },
		func() string { return "UPDATE post SET " + c.name + " = " + g.v(c.value()) + where },
		func() string { return "UPDATE post SET " + c.name + " = GREATEST(" + c.name + " - 1, 0)" + where },
		func() string {
			return "UPDATE post SET " + c.name + " = " + c.name + " - 1" + where + " AND " + c.name + " >= 1"
		},
		func() string { return "SELECT * FROM post" + where + pick(g, " FOR UPDATE", " LOCK IN SHARE MODE") },
		func() string {
			return fmt.Sprintf("INSERT INTO post (id, likes, views) VALUES (%d, 1, 2) ON DUPLICATE KEY UPDATE %s = %s + 2", id, c.name, c.name)
		},
		func() string { return "DELETE FROM post" + where },
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
	mine, theirs := map[int]bool{}, map[int]bool{}
	strict := false
	for _, o := range g.script.Options {
		strict = strict || o == "innodb_snapshot_isolation=1"
	}
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
