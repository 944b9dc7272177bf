package catalog

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countermysql/countermysql/internal/sqltext"
)

// History says how a table's counters are kept as time series; the zero value: they are not.
// Triggers of the base table write it, and no slot carries its interval: most increments have no
// slot, what others write has none, and a hot key would have some of each interval to add up.
type History struct {
	Every time.Duration // the length of an interval
	Keep  time.Duration // how long intervals are kept; 0: for ever
	Table string        // in the table's database
}

// HistoryState is what a table's triggers write, as the server has them; the zero value:
// there are none of ours.
type HistoryState struct {
	Table            string // that they write
	Every            time.Duration
	Inserts, Updates bool // there is one for each
	Outdated         bool // there is one with its name that does something else
}

// Whole reports whether every change of a counter is written.
func (h HistoryState) Whole() bool { return h.Inserts && h.Updates }

// HistoryComment marks a history table.
const HistoryComment = "countermysql: history"

// How the names of the triggers end, behind that of the history table.
const (
	HistoryInsert = "_ai"
	HistoryUpdate = "_au"
)

// BucketColumn is the beginning of an interval, in UTC.
func (t *Table) BucketColumn() string {
	name := "bucket"
	for t.Key.Has(name) || t.Counter(name) != nil {
		name = "countermysql_" + name
	}
	return name
}

// historyCounters are the counters in the order of the base table's columns: processes may
// list them in other ones.
func (t *Table) historyCounters() []*Column {
	return slices.DeleteFunc(slices.Clone(t.Columns), func(c *Column) bool { return t.Counter(c.Name) == nil })
}

// changeType is the type of a counter's change in a history table, and what an OLD or NEW
// value is cast to. Differences of BIGINTs have more digits than a BIGINT.
func changeType(c *Column) (column, cast string) {
	switch {
	case c.Decimal():
		column = fmt.Sprintf("DECIMAL(65,%d)", c.Scale)
	case IntegerBits[c.DataType] == 64:
		column = "DECIMAL(22,0)"
	default:
		return "BIGINT", "SIGNED"
	}
	return column, column
}

// historyBody is what the trigger of an event does: it adds what the counters of a row change
// by to the row's interval. It reads no table, and names no database, so that it is right in a
// copy; and no counter table but by OLD and NEW. To MariaDB IF is half of what the same
// condition of an INSERT … SELECT costs.
func (t *Table) historyBody(event, history string, every time.Duration) string {
	into := append(QuoteNames(t.Key), sqltext.Quote(t.BucketColumn()))
	var values, same, adds []string
	for _, c := range t.Key {
		values = append(values, "NEW."+sqltext.Quote(c.Name))
	}
	seconds := strconv.Itoa(int(every / time.Second))
	values = append(values, "TIMESTAMP'1970-01-01 00:00:00' + INTERVAL UNIX_TIMESTAMP() DIV "+seconds+" * "+seconds+" SECOND") // whatever the session's time zone
	for _, c := range t.historyCounters() {
		name := sqltext.Quote(c.Name)
		_, cast := changeType(c)
		value := func(of string) string { return "CAST(COALESCE(" + of + "." + name + ", 0) AS " + cast + ")" }
		change := value("NEW")
		if event == "UPDATE" {
			change += " - " + value("OLD")
			same = append(same, "NEW."+name+" <=> OLD."+name)
		} else {
			same = append(same, "COALESCE(NEW."+name+", 0) = 0")
		}
		into, values = append(into, name), append(values, change)
		adds = append(adds, name+" = "+sqltext.Quote(history)+"."+name+" + "+change)
	}
	return "IF NOT (" + strings.Join(same, " AND ") + ") THEN INSERT INTO " + sqltext.Quote(history) + " (" + strings.Join(into, ", ") + ") VALUES (" + strings.Join(values, ", ") +
		") ON DUPLICATE KEY UPDATE " + strings.Join(adds, ", ") + "; END IF"
}

