package slotsql

import (
	"slices"
	"strconv"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// Orphans selects slots without a base row, which is missing where its first key column is.
// A DELETE of them would scan, and lock, all of a small table otherwise, and by an alias of the
// slots table it would need a default database.
func Orphans(t *catalog.Table, where string) string {
	if len(t.Key) == 0 {
		return " FROM " + t.Slots() + " WHERE NOT EXISTS (SELECT 1 FROM " + t.Base() + ")"
	}
	return " FROM " + t.Slots() + " FORCE INDEX (PRIMARY) LEFT JOIN " + t.Base() + " AS " + catalog.PrivateBase + " ON " + t.Key.Same(catalog.PrivateBase, t.Slots()) +
		" WHERE (" + where + ") AND " + catalog.PrivateBase + "." + sqltext.Quote(t.Key[0].Name) + " IS NULL"
}

// WhereLocked selects the given rows of the table called name.
func WhereLocked(t *catalog.Table, rows []LockedRow, name string) string {
	if len(rows) == 0 { // for FALSE, MariaDB's RETURNING would give no columns
		col := name + "." + sqltext.Quote(t.Key[0].Name)
		return "NULLIF(" + col + ", " + col + ") = " + col
	}
	return t.Key.WhereAny(catalog.KeysOf(rows), name)
}

// After selects the keys behind one, in a form that both servers serve from the
// primary key (they do not for rows of values).
func After(t *catalog.Table, k catalog.Key, name string) string {
	cond := ""
	for i := len(t.Key) - 1; i >= 0; i-- {
		c := t.Key[i]
		col, value := c.Ordered(name+"."+sqltext.Quote(c.Name)), c.Literal(k[i])
		if cond == "" {
			cond = col + " > " + value
			continue
		}
		cond = col + " >= " + value + " AND (" + col + " > " + value + " OR " + cond + ")"
	}
	return cond
}

// Overflow names the counter whose column can't hold base plus slots; "" if all
// can.
func Overflow(t *catalog.Table, row LockedRow, slots []SlotRow) string {
	for i, col := range t.Counters {
		if row.Counters[i] == "" {
			continue
		}
		if sum, err := SumOf(col, row.Counters[i], i, slots); err == nil && !col.InRange(sum) {
			return col.Name
		}
	}
	return ""
}

// SlotRow is one row of a slots table.
type SlotRow struct {
	Key     catalog.Key
	Slot    string
	Amounts []string // by counter
	Touch   []string // by touch column
	Kept    []string // by unclaimed column: not for folds to take away

	Offset bool // it stands for slots that are not to be locked: to take it away is to add its opposite
}

func (s SlotRow) KeyOf() catalog.Key { return s.Key }

// Holds reports whether the row has some of any counter.
func (s SlotRow) Holds() bool { return slices.ContainsFunc(s.Amounts, isSome) }

// Keeps reports whether the row has amounts that no counter takes.
func (s SlotRow) Keeps() bool { return slices.ContainsFunc(s.Kept, isSome) }

// Touched reports whether the row has a time.
func (s SlotRow) Touched() bool {
	return slices.ContainsFunc(s.Touch, func(at string) bool { return at != "" })
}

func isSome(amount string) bool { return strings.Trim(amount, "-0.") != "" }

func WhereAnyOrAll(t *catalog.Table, keys []catalog.Key, name string) string {
	if len(t.Key) == 0 {
		return "TRUE"
	}
	return t.Key.WhereAny(keys, name)
}

// LockedRow is a base row that this transaction has locked exclusively.
type LockedRow struct {
	Key      catalog.Key
	Counters []string // "" for NULL
}

func (r LockedRow) KeyOf() catalog.Key { return r.Key }

// ForceKey keeps the optimizer on the table's key: a scan would lock rows that
// nobody asked for.
func ForceKey(t *catalog.Table) string { return Force(t, t.Key) }

func Force(t *catalog.Table, cols []*catalog.Column) string {
	for _, k := range t.Unique {
		if len(k.Columns) > 0 && slices.Equal(k.Columns, cols) {
			return " FORCE INDEX (" + sqltext.Quote(k.Name) + ")"
		}
	}
	return ""
}

// NotByCounters keeps the optimizer from the indexes that begin with a counter. They may hold all
// that rows are locked by, and then it would rather go through all of one, and lock its entries
// before the rows, while a rollup that has a row waits for its entry.
func NotByCounters(t *catalog.Table) string {
	var names []string
	for _, x := range t.Indexed {
		if t.Counter(x.By[0].C.Name) != nil {
			names = append(names, sqltext.Quote(x.Name))
		}
	}
	if names == nil {
		return ""
	}
	return " IGNORE INDEX (" + strings.Join(names, ", ") + ")"
}

// KeysOfSlots asks which rows have slots.
func KeysOfSlots(t *catalog.Table) string {
	return "SELECT DISTINCT " + t.Key.Select(catalog.PrivateName) + " FROM " + t.Slots() + " AS " + catalog.PrivateName
}

// KeysOfReserved asks which of some rows have reserved ones.
func KeysOfReserved(t *catalog.Table, keys []catalog.Key) string {
	return KeysOfSlots(t) + " WHERE " + catalog.PrivateName + "." + sqltext.Quote(t.SlotCol) + " >= " + strconv.Itoa(catalog.FirstReserved) + " AND (" + WhereAnyOrAll(t, keys, catalog.PrivateName) + ")"
}

// LockSQL locks base rows and reads their keys and counters, and last whether the key is one
// of the known type, where it takes the server to tell.
func LockSQL(t *catalog.Table, name, from, where, how string) string {
	counters := make([]string, len(t.Counters))
	for i, col := range t.Counters {
		counters[i] = "CAST(" + name + "." + sqltext.Quote(col.Name) + " AS CHAR)"
	}
	known := ""
	if conds := t.Key.AsKnown(name, true); conds != nil {
		known = ", (" + strings.Join(conds, " AND ") + ") IS TRUE"
	}
	return "SELECT " + t.Key.Select(name) + ", " + strings.Join(counters, ", ") + known + " FROM " + from + " WHERE " + where + " " + how
}
