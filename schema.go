package countermysql

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// column is one column of a base table, as information_schema describes it.
type column struct {
	name       string
	columnType string // "int unsigned", "varchar(20)", …
	dataType   string // "int", "varchar", …
	nullable   bool
	charset    string
	collation  string
	autoInc    bool
	onUpdate   bool // ON UPDATE CURRENT_TIMESTAMP
	invisible  bool
	hasDefault bool // an INSERT may leave it out, and nothing else happens
	touchable  bool // a time that the server computes nothing with: it may become a touch column
	settles    bool // a touch column that not every process knows yet
	generated  string
	scale      int // digits after the point: DECIMAL, or fractional seconds
}

func (c *column) unsigned() bool { return strings.Contains(c.columnType, "unsigned") }
func (c *column) decimal() bool  { return c.dataType == "decimal" }

// integerBits is the size of an integer column.
var integerBits = map[string]uint{"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}

func (c *column) integer() bool { return integerBits[c.dataType] != 0 }

// slotColumn is how the name of the slot number's column ends.
const slotColumn = "slot"

// nameSlots gives the slot number's column its name. One that is there keeps it, while the
// slots table is for the key. It tells keys of several columns, or of TIMESTAMPs, from
// others, and every statement on slots names it: what was planned for another key fails,
// even where the server would have values for the columns that it does not know.
func (t *table) nameSlots() {
	n := len(t.key)
	there := ""
	if n < len(t.stored) && numbersSlots(t.stored[n]) {
		if there = t.stored[n].name; t.keyed(t.stored) {
			t.slotCol = there
			return
		}
	}
	if there == "" {
		if i := slices.IndexFunc(t.stored, numbersSlots); i >= 0 {
			there = t.stored[i].name
		}
	}
	name := slotColumn
	if n != 1 {
		name = "key" + strconv.Itoa(n) + "_" + name
	}
	for i, c := range t.key {
		if c.dataType == "timestamp" {
			name = "utc" + strconv.Itoa(i+1) + "_" + name
		}
	}
	for t.inKey(name) || t.virtual(name) || strings.EqualFold(name, there) {
		name = "countermysql_" + name
	}
	t.slotCol = name
}

// keyed reports whether a slots table begins with the key of the base table.
func (t *table) keyed(slots []*column) bool {
	if len(slots) < len(t.key) {
		return false
	}
	for i, c := range t.key {
		if !strings.EqualFold(slots[i].name, c.name) || (slots[i].dataType == "timestamp") != (c.dataType == "timestamp") { // in which time zone?
			return false
		}
	}
	return true
}

// planned is true of every row of a slots table that is for the known key; of one that
// another process has made anew, for another key, it is an error, 1054.
func (t *table) planned(name string) string {
	return name + "." + quoteIdent(t.slotCol) + " IS NOT NULL"
}

// uniqueKey is a primary or unique key whose columns are indexed in full.
type uniqueKey struct {
	name string
	cols []*column
}

// table is a base table with counters and what the driver knows about it.
// It is immutable: DDL makes a new one.
type table struct {
	spec     tableSpec
	cols     []*column
	key      []*column   // the key columns of the slots table; empty for a keyless one-row table
	unique   []uniqueKey // every usable unique key, the primary key first
	counters []*column
	touch    []*column // spec.touch and ON UPDATE CURRENT_TIMESTAMP columns
	slotCol  string    // name of the slot number's column

	slotsWidth int       // columns that SELECT * gives of the slots table
	stored     []*column // all of them

	elsewhere string // where folds find the base rows; "": in the base table

	indexed        []index
	allUnique      int    // number of unique keys, usable or not
	checkedBy      string // the CHECK constraint or foreign key that looks at a counter in the base row; "": none
	derived        bool   // a generated column reads a touch column
	insertTriggers bool
	deleteTriggers bool
	makesKeys      bool // one of them may give a row other keys than the INSERT names
	parents        []foreignKey
	updateTriggers bool
	unfit          []string  // why it can't be a counter table
	degraded       []string  // why it could not become one; but it is one
	computed       []*column // generated columns that read a counter
	unsummed       bool      // what is read of counters is not what base row and slots add up to
	unfolded       bool      // nothing can be added to base rows in one transaction with slots
	closed         bool      // its slots table takes no more increments: it is being left
	missing        string    // DDL that has to run first; "" when the slots table is in order
	unmade         error     // why it could not be run; nil: nobody has tried
	unseen         bool      // the user may not see the slots table, if there is one
	taken          bool      // the slots table's name is that of a table which is none
	narrow         string    // DDL for slots that can't hold every digit of a column's new type; "": they can

	mariaDB    bool
	galera     bool
	rollsBack  bool
	batches    sync.Map     // *batch, by the name and key that conditions use
	batchCount atomic.Int64 // so many
	leases     atomic.Pointer[leases]
	slotted    atomic.Int64 // by clock: until then queries take it to have slots
	lookups    group
}

// foreignKey is a foreign key of a counter table, or of a parent of it.
type foreignKey struct {
	parentDB, parent     string
	column               string // of the parent, that is referenced
	changesKey, cascades bool   // an UPDATE of the parent changes the key; either rule writes the base row
}

func (t *table) String() string { return t.spec.db + "." + t.spec.name }

func (t *table) column(name string) *column  { return findColumn(t.cols, name) }
func (t *table) counter(name string) *column { return findColumn(t.counters, name) }

// verbatim reports whether increments go to the base row, where they are as right.
func (t *table) verbatim() bool { return t.closed || t.narrow != "" || t.unfolded }

// watched is what wants each increment to meet the counter's value in the base row; "":
// nothing does.
func (t *table) watched() string {
	switch {
	case t.checkedBy != "":
		return "a " + t.checkedBy + " reads the counter"
	case t.degraded != nil && !t.unfolded:
		return "the table has been changed so that it could not become a counter table"
	}
	return ""
}

// virtual reports whether the column's value is not in the base row alone.
func (t *table) virtual(name string) bool {
	return findColumn(t.counters, name) != nil || findColumn(t.touch, name) != nil
}

func (t *table) inKey(name string) bool { return findColumn(t.key, name) != nil }

// changes reports whether to set the column called name changes one of cols: it is
// one, or one is generated from it.
func (t *table) changes(cols []*column, name string) bool {
	return findColumn(cols, name) != nil || slices.ContainsFunc(t.cols, func(g *column) bool {
		return g.generated != "" && !strings.EqualFold(g.name, name) && mentionsWord(g.generated, name) && t.changes(cols, g.name)
	})
}

func findColumn(cols []*column, name string) *column {
	for _, c := range cols {
		if strings.EqualFold(c.name, name) {
			return c
		}
	}
	return nil
}

// lock is how an increment locks the base row. On Galera shared locks of several sessions
// can keep what another node has written to the row from being applied: then all wait,
// until innodb_lock_wait_timeout ends it.
func (t *table) lock() string {
	if t.galera {
		return "FOR UPDATE"
	}
	return shareMode
}

// noWait is lock that fails at once where it would wait. On Galera it waits:
// where another node's write ends a statement with NOWAIT, the server forgets the
// session's own timeouts, and every later lock wait fails at once.
func (t *table) noWait() string {
	switch {
	case t.galera:
		return t.lock()
	case t.mariaDB:
		return "LOCK IN SHARE MODE NOWAIT"
	}
	return "FOR SHARE NOWAIT"
}

// skipLocked is shareMode that sees no row where it would wait.
func (t *table) skipLocked() string {
	if t.mariaDB {
		return "LOCK IN SHARE MODE SKIP LOCKED"
	}
	return "FOR SHARE SKIP LOCKED"
}

// share is a clause that locks exclusively, with shared locks.
func (t *table) share(exclusive string) string {
	switch {
	case strings.HasSuffix(exclusive, "NOWAIT") && t.galera:
		return shareMode // see noWait
	case strings.HasSuffix(exclusive, "NOWAIT"):
		return t.noWait()
	case strings.HasSuffix(exclusive, "SKIP LOCKED"):
		return t.skipLocked()
	}
	_, wait, _ := strings.Cut(exclusive, "FOR UPDATE")
	return shareMode + wait // WAIT n, on MariaDB
}

func (t *table) base() string  { return quoteIdent(t.spec.db) + "." + quoteIdent(t.spec.name) }
func (t *table) slots() string { return quoteIdent(t.spec.db) + "." + quoteIdent(t.spec.slotsTable) }

// absent are the listed columns that the table does not have: a migration may
// add them later, and statements pass until then.
func (t *table) absent() []string {
	return slices.DeleteFunc(slices.Concat(t.spec.counters, t.spec.touch), func(name string) bool { return t.column(name) != nil })
}

// degrade notes what keeps a table from becoming a counter table. One that has slots
// goes on without new ones: others have changed it, and their DDL must not stop anybody.
func (t *table) degrade(format string, args ...any) {
	why := fmt.Sprintf(format, args...)
	if len(t.stored) > 0 && !t.taken {
		t.degraded = append(t.degraded, why)
	} else {
		t.unfit = append(t.unfit, why)
	}
}

// judge notes what keeps the table from being a counter table, or from becoming one.
func (t *table) judge(engine string, rowsOverOne bool, createSQL string) {
	add := func(format string, args ...any) { t.unfit = append(t.unfit, fmt.Sprintf(format, args...)) }
	if !strings.EqualFold(engine, "InnoDB") {
		t.unfolded = true
		t.degrade("its engine %s has no row locks; convert it with ALTER TABLE %s ENGINE=InnoDB", engine, t.base())
	}
	if _, options, _ := strings.Cut(createSQL, "\n) ENGINE="); strings.Contains(options, " WITH SYSTEM VERSIONING") {
		t.degrade("it is system-versioned, and increments in slots would make no history; drop the versioning or take the table from the list")
	}
	if len(t.key) == 0 && rowsOverOne {
		add("it has no primary key and more than one row; add a primary key")
	}
	for _, name := range t.spec.counters {
		c := t.column(name)
		switch {
		case c == nil:
			continue // not added yet
		case slices.Contains([]string{"float", "double"}, c.dataType):
			t.unsummed = true
			t.degrade("counter %s is %s; a counter is an integer or a DECIMAL, whose sum does not depend on the order", name, c.columnType)
		case !c.integer() && !c.decimal():
			add("counter %s is %s; a counter is an integer or a DECIMAL, whose sum does not depend on the order", name, c.columnType)
		case c.zerofill():
			t.unsummed = true
			t.degrade("counter %s is ZEROFILL; drop the attribute", name)
		case c.generated != "":
			add("counter %s is a generated column; count a stored one", name)
		case c.autoInc || t.inKey(name):
			add("counter %s is part of the key or AUTO_INCREMENT", name)
		}
		for _, k := range uniqueWith(createSQL, name) {
			if !t.inKey(name) {
				t.degrade("counter %s is in the unique key %s; drop it from the key", name, k)
			}
		}
		for _, g := range t.cols {
			if g.generated != "" && mentionsWord(g.generated, c.name) {
				t.computed, t.unsummed = append(t.computed, g), true
				t.degrade("generated column %s reads counter %s; compute it in the query", g.name, name)
			}
		}
		if _, partition, ok := strings.Cut(createSQL, "PARTITION BY"); ok && mentionsWord(partition, c.name) {
			t.degrade("counter %s is in the partitioning key", name)
		}
	}
	for _, name := range t.spec.touch {
		switch c := t.column(name); {
		case c == nil: // not added yet
		case !slices.Contains([]string{"datetime", "timestamp"}, c.dataType):
			add("touch column %s is %s; DATETIME and TIMESTAMP can be touched", name, c.columnType)
		}
	}
	for _, c := range t.touch {
		if t.inKey(c.name) {
			add("touch column %s is part of the key", c.name)
		}
	}
	for _, c := range t.key {
		if !keyTypes[c.dataType] {
			add("key column %s is %s, which has no exact equality", c.name, c.columnType)
		}
	}
}

var keyTypes = map[string]bool{
	"tinyint": true, "smallint": true, "mediumint": true, "int": true, "bigint": true, "decimal": true,
	"char": true, "varchar": true, "binary": true, "varbinary": true, "enum": true, "set": true, "uuid": true, "inet6": true, "inet4": true,
	"date": true, "datetime": true, "timestamp": true, "time": true, "year": true,
}

// mentionsWord reports whether name stands in the SQL text as an identifier.
func mentionsWord(sql, name string) bool { return identifiers(sql)[strings.ToLower(name)] }

// identifiers are the words of an SQL text that may be names, in lower case. Whether
// a backslash in its strings means something depends on the session that wrote it.
func identifiers(sql string) map[string]bool {
	toks := tokenize(sql, lexMode{})
	if strings.Contains(sql, `\`) {
		toks = append(toks, tokenize(sql, lexMode{noBackslashEscapes: true})...)
	}
	words := map[string]bool{}
	for _, t := range toks {
		if t.ident() {
			words[strings.ToLower(t.name)] = true
		}
		if name, ok := t.doubleQuoted(sql); ok {
			words[strings.ToLower(name)] = true
		}
		if t.kind == tokVersion && len(sql) > t.end-t.start {
			maps.Copy(words, identifiers(sql[t.start+3:t.end]))
		}
	}
	return words
}

// createSQL is the statement that makes the slots table
// (https://dev.mysql.com/doc/refman/8.4/en/create-table.html;
// https://dev.mysql.com/doc/refman/8.4/en/innodb-statistics-estimation.html
// for STATS_PERSISTENT).
func (t *table) createSQL() string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s (\n", t.slots())
	for _, c := range t.key {
		fmt.Fprintf(&b, "  %s,\n", t.keyDefinition(c))
	}
	fmt.Fprintf(&b, "  %s SMALLINT UNSIGNED NOT NULL,\n", quoteIdent(t.slotCol))
	for _, c := range slices.Concat(t.counters, t.touch) {
		fmt.Fprintf(&b, "  %s,\n", t.slotDefinition(c))
	}
	// Slots come and go all the time. MariaDB writes each new estimate of a
	// table's rows into its dictionary, while all statements wait.
	fmt.Fprintf(&b, "  PRIMARY KEY (%s)\n) ENGINE=InnoDB STATS_PERSISTENT=0", strings.Join(append(quoteNames(t.key), quoteIdent(t.slotCol)), ", "))
	return b.String()
}

func (t *table) keyDefinition(c *column) string {
	def := quoteIdent(c.name) + " " + c.columnType
	if c.collation != "" {
		def += " CHARACTER SET " + c.charset + " COLLATE " + c.collation
	}
	def += " NOT NULL"
	if c.dataType == "timestamp" { // or, with explicit_defaults_for_timestamp=OFF, each write of a slot moves it to the present
		def += " DEFAULT " + currentTimestamp(int64(c.scale))
	}
	return def
}

func (t *table) slotDefinition(c *column) string {
	switch {
	case c.decimal():
		return fmt.Sprintf("%s DECIMAL(65,%d) NOT NULL DEFAULT 0", quoteIdent(c.name), c.scale)
	case c.integer():
		return quoteIdent(c.name) + " BIGINT NOT NULL DEFAULT 0"
	}
	return quoteIdent(c.name) + " " + c.columnType + " NULL DEFAULT NULL"
}

// upgradeSQL is the DDL that the slots table needs; "" if it fits.
func (t *table) upgradeSQL(slots []*column) string {
	if len(slots) == 0 {
		return t.createSQL()
	}
	rest := slots[min(len(t.key), len(slots)):]
	if !t.keyed(slots) || len(rest) == 0 || !strings.EqualFold(rest[0].name, t.slotCol) {
		return "DROP TABLE " + t.slots() + "; " + t.createSQL()
	}
	var changes []string
	for i, c := range t.key {
		if s := slots[i]; s.columnType != c.columnType || s.collation != c.collation || s.onUpdate { // what the slots hold stays right, as the base rows do
			changes = append(changes, "MODIFY COLUMN "+t.keyDefinition(c))
		}
	}
	for _, c := range slices.Concat(t.counters, t.touch) {
		if findColumn(rest, c.name) == nil {
			changes = append(changes, "ADD COLUMN "+t.slotDefinition(c))
		}
	}
	if changes == nil {
		return ""
	}
	return "ALTER TABLE " + t.slots() + " " + strings.Join(changes, ", ")
}

// makesDo leaves out the counters and touch columns that the slots table has no columns
// for: to everybody they are ordinary columns until it has. It reports whether it fits then.
func (t *table) makesDo() bool {
	counters, touch := t.counters, t.touch
	lacks := func(c *column) bool { return findColumn(t.stored, c.name) == nil }
	if slices.ContainsFunc(touch, func(c *column) bool { return c.onUpdate && lacks(c) }) { // an increment has to set it
		return false
	}
	t.counters, t.touch = slices.DeleteFunc(slices.Clone(counters), lacks), slices.DeleteFunc(slices.Clone(touch), lacks)
	if len(t.counters) == 0 || t.upgradeSQL(t.stored) != "" {
		t.counters, t.touch = counters, touch
		return false
	}
	t.missing, t.narrow = "", t.widenSQL(t.stored)
	return true
}

// missingSteps are the statements of missing: a slots table that can't be
// changed is dropped first.
func (t *table) missingSteps() []string {
	drop := "DROP TABLE " + t.slots()
	if create, ok := strings.CutPrefix(t.missing, drop+"; "); ok {
		return []string{drop, create}
	}
	return []string{t.missing}
}

// numbersSlots reports whether a column is that of the slot numbers, by any of
// the names that it may have: a table without one is no slots table.
func numbersSlots(c *column) bool {
	return c.dataType == "smallint" && c.unsigned() && strings.HasSuffix(strings.ToLower(c.name), slotColumn)
}

func (t *table) slotsError() *SlotsTableError {
	return &SlotsTableError{Table: t.String(), SlotsTable: t.spec.slotsTable, DDL: t.missing, Taken: t.taken, Unseen: t.unseen, Err: t.unmade}
}

// widenSQL is the DDL for columns of the slots table that would round what
// another type of the base column can hold; "" if none does.
func (t *table) widenSQL(slots []*column) string {
	var modify []string
	for _, c := range slices.Concat(t.counters, t.touch) {
		s := findColumn(slots, c.name)
		if t.counter(c.name) != nil && !c.integer() && !c.decimal() { // it gets no more slots
			continue
		}
		sameKind := c.integer() || s.dataType == c.dataType
		if !sameKind || s.scale < c.fraction() || t.counter(c.name) == nil && s.scale < c.scale {
			modify = append(modify, "MODIFY COLUMN "+t.slotDefinition(c))
		}
	}
	if modify == nil {
		return ""
	}
	return "ALTER TABLE " + t.slots() + " " + strings.Join(modify, ", ")
}

func quoteNames(cols []*column) []string {
	names := make([]string, len(cols))
	for i, c := range cols {
		names[i] = quoteIdent(c.name)
	}
	return names
}
