package countermysql

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// errOtherKey says that the base table's key has got another type than is known.
var errOtherKey = fmt.Errorf("%w (another type)", errOtherSlots)

// stillKnown fails where rows that are locked have keys of another type than is known, as
// the server or the keys tell. While they are locked nobody changes that.
func (c *conn) stillKnown(ctx context.Context, t *catalog.Table, asKnown bool, rows []slotsql.LockedRow) error {
	if asKnown && !slices.ContainsFunc(rows, func(r slotsql.LockedRow) bool { return !t.WritesKey(r.Key) }) {
		return nil
	}
	cols, err := c.connector.lookups.QueryAs(ctx, c.Initial.Kin, "SELECT COLUMN_NAME, COLUMN_TYPE, COLLATION_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = "+
		catalog.Text(t.Spec.DB)+" AND TABLE_NAME = "+catalog.Text(t.Spec.Name))
	if err != nil {
		return err
	}
	for _, k := range t.Key {
		if !slices.ContainsFunc(cols, func(now []string) bool {
			return strings.EqualFold(now[0], k.Name) && now[1] == k.ColumnType && now[2] == k.Collation
		}) {
			c.connector.watcher.NoteChange()
			return errOtherKey
		}
	}
	return nil // a value that its type should not have
}

// errOtherSlots says that a slots table has got other columns than are known, or a base
// table other types. Nothing was taken from it.
var errOtherSlots = errors.New("countermysql: the key or the slots table has got other columns meanwhile; try again")

// slotRows reads the slots of some keys. Other keys' slots are not looked at,
// which may be locked. All columns are read, because another process may have added
// a counter since the schema was learned, which would go with its slots.
func (c *conn) slotRows(ctx context.Context, t *catalog.Table, keys []catalog.Key, read func(context.Context, string) ([][]string, error)) (map[string][]slotsql.SlotRow, error) {
	var cols []string
	for _, col := range slices.Concat(t.Counters, t.Touch) {
		cols = append(cols, "CAST("+catalog.PrivateName+"."+sqltext.Quote(col.Name)+" AS CHAR)")
	}
	rows, err := read(ctx, "SELECT "+t.SelectKey(catalog.PrivateName)+", "+catalog.PrivateName+"."+sqltext.Quote(t.SlotCol)+", "+strings.Join(cols, ", ")+
		", "+catalog.PrivateName+".* FROM "+t.Slots()+" AS "+catalog.PrivateName+" FORCE INDEX (PRIMARY) WHERE "+slotsql.WhereAnyOrAll(t, keys, catalog.PrivateName))
	if err != nil {
		return nil, err
	}
	found, given := map[string][]slotsql.SlotRow{}, map[string]bool{}
	for _, k := range keys {
		given[k.ID()] = true
	}
	for _, r := range rows {
		if len(r) != max(len(t.Key), 1)+1+len(cols)+t.SlotsWidth {
			c.connector.watcher.NoteChange()
			return nil, errOtherSlots
		}
		k := catalog.Key(r[:len(t.Key)])
		id := k.ID()
		if !given[id] { // another client has spelled the base row's key anew
			if len(keys) > 1 {
				return c.slotRowsOfEach(ctx, t, keys, read)
			}
			id = keys[0].ID()
		}
		r = r[max(len(t.Key), 1):]
		found[id] = append(found[id], slotsql.SlotRow{Key: k, Slot: r[0], Amounts: r[1 : 1+len(t.Counters)], Touch: r[1+len(t.Counters) : 1+len(cols)]})
	}
	return found, nil
}

// slotRowsOfEach is slotRows, key by key: then it is plain whose slots they are.
func (c *conn) slotRowsOfEach(ctx context.Context, t *catalog.Table, keys []catalog.Key, read func(context.Context, string) ([][]string, error)) (map[string][]slotsql.SlotRow, error) {
	all := map[string][]slotsql.SlotRow{}
	for _, k := range keys {
		found, err := c.slotRows(ctx, t, []catalog.Key{k}, read)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, found)
	}
	return all, nil
}
