package slotsql

import (
	"slices"
	"strconv"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// NewDirectTemplate makes the UPDATE of one base row that conditions call name, where they
// give the key cols. Where a key names two rows since another client has given it another
// type, one of them has a key that the known type does not hold.
//
// MySQL, which can't do without waiting otherwise, locks the row in a subquery, a constant to
// it that it evaluates first; and in that, a derived table may be of the table that is updated
// (https://dev.mysql.com/doc/refman/8.4/en/subquery-restrictions.html).
func NewDirectTemplate(t *catalog.Table, name string, cols []*catalog.Column, used, touched []int, later bool) Template {
	base := sqltext.Quote(name)
	var text templateWriter
	text.WriteString("UPDATE " + t.Base() + " AS " + base + " SET ")
	text.adds(t, used, touched, base+".", base+".")
	text.where(t, base, used)
	if slices.Equal(cols, t.Key) {
		for _, cond := range t.Key.AsKnown(base, true) {
			text.WriteString(" AND " + cond)
		}
	}
	if later {
		for _, i := range touched {
			col := base + "." + sqltext.Quote(t.Touch[i].Name)
			text.WriteString(" AND (" + col + " IS NULL OR " + col + " <= ")
			text.cut(holeTouch, i)
			text.WriteString(")")
		}
	}
	if !t.MariaDB {
		text.WriteString(" AND (SELECT 1 FROM (SELECT " + base + "." + sqltext.Quote(t.Counters[used[0]].Name) + " FROM " + t.Base() + " AS " + base + " WHERE ")
		text.cut(holeWhere, 0)
		text.WriteString(" LIMIT 1 FOR UPDATE NOWAIT) AS " + PrivateRows + ") IS NOT NULL")
	}
	return text.done()
}

// AsPlanned is one more condition of a statement that names no slots: an error, 1054, where
// another process has made the slots table anew for another key.
func AsPlanned(t *catalog.Table) string {
	return " AND (SELECT " + PrivateRows + "." + sqltext.Quote(t.SlotCol) + " FROM " + t.Slots() + " AS " + PrivateRows + " LIMIT 0) IS NULL"
}

// BaseRow is a base row that a transaction increments.
type BaseRow struct {
	Table     *catalog.Table
	Increment *RowIncrement
	Shared    bool // it is not changed: its increment goes to a slot
}

// Compare is canonical order: by table, and within one by key. A key of another table may have fewer columns.
func (r BaseRow) Compare(o BaseRow) int {
	if order := strings.Compare(r.Table.String(), o.Table.String()); order != 0 {
		return order
	}
	return r.Table.Key.Compare(r.Increment.Key, o.Increment.Key)
}

// DirectRows is the UPDATE of several base rows, in canonical order. It locks all of them
// shared before any exclusively, and whichever others have locked makes it fail instead of
// wait. The two locks are derived tables, which the server reads first, in this order, and
// LIMIT keeps from merging (https://dev.mysql.com/doc/refman/8.4/en/derived-table-optimization.html);
// to MariaDB every lock of the statement is one that fails, and the UPDATE itself the second.
// Where all but the first are held, locked shared already, it locks them exclusively at once, on
// MariaDB without a derived table. Its numbers are parameters if they are to be apart.
func DirectRows(rows []BaseRow, held, numbersApart bool) string {
	s, locks := rowsUpdate{rows, numbersApart}, locksOf(rows, held)
	var from, sets, conds []string
	if locks > 0 {
		how := rows[0].Table.NoWait()
		if held {
			how = exclusively
		}
		from = append(from, s.locking(s.lockedKeys(), true, how)+lockedRows)
	}
	if locks > 1 {
		from = append(from, s.locking("1", false, exclusively)+PrivateRows)
	}
	for i, r := range rows {
		if r.Shared {
			continue
		}
		row := rowAlias(i)
		if locks > 0 {
			from = append(from, r.Table.Base()+" AS "+row)
			for j, c := range r.Table.Key {
				conds = append(conds, row+"."+sqltext.Quote(c.Name)+" = "+lockedRows+"."+keyAlias(i, j))
			}
		} else {
			from = append(from, r.Table.Base()+" AS "+row+ForceKey(r.Table))
			conds = append(conds, s.where(i, row))
		}
		conds = append(conds, r.Table.Key.AsKnown(row, true)...)
		u := &Upsert{Table: r.Table, Entries: []*RowIncrement{r.Increment}}
		used, touched := u.Used()
		for _, j := range used {
			conds = append(conds, row+"."+sqltext.Quote(r.Table.Counters[j].Name)+" IS NOT NULL")
		}
		var set templateWriter
		set.adds(r.Table, used, touched, row+".", row+".")
		var with filling = u
		if numbersApart {
			with = apart{u}
		}
		sets = append(sets, string(set.done().Fill(nil, "", "", 0, with)))
	}
	return "UPDATE " + strings.Join(from, inOrder) + " SET " + strings.Join(sets, ", ") + " WHERE " + strings.Join(conds, " AND ")
}

// The aliases of a row that is changed, of a row that is locked before, and of what that has in
// column j of its key.
func rowAlias(i int) string    { return PrivateRows + "_row" + strconv.Itoa(i) }
func lockAlias(i int) string   { return PrivateRows + "_lock" + strconv.Itoa(i) }
func keyAlias(i, j int) string { return PrivateKey + strconv.Itoa(i) + "_" + strconv.Itoa(j) }

// rowsUpdate are the rows of [DirectRows], as that calls them.
type rowsUpdate struct {
	rows         []BaseRow
	numbersApart bool
}

// where is the condition of row i's key in the table called name.
func (s rowsUpdate) where(i int, name string) string {
	if s.numbersApart {
		return whereApart(s.rows[i].Table.Key, name)
	}
	return s.rows[i].Table.Key.Where(s.rows[i].Increment.Key, name)
}

// lockedKeys is the select list of the keys of those that are changed.
func (s rowsUpdate) lockedKeys() string {
	var keys []string
	for i, r := range s.rows {
		for j, c := range r.Table.Key {
			if !r.Shared {
				keys = append(keys, lockAlias(i)+"."+sqltext.Quote(c.Name)+" AS "+keyAlias(i, j))
			}
		}
	}
	return strings.Join(keys, ", ")
}

// locking is the derived table, without its name, that locks all rows, or those that are changed.
func (s rowsUpdate) locking(what string, all bool, how string) string {
	var from, conds []string
	for i, r := range s.rows {
		if all || !r.Shared {
			from = append(from, r.Table.Base()+" AS "+lockAlias(i)+ForceKey(r.Table))
			conds = append(conds, s.where(i, lockAlias(i)))
		}
	}
	return "(SELECT " + what + " FROM " + strings.Join(from, inOrder) + " WHERE " + strings.Join(conds, " AND ") + " LIMIT 2 " + how + ") AS "
}

// locksOf is how many locks there are before the UPDATE itself.
func locksOf(rows []BaseRow, held bool) (n int) {
	if !held {
		n++
	}
	if !rows[0].Table.MariaDB {
		n++
	}
	return n
}

// RowNumbers are the numbers of [DirectRows].
func RowNumbers(rows []BaseRow, held bool) (n Numbers) {
	n = make(Numbers, 0, 3*len(rows))
	keys := func(all bool) {
		for _, r := range rows {
			if all || !r.Shared {
				n = n.withKey(r.Increment.Key)
			}
		}
	}
	locks := locksOf(rows, held)
	if locks > 0 {
		keys(true)
	}
	if locks > 1 {
		keys(false)
	}
	for _, r := range rows {
		for _, d := range r.Increment.Deltas {
			if d != 0 && !r.Shared {
				n = n.With(d)
			}
		}
	}
	if locks == 0 {
		keys(true)
	}
	return n
}

const (
	exclusively = "FOR UPDATE NOWAIT"
	inOrder     = " STRAIGHT_JOIN "
	lockedRows  = PrivateRows + "_locked" // the alias of the rows that are locked first
)
