package maintain

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// table looks at a listed table.
func (k *inspection) table(t *catalog.Table) {
	k.unfit(t)
	if t.Unfit != nil {
		return
	}
	if t.Missing == "" {
		k.slots(t)
		k.privileges(t)
		k.buffered(t)
		k.derived(t)
		k.history(t)
		k.reserve(t)
		k.left(t)
	} else {
		k.slotsMissing(t)
	}
	k.slower(t)
	k.slotsUnseen(t)
	k.indexed(t)
}

// unfit tells why the table can't have counters.
func (k *inspection) unfit(t *catalog.Table) {
	for _, reason := range t.Unfit {
		problem, remedy, found := strings.Cut(reason, "; ")
		if !found {
			remedy = "take it from the list of counters"
		}
		k.fail(t.String(), problem, remedy, "")
	}
}

// slotsMissing tells what is wrong with a slots table that has not the right columns.
func (k *inspection) slotsMissing(t *catalog.Table) {
	name := t.String()
	switch {
	case t.Unseen:
		k.fail(name, "the user may not see its slots table "+t.Spec.SlotsTable, "have an administrator run countermysql init, if there is none, and the statement", k.grant("SELECT, INSERT, UPDATE, DELETE", t.Slots()))
	case t.DDL().NotMade():
		k.fail(name, "its slots table "+t.Spec.SlotsTable+" is missing", "run countermysql init, or the statement", t.Missing)
	case t.Taken:
		k.fail(name, "its slots table's name, "+t.Spec.SlotsTable+", is that of another table", "choose another name with slots_table", "")
	default:
		k.fail(name, "its slots table "+t.Spec.SlotsTable+" does not fit", "roll up, then run countermysql init, or the statement", t.Missing)
	}
}

// slower tells what keeps increments from slots, or slots from base rows.
func (k *inspection) slower(t *catalog.Table) {
	name := t.String()
	for _, reason := range t.Degraded {
		problem, remedy, _ := strings.Cut(reason, "; ")
		if t.Unfolded {
			k.fail(name, problem+", so that what is in slots can't be added to base rows, and statements that need that fail", remedy, "")
		} else {
			k.warn(name, problem+", so that increments are as slow as on plain MySQL", cmp.Or(remedy, "take it from the list of counters"), "")
		}
	}
	if t.Closed {
		k.warn(name, "its slots table is closed (countermysql drop), so that increments are as slow as on plain MySQL", "go on with countermysql drop, or back with countermysql init", "ALTER TABLE "+t.Slots()+" COMMENT = ''")
	}
	if t.Narrow != "" {
		k.warn(name, "its slots table can't hold every digit of a column's new type, so that increments are as slow as on plain MySQL", "run countermysql init, or the statement", t.Narrow)
	}
	if t.CheckedBy != "" {
		slow := "a " + t.CheckedBy + " reads a counter, so that increments are as slow as on plain MySQL"
		if t.Bounded {
			slow += ", but for those of one row, outside transactions, which go together"
		}
		k.warn(name, slow, "drop the constraint, or check in the application", "")
	}
	if t.Derived {
		k.warn(name, "a generated column reads a touch column, so that increments are as slow as on plain MySQL", "drop the generated column, or compute it in the query", "")
	}
	for _, c := range t.Columns {
		if c.Invisible {
			k.warn(name, "it has the invisible column "+c.Name+", so that queries of its counters run the exact way", "make it visible; if it is a key that the server has made (sql_generate_invisible_primary_key), give the table one of its own", "")
		}
	}
	for _, c := range k.in.Wanted(t) {
		k.warn(name, "increments set its column "+c.Name+" to the present time, which is no touch column, so that they are as slow as on plain MySQL",
			"list it, counterTouch="+t.FullName(c)+", and run countermysql init, or the statement", t.DDL().Touch([]*catalog.Column{c}, ""))
	}
}

// slotsUnseen tells who changes rows, or reads counters, and sees no slots.
func (k *inspection) slotsUnseen(t *catalog.Table) {
	name := t.String()
	for _, fk := range t.Parents {
		if fk.Cascades {
			k.warn(name, fmt.Sprintf("a foreign key to %s.%s changes or deletes its rows, whose slots then stay behind, invisible, until a rollup", fk.ParentDB, fk.Parent),
				"roll up in the background (counterRollup), or give the slots table a foreign key (countermysql init --foreign-key)", "")
		}
	}
	for _, d := range k.in.Schema.Dependents {
		if d.Kind != "" && slices.Contains(d.Tables, t) {
			k.warn(name, fmt.Sprintf("%s %s.%s uses it: the driver rolls up before a statement with it, and other clients see the base rows alone", d.Kind, d.DB, d.Name),
				"roll up in the background (counterRollup), and leave counters out where they are not needed", "")
		}
	}
}

