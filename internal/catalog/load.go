package catalog

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// loader reads information_schema for the configured tables.
type loader struct {
	db      *sql.Conn
	server  Server
	specs   []Spec
	seen    strings.Builder // everything read, to notice a change
	others  bool            // what is read may concern none of the tables
	objects *Objects        // views, routines and triggers; read if there are none
	tables  map[string]*Table
	stored  map[string][]*Column // of base and slots tables
	kinds   map[string]tableKind
	told    Answers
	none    map[string]bool // slots tables that are not there
	err     error
}

// tableKind is what information_schema.TABLES says of a table.
type tableKind struct {
	engine       string
	view, closed bool
}

// LoadSchema learns everything about the configured tables that exist, by what has been
// told and the server.
func LoadSchema(ctx context.Context, db *sql.DB, srv Server, specs []Spec, b *Objects, told Answers) (*Schema, error) {
	s := &Schema{Server: srv, Specs: specs, Tables: map[string]*Table{}, Names: &sqltext.NameSet{}}
	if len(specs) == 0 {
		return s, nil
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("countermysql: reading the schema: %w", err)
	}
	defer conn.Close()
	l := &loader{db: conn, server: srv, specs: specs, objects: b, tables: s.Tables, told: told}
	fmt.Fprint(&l.seen, srv)
	for _, spec := range specs {
		l.tables[s.Key(spec.DB, spec.Name)] = &Table{Spec: spec, name: spec.DB + "." + spec.Name, MariaDB: srv.MariaDB, Galera: srv.Galera, Cluster: srv.Cluster(), RollsBack: srv.rollsBack}
	}
	l.withoutSlots(ctx)
	l.definitions(ctx)
	l.columns()
	l.keys(ctx)
	l.slotsTables()
	l.inNoMode(ctx, func() {
		for _, key := range sqltext.SortedKeys(s.Tables) { // in an order, for the fingerprint
			l.describe(ctx, s.Tables[key])
		}
	})
	l.foreignKeys(ctx)
	s.Dependents = l.dependents(ctx, s)
	if l.err != nil {
		return nil, fmt.Errorf("countermysql: reading the schema: %w", l.err)
	}
	for _, t := range s.Tables {
		if len(t.Columns) > 0 {
			for _, name := range (draft{t}).absent() {
				s.Absent = append(s.Absent, t.String()+"."+name)
			}
		} else if t.Unfit == nil {
			s.Unknown = append(s.Unknown, t.String())
		}
	}
	s.setBare()
	slices.Sort(s.Absent)
	slices.Sort(s.Unknown)
	s.Index()
	s.Fingerprint = l.seen.String()
	return s, nil
}

func baseNames(t Spec) []string { return []string{t.Name} }

func allNames(t Spec) []string { return []string{t.Name, t.SlotsTable} }

// Text is s as a literal that no sql_mode can change.
func Text(s string) string { return "_utf8mb4 x'" + hex.EncodeToString([]byte(s)) + "'" }

// OfTable selects what the information schema has of a table.
func OfTable(db, name string) string {
	return "TABLE_SCHEMA = " + Text(db) + " AND TABLE_NAME = " + Text(name)
}

const columnFields = `TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, DATA_TYPE, IS_NULLABLE, CHARACTER_SET_NAME,
 COLLATION_NAME, EXTRA, GENERATION_EXPRESSION, COALESCE(NUMERIC_SCALE, DATETIME_PRECISION, 0), COLUMN_DEFAULT IS NOT NULL AND COLUMN_DEFAULT NOT LIKE '%nextval(%'`

const ColumnsSQL = "SELECT " + columnFields + ", " + settlesSQL + " FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {db} AND TABLE_NAME IN {tables} ORDER BY TABLE_NAME, ORDINAL_POSITION"

const kindsSQL = "SELECT TABLE_SCHEMA, TABLE_NAME, ENGINE, TABLE_TYPE = 'VIEW', TABLE_COMMENT = '" + ClosedComment + "' FROM information_schema.TABLES WHERE TABLE_SCHEMA = {db} AND TABLE_NAME IN {tables} ORDER BY TABLE_NAME"

func columnOf(v []string) *Column {
	extra := strings.ToLower(v[8])
	c := &Column{
		Name: v[2], ColumnType: v[3], DataType: v[4], Nullable: v[5] == "YES", Charset: v[6], Collation: v[7],
		AutoInc: strings.Contains(extra, "auto_increment"), OnUpdate: strings.Contains(extra, "on update"),
		Invisible: strings.Contains(extra, "invisible"), generated: v[9],
	}
	c.HasDefault = c.Nullable || v[11] == "1" || c.AutoInc || c.generated != "" || strings.Contains(extra, "default_generated")
	c.Scale, _ = strconv.Atoi(v[10]) // COALESCE(…, 0)
	return c
}

