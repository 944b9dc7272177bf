package random

import (
	"fmt"
	"strings"
)

// extras are what a schema may have beside its tables.
type extras struct {
	view, trigger, procedure, elsewhere bool
	namesake                            *table
}

// extraSchema adds views, triggers, procedures and foreign keys.
func (g *gen) extraSchema() {
	t := g.tables[0]
	g.otherDatabase()
	add := func(percent int, q string) bool {
		if !g.chance(percent) {
			return false
		}
		g.script.Setup = append(g.script.Setup, q)
		return true
	}
	c := t.counters()[0].name
	g.x.view = add(25, pick(g, "CREATE VIEW {db}.v AS SELECT * FROM {db}.post", "CREATE VIEW {db}.v AS SELECT "+names(t.cols)+" FROM {db}.post WHERE n > 1"))
	g.x.trigger = add(6, "CREATE TRIGGER {db}.tr AFTER INSERT ON {db}.note FOR EACH ROW UPDATE {db}.post SET `"+c+"` = `"+c+"` + 1 WHERE n = NEW.n")
	if !g.x.trigger {
		add(4, "CREATE TRIGGER {db}.tr2 BEFORE INSERT ON {db}.post FOR EACH ROW SET NEW.title = 'trig'")
	}
	g.x.procedure = add(25, "CREATE PROCEDURE {db}.bump(x INT) UPDATE {db}.post SET `"+c+"` = `"+c+"` + 1 WHERE n = x")
	if len(t.key) == 1 && t.key[0].typ == "int" && !t.partitioned && g.chance(8) {
		kid := &table{name: "kid", configured: true}
		id, post := g.intCol("id", "INT", 6), g.intCol("post_id", t.key[0].keyType(), 6)
		n, title := g.intCol("n", "INT NULL", 4), g.stringCol("title", "VARCHAR(30) NULL DEFAULT 't'")
		n.must, title.must, id.key = false, false, true
		kid.key, kid.cols = []*col{id}, []*col{id, post, g.counterCol("likes"), n, title}
		create := kid.create(g)
		create = strings.Replace(create, ") ENGINE", ", FOREIGN KEY (post_id) REFERENCES {db}.post (`"+t.key[0].name+"`) ON DELETE CASCADE ON UPDATE "+pick(g, "CASCADE", "RESTRICT")+") ENGINE", 1)
		g.script.Setup = append(g.script.Setup, create)
		for range 4 {
			g.script.Setup = append(g.script.Setup, kid.insertRow())
		}
		g.script.Tables = append(g.script.Tables, "kid")
		g.script.Counters = append(g.script.Counters, Counter{Table: "kid", Columns: []string{"likes"}})
		g.tables = append([]*table{kid}, g.tables...)
	}
}

// keyType is the type without AUTO_INCREMENT.
func (c *col) keyType() string { return strings.TrimSuffix(c.def, " AUTO_INCREMENT") + " NOT NULL" }

