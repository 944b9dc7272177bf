package slotsql

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// PrivateRows is the alias of the derived table of entries.
const PrivateRows = "countermysql_rows"

// The columns of that table: the entry's number, its key, deltas and times, and
// which of the different further conditions it has.
const (
	privateNumber = "countermysql_n"
	PrivateKey    = "countermysql_k"
	privateDelta  = "countermysql_c"
	privateTouch  = "countermysql_t"
	privateRest   = "countermysql_r"
)

func FromRows(column string, i int) string {
	return PrivateRows + "." + column + strconv.Itoa(i)
}

// Upsert writes entries of one table into slots, in one strict statement.
type Upsert struct {
	Table   *catalog.Table
	Name    string // what the entries' conditions call the table
	Columns catalog.KeyColumns
	Entries []*RowIncrement
	Lock    string
	Later   bool // a touch column that is newer in the base row counts as gone
	Slot    int
	Insert  string // its first word
}

// byKey reports whether entries are of the slots table's own key.
func (u *Upsert) byKey() bool { return slices.Equal(u.Columns, u.Table.Key) }

// SQL is the statement.
func (u *Upsert) SQL() string {
	if len(u.Entries) == 1 {
		return u.One()
	}
	return u.Many()
}

// One is the statement for a single entry. Without a row, nothing is written.
func (u *Upsert) One() string {
	used, touched := u.Used()
	tp := NewTemplate(u.Table, u.Name, u.Columns, used, touched, u.Later)
	return string(tp.Fill(nil, u.Insert, u.Lock, u.Slot, u))
}

func (u *Upsert) Delta(buf []byte, i int) []byte {
	return u.Table.Counters[i].AppendUnits(buf, u.Entries[0].Deltas[i])
}

func (u *Upsert) Touch(buf []byte, i int) []byte { return append(buf, u.Entries[0].Touch[i]...) }

func (u *Upsert) Where(buf []byte) []byte {
	if where := u.Entries[0].Where; where != "" {
		return append(buf, where...)
	}
	return append(buf, u.Columns.Where(u.Entries[0].Key, sqltext.Quote(u.Name))...)
}

// Many is the statement for several sorted entries. It locks all base rows
// first and then writes all slots (SQL_BUFFER_RESULT): row by row it would
// deadlock with a transaction that has edited a row and sends a lesser key. A
// row that is gone makes the statement fail, by its key or by a number out of
// range, and add nothing.
func (u *Upsert) Many() string {
	t := u.Table
	used, touched := u.Used()
	var cols, vals, updates []string
	for _, k := range t.Key { // as the base row spells it
		cols = append(cols, sqltext.Quote(k.Name))
		vals = append(vals, sqltext.Qualified(u.Name, k.Name))
	}
	cols = append(cols, sqltext.Quote(t.SlotCol))
	vals = append(vals, strconv.Itoa(u.Slot)+" + 0 * (18446744073709551615 + ("+u.gone(used, touched)+"))") // out of range if gone
	for _, i := range used {
		col := sqltext.Quote(t.Counters[i].Name)
		cols = append(cols, col)
		vals = append(vals, FromRows(privateDelta, i))
		updates = append(updates, t.AddTo(t.Counters[i], FromRows(privateDelta, i)))
	}
	for _, i := range touched {
		col := sqltext.Quote(t.Touch[i].Name)
		cols = append(cols, col)
		vals = append(vals, FromRows(privateTouch, i))
		updates = append(updates, col+" = "+catalog.Later(t.Slots()+"."+col, FromRows(privateTouch, i)))
	}
	return u.Insert + "INTO " + t.Slots() + " (" + strings.Join(cols, ", ") + ") SELECT SQL_BUFFER_RESULT " + strings.Join(vals, ", ") +
		u.from(used, touched) + " " + u.Lock + " ON DUPLICATE KEY UPDATE " + strings.Join(updates, ", ")
}

// Culprits selects the numbers of the entries that made a statement fail which locks rows so: their
// rows are gone, or locked by somebody. Those that are gone, as committed, are told without a lock.
func (u *Upsert) Culprits(lock string) string {
	used, touched := u.Used()
	return "SELECT " + PrivateRows + "." + privateNumber + u.from(used, touched) + " WHERE " + u.gone(used, touched) + " " + lock
}

