package catalog

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/countermysql/countermysql/internal/formula"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// FirstReserved is the least number of a reserved slot: one that is written without a lock on
// the base row, by triggers, or by who takes from a reserve. Numbers of processes are less
// (traffic.SlotRange), and one that is not does no harm: what holds for a reserved slot holds for
// every other.
const FirstReserved = 63 * 1024

// reservedSlots is how many of them triggers choose from, by the connection. Those of the same
// choice wait for each other.
const reservedSlots = 64

// OffsetSlot takes away what the exact way has added to the base row: it can't take it from the
// slots that triggers write without waiting for them.
const OffsetSlot = 1<<16 - 1

// OwnSlot is, as SQL, the reserved slot that the triggers of a connection write.
var OwnSlot = strconv.Itoa(FirstReserved) + " + MOD(CONNECTION_ID(), " + strconv.Itoa(reservedSlots) + ")"

// Reserved reports whether a slot's number is one of those.
func Reserved(slot string) bool {
	n, err := strconv.Atoi(slot)
	return err == nil && n >= FirstReserved
}

// Trigger is one that keeps derived counters of a table.
type Trigger struct {
	DB, Table string // whose rows it is for
	Name      string // in DB
	Event     string // INSERT, UPDATE or DELETE
	Body      string
	Columns   []string // of Table, that its formulas read
	Counters  []string // that it keeps
}

// ownTrigger is how the names of our triggers begin.
const ownTrigger = "countermysql_"

// Create is the statement that makes it, where its database is in use. It names none: MariaDB keeps
// the text, a dump has it, and could not be restored as another database.
func (g Trigger) Create() string {
	return "CREATE TRIGGER " + sqltext.Quote(g.Name) + " AFTER " + g.Event + " ON " + sqltext.Quote(g.Table) + " FOR EACH ROW " + g.Body
}

// Use is what comes before [Trigger.Create].
func (g Trigger) Use() string { return Use(g.DB) }

// Use makes a database the one that texts mean which name none.
func Use(db string) string { return "USE " + sqltext.Quote(db) }

// Drop is the statement that ends it.
func (g Trigger) Drop() string { return "DROP TRIGGER IF EXISTS " + sqltext.Qualified(g.DB, g.Name) }

// Triggers keep the derived counters of a table; none where it can't have them.
func (t *Table) Triggers() (all []Trigger) {
	if t.Unfit != nil || len(t.Key) == 0 {
		return nil
	}
	type source struct{ db, table string }
	formulas := map[source][]derived{}
	var sources []source
	for _, c := range t.Counters {
		f := t.Spec.FormulaOf(c)
		if f == nil || len(f.Key) != len(t.Key) {
			continue
		}
		of := source{f.DB, f.Table}
		if !slices.Contains(sources, of) {
			sources = append(sources, of)
		}
		formulas[of] = append(formulas[of], derived{t, c, f})
	}
	for _, of := range sources {
		var columns, counters []string
		for _, d := range formulas[of] {
			columns, counters = append(columns, d.formula.Columns...), append(counters, d.counter.Name)
		}
		for _, event := range []string{"INSERT", "UPDATE", "DELETE"} {
			body := "BEGIN\n"
			for _, d := range formulas[of] {
				body += d.step(event)
			}
			all = append(all, Trigger{DB: of.db, Table: of.table, Name: t.triggerName(of.db, of.table, event), Event: event, Body: body + "END", Columns: columns, Counters: counters})
		}
	}
	return all
}

// triggerName is the same for nobody else's: several tables may have counters over one, and
// names are the database's.
func (t *Table) triggerName(db, source, event string) string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%q%q%q%q", t.Spec.DB, t.Spec.Name, db, source)
	name := []rune(t.Spec.Name)
	return fmt.Sprintf("%s%s_%08x_%s", ownTrigger, string(name[:min(len(name), 30)]), h.Sum32(), strings.ToLower(event))
}

// derived is a counter and its formula.
type derived struct {
	table   *Table
	counter *Column
	formula *formula.Formula
}

// Sums is the type in which parts of rows are added up: that of the slots.
func (c *Column) Sums() string {
	if c.Decimal() {
		return fmt.Sprintf("DECIMAL(65,%d)", c.Scale)
	}
	return "DECIMAL(65,0)" // as an integer, what is too large for a slot would become another number
}

