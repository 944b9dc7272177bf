package countermysql

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// leftOut are the listed tables and columns that do not exist: mistakes, perhaps.
func leftOut(s *catalog.Schema) []Finding {
	var all []Finding
	for _, name := range s.Unknown {
		all = append(all, Finding{Failure, name, "it does not exist, or the user may not see it", "create it, correct the list of counters, or grant SELECT on it", ""})
	}
	for _, name := range s.Absent {
		dot := strings.LastIndexByte(name, '.')
		all = append(all, Finding{Failure, name[:dot], "it has no column " + name[dot+1:], "add it, or correct the list of counters", ""})
	}
	return all
}

// complete is an error where something listed does not exist: who works on all that is
// listed is told what is left out.
func complete(s *catalog.Schema) error {
	var errs []error
	for _, f := range leftOut(s) {
		errs = append(errs, &ConfigError{Place: "table " + f.Table, Problem: f.Problem, Remedy: f.Remedy})
	}
	return errors.Join(errs...)
}

// Severity says how bad a Finding is.
type Severity string

const (
	Failure Severity = "failure" // statements on the counter fail, or counts would be lost
	Warning Severity = "warning" // something is slower, or seen later, than it could be
)

// Finding is something that Check has to say about a counter or the server.
type Finding struct {
	Severity Severity
	Table    string // database.table; "" for the server
	Problem  string
	Remedy   string
	SQL      string // a statement that mends it; "" if none is known
}

// Check looks whether each listed table can have counters, as its sql.DB's user
// and server see it. It changes nothing, and an empty list means that all is well.
func Check(ctx context.Context, db *sql.DB) ([]Finding, error) {
	c, err := connectorOf(ctx, db)
	if err != nil {
		return nil, err
	}
	s, err := c.watcher.Refresh(ctx)
	if err != nil {
		return nil, err
	}
	k := &inspection{ctx: ctx, c: c, s: s}
	k.server()
	k.hidden()
	k.findings = append(k.findings, leftOut(s)...)
	for _, t := range s.All() {
		k.table(t)
	}
	return k.findings, k.err
}

// inspection is one run of Check.
type inspection struct {
	ctx      context.Context
	c        *Connector
	s        *catalog.Schema
	findings []Finding
	err      error
}

func (k *inspection) add(severity Severity, table, problem, remedy, sql string) {
	k.findings = append(k.findings, Finding{severity, table, problem, remedy, sql})
}

// ask runs a query of ours; after an error there are no more rows.
func (k *inspection) ask(query string) [][]string {
	if k.err != nil {
		return nil
	}
	var rows [][]string
	rows, k.err = k.c.lookups.Query(k.ctx, query)
	return rows
}

func (k *inspection) server() {
	variables := map[string]string{}
	for _, row := range k.ask("SHOW GLOBAL VARIABLES WHERE Variable_name IN ('log_bin', 'binlog_format', 'read_only', 'wsrep_on', 'version')") {
		variables[strings.ToLower(row[0])] = strings.ToUpper(row[1])
	}
	if variables["log_bin"] == "ON" && variables["binlog_format"] == "STATEMENT" {
		k.add(Failure, "", "binlog_format is STATEMENT, which InnoDB refuses for a rollup and which replicates an increment unsafely", "use ROW, or MIXED", "SET GLOBAL binlog_format = ROW")
	}
	if variables["read_only"] == "ON" {
		k.add(Warning, "", "the server is read-only", "check the server that takes the writes", "")
	}
	if variables["wsrep_on"] == "ON" {
		k.cluster()
	}
	var major, minor int
	if _, err := fmt.Sscanf(variables["version"], "%d.%d", &major, &minor); err == nil {
		needs, have := 8*100, major*100+minor
		if k.s.Server.MariaDB {
			needs = 10*100 + 6
		}
		if have < needs {
			k.add(Failure, "", "version "+variables["version"]+" has no SKIP LOCKED", "use MariaDB 10.6 or MySQL 8.0, or later", "")
		}
	}
	if !k.seesTriggers() {
		k.add(Warning, "", "the user may not see triggers, and an UPDATE trigger would go unnoticed", "grant TRIGGER on the counter tables, or make sure that they have none", "")
	}
}

// seesTriggers reports whether the user has the privilege somewhere, himself or by a
// role: those of roles are in no table of information_schema
// (https://dev.mysql.com/doc/refman/8.4/en/show-grants.html).
func (k *inspection) seesTriggers() bool {
	grants := "SHOW GRANTS"
	if !k.s.Server.MariaDB { // which shows those of the role as well
		for _, row := range k.ask("SELECT CURRENT_ROLE()") {
			if row[0] != "NONE" {
				grants += " FOR CURRENT_USER() USING " + row[0]
			}
		}
	}
	for _, row := range k.ask(grants) {
		privileges, _, _ := strings.Cut(row[0], " ON ")
		if strings.Contains(privileges, "TRIGGER") || strings.Contains(privileges, "ALL PRIVILEGES") {
			return true
		}
	}
	return k.err != nil
}

