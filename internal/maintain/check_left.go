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

// left finds the rows that a rollup leaves: the column can't hold what the counter has come to.
func (k *inspection) left(t *catalog.Table) {
	const base, slots = "b", "s"
	sums, over := catalog.QuoteNames(t.Key), []string{}
	for i, c := range t.Counters {
		low, high := c.Limits()
		if low == nil {
			return // a FLOAT, which another client has made of it
		}
		name := sqltext.Quote(c.Name)
		sum := slots + "." + sqltext.Quote("countermysql_"+strconv.Itoa(i))
		sums = append(sums, "SUM("+name+") AS "+sqltext.Quote("countermysql_"+strconv.Itoa(i)))
		over = append(over, base+"."+name+" + "+sum+" NOT BETWEEN "+c.FormatBig(low)+" AND "+c.FormatBig(high))
	}
	if k.err != nil {
		return
	}
	group := ""
	if len(t.Key) > 0 {
		group = " GROUP BY " + strings.Join(catalog.QuoteNames(t.Key), ", ")
	}
	rows, err := k.in.Lookups.Query(k.ctx, "SELECT "+t.Key.Select(base)+", "+strings.Join(over, ", ")+" FROM "+t.Base()+" AS "+base+
		" JOIN (SELECT "+strings.Join(sums, ", ")+" FROM "+t.Slots()+group+") AS "+slots+" ON "+t.Key.Same(base, slots)+
		" WHERE "+strings.Join(over, " OR ")+" LIMIT "+strconv.Itoa(maxNamed+1))
	if n := mysqlerr.Number(err); n != 0 {
		return // a privilege is missing, which has been told, or the table is not what it was
	} else if err != nil {
		k.err = err
	}
	var keys, columns []string
	for n, row := range rows {
		if n == maxNamed {
			keys = append(keys, "and others")
			break
		}
		keys = append(keys, t.Key.Describe(catalog.Key(row[:len(t.Key)])))
		for i, c := range t.Counters {
			at := max(len(t.Key), 1) + i // without a key a constant stands in its place
			if row[at] == "1" && !slices.Contains(columns, c.Name) {
				columns = append(columns, c.Name)
			}
		}
	}
	if keys != nil {
		k.fail(t.String(), "column "+strings.Join(columns, ", ")+" can't hold the counter of "+strings.Join(keys, ", ")+", so that rollups leave a part of it in slots",
			"make the column larger; nothing is lost meanwhile", "")
	}
}
