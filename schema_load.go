package countermysql

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// loader reads information_schema for the configured tables.
type loader struct {
	db      *sql.Conn
	server  server
	specs   []tableSpec
	seen    strings.Builder // everything read, to notice a change
	others  bool            // what is read may concern none of the tables
	objects *objects        // views, routines and triggers; read if there are none
	tables  map[string]*table
	kinds   map[*table]tableKind
	err     error
}

// tableKind is what information_schema.TABLES says of a table.
type tableKind struct {
	engine string
	view   bool
}

// loadSchema learns everything about the configured tables that exist.
func loadSchema(ctx context.Context, db *sql.DB, srv server, specs []tableSpec, b *objects) (*schema, error) {
	s := &schema{server: srv, specs: specs, tables: map[string]*table{}, plans: newPlanCache(), names: &names{}}
	if len(specs) == 0 {
		return s, nil
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("countermysql: reading the schema: %w", err)
	}
	defer conn.Close()
	l := &loader{db: conn, server: srv, specs: specs, objects: b, tables: s.tables, kinds: map[*table]tableKind{}}
	fmt.Fprint(&l.seen, srv)
	for _, spec := range specs {
		l.tables[s.key(spec.db, spec.name)] = &table{spec: spec, mariaDB: srv.mariaDB, galera: srv.galera, rollsBack: srv.rollsBack}
	}
	l.columns(ctx)
	l.keys(ctx)
	l.slotsTables(ctx)
	l.each(ctx, baseName, "SELECT TABLE_SCHEMA, TABLE_NAME, ENGINE, TABLE_TYPE = 'VIEW' FROM information_schema.TABLES WHERE {tables} ORDER BY TABLE_NAME", func(v []string) {
		if t := l.find(v[0], v[1]); t != nil {
			l.kinds[t] = tableKind{v[2], v[3] == "1"}
		}
	})
	l.inNoMode(ctx, func() {
		for _, key := range sortedKeys(s.tables) { // in an order, for the fingerprint
			l.describe(ctx, s.tables[key])
		}
	})
	l.foreignKeys(ctx)
	s.dependents = l.dependents(ctx, s)
	if l.err != nil {
		return nil, fmt.Errorf("countermysql: reading the schema: %w", l.err)
	}
	for _, t := range s.tables {
		if len(t.cols) > 0 {
			for _, name := range t.absent() {
				s.absent = append(s.absent, t.String()+"."+name)
			}
		} else if t.unfit == nil {
			s.unknown = append(s.unknown, t.String())
		}
	}
	s.setBare()
	slices.Sort(s.absent)
	slices.Sort(s.unknown)
	s.index()
	s.fingerprint = l.seen.String()
	return s, nil
}

func baseName(t tableSpec) string  { return t.name }
func slotsName(t tableSpec) string { return t.slotsTable }

// each runs a query for the configured tables of each database, with the
// condition on its columns TABLE_SCHEMA and TABLE_NAME in place of {tables}. For
// alternatives in one condition the servers would open the tables of all databases.
func (l *loader) each(ctx context.Context, name func(tableSpec) string, query string, f func(v []string)) {
	names := l.namesOf(name)
	for _, db := range sortedKeys(names) {
		in := "TABLE_SCHEMA = " + text(db) + " AND TABLE_NAME IN (" + strings.Join(names[db], ", ") + ")"
		l.rows(ctx, strings.ReplaceAll(query, "{tables}", in), f)
		l.complete(ctx)
	}
}

// namesOf are the names of the configured tables, as literals, by database.
func (l *loader) namesOf(name func(tableSpec) string) map[string][]string {
	names := map[string][]string{}
	for _, t := range l.specs {
		names[t.db] = append(names[t.db], text(name(t)))
	}
	return names
}

// complete fails where the last query may have left out a table: MariaDB only warns of
// one that it could not open because somebody has locked it exclusively
// (https://mariadb.com/kb/en/information-schema-tables/).
func (l *loader) complete(ctx context.Context) {
	if !l.server.mariaDB {
		return
	}
	var locked error
	l.rows(ctx, "SHOW WARNINGS", func(v []string) {
		if v[1] == strconv.Itoa(errLockWait) {
			locked = &mysql.MySQLError{Number: errLockWait, SQLState: [5]byte([]byte("HY000")), Message: v[2]}
		}
	})
	l.err = cmp.Or(l.err, locked)
}