// hidden tells what may read counters without being seen.
func (k *inspection) hidden() {
	for _, d := range k.s.Dependents {
		if d.Hidden() {
			k.add(Warning, "", "the user may not see the definition of "+d.Name+", so that a statement that uses this "+d.Kind+" rolls all counters up first",
				"grant SHOW VIEW; for routines SHOW_ROUTINE on MySQL, SHOW CREATE ROUTINE or SELECT on mysql.proc on MariaDB", "")
		}
	}
}

func (k *inspection) table(t *catalog.Table) {
	name := t.String()
	for _, reason := range t.Unfit {
		problem, remedy, found := strings.Cut(reason, "; ")
		if !found {
			remedy = "take it from the list of counters"
		}
		k.add(Failure, name, problem, remedy, "")
	}
	if t.Unfit != nil {
		return
	}
	switch {
	case t.Missing == "":
		k.slots(t)
		k.privileges(t)
		k.left(t)
	case t.Unseen:
		k.add(Failure, name, "the user may not see its slots table "+t.Spec.SlotsTable, "have an administrator run countermysql init, if there is none, and the statement", k.grant("SELECT, INSERT, UPDATE, DELETE", t.Slots()))
	case t.Missing == t.CreateSQL():
		k.add(Failure, name, "its slots table "+t.Spec.SlotsTable+" is missing", "run countermysql init, or the statement", t.Missing)
	case t.Taken:
		k.add(Failure, name, "its slots table's name, "+t.Spec.SlotsTable+", is that of another table", "choose another name with slots_table", "")
	default:
		k.add(Failure, name, "its slots table "+t.Spec.SlotsTable+" does not fit", "roll up, then run countermysql init, or the statement", t.Missing)
	}
	for _, reason := range t.Degraded {
		problem, remedy, _ := strings.Cut(reason, "; ")
		switch {
		case t.Unfolded:
			k.add(Failure, name, problem+", so that what is in slots can't be added to base rows, and statements that need that fail", remedy, "")
		default:
			k.add(Warning, name, problem+", so that increments are as slow as on plain MySQL", cmp.Or(remedy, "take it from the list of counters"), "")
		}
	}
	if t.Closed {
		k.add(Warning, name, "its slots table is closed (countermysql drop), so that increments are as slow as on plain MySQL", "go on with countermysql drop, or back with countermysql init", "ALTER TABLE "+t.Slots()+" COMMENT = ''")
	}
	if t.Narrow != "" {
		k.add(Warning, name, "its slots table can't hold every digit of a column's new type, so that increments are as slow as on plain MySQL", "run countermysql init, or the statement", t.Narrow)
	}
	if t.CheckedBy != "" {
		k.add(Warning, name, "a "+t.CheckedBy+" reads a counter, so that increments are as slow as on plain MySQL", "drop the constraint, or check in the application", "")
	}
	if t.Derived {
		k.add(Warning, name, "a generated column reads a touch column, so that increments are as slow as on plain MySQL", "drop the generated column, or compute it in the query", "")
	}
	for _, c := range k.c.watcher.WantedOf(t) {
		k.add(Warning, name, "increments set its column "+c.Name+" to the present time, which is no touch column, so that they are as slow as on plain MySQL",
			"list it, counterTouch="+t.FullName(c)+", and run countermysql init, or the statement", t.TouchSQL([]*catalog.Column{c}, ""))
	}
	for _, fk := range t.Parents {
		if fk.Cascades {
			k.add(Warning, name, fmt.Sprintf("a foreign key to %s.%s changes or deletes its rows, whose slots then stay behind, invisible, until a rollup", fk.ParentDB, fk.Parent),
				"roll up in the background (counterRollup), or give the slots table a foreign key (countermysql init --foreign-key)", "")
		}
	}
	for _, d := range k.s.Dependents {
		if d.Kind != "" && slices.Contains(d.Tables, t) {
			k.add(Warning, name, fmt.Sprintf("%s %s.%s uses it: the driver rolls up before a statement with it, and other clients see the base rows alone", d.Kind, d.DB, d.Name),
				"roll up in the background (counterRollup), and leave counters out where they are not needed", "")
		}
	}
	for _, col := range t.Counters {
		for _, row := range k.ask("SELECT DISTINCT INDEX_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = " + catalog.Text(t.Spec.DB) +
			" AND TABLE_NAME = " + catalog.Text(t.Spec.Name) + " AND COLUMN_NAME = " + catalog.Text(col.Name)) {
			k.add(Warning, name, "index "+row[0]+" has counter "+col.Name+": it serves no conditions on the counter, and orders only with LIMIT", "drop it, if nothing else needs it", "")
		}
	}
}

