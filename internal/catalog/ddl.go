package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/sqltext"
)

// ClosedComment marks a slots table that takes no more increments.
const ClosedComment = "countermysql: closed"

// shut is the constraint that keeps rows out of one.
const shut = "countermysql_shut"

// SlotColumn is how the name of the slot number's column ends.
const SlotColumn = "slot"

// DDL is what is sent about the slots table of a table, by the base table's columns as they
// are known: what makes, alters and ends it.
type DDL struct{ t *Table }

func (t *Table) DDL() DDL { return DDL{t} }

// Create is the statement that makes the slots table
// (https://dev.mysql.com/doc/refman/8.4/en/create-table.html;
// https://dev.mysql.com/doc/refman/8.4/en/innodb-statistics-estimation.html
// for STATS_PERSISTENT).
func (q DDL) Create() string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s (\n", q.t.Slots())
	for _, c := range q.t.Key {
		fmt.Fprintf(&b, "  %s,\n", keyDefinition(c))
	}
	fmt.Fprintf(&b, "  %s,\n", q.number())
	for _, c := range slices.Concat(q.t.Counters, q.t.Touch) {
		fmt.Fprintf(&b, "  %s,\n", slotDefinition(c))
	}
	// Slots come and go all the time. MariaDB writes each new estimate of a
	// table's rows into its dictionary, while all statements wait.
	fmt.Fprintf(&b, "  PRIMARY KEY (%s)\n) ENGINE=InnoDB STATS_PERSISTENT=0", strings.Join(append(QuoteNames(q.t.Key), sqltext.Quote(q.t.SlotCol)), ", "))
	return b.String()
}

// NotMade reports whether there is no slots table, and nothing keeps one from being made.
func (q DDL) NotMade() bool {
	return q.t.Missing != "" && q.t.Missing == q.Create() && !q.t.Unseen && !q.t.Taken
}

func (q DDL) number() string {
	return sqltext.Quote(q.t.SlotCol) + " SMALLINT UNSIGNED NOT NULL"
}