// text is s as a literal that no sql_mode can change.
func text(s string) string { return "_utf8mb4 x'" + hex.EncodeToString([]byte(s)) + "'" }

// nextID is what SHOW CREATE TABLE tells of the rows.
var nextID = regexp.MustCompile(` AUTO_INCREMENT=\d+`)

// rows calls f for each row; NULL is "".
func (l *loader) rows(ctx context.Context, query string, f func(v []string)) {
	if l.err != nil {
		return
	}
	rows, err := l.db.QueryContext(ctx, query)
	if err != nil {
		l.err = err
		return
	}
	defer rows.Close()
	names, _ := rows.Columns()
	for rows.Next() {
		cells := make([]sql.NullString, len(names))
		dest := make([]any, len(names))
		for i := range cells {
			dest[i] = &cells[i]
		}
		if l.err = rows.Scan(dest...); l.err != nil {
			return
		}
		v := make([]string, len(cells))
		for i, c := range cells {
			v[i] = c.String
			if !l.others {
				fmt.Fprintf(&l.seen, "%q", nextID.ReplaceAllString(v[i], ""))
			}
		}
		f(v)
	}
	l.err = rows.Err()
}

const columnFields = `TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, DATA_TYPE, IS_NULLABLE, CHARACTER_SET_NAME,
 COLLATION_NAME, EXTRA, GENERATION_EXPRESSION, COALESCE(NUMERIC_SCALE, DATETIME_PRECISION, 0), COLUMN_DEFAULT IS NOT NULL AND COLUMN_DEFAULT NOT LIKE '%nextval(%'`

func columnOf(v []string) *column {
	extra := strings.ToLower(v[8])
	c := &column{
		name: v[2], columnType: v[3], dataType: v[4], nullable: v[5] == "YES", charset: v[6], collation: v[7],
		autoInc: strings.Contains(extra, "auto_increment"), onUpdate: strings.Contains(extra, "on update"),
		invisible: strings.Contains(extra, "invisible"), generated: v[9],
	}
	c.hasDefault = c.nullable || v[11] == "1" || c.autoInc || c.generated != "" || strings.Contains(extra, "default_generated")
	c.scale, _ = strconv.Atoi(v[10]) // COALESCE(…, 0)
	return c
}

