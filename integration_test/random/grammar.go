package random

import (
	"database/sql"
	"math/rand/v2"
)

// Generate makes the script of a seed for a kind of server.
func Generate(seed uint64, mariaDB bool) *Script {
	s := &Script{Seed: seed}
	g := &gen{Rand: rand.New(rand.NewPCG(seed, 1)), script: s}
	g.d.mariaDB = mariaDB
	g.options()
	g.schema()
	g.extraSchema()
	for range 10 + g.IntN(111) {
		g.step()
	}
	if g.begun {
		g.add(Step{Do: pick(g, "commit", "commit", "rollback")})
	}
	if g.inText {
		g.add(Step{Do: "exec", SQL: pick(g, "COMMIT", "COMMIT", "ROLLBACK")})
	}
	return s
}

func (g *gen) add(s Step) { g.script.Steps = append(g.script.Steps, s) }

func (g *gen) options() {
	o := func(percent int, option string) bool {
		if g.chance(percent) {
			g.script.Options = append(g.script.Options, option)
			return true
		}
		return false
	}
	switch g.IntN(20) {
	case 0, 1, 2:
		g.d.clock = stoodStill
		o(100, "timestamp=1700000000.654321")
	case 3, 4:
		g.d.clock = application
	}
	if g.d.parseTime = o(40, "parseTime=true"); g.d.parseTime {
		o(20, "loc=Asia%2FTokyo")
	}
	g.d.interpolat = o(40, "interpolateParams=true")
	g.d.foundRows = o(20, "clientFoundRows=true")
	g.d.several = o(8, "multiStatements=true")
	o(4, pick(g, "charset=latin1", "collation=utf8mb4_unicode_ci"))
	level := "transaction_isolation"
	if g.d.mariaDB {
		level = "tx_isolation"
	}
	o(20, level+"=%27"+pick(g, "READ-COMMITTED", "READ-COMMITTED", "SERIALIZABLE")+"%27")
	g.d.implicit = o(4, "autocommit=0")
	full := ",ONLY_FULL_GROUP_BY"
	if g.d.mariaDB {
		full = "" // a derived table hides its errors 1055 and 1140
	}
	switch g.IntN(13) {
	case 4:
		g.d.ansi, g.d.backslash = true, o(100, "sql_mode=%27ANSI_QUOTES,NO_BACKSLASH_ESCAPES,STRICT_TRANS_TABLES%27")
	case 0:
		g.d.ansi = o(100, "sql_mode=%27ANSI_QUOTES,STRICT_TRANS_TABLES%27")
	case 1:
		g.d.backslash = o(100, "sql_mode=%27NO_BACKSLASH_ESCAPES,STRICT_TRANS_TABLES"+full+"%27")
	case 2:
		o(100, "sql_mode=%27%27")
	case 3:
		o(100, "sql_mode=%27STRICT_TRANS_TABLES,NO_UNSIGNED_SUBTRACTION"+full+"%27")
	}
	if g.d.mariaDB {
		g.d.strict = o(15, "innodb_snapshot_isolation=1")
	}
	o(5, "columnsWithAlias=true")
	g.script.Slots = pick(g, 1, 2, 4, 16)
	g.script.Cools = g.chance(33)
	g.script.Late = g.script.Seed%2 == 1
	if g.chance(20) {
		g.script.ReadOwn, g.d.snapshot = "snapshot", true
	}
}

// data adds a statement that reads or writes rows.
func (g *gen) data() {
	if len(g.kept) > 0 && g.chance(8) {
		k := g.kept[g.IntN(len(g.kept))]
		s := k.step
		s.Args = [][]any{g.arguments(s, k.params, true)}
		g.add(s)
		return
	}
	switch r := g.IntN(100); {
	case r < 30:
		g.exec(g.increment())
	case r < 38:
		g.exec(g.upsert())
	case r < 43:
		text, rows := g.insert()
		if rows {
			g.add(g.finish("query", g.decorate(text), false))
		} else {
			g.exec(text)
		}
	case r < 48:
		g.exec(g.absolute())
	case r < 53:
		g.exec(g.conditional())
	case r < 58:
		g.exec(g.edit())
	case r < 61:
		g.exec(g.remove())
	case r < 63:
		g.exec(g.joined())
	case r < 66:
		g.exec(g.deepWrite())
	default:
		text, ordered := g.query()
		step := g.finish("query", g.decorate(text), ordered)
		// go-sql-driver hangs in Exec of a prepared query on MariaDB
		if g.chance(2) && !step.Prepared && step.Args == nil {
			step.Do = "exec"
		}
		g.add(step)
		if t := pick(g, g.tables...); g.chance(1) && len(t.key) > 0 {
			s := g.from(t)
			g.add(g.finish("query", "SELECT SQL_CALC_FOUND_ROWS * FROM "+s.text+" ORDER BY "+g.orderByKey(s, true)+" LIMIT 1", true))
			g.add(Step{Do: "query", SQL: "SELECT FOUND_ROWS()"})
		}
	}
}

