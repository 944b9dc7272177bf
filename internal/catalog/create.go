package catalog

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/countermysql/countermysql/internal/sqltext"
)

// ClosedComment marks a slots table that takes no more increments.
const ClosedComment = "countermysql: closed"

// SlotColumn is how the name of the slot number's column ends.
const SlotColumn = "slot"

// nameSlots gives the slot number's column its name. One that is there keeps it, while the
// slots table is for the key as it is. It tells keys of several columns, of TIMESTAMPs or of
// another type that they have got since from others, and every statement on slots names it:
// what was planned for another key fails, even where the server would have values for the
// columns that it does not know, or would cut what it knows.
func (t *Table) nameSlots() {
	n := len(t.Key)
	there := ""
	if n < len(t.stored) && numbersSlots(t.stored[n]) {
		if there = t.stored[n].Name; t.keyed(t.stored) && t.refit(t.stored) == nil {
			t.SlotCol = there
			return
		}
	}
	if there == "" {
		if i := slices.IndexFunc(t.stored, numbersSlots); i >= 0 {
			there = t.stored[i].Name
		}
	}
	name := SlotColumn
	if n != 1 {
		name = "key" + strconv.Itoa(n) + "_" + name
	}
	for i, c := range t.Key {
		if c.DataType == "timestamp" {
			name = "utc" + strconv.Itoa(i+1) + "_" + name
		}
	}
	if there != "" && t.keyed(t.stored) {
		types := fnv.New32a()
		for _, c := range t.Key {
			fmt.Fprintln(types, t.keyDefinition(c))
		}
		name = fmt.Sprintf("type%08x_%s", types.Sum32(), name)
	}
	for t.Key.Has(name) || t.Virtual(name) || strings.EqualFold(name, there) {
		name = "countermysql_" + name
	}
	t.SlotCol = name
}

// refit are the changes of a slots table's key to the types of the base table's.
func (t *Table) refit(slots []*Column) (changes []string) {
	for i, c := range t.Key {
		if s := slots[i]; s.ColumnType != c.ColumnType || s.Collation != c.Collation || s.OnUpdate { // what the slots hold stays right, as the base rows do
			changes = append(changes, "MODIFY COLUMN "+t.keyDefinition(c))
		}
	}
	return changes
}

// keyed reports whether a slots table begins with the key of the base table.
func (t *Table) keyed(slots []*Column) bool {
	if len(slots) < len(t.Key) {
		return false
	}
	for i, c := range t.Key {
		if !strings.EqualFold(slots[i].Name, c.Name) || (slots[i].DataType == "timestamp") != (c.DataType == "timestamp") { // in which time zone?
			return false
		}
	}
	return true
}

// CreateSQL is the statement that makes the slots table
// (https://dev.mysql.com/doc/refman/8.4/en/create-table.html;
// https://dev.mysql.com/doc/refman/8.4/en/innodb-statistics-estimation.html
// for STATS_PERSISTENT).
func (t *Table) CreateSQL() string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s (\n", t.Slots())
	for _, c := range t.Key {
		fmt.Fprintf(&b, "  %s,\n", t.keyDefinition(c))
	}
	fmt.Fprintf(&b, "  %s,\n", t.slotColumnDefinition())
	for _, c := range slices.Concat(t.Counters, t.Touch) {
		fmt.Fprintf(&b, "  %s,\n", t.slotDefinition(c))
	}
	// Slots come and go all the time. MariaDB writes each new estimate of a
	// table's rows into its dictionary, while all statements wait.
	fmt.Fprintf(&b, "  PRIMARY KEY (%s)\n) ENGINE=InnoDB STATS_PERSISTENT=0", strings.Join(append(QuoteNames(t.Key), sqltext.Quote(t.SlotCol)), ", "))
	return b.String()
}

func (t *Table) slotColumnDefinition() string {
	return sqltext.Quote(t.SlotCol) + " SMALLINT UNSIGNED NOT NULL"
}