// indexed tells which indexes have counters.
func (k *inspection) indexed(t *catalog.Table) {
	for _, col := range t.Counters {
		for _, row := range k.ask("SELECT DISTINCT INDEX_NAME FROM information_schema.STATISTICS WHERE " +
			catalog.OfTable(t.Spec.DB, t.Spec.Name) + " AND COLUMN_NAME = " + catalog.Text(col.Name)) {
			k.warn(t.String(), "index "+row[0]+" has counter "+col.Name+": it serves no conditions on the counter, and orders only with LIMIT", "drop it, if nothing else needs it", "")
		}
	}
}

// slots looks at a slots table that has the right columns.
func (k *inspection) slots(t *catalog.Table) {
	at := catalog.OfTable(t.Spec.DB, t.Spec.SlotsTable)
	for _, row := range k.ask("SELECT ENGINE, CREATE_OPTIONS FROM information_schema.TABLES WHERE " + at) {
		if t.MariaDB && !strings.Contains(row[1], "stats_persistent=0") {
			k.warn(t.String(), "MariaDB stores estimates of its slots table's rows again and again, and all statements wait meanwhile", "keep them in memory", "ALTER TABLE "+t.Slots()+" STATS_PERSISTENT=0")
		}
		if !strings.EqualFold(row[0], "InnoDB") {
			k.fail(t.String(), "its slots table has the engine "+row[0]+", which has no row locks", "convert it", "ALTER TABLE "+t.Slots()+" ENGINE=InnoDB")
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
		k.fail(t.String(), "its slots table has the unique index "+row[0]+", with which upserts deadlock", "drop it", "ALTER TABLE "+t.Slots()+" DROP INDEX "+sqltext.Quote(row[0]))
	}
	want := make([]string, len(t.Key))
	for i, c := range t.Key {
		want[i] = c.Name
	}
	if want = append(want, t.SlotCol); !slices.EqualFunc(primary, want, strings.EqualFold) && k.err == nil {
		k.fail(t.String(), "the primary key of its slots table is not ("+strings.Join(want, ", ")+")", "roll up, drop the slots table, and run countermysql init", "")
	}
	triggers := k.ask("SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = " + catalog.Text(t.Spec.DB) + " AND EVENT_OBJECT_TABLE = " + catalog.Text(t.Spec.SlotsTable))
	for _, row := range triggers {
		k.warn(t.String(), "trigger "+row[0]+" of its slots table runs with every increment", "drop it", "")
	}
}

// privileges tries what the driver sends, without running it.
func (k *inspection) privileges(t *catalog.Table) {
	base, slot := t.Base(), sqltext.Quote(t.SlotCol)
	counter := sqltext.Quote(t.Counters[0].Name)
	k.mayDo(t, []need{
		{"SELECT", t.Slots(), "SELECT * FROM " + t.Slots()},
		{"INSERT", t.Slots(), "INSERT INTO " + t.Slots() + " (" + slot + ") SELECT 0 FROM DUAL WHERE FALSE"},
		{"UPDATE", t.Slots(), "UPDATE " + t.Slots() + " SET " + counter + " = 0 WHERE FALSE"},
		{"DELETE", t.Slots(), "DELETE FROM " + t.Slots() + " WHERE FALSE"},
		{"SELECT", base, "SELECT " + counter + " FROM " + base},
		{"UPDATE", base, "UPDATE " + base + " SET " + counter + " = 0 WHERE FALSE"},
	})
}

// need is a privilege, and a statement that needs it.
type need struct{ privilege, on, stmt string }

// mayDo tells which privileges the user lacks.
func (k *inspection) mayDo(t *catalog.Table, needs []need) {
	for _, need := range needs {
		if k.err != nil {
			return
		}
		_, err := k.in.Lookups.Query(k.ctx, "EXPLAIN "+need.stmt)
		var refused *mysql.MySQLError
		switch {
		case errors.As(err, &refused) && mysqlerr.Denied[refused.Number]:
			k.fail(t.String(), "the user may not "+need.privilege+" on "+need.on, "have an administrator run the statement", k.grant(need.privilege, need.on))
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