// slots looks at a slots table that has the right columns.
func (k *inspection) slots(t *catalog.Table) {
	at := "TABLE_SCHEMA = " + catalog.Text(t.Spec.DB) + " AND TABLE_NAME = " + catalog.Text(t.Spec.SlotsTable)
	for _, row := range k.ask("SELECT ENGINE, CREATE_OPTIONS FROM information_schema.TABLES WHERE " + at) {
		if t.MariaDB && !strings.Contains(row[1], "stats_persistent=0") {
			k.add(Warning, t.String(), "MariaDB stores estimates of its slots table's rows again and again, and all statements wait meanwhile", "keep them in memory", "ALTER TABLE "+t.Slots()+" STATS_PERSISTENT=0")
		}
		if !strings.EqualFold(row[0], "InnoDB") {
			k.add(Failure, t.String(), "its slots table has the engine "+row[0]+", which has no row locks", "convert it", "ALTER TABLE "+t.Slots()+" ENGINE=InnoDB")
		}
	}
	var primary []string
	last := ""
	for _, row := range k.ask("SELECT INDEX_NAME, COLUMN_NAME FROM information_schema.STATISTICS WHERE NON_UNIQUE = 0 AND " + at + " ORDER BY INDEX_NAME, SEQ_IN_INDEX") {
		if row[0] == "PRIMARY" {
			primary = append(primary, row[1])
			continue
		}
		if row[0] == last {
			continue
		}
		last = row[0]
		k.add(Failure, t.String(), "its slots table has the unique index "+row[0]+", with which upserts deadlock", "drop it", "ALTER TABLE "+t.Slots()+" DROP INDEX "+sqltext.Quote(row[0]))
	}
	want := make([]string, len(t.Key))
	for i, c := range t.Key {
		want[i] = c.Name
	}
	if want = append(want, t.SlotCol); !slices.EqualFunc(primary, want, strings.EqualFold) && k.err == nil {
		k.add(Failure, t.String(), "the primary key of its slots table is not ("+strings.Join(want, ", ")+")", "roll up, drop the slots table, and run countermysql init", "")
	}
	triggers := k.ask("SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = " + catalog.Text(t.Spec.DB) + " AND EVENT_OBJECT_TABLE = " + catalog.Text(t.Spec.SlotsTable))
	for _, row := range triggers {
		k.add(Warning, t.String(), "trigger "+row[0]+" of its slots table runs with every increment", "drop it", "")
	}
}

// privileges tries what the driver sends, without running it.
func (k *inspection) privileges(t *catalog.Table) {
	base, slot := t.Base(), sqltext.Quote(t.SlotCol)
	counter := sqltext.Quote(t.Counters[0].Name)
	for _, need := range []struct{ privilege, on, stmt string }{
		{"SELECT", t.Slots(), "SELECT * FROM " + t.Slots()},
		{"INSERT", t.Slots(), "INSERT INTO " + t.Slots() + " (" + slot + ") SELECT 0 FROM DUAL WHERE FALSE"},
		{"UPDATE", t.Slots(), "UPDATE " + t.Slots() + " SET " + counter + " = 0 WHERE FALSE"},
		{"DELETE", t.Slots(), "DELETE FROM " + t.Slots() + " WHERE FALSE"},
		{"SELECT", base, "SELECT " + counter + " FROM " + base},
		{"UPDATE", base, "UPDATE " + base + " SET " + counter + " = 0 WHERE FALSE"},
	} {
		if k.err != nil {
			return
		}
		_, err := k.c.lookups.Query(k.ctx, "EXPLAIN "+need.stmt)
		var refused *mysql.MySQLError
		switch {
		case errors.As(err, &refused) && mysqlerr.Denied[refused.Number]:
			k.add(Failure, t.String(), "the user may not "+need.privilege+" on "+need.on, "have an administrator run the statement", k.grant(need.privilege, need.on))
		case errors.As(err, &refused): // a statement that can't be explained says nothing of privileges
		default:
			k.err = err
		}
	}
}

// grant is the statement that gives the user what is missing; "" if he is not known.
func (k *inspection) grant(privileges, on string) string {
	for _, row := range k.ask("SELECT CURRENT_USER()") {
		at := strings.LastIndexByte(row[0], '@')
		return "GRANT " + privileges + " ON " + on + " TO " + sqltext.Quote(row[0][:at]) + "@" + sqltext.Quote(row[0][at+1:])
	}
	return ""
}

// cluster says what the nodes of a Galera cluster may not do.
func (k *inspection) cluster() {
	size := "1"
	for _, row := range k.ask("SHOW GLOBAL STATUS LIKE 'wsrep_cluster_size'") {
		size = row[1]
	}
	if size == "1" {
		k.add(Warning, "", "the server is the only node of a Galera cluster, which others may join", "let all statements of counter tables but increments by primary key and rollups go through one node then", "")
		return
	}
	k.add(Warning, "", "the server is a node of a cluster of "+size+" nodes, whose locks are one node's alone: of what is written to a counter table on several nodes, only increments by primary key and rollups are counted for certain",
		"let all other statements of counter tables go through one node", "")
	if k.c.slotRange.Whole() {
		k.add(Warning, "", "two nodes of the cluster that write one slot conflict", "give the processes of each node a range of slots, counterSlotRange=auto for one", "")
	}
}