func (t *Table) keyDefinition(c *Column) string {
	def := sqltext.Quote(c.Name) + " " + c.ColumnType
	if c.Collation != "" {
		def += " CHARACTER SET " + c.Charset + " COLLATE " + c.Collation
	}
	def += " NOT NULL"
	if c.DataType == "timestamp" { // or, with explicit_defaults_for_timestamp=OFF, each write of a slot moves it to the present
		def += " DEFAULT " + CurrentTimestamp(int64(c.Scale))
	}
	return def
}

func (t *Table) slotDefinition(c *Column) string {
	switch {
	case c.Decimal():
		return fmt.Sprintf("%s DECIMAL(65,%d) NOT NULL DEFAULT 0", sqltext.Quote(c.Name), c.Scale)
	case c.Integer():
		return sqltext.Quote(c.Name) + " BIGINT NOT NULL DEFAULT 0"
	}
	return sqltext.Quote(c.Name) + " " + c.ColumnType + " NULL DEFAULT NULL"
}

// upgradeSQL is the DDL that the slots table needs; "" if it fits.
func (t *Table) upgradeSQL(slots []*Column) string {
	if len(slots) == 0 {
		return t.CreateSQL()
	}
	rest := slots[min(len(t.Key), len(slots)):]
	if !t.keyed(slots) || len(rest) == 0 || !numbersSlots(rest[0]) {
		return "DROP TABLE " + t.Slots() + "; " + t.CreateSQL()
	}
	changes := t.refit(slots)
	if changes != nil {
		changes = append(changes, "CHANGE COLUMN "+sqltext.Quote(rest[0].Name)+" "+t.slotColumnDefinition())
	}
	for _, c := range slices.Concat(t.Counters, t.Touch) {
		if FindColumn(rest, c.Name) == nil {
			changes = append(changes, "ADD COLUMN "+t.slotDefinition(c))
		}
	}
	if changes == nil {
		return ""
	}
	return "ALTER TABLE " + t.Slots() + " " + strings.Join(changes, ", ")
}

// MakesDo leaves out the counters and touch columns that the slots table has no columns
// for: to everybody they are ordinary columns until it has. It reports whether it fits then.
func (t *Table) MakesDo() bool {
	counters, touch := t.Counters, t.Touch
	lacks := func(c *Column) bool { return FindColumn(t.stored, c.Name) == nil }
	if slices.ContainsFunc(touch, func(c *Column) bool { return c.OnUpdate && lacks(c) }) { // an increment has to set it
		return false
	}
	t.Counters, t.Touch = slices.DeleteFunc(slices.Clone(counters), lacks), slices.DeleteFunc(slices.Clone(touch), lacks)
	if len(t.Counters) == 0 || t.upgradeSQL(t.stored) != "" {
		t.Counters, t.Touch = counters, touch
		return false
	}
	t.Missing, t.Narrow = "", t.widenSQL(t.stored)
	return true
}

// MissingSteps are the statements of missing: a slots table that can't be
// changed is dropped first.
func (t *Table) MissingSteps() []string {
	drop := "DROP TABLE " + t.Slots()
	if create, ok := strings.CutPrefix(t.Missing, drop+"; "); ok {
		return []string{drop, create}
	}
	return []string{t.Missing}
}

// numbersSlots reports whether a column is that of the slot numbers, by any of
// the names that it may have: a table without one is no slots table.
func numbersSlots(c *Column) bool {
	return c.DataType == "smallint" && c.Unsigned() && strings.HasSuffix(strings.ToLower(c.Name), SlotColumn)
}

// widenSQL is the DDL for columns of the slots table that would round what
// another type of the base column can hold; "" if none does.
func (t *Table) widenSQL(slots []*Column) string {
	var modify []string
	for _, c := range slices.Concat(t.Counters, t.Touch) {
		s := FindColumn(slots, c.Name)
		if t.Counter(c.Name) != nil && !c.Integer() && !c.Decimal() { // it gets no more slots
			continue
		}
		sameKind := c.Integer() || s.DataType == c.DataType
		if !sameKind || s.Scale < c.Fraction() || t.Counter(c.Name) == nil && s.Scale < c.Scale {
			modify = append(modify, "MODIFY COLUMN "+t.slotDefinition(c))
		}
	}
	if modify == nil {
		return ""
	}
	return "ALTER TABLE " + t.Slots() + " " + strings.Join(modify, ", ")
}