// step is what a trigger does for one counter. What a row adds to the counter is added to the
// slot of its key, without a look at the base row: who has inserted a row may not wait for
// others' increments, nor they for him.
func (d derived) step(event string) string {
	was, is := d.formula.Part("OLD", d.counter.Sums()), d.formula.Part("NEW", d.counter.Sums())
	switch event {
	case "INSERT":
		return "IF " + d.keyed("NEW") + " AND " + is + " <> 0 THEN " + d.add("NEW", is) + " END IF;\n"
	case "DELETE":
		return "IF " + d.keyed("OLD") + " AND " + was + " <> 0 THEN " + d.add("OLD", "-"+was) + " END IF;\n"
	}
	var same []string
	for _, k := range d.formula.Key {
		same = append(same, "OLD."+sqltext.Quote(k)+" <=> NEW."+sqltext.Quote(k))
	}
	return "IF " + strings.Join(same, " AND ") + " THEN\n IF " + d.keyed("NEW") + " AND " + is + " <> " + was + " THEN " + d.add("NEW", is+" - "+was) + " END IF;\nELSE\n IF " +
		d.keyed("OLD") + " AND " + was + " <> 0 THEN " + d.add("OLD", "-"+was) + " END IF;\n IF " +
		d.keyed("NEW") + " AND " + is + " <> 0 THEN " + d.add("NEW", is) + " END IF;\nEND IF;\n"
}

// keyed is true of a row that belongs to a key.
func (d derived) keyed(row string) string {
	var conds []string
	for _, k := range d.formula.Key {
		conds = append(conds, row+"."+sqltext.Quote(k)+" IS NOT NULL")
	}
	return strings.Join(conds, " AND ")
}

// add adds an amount to the key of a row.
func (d derived) add(row, amount string) string {
	t := d.table
	var cols, vals []string
	for i, k := range d.formula.Key {
		cols, vals = append(cols, sqltext.Quote(t.Key[i].Name)), append(vals, row+"."+sqltext.Quote(k))
	}
	col, into := sqltext.Quote(d.counter.Name), sqltext.Quote(t.Spec.SlotsTable)
	if d.formula.DB != t.Spec.DB { // else a copy of the database counts in itself
		into = t.Slots()
	}
	cols, vals = append(cols, sqltext.Quote(t.SlotCol), col), append(vals, OwnSlot, amount)
	return "INSERT INTO " + into + " (" + strings.Join(cols, ", ") + ") VALUES (" + strings.Join(vals, ", ") + ") ON DUPLICATE KEY UPDATE " + col + " = " + into + "." + col + " + (" + amount + ");"
}

// Feeds reports whether a trigger of ours in a database, by its text, writes the slots of a
// table.
func Feeds(t *Table, db, body string) bool {
	into := func(name string) bool { return strings.Contains(body, "INSERT INTO "+name+" (") }
	return into(t.Slots()) || db == t.Spec.DB && into(sqltext.Quote(t.Spec.SlotsTable))
}

// OwnTriggers selects those of ours that keep derived counters, or have such a name.
const OwnTriggers = "ACTION_TIMING = 'AFTER' AND TRIGGER_NAME LIKE 'countermysql|_%' ESCAPE '|'" // as ownTrigger says

// Feeders asks for them: the database of the table that each is for, its name, its body.
const Feeders = "SELECT EVENT_OBJECT_SCHEMA, TRIGGER_NAME, ACTION_STATEMENT FROM information_schema.TRIGGERS WHERE " + OwnTriggers + " ORDER BY TRIGGER_SCHEMA, TRIGGER_NAME"

// DropFeeders are the statements that drop those which write the slots of a table.
func DropFeeders(t *Table, feeders [][]string) (drops []string) {
	for _, f := range feeders {
		if Feeds(t, f[0], f[2]) {
			drops = append(drops, Trigger{DB: f[0], Name: f[1]}.Drop())
		}
	}
	return drops
}