// gone tells an entry whose row is missing, has become NULL or has a key that no slot may have,
// does not meet the rest of its condition or has been touched later.
func (u *Upsert) gone(used, touched []int) string {
	t, name := u.Table, sqltext.Quote(u.Name)
	gone := catalog.Unless(t.Key.Incrementable(name, u.byKey()))
	if len(t.Key) > 0 {
		gone = append(gone, name+"."+sqltext.Quote(t.Key[0].Name)+" IS NULL")
	}
	for _, i := range used {
		null := name + "." + sqltext.Quote(t.Counters[i].Name) + " IS NULL"
		if len(used) > 1 {
			null = FromRows(privateDelta, i) + " <> 0 AND " + null
		}
		gone = append(gone, null)
	}
	if u.Later {
		for _, i := range touched {
			gone = append(gone, "COALESCE("+name+"."+sqltext.Quote(t.Touch[i].Name)+" > CAST("+FromRows(privateTouch, i)+" AS "+t.Touch[i].Moments()+"), FALSE)")
		}
	}
	switch rests := u.rests(); {
	case len(rests) == 1 && rests[0] != "":
		gone = append(gone, "("+rests[0]+") IS NOT TRUE")
	case len(rests) > 1:
		test := "CASE " + PrivateRows + "." + privateRest
		for i, rest := range rests {
			if rest != "" {
				test += fmt.Sprintf(" WHEN %d THEN (%s) IS NOT TRUE", i, rest)
			}
		}
		gone = append(gone, test+" ELSE FALSE END")
	}
	if len(t.Key) == 0 {
		gone = append(gone, "(SELECT COUNT(*) FROM "+t.Base()+" "+t.Lock()+") <> 1")
	}
	return strings.Join(gone, " OR ")
}

// rests are the different further conditions of the entries.
func (u *Upsert) rests() []string {
	var rests []string
	for _, e := range u.Entries {
		if !slices.Contains(rests, e.Rest) {
			rests = append(rests, e.Rest)
		}
	}
	return rests
}

func (u *Upsert) from(used, touched []int) string {
	t, rests := u.Table, u.rests()
	var b strings.Builder
	b.WriteString(" FROM (")
	for n, e := range u.Entries {
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
		for i, k := range u.Columns {
			b.WriteString(", " + k.Constant(e.Key[i]))
			as(PrivateKey, i)
		}
		for _, i := range used {
			b.WriteString(", " + t.Counters[i].FormatUnits(e.Deltas[i]))
			as(privateDelta, i)
		}
		for _, i := range touched {
			b.WriteString(", CAST(" + cmp.Or(e.Touch[i], "NULL") + " AS DATETIME(6))")
			as(privateTouch, i)
		}
		if len(rests) > 1 {
			b.WriteString(", " + strconv.Itoa(slices.Index(rests, e.Rest)))
			as(privateRest, -1)
		}
	}
	name := sqltext.Quote(u.Name)
	on := make([]string, len(u.Columns))
	for i, k := range u.Columns {
		on[i] = name + "." + sqltext.Quote(k.Name) + " = " + FromRows(PrivateKey, i)
	}
	if len(on) == 0 {
		on = []string{"TRUE"}
	}
	b.WriteString(") AS " + PrivateRows + " LEFT JOIN " + t.Base() + " AS " + name + Force(t, u.Columns) + " ON " + strings.Join(on, " AND "))
	return b.String()
}

// Used are the places of the counters and touch columns that some entry sets.
func (u *Upsert) Used() (counters, touched []int) {
	return Places(u.Table.Counters, func(i int, _ *catalog.Column) bool {
			return slices.ContainsFunc(u.Entries, func(e *RowIncrement) bool { return e.Deltas[i] != 0 })
		}), Places(u.Table.Touch, func(i int, _ *catalog.Column) bool {
			return slices.ContainsFunc(u.Entries, func(e *RowIncrement) bool { return e.Touch[i] != "" })
		})
}

func Places(cols []*catalog.Column, has func(int, *catalog.Column) bool) (found []int) {
	for i, c := range cols {
		if has(i, c) {
			found = append(found, i)
		}
	}
	return found
}
