package countermysql

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// privateRows is the alias of the derived table of entries.
const privateRows = "countermysql_rows"

// The columns of that table: the entry's number, its key, deltas and times, and
// which of the different further conditions it has.
const (
	privateNumber = "countermysql_n"
	privateKey    = "countermysql_k"
	privateDelta  = "countermysql_c"
	privateTouch  = "countermysql_t"
	privateRest   = "countermysql_r"
)

func fromRows(column string, i int) string {
	return privateRows + "." + column + strconv.Itoa(i)
}

// upsert writes entries of one table into slots, in one strict statement.
type upsert struct {
	t       *table
	name    string // what the entries' conditions call the table
	cols    []*column
	entries []*entry
	lock    string
	later   bool // a touch column that is newer in the base row counts as gone
	slot    int
	insert  string // its first word
}

// upsert prepares a statement for entries by the slots table's own key.
func (c *conn) upsert(t *table, entries []*entry) *upsert {
	return &upsert{t: t, name: t.spec.name, cols: t.key, entries: entries, lock: t.lock(), slot: c.slot(t), insert: c.insert()}
}

// byKey reports whether entries are of the slots table's own key.
func (u *upsert) byKey() bool { return slices.Equal(u.cols, u.t.key) }

// one is the statement for a single entry. Without a row, nothing is written.
func (u *upsert) one() string {
	used, touched := u.used()
	tp := newTemplate(u.t, u.name, u.cols, used, touched, u.later)
	return string(tp.fill(nil, u.insert, u.lock, u.slot, u))
}

func (u *upsert) delta(buf []byte, i int) []byte {
	return u.t.counters[i].appendUnits(buf, u.entries[0].deltas[i])
}

func (u *upsert) touch(buf []byte, i int) []byte { return append(buf, u.entries[0].touch[i]...) }

func (u *upsert) where(buf []byte) []byte {
	if where := u.entries[0].where; where != "" {
		return append(buf, where...)
	}
	return append(buf, whereEqual(u.cols, u.entries[0].key, quoteIdent(u.name))...)
}

// many is the statement for several sorted entries. It locks all base rows
// first and then writes all slots (SQL_BUFFER_RESULT): row by row it would
// deadlock with a transaction that has edited a row and sends a lesser key. A
// row that is gone makes the statement fail, by its key or by a number out of
// range, and add nothing.
func (u *upsert) many() string {
	t := u.t
	used, touched := u.used()
	var cols, vals, updates []string
	for _, k := range t.key { // as the base row spells it
		cols = append(cols, quoteIdent(k.name))
		vals = append(vals, quoteIdent(u.name)+"."+quoteIdent(k.name))
	}
	cols = append(cols, quoteIdent(t.slotCol))
	vals = append(vals, strconv.Itoa(u.slot)+" + 0 * (18446744073709551615 + ("+u.gone(used, touched)+"))") // out of range if gone
	for _, i := range used {
		col := quoteIdent(t.counters[i].name)
		cols = append(cols, col)
		vals = append(vals, fromRows(privateDelta, i))
		updates = append(updates, t.addTo(t.counters[i], fromRows(privateDelta, i)))
	}
	for _, i := range touched {
		col := quoteIdent(t.touch[i].name)
		cols = append(cols, col)
		vals = append(vals, fromRows(privateTouch, i))
		updates = append(updates, col+" = "+later(t.slots()+"."+col, fromRows(privateTouch, i)))
	}
	return u.insert + "INTO " + t.slots() + " (" + strings.Join(cols, ", ") + ") SELECT SQL_BUFFER_RESULT " + strings.Join(vals, ", ") +
		u.from(used, touched) + " " + u.lock + " ON DUPLICATE KEY UPDATE " + strings.Join(updates, ", ")
}