// feeders are the objects through which a statement writes slots without naming their table:
// the tables with triggers that do, as they are configured or as the server has them, and what
// reaches such a table. own reports whether a trigger is one that is configured.
func (l *loader) feeders() (all []Dependent, own func(trigger []string) bool) {
	wanted := map[string]bool{}
	id := func(db, table, event, body string) string {
		return l.key(db, table) + "\x00" + event + "\x00" + strings.TrimSpace(body)
	}
	for _, key := range sqltext.SortedKeys(l.tables) {
		t := l.tables[key]
		for _, g := range t.Triggers() {
			t.Fed = true
			wanted[id(g.DB, g.Table, g.Event, g.Body)] = true
			all = append(all, Dependent{DB: g.DB, Name: g.Table, Event: g.Event, Tables: []*Table{t}, Feeds: true, Columns: g.Columns})
		}
	}
	own = func(v []string) bool { return v[4] == "AFTER" && wanted[id(v[0], v[1], v[3], v[2])] }
	there := map[string]bool{}
	for _, v := range l.objects.triggers {
		if own(v) {
			there[id(v[0], v[1], v[3], v[2])] = true
		}
	}
	for _, t := range l.tables {
		t.Unkept = unkept(t, func(g Trigger) bool { return there[id(g.DB, g.Table, g.Event, g.Body)] })
	}
	for _, v := range l.objects.triggers {
		if own(v) {
			continue
		}
		words := sqltext.Identifiers(v[2])
		for _, key := range sqltext.SortedKeys(l.tables) {
			if t := l.tables[key]; words[strings.ToLower(t.Spec.SlotsTable)] {
				t.Fed = true
				all = append(all, Dependent{DB: v[0], Name: v[1], Event: v[3], Body: v[2], Tables: []*Table{t}, Feeds: true})
			}
		}
	}
	return all, own
}

// readTriggers takes in the triggers of counter tables, but those that are our own.
func (l *loader) readTriggers(all []Dependent, own func(trigger []string) bool) []Dependent {
	for _, v := range l.objects.triggers {
		if own(v) {
			continue
		}
		t := l.find(v[0], v[1])
		if t != nil && t.History.note(t, v[3], v[4], v[2]) {
			continue // it reads no counter, and adds up to the same whatever becomes of an increment
		}
		if t != nil {
			const why = "it has an UPDATE trigger, which an increment would not fire; "
			update := v[3] == "UPDATE"
			t.UpdateTriggers = t.UpdateTriggers || update
			switch slows := update && !t.Closed; { // a closed table's increments fire it
			case t.IsForHistory(v[5], v[2]):
				if t.History.Outdated = true; slows { // and never unfit, or Init would not make it anew
					t.Degraded = append(t.Degraded, why+"it has written a history of other counters: run countermysql init, which makes it anew")
				}
			case slows:
				draft{t}.degrade(why + "drop it or take the table from the list")
			}
			t.InsertTriggers = t.InsertTriggers || v[3] == "INSERT"
			t.DeleteTriggers = t.DeleteTriggers || v[3] == "DELETE"
			t.MakesKeys = t.MakesKeys || v[3] == "INSERT" && v[4] == "BEFORE" && draft{t}.setsKey(v[2])
		}
		all = append(all, Dependent{DB: v[0], Name: v[1], Body: v[2], Event: v[3]})
	}
	return all
}

// feeding adds, to the tables whose triggers write slots, what may write such a table: a view
// of it, another table's trigger, a routine, and one that runs texts or may not be seen, which may
// name any. To read a view that calls a routine is to call it.
func feeding(feeders, objects []Dependent) []Dependent {
	words := make([]map[string]bool, len(objects))
	for i, d := range objects {
		words[i] = sqltext.Identifiers(d.Body)
	}
	seen := map[string]bool{}
	for at := 0; at < len(feeders); at++ { // it grows
		f := feeders[at]
		for i, d := range objects {
			reads := d.Kind == "routine" || d.Kind == "view" && f.Reads
			id := fmt.Sprintf("%q%q%q%q%t%s", d.DB, d.Name, d.Kind, d.Event, reads, f.Tables[0])
			if d.ForeignKey || seen[id] || !d.Hidden() && !runsTexts(words[i]) && !d.names(words[i], f.DB, f.Name) {
				continue
			}
			seen[id] = true
			feeders = append(feeders, Dependent{DB: d.DB, Name: d.Name, Kind: d.Kind, Event: d.Event, Body: d.Body, Reads: reads, Tables: f.Tables, Feeds: true})
		}
	}
	return feeders
}