// unescaped reads what MySQL tells of a generated column, which it writes as if it
// stood in quotes: concat(_utf8mb4\'a\',`n`).
var unescaped = strings.NewReplacer(`\\`, `\`, `\'`, `'`)

func (l *loader) find(db, name string) *Table {
	return l.tables[l.key(db, name)]
}

func (l *loader) key(db, name string) string { return l.server.key(db, name) }

// withoutSlots finds out which slots tables are not there where others are known already, as
// with a table that has just been made: information_schema would take far longer to tell, and
// for the names of two tables in one condition MySQL reads all tables of a database.
func (l *loader) withoutSlots(ctx context.Context) {
	l.none = map[string]bool{}
	columns, kinds := l.told.To(ColumnsSQL), l.told.To(kindsSQL)
	if len(kinds) == 0 {
		return
	}
	for _, t := range InOrder(l.tables) {
		key := l.key(t.Spec.DB, t.Spec.SlotsTable)
		if _, known := kinds[key]; known || l.err != nil {
			continue
		}
		if l.ask(ctx, t.DDL().opens()); mysqlerr.Number(l.err) == mysqlerr.ErrNoTable {
			l.none[key], columns[key], kinds[key] = true, [][]string{}, [][]string{}
		}
		if mysqlerr.Number(l.err) != 0 { // it may be there for others
			l.err = nil
		}
	}
}

// definitions reads the columns and kinds of base and slots tables.
func (l *loader) definitions(ctx context.Context) {
	l.store(ctx, allNames)
	l.kinds = map[string]tableKind{}
	l.others = true // what there is to notice of a slots table is whether it is closed
	l.each(ctx, allNames, kindsSQL, func(v []string) {
		l.kinds[l.key(v[0], v[1])] = tableKind{v[2], v[3] == "1", v[4] == "1"}
	})
	l.others = false
}

// store reads the columns of the named tables.
func (l *loader) store(ctx context.Context, names func(Spec) []string) {
	l.stored = map[string][]*Column{}
	l.each(ctx, names, ColumnsSQL, func(v []string) {
		c, key := columnOf(v), l.key(v[0], v[1])
		c.Settles = v[12] == "1"
		l.stored[key] = append(l.stored[key], c)
	})
}

func (l *loader) kind(t *Table) tableKind { return l.kinds[l.key(t.Spec.DB, t.Spec.Name)] }

func (l *loader) columns() {
	for key, t := range l.tables {
		t.Columns = l.stored[key]
		for _, c := range t.Columns {
			if c.Settles = false; !l.server.MariaDB {
				c.generated = unescaped.Replace(c.generated)
			}
		}
		for _, name := range t.Spec.Counters {
			if c := t.Column(name); c != nil {
				t.Counters = append(t.Counters, c)
			}
		}
		for _, c := range t.Columns {
			if c.OnUpdate || slices.ContainsFunc(t.Spec.Touch, func(n string) bool { return strings.EqualFold(n, c.Name) }) {
				t.Touch = append(t.Touch, c)
			}
		}
	}
}

func (l *loader) keys(ctx context.Context) {
	partial := map[string]bool{}
	l.each(ctx, baseNames, `SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, COLUMN_NAME, SUB_PART FROM information_schema.STATISTICS
 WHERE NON_UNIQUE = 0 AND TABLE_SCHEMA = {db} AND TABLE_NAME IN {tables} ORDER BY TABLE_NAME, INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX`,
		func(v []string) {
			t := l.find(v[0], v[1])
			if t == nil {
				return
			}
			if n := len(t.Unique); n == 0 || t.Unique[n-1].Name != v[2] {
				t.Unique = append(t.Unique, UniqueKey{Name: v[2]})
			}
			k := &t.Unique[len(t.Unique)-1]
			if c := t.Column(v[3]); c != nil && v[4] == "" {
				k.Columns = append(k.Columns, c)
			} else {
				partial[t.String()+"."+v[2]] = true // a prefix or an expression
			}
		})
	for _, t := range l.tables {
		t.AllUnique = len(t.Unique)
		t.Unique = slices.DeleteFunc(t.Unique, func(k UniqueKey) bool { return partial[t.String()+"."+k.Name] })
		for _, k := range t.Unique {
			if k.Name == "PRIMARY" || !slices.ContainsFunc(k.Columns, func(c *Column) bool { return c.Nullable }) {
				t.Key = k.Columns
				break
			}
		}
	}
}

// abridges are the modes of MySQL that change what SHOW CREATE TABLE tells.
var abridges = regexp.MustCompile("ANSI|NO_BACKSLASH_ESCAPES|NO_.*_OPTIONS|MYSQL")

const (
	rulesSQL = `SELECT CONSTRAINT_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, DELETE_RULE, UPDATE_RULE
 FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = {db} AND TABLE_NAME IN {tables} ORDER BY TABLE_NAME, CONSTRAINT_NAME`
	referencesSQL = `SELECT TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME
 FROM information_schema.KEY_COLUMN_USAGE WHERE REFERENCED_TABLE_NAME IS NOT NULL AND TABLE_SCHEMA = {db} AND TABLE_NAME IN {tables} ORDER BY TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION`
)