// unescaped reads what MySQL tells of a generated column, which it writes as if it
// stood in quotes: concat(_utf8mb4\'a\',`n`).
var unescaped = strings.NewReplacer(`\\`, `\`, `\'`, `'`)

func (l *loader) find(db, name string) *table {
	return l.tables[l.key(db, name)]
}

func (l *loader) key(db, name string) string { return (&schema{server: l.server}).key(db, name) }

func (l *loader) columns(ctx context.Context) {
	l.each(ctx, baseName, "SELECT "+columnFields+" FROM information_schema.COLUMNS WHERE {tables} ORDER BY TABLE_NAME, ORDINAL_POSITION",
		func(v []string) {
			if t := l.find(v[0], v[1]); t != nil {
				c := columnOf(v)
				if !l.server.mariaDB {
					c.generated = unescaped.Replace(c.generated)
				}
				t.cols = append(t.cols, c)
			}
		})
	for _, t := range l.tables {
		for _, name := range t.spec.counters {
			if c := t.column(name); c != nil {
				t.counters = append(t.counters, c)
			}
		}
		for _, c := range t.cols {
			if c.onUpdate || slices.ContainsFunc(t.spec.touch, func(n string) bool { return strings.EqualFold(n, c.name) }) {
				t.touch = append(t.touch, c)
			}
		}
	}
}

func (l *loader) keys(ctx context.Context) {
	partial := map[string]bool{}
	l.each(ctx, baseName, `SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, COLUMN_NAME, SUB_PART FROM information_schema.STATISTICS
 WHERE NON_UNIQUE = 0 AND {tables} ORDER BY TABLE_NAME, INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX`,
		func(v []string) {
			t := l.find(v[0], v[1])
			if t == nil {
				return
			}
			if n := len(t.unique); n == 0 || t.unique[n-1].name != v[2] {
				t.unique = append(t.unique, uniqueKey{name: v[2]})
			}
			k := &t.unique[len(t.unique)-1]
			if c := t.column(v[3]); c != nil && v[4] == "" {
				k.cols = append(k.cols, c)
			} else {
				partial[t.String()+"."+v[2]] = true // a prefix or an expression
			}
		})
	for _, t := range l.tables {
		t.allUnique = len(t.unique)
		t.unique = slices.DeleteFunc(t.unique, func(k uniqueKey) bool { return partial[t.String()+"."+k.name] })
		for _, k := range t.unique {
			if k.name == "PRIMARY" || !slices.ContainsFunc(k.cols, func(c *column) bool { return c.nullable }) {
				t.key = k.cols
				break
			}
		}
	}
}

// inNoMode calls f with an empty sql_mode, whatever the DSN's: by others SHOW CREATE
// TABLE has names in double quotes, and leaves out what the other servers of their names
// do not know (https://mariadb.com/kb/en/sql-mode/).
func (l *loader) inNoMode(ctx context.Context, f func()) {
	if l.err != nil {
		return
	}
	var mode string
	if l.err = l.db.QueryRowContext(ctx, "SELECT @@SESSION.sql_mode").Scan(&mode); l.err != nil {
		return
	}
	if mode == "" {
		f()
		return
	}
	if _, l.err = l.db.ExecContext(ctx, "SET SESSION sql_mode = ''"); l.err != nil {
		return
	}
	f()
	if _, err := l.db.ExecContext(context.WithoutCancel(ctx), "SET SESSION sql_mode = '"+mode+"'"); err != nil {
		_ = l.db.Raw(func(any) error { return driver.ErrBadConn }) // nobody may have it as it is
		l.err = cmp.Or(l.err, err)
	}
}

// describe reads what only SHOW CREATE TABLE and the rows can tell.
func (l *loader) describe(ctx context.Context, t *table) {
	if len(t.cols) == 0 || l.err != nil {
		return
	}
	if l.kinds[t].view {
		t.unfit = []string{"it is a view; list the table below it"}
		return
	}
	create, tooMany := "", false
	l.rows(ctx, "SHOW CREATE TABLE "+t.base(), func(v []string) { create = v[1] })
	switch n := errorNumber(l.err); {
	case denied[n]: // with privileges on some of its columns
		l.err, t.unfit = nil, []string{"the user may not see its definition; grant SELECT on the whole table"}
		return
	case n == errNoTable: // dropped meanwhile
		l.err, t.cols, t.counters = nil, nil, nil
		return
	}
	if len(t.key) == 0 {
		l.rows(ctx, "SELECT COUNT(*) > 1 FROM (SELECT 1 FROM "+t.base()+" LIMIT 2) two", func(v []string) { tooMany = v[0] == "1" })
	}
	toks := tokenize(create, lexMode{})
	_, computed, _ := strings.Cut(create, "PARTITION BY") // what the server computes with
	for i, tok := range toks {
		what := ""
		switch {
		case tok.is("CHECK"):
			what = "CHECK constraint"
		case tok.is("KEY") && i > 0 && toks[i-1].is("FOREIGN"):
			what = "foreign key"
		}
		if what == "" || i+1 == len(toks) || !toks[i+1].punct('(') {
			continue
		}
		clause := create[tok.end:toks[closingParen(toks, i+1)].end]
		if slices.ContainsFunc(t.counters, func(c *column) bool { return mentionsWord(clause, c.name) }) {
			t.checkedBy = what
		}
		computed += clause
	}
	t.derived = slices.ContainsFunc(t.cols, func(g *column) bool {
		return g.generated != "" && slices.ContainsFunc(t.touch, func(c *column) bool { return mentionsWord(g.generated, c.name) })
	})
	t.indexed = t.indexes(create, toks)
	t.mayTouch(create, computed)
	t.missing = t.upgradeSQL(t.stored)
	t.taken = len(t.missingSteps()) > 1 && !slices.ContainsFunc(t.stored, numbersSlots)
	if t.judge(l.kinds[t].engine, tooMany, create); t.unfit != nil {
		t.missing, t.taken = "", false
		return
	}
	if t.missing == "" {
		t.narrow = t.widenSQL(t.stored)
	}
	t.unique = slices.DeleteFunc(t.unique, func(k uniqueKey) bool { // others may give a row what is in the base row
		return slices.ContainsFunc(k.cols, func(c *column) bool { return t.counter(c.name) != nil })
	})
	l.unseen(ctx, t)
}

// unseen finds out whether a slots table is missing, or is there for others: what
// the user has no privilege on, information_schema does not show.
func (l *loader) unseen(ctx context.Context, t *table) {
	if len(t.stored) > 0 || l.err != nil {
		return
	}
	l.rows(ctx, "SELECT 1 FROM "+t.slots()+" LIMIT 0", func([]string) {})
	switch n := errorNumber(l.err); n {
	case 0, errLockWait: // the connection is broken, or the answer came; or who waits has to try again
	case errNoTable:
		l.err = nil
	default:
		t.unseen, t.unmade, l.err = denied[n], l.err, nil
	}
}

// slotsTables reads the columns of the slots tables. One that the base table
// has too is a counter, or a touch column, whether it is listed here or not:
// another process may list it, and its slots must not go with ours.
func (l *loader) slotsTables(ctx context.Context) {
	found := map[string][]*column{}
	l.each(ctx, slotsName, "SELECT "+columnFields+", "+settlesSQL+" FROM information_schema.COLUMNS WHERE {tables} ORDER BY TABLE_NAME, ORDINAL_POSITION",
		func(v []string) {
			c := columnOf(v)
			c.settles = v[12] == "1"
			found[l.key(v[0], v[1])] = append(found[l.key(v[0], v[1])], c)
		})
	closed := map[string]bool{}
	l.each(ctx, slotsName, "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_COMMENT = '"+closedComment+"' AND {tables} ORDER BY TABLE_NAME",
		func(v []string) { closed[l.key(v[0], v[1])] = true })
	for _, t := range l.tables {
		slots := l.key(t.spec.db, t.spec.slotsTable)
		t.stored, t.closed = found[slots], closed[slots]
		t.nameSlots()
		for _, slot := range t.stored {
			if !slot.invisible {
				t.slotsWidth++
			}
			c := t.column(slot.name)
			if c != nil {
				c.settles = slot.settles && !c.onUpdate
			}
			switch {
			case c == nil, t.inKey(c.name), t.virtual(c.name), strings.EqualFold(c.name, t.slotCol):
			case (c.integer() || c.decimal()) && (slot.dataType == "bigint" || slot.decimal()):
				t.counters = append(t.counters, c)
			case slices.Contains([]string{"datetime", "timestamp"}, c.dataType):
				t.touch = append(t.touch, c)
			}
		}
	}
}

// acts reports whether a rule of a foreign key writes the row that has it.
func acts(rule string) bool { return rule != "RESTRICT" && rule != "NO ACTION" }

// referencing is a column of a table with the foreign key that it is in.
type referencing struct {
	db, table, column string
	foreignKey
}

// foreignKeysOf reads the foreign keys of tables of a database. The servers would open
// every table of it to join the two.
func (l *loader) foreignKeysOf(ctx context.Context, db string, names []string) (found []referencing) {
	in := " = " + text(db) + " AND TABLE_NAME IN (" + strings.Join(names, ", ") + ")"
	constraint := func(table, name string) string { return strings.ToLower(table + "\x00" + name) }
	rules := map[string]foreignKey{}
	l.rows(ctx, "SELECT TABLE_NAME, CONSTRAINT_NAME, DELETE_RULE, UPDATE_RULE FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA"+in+" ORDER BY TABLE_NAME, CONSTRAINT_NAME",
		func(v []string) {
			rules[constraint(v[0], v[1])] = foreignKey{changesKey: acts(v[3]), cascades: acts(v[2]) || acts(v[3])}
		})
	l.complete(ctx)
	if len(rules) == 0 {
		return nil
	}
	l.rows(ctx, `SELECT TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME
 FROM information_schema.KEY_COLUMN_USAGE WHERE REFERENCED_TABLE_NAME IS NOT NULL AND TABLE_SCHEMA`+in+" ORDER BY TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION",
		func(v []string) {
			if rule, ok := rules[constraint(v[1], v[2])]; ok {
				rule.parentDB, rule.parent, rule.column = v[4], v[5], v[6]
				found = append(found, referencing{v[0], v[1], v[3], rule})
			}
		})
	l.complete(ctx)
	return found
}

func (l *loader) foreignKeys(ctx context.Context) {
	names := l.namesOf(baseName)
	for _, db := range sortedKeys(names) {
		for _, fk := range l.foreignKeysOf(ctx, db, names[db]) {
			if t := l.find(fk.db, fk.table); t != nil {
				fk.changesKey = fk.changesKey && t.changes(t.key, fk.column)
				t.parents = append(t.parents, fk.foreignKey)
			}
		}
	}
	for _, key := range sortedKeys(l.tables) {
		l.ancestors(ctx, l.tables[key])
	}
}

// ancestors adds the parents of parents: a cascade goes on from table to table.
func (l *loader) ancestors(ctx context.Context, t *table) {
	for i := 0; i < len(t.parents); i++ {
		child := t.parents[i]
		if !child.cascades {
			continue
		}
		for _, fk := range l.foreignKeysOf(ctx, child.parentDB, []string{text(child.parent)}) {
			fk.changesKey = fk.changesKey && child.changesKey
			if !slices.Contains(t.parents, fk.foreignKey) {
				t.parents = append(t.parents, fk.foreignKey)
			}
		}
	}
}

// dependents finds the views, routines, triggers and parents through which a
// statement can reach a counter table without naming it.
func (l *loader) dependents(ctx context.Context, s *schema) []dependent {
	var all []dependent
	l.others = true
	if l.objects.read(ctx, l); l.err != nil {
		return nil
	}
	for _, v := range l.objects.views {
		all = append(all, dependent{db: v[0], name: v[1], kind: "view", body: v[2], reads: true})
	}
	for _, v := range l.objects.routines {
		all = append(all, dependent{db: v[0], name: v[1], kind: "routine", body: v[2], reads: true})
	}
	for _, v := range l.objects.triggers {
		if t := l.find(v[0], v[1]); t != nil {
			if t.updateTriggers = t.updateTriggers || v[3] == "UPDATE"; v[3] == "UPDATE" && !t.closed { // a closed table's increments fire it
				t.degrade("it has an UPDATE trigger, which an increment would not fire; drop it or take the table from the list")
			}
			t.insertTriggers = t.insertTriggers || v[3] == "INSERT"
			t.deleteTriggers = t.deleteTriggers || v[3] == "DELETE"
			t.makesKeys = t.makesKeys || v[3] == "INSERT" && v[4] == "BEFORE" && t.setsKey(v[2])
		}
		all = append(all, dependent{db: v[0], name: v[1], body: v[2], event: v[3]})
	}
	for _, key := range sortedKeys(s.tables) {
		t := s.tables[key]
		for _, fk := range t.parents {
			if fk.cascades {
				all = append(all, dependent{db: fk.parentDB, name: fk.parent, tables: []*table{t}, foreignKey: true, changesKey: fk.changesKey, column: fk.column})
			}
		}
	}
	all = s.closure(all)
	for _, d := range all {
		fmt.Fprintf(&l.seen, "%q%q%q%q%q%q", d.db, d.name, d.kind, d.event, d.column, d.body)
	}
	for _, key := range sortedKeys(s.tables) {
		fmt.Fprint(&l.seen, s.tables[key].insertTriggers, s.tables[key].deleteTriggers, s.tables[key].makesKeys, s.tables[key].unfit, s.tables[key].degraded)
	}
	return all
}