func (g *gen) exec(text string) {
	do := "exec"
	if g.chance(3) {
		do = "query"
	}
	g.add(g.finish(do, g.decorate(text), false))
	if g.chance(2) {
		g.add(Step{Do: "query", SQL: "SELECT LAST_INSERT_ID()"})
	}
}

// step adds a statement, or a change of the transaction.
func (g *gen) step() {
	r := g.IntN(100)
	switch {
	case r < 67:
		g.data()
	case r < 74:
		g.odd()
	case r < 79:
		g.rare()
	case r < 80:
		g.rollup()
	case g.begun:
		switch {
		case r < 88:
			g.savepoint()
		case r < 97:
			g.begun = false
			g.saved = nil
			g.add(Step{Do: pick(g, "commit", "commit", "rollback")})
		default:
			g.data()
		}
	case g.inText:
		switch {
		case r < 88:
			g.savepoint()
		case r < 97:
			g.inText = false
			g.saved = nil
			g.add(Step{Do: "exec", SQL: pick(g, "COMMIT", "COMMIT", "commit work", "ROLLBACK", "COMMIT;", "SET autocommit = 1", "BEGIN", "CREATE TABLE IF NOT EXISTS other (a INT)", "COMMIT AND CHAIN", "SET autocommit=1", "START TRANSACTION")})
			last := g.script.Steps[len(g.script.Steps)-1].SQL
			g.inText = last == "BEGIN" || last == "START TRANSACTION" || last == "COMMIT AND CHAIN"
		default:
			g.data()
		}
	case r < 90:
		g.begun = true
		level := pick(g, sql.LevelDefault, sql.LevelDefault, sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable)
		if g.chance(8) {
			g.begun = false
			g.readOnly(Step{Do: "begin", Level: int(level), ReadOnly: true}, Step{Do: pick(g, "commit", "rollback")})
			return
		}
		g.add(Step{Do: "begin", Level: int(level)})
	case r < 97:
		g.inText = true
		if g.chance(20) {
			g.add(Step{Do: "exec", SQL: "SET TRANSACTION ISOLATION LEVEL " + pick(g, "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")})
		}
		g.add(Step{Do: "exec", SQL: pick(g, "BEGIN", "START TRANSACTION", "begin work", "SET autocommit = 0", "START TRANSACTION WITH CONSISTENT SNAPSHOT", "SET @@autocommit = 0", "/* c */ BEGIN")})
	case r < 98:
		g.add(Step{Do: "exec", SQL: "SET SESSION TRANSACTION ISOLATION LEVEL " + pick(g, "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")})
	default:
		g.add(Step{Do: "exec", SQL: pick(g, "SET autocommit = 1", "SET @x = 2", "SET NAMES utf8mb4", "COMMIT", "ROLLBACK", "SET time_zone = '+02:00'", "USE `{db}`", "DO 1", "ANALYZE TABLE note", "FLUSH TABLES note")})
	}
}

func (g *gen) savepoint() {
	if len(g.saved) > 0 && g.chance(50) {
		name := pick(g, g.saved...)
		g.add(Step{Do: "exec", SQL: pick(g, "ROLLBACK TO ", "ROLLBACK TO SAVEPOINT ", "ROLLBACK WORK TO ", "RELEASE SAVEPOINT ") + name})
		return
	}
	name := pick(g, "a", "b", "`c`", "A", "`d e`")
	g.saved = append(g.saved, name)
	g.add(Step{Do: "exec", SQL: pick(g, "SAVEPOINT ", "savepoint ") + name})
}

// rollup rolls up all counters, as the background does. It waits for rows that the
// script has locked. What it has changed MariaDB may refuse to a transaction with an older
// snapshot, if it is to (TestAcceptedSnapshotIsolation).
func (g *gen) rollup() {
	if !g.d.strict && (!g.inside() && !g.d.implicit || g.chance(10)) {
		g.add(Step{Do: "rollup"})
	}
}
