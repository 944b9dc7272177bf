package random

import "strings"

// several sends some statements in one text, where the connection allows it.
func (g *gen) several() {
	if !g.d.several {
		return
	}
	texts := make([]string, 2+g.IntN(2))
	do := "exec"
	for i := range texts {
		switch g.IntN(4) {
		case 0:
			texts[i] = g.upsert()
		case 1:
			do = "query"
			texts[i], _ = g.top()
		case 2:
			texts[i] = g.absolute()
		default:
			texts[i] = g.increment()
		}
	}
	text := strings.Join(texts, pick(g, ";", "; ", " ;\n"))
	step := g.finish(do, text, false)
	if step.Prepared {
		return // neither server prepares several
	}
	g.add(step)
}

// elsewhere ends the name of a second database, which has a table of a counter table's
// name, without counters.
const elsewhere = "_2"

// otherDatabase makes it.
func (g *gen) otherDatabase() {
	if !g.chance(12) {
		return
	}
	g.x.elsewhere = true
	t := &table{name: "post"}
	g.script.Setup = append(g.script.Setup, "DROP DATABASE IF EXISTS {db}"+elsewhere, "CREATE DATABASE {db}"+elsewhere+" CHARACTER SET utf8mb4")
	id, n := g.intCol("id", "INT", 6), g.intCol("n", "INT NULL", 4)
	id.key = true
	likes := g.intCol("likes", "INT NULL", 9)
	t.key, t.cols = []*col{id}, []*col{id, n, likes}
	qualify := func(q string) string { return strings.Replace(q, "{db}.`post`", "{db}"+elsewhere+".`post`", 1) }
	g.script.Setup = append(g.script.Setup, qualify(t.create(g)))
	for range 3 {
		g.script.Setup = append(g.script.Setup, qualify(t.insertRow()))
	}
	g.x.namesake = t
}

// namesakes reads and writes the table of the same name, alone and beside ours.
func (g *gen) namesakes() {
	if !g.x.elsewhere {
		return
	}
	t := g.x.namesake
	there := "{db}" + elsewhere + pick(g, ".post", ".`post`")
	s := source{t: t, cols: t.cols, full: false}
	switch g.IntN(7) {
	case 0:
		g.send("exec", "UPDATE %s SET likes = likes + %s WHERE %s", there, g.i(1+g.IntN(3)), g.pin(s, false))
	case 1:
		g.asIs("query", "SELECT * FROM %s ORDER BY id", there)
	case 2:
		g.asIs("query", "SELECT p.n, p.likes, q.likes FROM post p JOIN %s q ON q.n = p.n", there)
	case 3:
		g.asIs("query", "SELECT post.likes FROM %s WHERE likes > (SELECT MIN(likes) FROM {db}.post)", there)
	case 4:
		g.send("exec", "UPDATE post p JOIN %s q ON q.n = p.n SET p.likes = p.likes + 1 WHERE q.id < %s", there, g.i(4))
	case 5:
		g.send("exec", "UPDATE %s q JOIN post p ON q.n = p.n SET q.likes = p.likes %% 9", there)
	default:
		g.asIs("exec", "USE {db}"+elsewhere)
		g.send("exec", "UPDATE post SET likes = likes + %s WHERE %s", g.i(1+g.IntN(3)), g.pin(s, false))
		g.exec(g.increment())
		g.asIs("query", "SELECT likes FROM post ORDER BY id")
		g.asIs("query", "SELECT likes FROM {db}.post")
		g.asIs("exec", "USE {db}")
	}
}
