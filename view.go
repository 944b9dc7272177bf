package countermysql

import (
	"slices"
	"strconv"
	"strings"
)

// privateName is the alias of the slots table wherever we join it to the user's
// tables; no user's name is hidden by it.
const privateName = "countermysql_slots"

// shareMode is understood by both servers.
const shareMode = "LOCK IN SHARE MODE"

// sight is how a transaction sees a table: what its own writes and its old
// snapshot change in the sum of base row and slots.
type sight struct {
	locks   string       // read base rows and slots as they are now, and lock the base rows so
	own     []correction // rows the transaction has written: their slots, as they are now
	pending []correction // increments not sent yet
}

// correction gives amounts for the rows that a condition selects.
type correction struct {
	where   string            // on the base table
	amounts map[string]string // by column name: SQL
	vain    bool              // touch columns are these, and no earlier than that
}

// view is the base table as the application sees it: a derived table with some of the
// same columns, whose counters are sums.
func (t *table) view(s sight, hints string, cols []*column) string {
	var b strings.Builder
	b.WriteString("(SELECT ")
	for i, c := range cols {
		if i > 0 {
			b.WriteString(", ")
		}
		if t.virtual(c.name) {
			b.WriteString(t.total(c, s) + " AS ")
		}
		b.WriteString(quoteIdent(c.name))
	}
	b.WriteString(" FROM " + t.base() + hints)
	if s.locks != "" {
		b.WriteString(" " + s.locks)
	}
	b.WriteString(")")
	return b.String()
}

// summed are the columns that slots have: key, counters, touch columns.
func (t *table) summed() []*column {
	return slices.DeleteFunc(slices.Clone(t.cols), func(c *column) bool { return !t.inKey(c.name) && !t.virtual(c.name) })
}

// total is the value of a counter or touch column of the current row.
func (t *table) total(c *column, s sight) string { return t.totalOf(c, t.spec.name, s) }

// totalOf is total where the query calls the base table name.
func (t *table) totalOf(c *column, name string, s sight) string {
	base := quoteIdent(name) + "." + quoteIdent(c.name)
	of := privateName + "." + quoteIdent(c.name)
	if t.counter(c.name) == nil {
		newest := cases(slices.DeleteFunc(slices.Clone(s.own), isVain), c, "(SELECT MAX("+of+")"+t.fromSlots(name, s)+")")
		newest = later(cases(s.pending, c, "NULL"), newest)
		return cases(slices.DeleteFunc(slices.Clone(s.own), isNotVain), c, later(base, newest))
	}
	sum := cases(s.own, c, "COALESCE((SELECT SUM("+of+")"+t.fromSlots(name, s)+"), 0)")
	total := base + " + " + sum
	if s.pending != nil {
		total += " + " + cases(s.pending, c, "0")
	}
	return t.cast(c, total)
}

func isVain(k correction) bool    { return k.vain }
func isNotVain(k correction) bool { return !k.vain }

// cast gives a sum, which is a DECIMAL, the counter's kind of number.
func (t *table) cast(c *column, sum string) string {
	switch {
	case c.decimal():
		return "CAST(" + sum + " AS DECIMAL(65," + strconv.Itoa(c.scale) + "))"
	case c.unsigned():
		return "CAST(" + sum + " AS UNSIGNED)"
	}
	return "CAST(" + sum + " AS SIGNED)"
}

// fromSlots selects the slots of the current base row.
func (t *table) fromSlots(name string, s sight) string {
	from := " FROM " + t.slots() + " AS " + privateName + " WHERE "
	if len(t.key) > 0 {
		from += t.sameKey(privateName, quoteIdent(name)) + " AND "
	}
	from += t.planned(privateName)
	if s.locks != "" {
		from += " " + shareMode
	}
	return from
}

// sameKey compares the keys of two tables, given by their quoted names.
func (t *table) sameKey(x, y string) string {
	if len(t.key) == 0 {
		return "TRUE"
	}
	conds := make([]string, len(t.key))
	for i, c := range t.key {
		conds[i] = x + "." + quoteIdent(c.name) + " = " + y + "." + quoteIdent(c.name)
	}
	return strings.Join(conds, " AND ")
}

// cases chooses by key between the corrections and what holds for all others.
func cases(corrections []correction, c *column, otherwise string) string {
	if len(corrections) == 0 {
		return otherwise
	}
	var b strings.Builder
	for _, k := range corrections {
		amount, ok := k.amounts[c.name]
		if !ok {
			continue
		}
		b.WriteString(" WHEN " + k.where + " THEN " + amount)
	}
	if b.Len() == 0 {
		return otherwise
	}
	return "CASE" + b.String() + " ELSE " + otherwise + " END"
}

// later is the later of two times either of which may be NULL.
func later(x, y string) string {
	if x == "NULL" {
		return y
	}
	return "GREATEST(COALESCE(" + x + ", " + y + "), COALESCE(" + y + ", " + x + "))"
}
