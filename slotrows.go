package countermysql

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
)

// slotRow is one row of a slots table.
type slotRow struct {
	key     key
	slot    string
	amounts []string // by counter
	touch   []string // by touch column
}

// errOtherSlots says that a slots table has got other columns than are known, or a base
// table other types. Nothing was taken from it.
var errOtherSlots = errors.New("countermysql: the key or the slots table has got other columns meanwhile; try again")

// slotRows reads the slots of some keys. Other keys' slots are not looked at,
// which may be locked. All columns are read, because another process may have added
// a counter since the schema was learned, which would go with its slots.
func (c *conn) slotRows(ctx context.Context, t *table, keys []key, read func(context.Context, string) ([][]string, error)) (map[string][]slotRow, error) {
	var cols []string
	for _, col := range slices.Concat(t.counters, t.touch) {
		cols = append(cols, "CAST("+privateName+"."+quoteIdent(col.name)+" AS CHAR)")
	}
	rows, err := read(ctx, "SELECT "+t.selectKey(privateName)+", "+privateName+"."+quoteIdent(t.slotCol)+", "+strings.Join(cols, ", ")+
		", "+privateName+".* FROM "+t.slots()+" AS "+privateName+" FORCE INDEX (PRIMARY) WHERE "+t.whereAnyOrAll(keys, privateName))
	if err != nil {
		return nil, err
	}
	found, given := map[string][]slotRow{}, map[string]bool{}
	for _, k := range keys {
		given[k.id()] = true
	}
	for _, r := range rows {
		if len(r) != max(len(t.key), 1)+1+len(cols)+t.slotsWidth {
			c.connector.changes.Add(1)
			return nil, errOtherSlots
		}
		k := key(r[:len(t.key)])
		id := k.id()
		if !given[id] { // another client has spelled the base row's key anew
			if len(keys) > 1 {
				return c.slotRowsOfEach(ctx, t, keys, read)
			}
			id = keys[0].id()
		}
		r = r[max(len(t.key), 1):]
		found[id] = append(found[id], slotRow{k, r[0], r[1 : 1+len(t.counters)], r[1+len(t.counters) : 1+len(cols)]})
	}
	return found, nil
}

// slotRowsOfEach is slotRows, key by key: then it is plain whose slots they are.
func (c *conn) slotRowsOfEach(ctx context.Context, t *table, keys []key, read func(context.Context, string) ([][]string, error)) (map[string][]slotRow, error) {
	all := map[string][]slotRow{}
	for _, k := range keys {
		found, err := c.slotRows(ctx, t, []key{k}, read)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, found)
	}
	return all, nil
}

func (t *table) whereAnyOrAll(keys []key, name string) string {
	if len(t.key) == 0 {
		return "TRUE"
	}
	return t.whereAny(keys, name)
}
