package countermysql

import (
	"context"
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// collisions is the condition of the rows that the statement could meet, if a look-up
// connection can tell them.
func (c *conn) collisions(k *call) (where string, ok bool) {
	if len(k.Plan.Scopes) != 1 || !k.Plan.Scopes[0].Collides || k.rows || c.Altered() {
		return "", false
	}
	s := k.Plan.Scopes[0]
	if c.InTransaction() && (c.Transaction().Inside || c.Transaction().WrittenTo(s.Table).Unbounded) || slices.ContainsFunc(s.Pins, plan.KeyValue.Momentary) {
		return "", false
	}
	return s.Bind(k.binder())
}

// keysOf are the keys of the rows that meet a condition, as others see them.
func (c *conn) keysOf(ctx context.Context, s plan.RowSet, where string) (map[string]catalog.Key, error) {
	rows, err := c.Outside(ctx, "SELECT "+s.Table.SelectKey(sqltext.Quote(s.Name))+" FROM "+s.From()+" WHERE "+where)
	keys := map[string]catalog.Key{}
	for _, r := range rows {
		k := catalog.Key(r[:len(s.Table.Key)])
		keys[k.ID()] = k
	}
	return keys, err
}

// metNoOther fails where another client has meanwhile given a row with slots a unique
// key by which the statement met it: it wrote the base row alone.
func (c *conn) metNoOther(ctx context.Context, s plan.RowSet, where string, met map[string]catalog.Key) error {
	now, err := c.keysOf(ctx, s, where)
	if err != nil {
		return err
	}
	var others []catalog.Key
	for id, k := range now {
		if met[id] == nil {
			others = append(others, k)
		}
	}
	if others == nil {
		return nil
	}
	found, err := c.slotRows(ctx, s.Table, others, c.Outside)
	if err != nil || len(found) == 0 {
		return err
	}
	return c.AsDeadlock("another client has given a row of " + s.Table.String() + " its key meanwhile")
}
