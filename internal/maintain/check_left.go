package maintain

import (
	"slices"
	"strconv"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// maxNamed bounds the rows that a finding names.
const maxNamed = 10

// left finds the rows that a rollup leaves: the column can't hold what the counter has come to, or a
// CHECK constraint refuses it.
func (k *inspection) left(t *catalog.Table) {
	const base, slots, both = "b", "s", "t"
	var sums, columns, refused, reasons []string
	for _, c := range t.Columns {
		at := slices.Index(t.Counters, c)
		if at < 0 {
			columns = append(columns, base+"."+sqltext.Quote(c.Name))
			continue
		}
		low, high := c.Limits()
		if low == nil {
			return // a FLOAT, which another client has made of it
		}
		name := sqltext.Quote(c.Name)
		sum := sqltext.Quote("countermysql_" + strconv.Itoa(at))
		sums = append(sums, "SUM("+name+") AS "+sum)
		columns = append(columns, base+"."+name+" + "+slots+"."+sum+" AS "+name)
		refused = append(refused, name+" NOT BETWEEN "+c.FormatBig(low)+" AND "+c.FormatBig(high))
		reasons = append(reasons, "column "+c.Name+" can't hold")
	}
	for _, condition := range t.Checks {
		refused = append(refused, "NOT "+condition)
		reasons = append(reasons, "CHECK "+condition+" refuses")
	}
	if k.err != nil {
		return
	}
	group := ""
	if len(t.Key) > 0 {
		group = " GROUP BY " + strings.Join(catalog.QuoteNames(t.Key), ", ")
	}
	rows, err := k.in.Lookups.Query(k.ctx, "SELECT "+t.Key.Select(both)+", "+strings.Join(refused, ", ")+" FROM (SELECT "+strings.Join(columns, ", ")+" FROM "+t.Base()+" AS "+base+
		" JOIN (SELECT "+strings.Join(append(catalog.QuoteNames(t.Key), sums...), ", ")+" FROM "+t.Slots()+group+") AS "+slots+" ON "+t.Key.Same(base, slots)+") AS "+both+
		" WHERE "+strings.Join(refused, " OR ")+" LIMIT "+strconv.Itoa(maxNamed+1))
	if n := mysqlerr.Number(err); n != 0 {
		return // a privilege is missing, which has been told, or the table is not what it was
	} else if err != nil {
		k.err = err
	}
	var keys, why []string
	for n, row := range rows {
		if n == maxNamed {
			keys = append(keys, "and others")
			break
		}
		keys = append(keys, t.Key.Describe(catalog.Key(row[:len(t.Key)])))
		for i, told := range row[max(len(t.Key), 1):] { // without a key a constant stands in its place
			if told == "1" && !slices.Contains(why, reasons[i]) {
				why = append(why, reasons[i])
			}
		}
	}
	if keys != nil {
		k.fail(t.String(), strings.Join(why, ", ")+" the counter of "+strings.Join(keys, ", ")+", so that rollups leave it, or a part of it, in slots",
			"make the column larger, or change the constraint; nothing is lost meanwhile", "")
	}
}