// writesHistory finds in the body of a trigger, without doubled spaces, what history it writes.
var writesHistory = regexp.MustCompile("^IF .* THEN INSERT INTO `((?:[^`]|``)+)` .* DIV ([0-9]{1,5}) ")

// note takes in a trigger of the table; false if it is none of ours, or of other counters. The
// interval may be another than is configured here: that is for who makes triggers.
func (h *HistoryState) note(t *Table, event, timing, body string) bool {
	body = strings.Join(strings.Fields(body), " ")
	history, every := WrittenHistory(body)
	if history == "" || timing != "AFTER" || len(t.Counters) == 0 || h.Inserts && event == "INSERT" || h.Updates && event == "UPDATE" {
		return false
	}
	if body != strings.Join(strings.Fields(t.historyBody(event, history, every)), " ") || (h.Inserts || h.Updates) && (h.Table != history || h.Every != every) {
		return false
	}
	h.Table, h.Every = history, every
	h.Inserts, h.Updates = h.Inserts || event == "INSERT", h.Updates || event == "UPDATE"
	return true
}

// HistoryIsConfigured reports whether the triggers are as they are configured.
func (t *Table) HistoryIsConfigured() bool {
	return t.History.Problem(t.Spec.History) == ""
}

// Forgets reports whether the history has a time to be kept.
func (t *Table) Forgets() bool {
	return t.Spec.History.Keep > 0 && t.History.Updates && t.History.Table == t.Spec.History.Table
}

// HistoryDDL is what is sent about the history of a table by name.
type HistoryDDL struct {
	t     *Table
	name  string
	every time.Duration
}

// HistoryDDL is that of the configured history.
func (t *Table) HistoryDDL() HistoryDDL {
	return HistoryDDL{t, t.Spec.History.Table, t.Spec.History.Every}
}

// WrittenDDL is that of the history which the triggers write.
func (t *Table) WrittenDDL() HistoryDDL { return HistoryDDL{t, t.History.Table, t.History.Every} }

// Name is the history table's.
func (q HistoryDDL) Name() string { return sqltext.Qualified(q.t.Spec.DB, q.name) }

// Named reports whether there is one.
func (q HistoryDDL) Named() bool { return q.name != "" }

// Of asks for the columns of the history table, as [HistoryDDL.Fit] reads them, and its comment.
func (q HistoryDDL) Of() (columns, comment string) {
	at := strings.NewReplacer("{db}", Text(q.t.Spec.DB), "{tables}", "("+Text(q.name)+")")
	return at.Replace(ColumnsSQL), "SELECT TABLE_COMMENT FROM information_schema.TABLES WHERE " + OfTable(q.t.Spec.DB, q.name)
}

// Create is the statement that makes the history table.
func (q HistoryDDL) Create() string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s (\n", q.Name())
	for _, c := range q.t.Key {
		fmt.Fprintf(&b, "  %s,\n", keyDefinition(c))
	}
	bucket := sqltext.Quote(q.t.BucketColumn())
	fmt.Fprintf(&b, "  %s DATETIME NOT NULL,\n", bucket)
	for _, c := range q.t.historyCounters() {
		fmt.Fprintf(&b, "  %s,\n", changeDefinition(c))
	}
	fmt.Fprintf(&b, "  PRIMARY KEY (%s),\n  KEY (%s)\n) ENGINE=InnoDB COMMENT='%s'", strings.Join(append(QuoteNames(q.t.Key), bucket), ", "), bucket, HistoryComment)
	return b.String()
}

func changeDefinition(c *Column) string {
	column, _ := changeType(c)
	return sqltext.Quote(c.Name) + " " + column + " NOT NULL DEFAULT 0"
}