// rare adds a statement that few applications send.
func (g *gen) rare() {
	t := g.counted()
	s := source{t: t, cols: t.cols, full: true}
	table := g.tableName(t.name)
	c := pick(g, t.counters()...)
	name := g.ident(c.name)
	text := func(do, format string, args ...any) { g.add(Step{Do: do, SQL: fmt.Sprintf(format, args...)}) }
	inside := g.begun || g.inText
	switch g.IntN(24) {
	case 0:
		text("exec", "SET @v = (SELECT MAX(%s) FROM %s)", name, table)
		text("query", "SELECT @v")
	case 1:
		text("exec", "SET @d = 2")
		text("exec", "UPDATE %s SET %s = %s + @d WHERE n = 1", table, name, name)
	case 2:
		text("query", "SELECT MAX(%s) INTO @m FROM %s", name, table)
		text("query", "SELECT @m")
	case 3:
		text("exec", "PREPARE s FROM 'UPDATE %s SET `%s` = `%s` + ? WHERE n = ?'", "`"+t.name+"`", c.name, c.name)
		text("exec", "SET @a = 1, @b = 2")
		text("exec", "EXECUTE s USING @a, @b")
		text("query", "SELECT * FROM %s", table)
		text("exec", "DEALLOCATE PREPARE s")
	case 4:
		if inside || g.x.trigger {
			return
		}
		text("exec", "LOCK TABLES note WRITE")
		text("exec", "UPDATE %s SET %s = %s + 1", table, name, name)
		text("query", "SELECT * FROM %s", table)
		text("exec", "UNLOCK TABLES")
	case 5:
		if g.x.view {
			text("query", "SELECT * FROM v")
			text("exec", "UPDATE v SET n = 2 WHERE n = 3")
		}
	case 6:
		if g.x.view {
			p := g.tables[len(g.tables)-2]
			_ = p
			text("exec", "UPDATE v SET likes = likes + 1 WHERE n = %d", 1+g.IntN(4))
			text("query", "SELECT likes FROM v WHERE likes > 3")
		}
	case 7, 8:
		if g.x.trigger {
			text("exec", "INSERT INTO note (id, n) VALUES (%d, %d)", 20+g.IntN(50), 1+g.IntN(4))
		}
	case 9:
		if g.x.procedure {
			text("exec", "CALL bump(%d)", 1+g.IntN(4))
		}
	case 10:
		if inside || !t.has("n") {
			return
		}
		text("exec", "ALTER TABLE %s COMMENT = 'c'", table)
	case 11:
		if inside {
			return
		}
		text("exec", "ALTER TABLE %s ADD COLUMN more INT NULL DEFAULT 7", table)
		text("query", "SELECT * FROM %s", table)
		text("exec", "UPDATE %s SET %s = %s + 1, more = 8", table, name, name)
		text("exec", "ALTER TABLE %s DROP COLUMN more", table)
	case 12:
		if inside {
			return
		}
		text("exec", "CREATE TABLE copy AS SELECT n, %s AS x FROM %s", name, table)
		text("query", "SELECT * FROM copy")
		text("exec", "DROP TABLE copy")
	case 13:
		if inside {
			return
		}
		text("exec", "XA START '{db}%d'", g.script.Seed)
		text("exec", "UPDATE %s SET %s = %s + 1", table, name, name)
		text("query", "SELECT * FROM %s", table)
		text("exec", "XA END '{db}%d'", g.script.Seed)
		text("exec", "XA PREPARE '{db}%d'", g.script.Seed)
		text("exec", "XA %s '{db}%d'", pick(g, "COMMIT", "COMMIT", "ROLLBACK"), g.script.Seed)
	case 14:
		text("exec", "/*!50000 UPDATE */ %s SET %s = %s + 1", table, name, name)
	case 15:
		text("exec", "UPDATE %s SET %s = /*!40000 %s + */ 1", table, name, name)
	case 16:
		text("query", "SELECT %s FROM %s PROCEDURE nosuch()", name, table)
	case 17:
		text("exec", "UPDATE %s SET nosuch = 1", table)
		text("exec", "UPDATE %s SET %s = %s + nosuch", table, name, name)
		text("query", "SELECT nosuch, %s FROM %s", name, table)
		text("exec", "UPDATE %s SET %s = ", table, name)
	case 18:
		text("exec", "UPDATE %s SET %s = %s + (SELECT COUNT(*) FROM note)", table, name, name)
		text("exec", "UPDATE %s SET %s = %s + n WHERE n IS NOT NULL", table, name, name)
		text("exec", "UPDATE %s SET %s = %s + IFNULL(n, 0)", table, name, name)
	case 19:
		if len(t.key) > 0 {
			k := pick(g, t.key...)
			g.add(g.finish("query", fmt.Sprintf("SELECT %s FROM %s WHERE %s LIKE %s ORDER BY %s", name, table, g.ref(s, k), g.v(k.value()), g.orderByKey(s, true)), true))
		}
	case 20:
		text("exec", "CREATE TEMPORARY TABLE tmp AS SELECT n, %s AS x FROM %s", name, table)
		g.add(Step{Do: "query", SQL: fmt.Sprintf("SELECT * FROM tmp JOIN %s USING (n)", table)})
		text("exec", "DROP TEMPORARY TABLE tmp")
	case 21:
		text("query", "SELECT t1.%s FROM %s t1 JOIN %s t2 USING (n) JOIN note t3 USING (n)", name, table, table)
	case 22:
		if g.d.mariaDB && len(t.key) > 0 {
			text("query", "DELETE FROM %s WHERE n = 1 RETURNING %s, n", table, name)
			text("query", "INSERT INTO note (id, n, likes) SELECT 70 + n, n, MAX(%s) FROM %s GROUP BY n RETURNING likes", name, table)
		}
	default:
		text("exec", "DO (SELECT MAX(%s) FROM %s)", name, table)
	}
}
