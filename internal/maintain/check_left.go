package maintain

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// maxNamed bounds the rows that a finding names.
const maxNamed = 10

// left finds the rows that a rollup leaves: the column can't hold what the counter has come to, or a
// CHECK constraint refuses it.
func (k *inspection) left(t *catalog.Table) {
	var beyond, reasons []string
	for _, c := range t.Counters {
		low, high := c.Limits()
		if low == nil {
			return // a FLOAT, which another client has made of it
		}
		beyond = append(beyond, sqltext.Quote(c.Name)+" NOT BETWEEN "+c.FormatBig(low)+" AND "+c.FormatBig(high))
		reasons = append(reasons, "column "+c.Name+" can't hold")
	}
	k.refused(t, beyond, reasons, "make the column larger")
	for _, condition := range t.Checks {
		told := "CHECK " + condition
		if !computable(t, condition) || !k.refused(t, []string{"NOT " + condition}, []string{told + " refuses"}, "change the constraint") {
			k.warn(t.String(), told+" can't be computed from here: which rows it keeps from being rolled up is not known", "look whether countermysql rollup --yes names any", "")
		}
	}
}

// computable reports whether a condition says here what it says in a rollup: it has no touch column,
// whose newest time that writes, and no text that another session may take otherwise.
func computable(t *catalog.Table, condition string) bool {
	return !slices.ContainsFunc(t.Touch, func(c *catalog.Column) bool { return sqltext.MentionsWord(condition, c.Name) }) &&
		!strings.ContainsFunc(condition, func(r rune) bool { return r == '\\' || r > unicode.MaxASCII })
}

// refused tells of rows for which one of the conditions holds once their slots are added to them, and
// reports whether the server could compute that.
func (k *inspection) refused(t *catalog.Table, conditions, reasons []string, remedy string) (computed bool) {
	const base, slots, both = "b", "s", "t"
	var sums, columns []string
	for _, c := range t.Columns {
		name, at := sqltext.Quote(c.Name), slices.Index(t.Counters, c)
		if at < 0 {
			columns = append(columns, base+"."+name)
			continue
		}
		sum := sqltext.Quote("countermysql_" + strconv.Itoa(at))
		sums = append(sums, "SUM("+name+") AS "+sum)
		columns = append(columns, base+"."+name+" + "+slots+"."+sum+" AS "+name)
	}
	group := " HAVING COUNT(*) > 0" // or the sums of no slots would be NULL
	if len(t.Key) > 0 {
		group = " GROUP BY " + strings.Join(catalog.QuoteNames(t.Key), ", ")
	}
	rows, ok := k.try("SELECT " + t.Key.Select(both) + ", " + strings.Join(conditions, ", ") + " FROM (SELECT " + strings.Join(columns, ", ") + " FROM " + t.Base() + " AS " + base +
		" JOIN (SELECT " + strings.Join(append(catalog.QuoteNames(t.Key), sums...), ", ") + " FROM " + t.Slots() + group + ") AS " + slots + " ON " + t.Key.Same(base, slots) + ") AS " + both +
		" WHERE " + strings.Join(conditions, " OR ") + " LIMIT " + strconv.Itoa(maxNamed+1))
	if !ok {
		return k.err != nil
	}
	var keys, why []string
	for n, row := range rows {
		if n == maxNamed {
			keys = append(keys, "and others")
			break
		}
		key, reasoned := t.Key.Cut(row)
		keys = append(keys, t.Key.Describe(key))
		for i, told := range reasoned {
			if told == "1" && !slices.Contains(why, reasons[i]) {
				why = append(why, reasons[i])
			}
		}
	}
	if keys != nil {
		k.fail(t.String(), strings.Join(why, " and ")+" the counter of "+strings.Join(keys, ", ")+", so that rollups leave it, or a part of it, in slots",
			remedy+"; nothing is lost meanwhile", "")
	}
	return true
}

// unclaimed finds counts that no counter takes: rollups leave them in slots.
func (k *inspection) unclaimed(t *catalog.Table) {
	if k.err != nil {
		return
	}
	holding, err := catalog.HoldingUnclaimed(k.ctx, t, k.in.Lookups.Query)
	if mysqlerr.Number(err) != 0 {
		return // a privilege is missing, which has been told, or the table is not what it was
	}
	k.err = err
	for _, c := range holding {
		problem, remedy := catalog.Claimless(t, c)
		k.fail(t.String(), problem, remedy, "")
	}
}