func keyDefinition(c *Column) string {
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

func slotDefinition(c *Column) string {
	switch {
	case c.Decimal():
		return fmt.Sprintf("%s DECIMAL(65,%d) NOT NULL DEFAULT 0", sqltext.Quote(c.Name), c.Scale)
	case c.Integer():
		return sqltext.Quote(c.Name) + " BIGINT NOT NULL DEFAULT 0"
	}
	return sqltext.Quote(c.Name) + " " + c.ColumnType + " NULL DEFAULT NULL"
}

// refit are the changes of a slots table's key to the types of the base table's.
func (q DDL) refit(slots []*Column) (changes []string) {
	for i, c := range q.t.Key {
		if s := slots[i]; s.ColumnType != c.ColumnType || s.Collation != c.Collation || s.OnUpdate { // what the slots hold stays right, as the base rows do
			changes = append(changes, "MODIFY COLUMN "+keyDefinition(c))
		}
	}
	return changes
}

// keyed reports whether a slots table begins with the key of the base table.
func (q DDL) keyed(slots []*Column) bool {
	if len(slots) < len(q.t.Key) {
		return false
	}
	for i, c := range q.t.Key {
		if !strings.EqualFold(slots[i].Name, c.Name) || (slots[i].DataType == "timestamp") != (c.DataType == "timestamp") { // in which time zone?
			return false
		}
	}
	return true
}

// numbersSlots reports whether a column is that of the slot numbers, by any of
// the names that it may have: a table without one is no slots table.
func numbersSlots(c *Column) bool {
	return c.DataType == "smallint" && c.Unsigned() && strings.HasSuffix(strings.ToLower(c.Name), SlotColumn)
}

// upgrade is the DDL that the slots table needs; "" if it fits.
func (q DDL) upgrade(slots []*Column) string {
	if len(slots) == 0 {
		return q.Create()
	}
	rest := slots[min(len(q.t.Key), len(slots)):]
	if !q.keyed(slots) || len(rest) == 0 || !numbersSlots(rest[0]) {
		return "DROP TABLE " + q.t.Slots() + "; " + q.Create()
	}
	changes := q.refit(slots)
	if changes != nil {
		changes = append(changes, "CHANGE COLUMN "+sqltext.Quote(rest[0].Name)+" "+q.number())
	}
	for _, c := range slices.Concat(q.t.Counters, q.t.Touch) {
		if FindColumn(rest, c.Name) == nil {
			changes = append(changes, "ADD COLUMN "+slotDefinition(c))
		}
	}
	if changes == nil {
		return ""
	}
	return "ALTER TABLE " + q.t.Slots() + " " + strings.Join(changes, ", ")
}

// widen is the DDL for columns of the slots table that would round what
// another type of the base column can hold; "" if none does.
func (q DDL) widen(slots []*Column) string {
	var modify []string
	for _, c := range slices.Concat(q.t.Counters, q.t.Touch) {
		s := FindColumn(slots, c.Name)
		if q.t.Counter(c.Name) != nil && !c.Integer() && !c.Decimal() { // it gets no more slots
			continue
		}
		sameKind := c.Integer() || s.DataType == c.DataType
		if !sameKind || s.Scale < c.Fraction() || q.t.Counter(c.Name) == nil && s.Scale < c.Scale {
			modify = append(modify, "MODIFY COLUMN "+slotDefinition(c))
		}
	}
	if modify == nil {
		return ""
	}
	return "ALTER TABLE " + q.t.Slots() + " " + strings.Join(modify, ", ")
}

// Steps are the statements of what is missing: a slots table that can't be changed is
// dropped first.
func (q DDL) Steps() []string {
	drop := "DROP TABLE " + q.t.Slots()
	if create, ok := strings.CutPrefix(q.t.Missing, drop+"; "); ok {
		return []string{drop, create}
	}
	return []string{q.t.Missing}
}

// Renumbers reports whether what is missing has the slots' numbers in a column of another name, or the table is
// made anew for that.
func (q DDL) Renumbers() bool {
	return len(q.Steps()) > 1 || strings.Contains(q.t.Missing, " CHANGE COLUMN ")
}

// Shut keeps rows out of a slots table on a Galera cluster, where nobody can lock it, and fails if
// it has some; elsewhere it is "".
func (q DDL) Shut() string {
	if !q.t.Galera {
		return ""
	}
	return "ALTER TABLE " + q.t.Slots() + " ADD CONSTRAINT IF NOT EXISTS " + shut + " CHECK (FALSE)"
}

// Open has a slots table take increments again that is closed, or shut.
func (q DDL) Open() string {
	open := "ALTER TABLE " + q.t.Slots() + " COMMENT = ''"
	if q.t.Galera {
		open += ", DROP CONSTRAINT IF EXISTS " + shut
	}
	return open
}

// End ends the slots as TRUNCATE or DROP TABLE has ended the base rows. A slots table that triggers write is
// only emptied: every write of what they are for would fail without it.
func (q DDL) End(truncate bool) string {
	if truncate || q.t.Fed {
		return "TRUNCATE TABLE " + q.t.Slots()
	}
	return "DROP TABLE IF EXISTS " + q.t.Slots()
}

// There asks whether there is a base table, or a view of its name, that the user may see.
func (q DDL) There() string {
	return "SELECT 1 FROM information_schema.TABLES WHERE " + OfTable(q.t.Spec.DB, q.t.Spec.Name)
}

// Tie ties the slots to the base rows, by a foreign key; orphans would be refused.
func (q DDL) Tie() []string {
	key := strings.Join(QuoteNames(q.t.Key), ", ")
	return []string{
		"DELETE " + q.t.Slots() + " FROM " + q.t.Slots() + " LEFT JOIN " + q.t.Base() + " AS " + PrivateBase + " ON " + q.t.Key.Same(PrivateBase, q.t.Slots()) +
			" WHERE " + PrivateBase + "." + sqltext.Quote(q.t.Key[0].Name) + " IS NULL",
		"ALTER TABLE " + q.t.Slots() + " ADD FOREIGN KEY (" + key + ") REFERENCES " + q.t.Base() + " (" + key + ") ON DELETE CASCADE",
	}
}

// Tied asks whether the slots table has a foreign key.
func (q DDL) Tied() string {
	return "SELECT 1 FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = " + Text(q.t.Spec.DB) + " AND TABLE_NAME = " + Text(q.t.Spec.SlotsTable)
}

// Touch makes columns for times.
func (q DDL) Touch(wanted []*Column, comment string) string {
	var adds []string
	for _, c := range wanted {
		adds = append(adds, "ADD COLUMN "+slotDefinition(c)+comment)
	}
	return "ALTER TABLE " + q.t.Slots() + " " + strings.Join(adds, ", ")
}

// opens fails where the slots table is not there, or not for the user.
func (q DDL) opens() string { return "SELECT 1 FROM " + q.t.Slots() + " LIMIT 0" }