// strict is the statement for all entries which fails if a row is gone. For a single one
// the row is looked for in the slot's number, which can't be NULL in a single row whatever
// the sql_mode (https://dev.mysql.com/doc/refman/8.4/en/data-type-defaults.html): that is
// cheaper than a derived table.
func (u *upsert) strict() string {
	t, name := u.t, quoteIdent(u.name)
	if len(u.entries) > 1 || len(t.key) == 0 || slices.ContainsFunc(t.key, func(c *column) bool { return !c.joins() || c.dated() }) {
		return u.many()
	}
	e := u.entries[0]
	used, touched := u.used()
	there := strings.Join(append([]string{t.where(e.key, name)}, t.asKnown(name, true)...), " AND ")
	var cols, vals, updates []string
	set := func(c *column, value string) {
		cols, vals = append(cols, quoteIdent(c.name)), append(vals, value)
	}
	for i, k := range t.key {
		set(k, k.literal(e.key[i]))
	}
	for _, i := range used {
		c := t.counters[i]
		there += " AND " + name + "." + quoteIdent(c.name) + " IS NOT NULL"
		set(c, c.formatUnits(e.deltas[i]))
		updates = append(updates, t.addTo(c, c.formatUnits(e.deltas[i])))
	}
	for _, i := range touched {
		c := t.touch[i]
		col, at := quoteIdent(c.name), "CAST("+e.touch[i]+" AS DATETIME(6))"
		set(c, at)
		updates = append(updates, col+" = "+later(t.slots()+"."+col, at))
	}
	return u.insert + "INTO " + t.slots() + " (" + strings.Join(cols, ", ") + ", " + quoteIdent(t.slotCol) + ") VALUES (" + strings.Join(vals, ", ") +
		", (SELECT " + strconv.Itoa(u.slot) + " FROM " + t.base() + " AS " + name + t.forceKey() + " WHERE " + there + " " + u.lock + ")) ON DUPLICATE KEY UPDATE " + strings.Join(updates, ", ")
}

// culprits selects the numbers of the entries that made the statement fail:
// their rows are gone, or locked by somebody.
func (u *upsert) culprits() string {
	used, touched := u.used()
	return "SELECT " + privateRows + "." + privateNumber + u.from(used, touched) + " WHERE " + u.gone(used, touched) + " " + u.t.skipLocked()
}

// gone tells an entry whose row is missing, has become NULL or has a key that no slot may have,
// does not meet the rest of its condition or has been touched later.
func (u *upsert) gone(used, touched []int) string {
	t, name := u.t, quoteIdent(u.name)
	gone := unless(t.incrementable(name, u.byKey()))
	if len(t.key) > 0 {
		gone = append(gone, name+"."+quoteIdent(t.key[0].name)+" IS NULL")
	}
	for _, i := range used {
		null := name + "." + quoteIdent(t.counters[i].name) + " IS NULL"
		if len(used) > 1 {
			null = fromRows(privateDelta, i) + " <> 0 AND " + null
		}
		gone = append(gone, null)
	}
	if u.later {
		for _, i := range touched {
			gone = append(gone, "COALESCE("+name+"."+quoteIdent(t.touch[i].name)+" > CAST("+fromRows(privateTouch, i)+" AS "+t.touch[i].moments()+"), FALSE)")
		}
	}
	switch rests := u.rests(); {
	case len(rests) == 1 && rests[0] != "":
		gone = append(gone, "("+rests[0]+") IS NOT TRUE")
	case len(rests) > 1:
		test := "CASE " + privateRows + "." + privateRest
		for i, rest := range rests {
			if rest != "" {
				test += fmt.Sprintf(" WHEN %d THEN (%s) IS NOT TRUE", i, rest)
			}
		}
		gone = append(gone, test+" ELSE FALSE END")
	}
	if len(t.key) == 0 {
		gone = append(gone, "(SELECT COUNT(*) FROM "+t.base()+" "+t.lock()+") <> 1")
	}
	return strings.Join(gone, " OR ")
}

// rests are the different further conditions of the entries.
func (u *upsert) rests() []string {
	var rests []string
	for _, e := range u.entries {
		if !slices.Contains(rests, e.rest) {
			rests = append(rests, e.rest)
		}
	}
	return rests
}

