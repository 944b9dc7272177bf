package countermysql

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// key is the value of a table's key columns as the server gave them: numbers
// and times as text, strings as the hexadecimal of their bytes. The same row
// always has the same key.
type key []string

func (k key) id() string { return strings.Join(k, "\x00") }

// stringKey reports whether a key column travels as hexadecimal bytes.
func (c *column) stringKey() bool {
	switch c.dataType {
	case "char", "varchar", "binary", "varbinary", "enum", "set":
		return true
	}
	return false
}

// sameKey reports whether values of a key column mean the same in a newer version of it.
func (c *column) sameKey(n *column) bool {
	return strings.EqualFold(c.name, n.name) && c.collation == n.collation && c.scale == n.scale && (c.dataType == n.dataType || c.integer() && n.integer())
}

// selectKey is the select list that reads the key of the table called name.
func (t *table) selectKey(name string) string {
	exprs := make([]string, len(t.key))
	for i, c := range t.key {
		ref := name + "." + quoteIdent(c.name)
		switch {
		case c.stringKey():
			exprs[i] = "HEX(" + ref + ")"
		case c.zerofill(): // as a number has it, without zeros before
			exprs[i] = "CAST(" + ref + " + 0 AS CHAR)"
		default:
			exprs[i] = "CAST(" + ref + " AS CHAR)" // as text even with parseTime
		}
	}
	if len(exprs) == 0 {
		return "1"
	}
	return strings.Join(exprs, ", ")
}

// literal writes a value of the key column so that comparing the column with it finds
// exactly that value, whatever the session. The column's own collation decides: with
// COLLATE, both servers compare two values of an OR by their character set's default one,
// and may drop the second of two that are equal in that.
func (c *column) literal(v string) string {
	switch {
	case c.stringKey() && c.collation == "":
		return "x'" + v + "'"
	case c.stringKey():
		return "_" + c.charset + " x'" + v + "'"
	}
	switch c.dataType {
	case "date":
		if strings.HasSuffix(v, "()") {
			return v // a moment
		}
		return "CAST('" + v + "' AS DATE)"
	case "datetime", "timestamp":
		return "CAST('" + v + "' AS DATETIME(6))"
	case "time":
		return "CAST('" + v + "' AS TIME(6))"
	case "uuid", "inet4", "inet6":
		return "CAST('" + v + "' AS " + c.dataType + ")"
	}
	return v // a number
}

// constant is literal as a column of a derived table, which has its collation.
func (c *column) constant(v string) string {
	if c.stringKey() && c.collation != "" {
		return c.literal(v) + " COLLATE " + c.collation
	}
	return c.literal(v)
}

// where selects the key's row of the table called name.
func (t *table) where(k key, name string) string { return whereEqual(t.key, k, name) }

func whereEqual(cols []*column, k key, name string) string {
	if len(cols) == 0 {
		return "TRUE"
	}
	conds := make([]string, len(cols))
	for i, c := range cols {
		conds[i] = c.equals(name+"."+quoteIdent(c.name), k[i])
	}
	return strings.Join(conds, " AND ")
}

// equals compares a key column with a value of its own. A date without a day or month
// is no literal under every sql_mode
// (https://dev.mysql.com/doc/refman/8.4/en/sql-mode.html#sqlmode_no_zero_in_date).
func (c *column) equals(ref, v string) string {
	if c.incomplete(v) {
		return "CAST(" + ref + " AS CHAR) = '" + v + "'"
	}
	return ref + " = " + c.literal(v)
}

// dated reports whether a key column holds dates.
func (c *column) dated() bool {
	return c.dataType == "date" || c.dataType == "datetime" || c.dataType == "timestamp"
}

// incomplete reports whether a key column's value is a date without a day or month.
func (c *column) incomplete(v string) bool {
	return c.dated() && len(v) >= len(time.DateOnly) && (v[5:7] == "00" || v[8:10] == "00")
}

// untoldKey tells the rows of the table called name whose key has no text of its own: with
// such a date in it, or a TIMESTAMP whose text is that of another one, in the hour that comes twice when
// summer time ends: a slots table could have them under another key. Their increments are
// verbatim.
func (t *table) untoldKey(name string) (conds []string) {
	for _, c := range t.key {
		ref := name + "." + quoteIdent(c.name)
		if c.dated() {
			conds = append(conds, "DAYOFMONTH("+ref+") = 0", "MONTH("+ref+") = 0")
		}
		if c.dataType == "timestamp" {
			conds = append(conds, "UNIX_TIMESTAMP("+ref+") <> UNIX_TIMESTAMP(CAST("+ref+" AS CHAR))")
		}
	}
	return conds
}

// whereAny selects the rows of several keys.
func (t *table) whereAny(keys []key, name string) string { return whereAny(t.key, keys, name) }

