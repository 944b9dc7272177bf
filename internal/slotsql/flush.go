package slotsql

import (
	"strconv"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// The aliases of the entries whose base rows are there, and were locked, and of the table of flushes.
const (
	privateFound = PrivateRows + "_found"
	privateFlush = PrivateRows + "_flush"
)

// Flush is the UPDATE that adds all entries to their base rows, and notes the flusher's batch, both
// given as SQL; if one of the rows is gone, or locked by somebody, it does nothing. It waits for none
// of them: they are locked in a derived table, which a window function keeps from merging
// (https://dev.mysql.com/doc/refman/8.4/en/derived-table-optimization.html).
func (u *Upsert) Flush(batch, flusher string) string {
	t, name := u.Table, sqltext.Quote(u.Name)
	used, touched := u.Used()
	var found, by, sets []string
	for i, c := range t.Key {
		key := PrivateKey + strconv.Itoa(i)
		found = append(found, name+"."+sqltext.Quote(c.Name)+" AS "+key)
		by = append(by, name+"."+sqltext.Quote(c.Name)+" = "+privateFound+"."+key)
	}
	for _, i := range used {
		col, delta := name+"."+sqltext.Quote(t.Counters[i].Name), privateDelta+strconv.Itoa(i)
		found = append(found, FromRows(privateDelta, i)+" AS "+delta)
		sets = append(sets, col+" = "+col+" + "+privateFound+"."+delta)
	}
	return "UPDATE " + catalog.Flushes(t.Spec.DB) + " AS " + privateFlush + " STRAIGHT_JOIN (SELECT STRAIGHT_JOIN " + strings.Join(found, ", ") + ", COUNT(*) OVER () AS " + privateNumber +
		u.from(used, touched) + " WHERE (" + u.gone(used, touched) + ") IS NOT TRUE FOR UPDATE SKIP LOCKED) AS " + privateFound +
		" STRAIGHT_JOIN " + t.Base() + " AS " + name + ForceKey(t) +
		" SET " + privateFlush + ".batch = " + batch + ", " + strings.Join(sets, ", ") +
		" WHERE " + privateFlush + ".flusher = " + flusher + " AND " + privateFound + "." + privateNumber + " = " + strconv.Itoa(len(u.Entries)) + " AND " + strings.Join(by, " AND ")
}
