package slotsql

import (
	"strconv"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// The aliases of the entries whose base rows are there and locked ([lockedRows]) with what is counted of
// them, and of the table of flushes.
const (
	privateFound = PrivateRows + "_found"
	privateFlush = PrivateRows + "_flush"
)

// privateTimes is how often a base row's key was found.
const privateTimes = "countermysql_o"

// Flush is the UPDATE that adds all entries to their base rows, and notes the flusher's batch. If a base
// row is gone, locked by somebody, or that of two entries, or an entry's key that of two rows, it does
// nothing; nor does it when it comes again, or late, when it has been settled. It waits for none of the rows:
// they are locked in a derived table, which window functions keep from merging
// (https://dev.mysql.com/doc/refman/8.4/en/derived-table-optimization.html).
func (u *Upsert) Flush(batch, flusher, settled string) string {
	t, name := u.Table, sqltext.Quote(u.Name)
	used, touched := u.Used()
	var found, columns, keys, by, sets []string
	for i, c := range t.Key {
		key, column := PrivateKey+strconv.Itoa(i), name+"."+sqltext.Quote(c.Name)
		found, columns, keys = append(found, column+" AS "+key), append(columns, key), append(keys, column)
		by = append(by, column+" = "+privateFound+"."+key)
	}
	for _, i := range used {
		column, delta := name+"."+sqltext.Quote(t.Counters[i].Name), privateDelta+strconv.Itoa(i)
		found, columns = append(found, FromRows(privateDelta, i)+" AS "+delta), append(columns, delta)
		sets = append(sets, column+" = "+column+" + "+privateFound+"."+delta)
	}
	locked := "SELECT STRAIGHT_JOIN " + strings.Join(found, ", ") + ", COUNT(*) OVER () AS " + privateNumber + ", COUNT(*) OVER (PARTITION BY " + strings.Join(keys, ", ") + ") AS " + privateTimes +
		u.from(used, touched) + " WHERE (" + u.gone(used, touched) + ") IS NOT TRUE FOR UPDATE SKIP LOCKED"
	counted := "SELECT " + strings.Join(columns, ", ") + ", " + privateNumber + ", MAX(" + privateTimes + ") OVER () AS " + privateTimes + " FROM (" + locked + ") AS " + lockedRows
	return "UPDATE " + catalog.Flushes(t.Spec.DB) + " AS " + privateFlush + " STRAIGHT_JOIN (" + counted + ") AS " + privateFound +
		" STRAIGHT_JOIN " + t.Base() + " AS " + name + ForceKey(t) +
		" SET " + privateFlush + ".batch = " + batch + ", " + strings.Join(sets, ", ") +
		" WHERE " + privateFlush + ".flusher = " + flusher + " AND " + privateFlush + ".batch < " + batch + " AND " + privateFlush + ".settled = " + settled +
		" AND " + privateFound + "." + privateNumber + " = " + strconv.Itoa(len(u.Entries)) + " AND " + privateFound + "." + privateTimes + " = 1 AND " + strings.Join(by, " AND ")
}