func whereAny(cols []*column, keys []key, name string) string {
	if len(cols) == 1 && len(keys) > 1 && !slices.ContainsFunc(keys, func(k key) bool { return cols[0].incomplete(k[0]) }) {
		list := make([]string, len(keys))
		for i, k := range keys {
			list[i] = cols[0].literal(k[0])
		}
		return name + "." + quoteIdent(cols[0].name) + " IN (" + strings.Join(list, ", ") + ")"
	}
	conds := make([]string, len(keys))
	for i, k := range keys {
		conds[i] = "(" + whereEqual(cols, k, name) + ")"
	}
	return strings.Join(conds, " OR ")
}

// compare is the canonical order of keys, in which every transaction takes its
// locks: numbers by value, all else by bytes.
func (t *table) compare(x, y key) int { return compareKeys(t.key, x, y) }

func compareKeys(cols []*column, x, y key) int {
	for i, c := range cols {
		var n int
		if c.integer() || c.dataType == "year" {
			n = compareIntegers(x[i], y[i])
		} else {
			n = strings.Compare(x[i], y[i])
		}
		if n != 0 {
			return n
		}
	}
	return 0
}

func compareIntegers(x, y string) int {
	xNeg, yNeg := strings.HasPrefix(x, "-"), strings.HasPrefix(y, "-")
	switch {
	case xNeg != yNeg:
		if xNeg {
			return -1
		}
		return 1
	case xNeg:
		x, y = y[1:], x[1:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
}

// entry is what is to be added to one row and is not sent yet.
type entry struct {
	id     string // entries with the same id are summed; their times are all quoted
	key    key
	deltas []int64  // by counter, in units
	touch  []string // by touch column, SQL; "" if not touched
	where  string   // selects the row; "": the key does
	rest   string   // what else than the key the row has to meet
	finds  []find   // how the application found the row, should others re-key it
}

// empty reports whether the entry's increments cancelled out.
func (e *entry) empty() bool {
	return !slices.ContainsFunc(e.deltas, func(d int64) bool { return d != 0 }) &&
		!slices.ContainsFunc(e.touch, func(at string) bool { return at != "" })
}

// add sums another entry of the same id into this one; false, and as before, if a
// sum leaves 64 bits.
func (e *entry) add(o *entry) bool {
	for i, d := range o.deltas {
		if (e.deltas[i]+d > e.deltas[i]) != (d > 0) && d != 0 {
			return false
		}
	}
	for i, d := range o.deltas {
		e.deltas[i] += d
	}
	for i, at := range o.touch {
		e.touch[i] = max(e.touch[i], at)
	}
	e.finds = append(e.finds, o.finds...)
	return true
}

func (e *entry) clone() *entry {
	out := *e
	out.deltas, out.touch, out.finds = slices.Clone(e.deltas), slices.Clone(e.touch), slices.Clone(e.finds)
	return &out
}

// of is the entry with the counters of a newer version of its table.
func (e *entry) of(old, t *table) *entry {
	out := *e
	out.deltas, out.touch = byColumn(e.deltas, old.counters, t.counters), byColumn(e.touch, old.touch, t.touch)
	out.finds = slices.Clone(e.finds)
	for i := range out.finds {
		out.finds[i].deltas = byColumn(out.finds[i].deltas, old.counters, t.counters)
	}
	return &out
}

// byColumn puts values that are in the order of some columns into that of others.
func byColumn[V any](values []V, old, cols []*column) []V {
	out := make([]V, len(cols))
	for i, c := range old {
		if at := slices.IndexFunc(cols, func(n *column) bool { return strings.EqualFold(n.name, c.name) }); at >= 0 {
			out[at] = values[i]
		}
	}
	return out
}

// find is a condition of the application's that matched rows by another key than
// the slots table's, and what was added to each by it.
type find struct {
	name, where string
	deltas      []int64
	keys        []key // of all those rows, in canonical order
}

// pending are the increments of one table that a transaction has not sent yet.
type pending struct {
	t       *table
	entries layers[*entry]
	late    bool // some came after the transaction's snapshot
}

func (p *pending) some() bool { return p != nil && p.entries.len() > 0 }

// add sums an increment into its entry; false if the sum leaves 64 bits.
func (p *pending) add(e entry) bool {
	sum := &e
	if old := p.entries.get(e.id); old != nil {
		sum = old.clone() // savepoints hold the old one
		if !sum.add(&e) {
			return false
		}
	}
	p.entries.set(e.id, sum)
	return true
}

// sorted returns the entries in canonical order.
func (p *pending) sorted() []*entry {
	all := make([]*entry, 0, p.entries.len())
	for _, e := range p.entries.all() {
		all = append(all, e)
	}
	slices.SortFunc(all, func(x, y *entry) int { return p.t.compare(x.key, y.key) })
	return all
}

func sortTables(tables []*table) {
	slices.SortFunc(tables, func(x, y *table) int { return strings.Compare(x.String(), y.String()) })
}