// Fit is the DDL that the history table lacks, by its columns and its comment; "": it fits. why
// says what DDL can't mend.
func (q HistoryDDL) Fit(columns [][]string, comment string) (ddl, why string) {
	if len(columns) == 0 {
		return q.Create(), ""
	}
	if comment != HistoryComment {
		return "", "the name of its history table, " + q.name + ", is that of another table"
	}
	n := len(q.t.Key)
	var there []*Column
	for _, v := range columns {
		there = append(there, columnOf(v))
	}
	if len(there) <= n || !q.t.DDL().keyed(there) || !strings.EqualFold(there[n].Name, q.t.BucketColumn()) {
		return "", "its history table " + q.name + " is for another key"
	}
	changes := q.t.DDL().refit(there)
	for _, c := range q.t.historyCounters() {
		column, _ := changeType(c)
		switch is := FindColumn(there[n+1:], c.Name); {
		case is == nil:
			changes = append(changes, "ADD COLUMN "+changeDefinition(c))
		case is.Decimal() != strings.HasPrefix(column, "DECIMAL") || is.Decimal() && (is.Scale < c.Fraction() || is.length() < 22):
			changes = append(changes, "MODIFY COLUMN "+changeDefinition(c))
		}
	}
	if changes == nil {
		return "", ""
	}
	return "ALTER TABLE " + q.Name() + " " + strings.Join(changes, ", "), ""
}

// Trigger makes one, by CREATE or CREATE OR REPLACE, where the database is in use: see [Trigger.Create].
func (q HistoryDDL) Trigger(create, event string) string {
	return create + " TRIGGER " + sqltext.Quote(q.trigger(event)) + " AFTER " + event + " ON " + sqltext.Quote(q.t.Spec.Name) + " FOR EACH ROW " + q.t.historyBody(event, q.name, q.every)
}

// DropTrigger drops it.
func (q HistoryDDL) DropTrigger(event string) string {
	return "DROP TRIGGER IF EXISTS " + sqltext.Qualified(q.t.Spec.DB, q.trigger(event))
}

func (q HistoryDDL) trigger(event string) string {
	ends := HistoryInsert
	if event == "UPDATE" {
		ends = HistoryUpdate
	}
	return q.name + ends
}

// Old deletes some of the intervals that ended before the time to keep them, and HasOld finds
// whether there are any.
func (q HistoryDDL) Old(most int) string {
	bucket := sqltext.Quote(q.t.BucketColumn())
	return "DELETE FROM " + q.Name() + " WHERE " + q.old() + " ORDER BY " + bucket + " LIMIT " + strconv.Itoa(most)
}

func (q HistoryDDL) HasOld() string {
	return "SELECT 1 FROM " + q.Name() + " WHERE " + q.old() + " AND @@global.read_only = 0 LIMIT 1"
}

func (q HistoryDDL) old() string {
	return sqltext.Quote(q.t.BucketColumn()) + " <= UTC_TIMESTAMP() - INTERVAL " + strconv.Itoa(int((q.t.Spec.History.Keep+q.every)/time.Second)) + " SECOND"
}

// IsForHistory reports whether a trigger of the table is one for its history: by its name, or by what it
// writes, as tools that copy a table give its triggers other names.
func (t *Table) IsForHistory(trigger, body string) bool {
	history := t.Spec.History.Table
	if history == "" {
		return false
	}
	written, _ := WrittenHistory(body)
	return written == history || strings.EqualFold(trigger, history+HistoryInsert) || strings.EqualFold(trigger, history+HistoryUpdate)
}

// WrittenHistory is the history table that a trigger's body writes, if it is one of ours, whatever its
// counters and its name are, and the interval.
func WrittenHistory(body string) (table string, every time.Duration) {
	m := writesHistory.FindStringSubmatch(strings.Join(strings.Fields(body), " "))
	if m == nil {
		return "", 0
	}
	seconds, _ := strconv.Atoi(m[2]) // digits
	return strings.ReplaceAll(m[1], "``", "`"), time.Duration(seconds) * time.Second
}