func (u *upsert) from(used, touched []int) string {
	t, rests := u.t, u.rests()
	var b strings.Builder
	b.WriteString(" FROM (")
	for n, e := range u.entries {
		as := func(column string, i int) {
			if n == 0 { // the first row names the columns
				b.WriteString(" AS " + column)
				if i >= 0 {
					b.WriteString(strconv.Itoa(i))
				}
			}
		}
		if n > 0 {
			b.WriteString(" UNION ALL ")
		}
		b.WriteString("SELECT " + strconv.Itoa(n))
		as(privateNumber, -1)
		for i, k := range u.cols {
			b.WriteString(", " + k.constant(e.key[i]))
			as(privateKey, i)
		}
		for _, i := range used {
			b.WriteString(", " + t.counters[i].formatUnits(e.deltas[i]))
			as(privateDelta, i)
		}
		for _, i := range touched {
			at := "NULL"
			if e.touch[i] != "" {
				at = e.touch[i]
			}
			b.WriteString(", CAST(" + at + " AS DATETIME(6))")
			as(privateTouch, i)
		}
		if len(rests) > 1 {
			b.WriteString(", " + strconv.Itoa(slices.Index(rests, e.rest)))
			as(privateRest, -1)
		}
	}
	name := quoteIdent(u.name)
	on := make([]string, len(u.cols))
	for i, k := range u.cols {
		on[i] = name + "." + quoteIdent(k.name) + " = " + fromRows(privateKey, i)
	}
	if len(on) == 0 {
		on = []string{"TRUE"}
	}
	b.WriteString(") AS " + privateRows + " LEFT JOIN " + t.base() + " AS " + name + t.force(u.cols) + " ON " + strings.Join(on, " AND "))
	return b.String()
}

func (t *table) addTo(c *column, amount string) string {
	col := quoteIdent(c.name)
	return col + " = " + t.slots() + "." + col + " + " + amount
}

// used are the places of the counters and touch columns that some entry sets.
func (u *upsert) used() (counters, touched []int) {
	return places(u.t.counters, func(i int, _ *column) bool {
			return slices.ContainsFunc(u.entries, func(e *entry) bool { return e.deltas[i] != 0 })
		}), places(u.t.touch, func(i int, _ *column) bool {
			return slices.ContainsFunc(u.entries, func(e *entry) bool { return e.touch[i] != "" })
		})
}

func places(cols []*column, has func(int, *column) bool) (found []int) {
	for i, c := range cols {
		if has(i, c) {
			found = append(found, i)
		}
	}
	return found
}

// unsafeUpdates lets MariaDB delete slots, by their primary key, under sql_safe_updates:
// it refuses any join with a list of values
// (https://mariadb.com/kb/en/server-system-variables/#sql_safe_updates).
func (c *conn) unsafeUpdates(t *table) string {
	switch {
	case !c.session.safe || !t.mariaDB:
		return c.unsnapshot()
	case c.session.snapshot:
		return "SET STATEMENT sql_safe_updates=OFF, innodb_snapshot_isolation=OFF FOR "
	}
	return "SET STATEMENT sql_safe_updates=OFF FOR "
}

// insert begins a statement that writes slots: strictly in every session, so that no key is
// cut to what the slots table can hold, and none is made up for a column that it has got
// (https://dev.mysql.com/doc/refman/8.4/en/sql-mode.html#sql-mode-strict;
// https://mariadb.com/kb/en/set-statement/).
func (c *conn) insert() string {
	strictly := c.session.sqlMode + ",STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO" // MySQL warns of the first without the others
	switch s := c.connector.current.Load(); {
	case c.session.strict:
		return c.unsnapshot() + "INSERT "
	case s == nil || !s.server.mariaDB:
		return "INSERT /*+ SET_VAR(sql_mode = '" + strictly + "') */ "
	case c.session.snapshot:
		return "SET STATEMENT innodb_snapshot_isolation=OFF, sql_mode='" + strictly + "' FOR INSERT "
	}
	return "SET STATEMENT sql_mode='" + strictly + "' FOR INSERT "
}

// unsnapshot lets MariaDB write a slot that changed since the transaction's
// snapshot (https://mariadb.com/kb/en/innodb-system-variables/#innodb_snapshot_isolation).
func (c *conn) unsnapshot() string {
	if c.session.snapshot {
		return "SET STATEMENT innodb_snapshot_isolation=OFF FOR "
	}
	return ""
}
