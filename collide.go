package countermysql

import (
	"context"
	"slices"

	"github.com/go-sql-driver/mysql"
)

// collisions is the condition of the rows that the statement could meet, if a look-up
// connection can tell them.
func (c *conn) collisions(k *call) (where string, ok bool) {
	if len(k.plan.scopes) != 1 || !k.plan.scopes[0].collides || k.rows || c.altered() {
		return "", false
	}
	s := k.plan.scopes[0]
	if c.inTransaction() && (c.transaction().inside || c.transaction().writtenTo(s.t).any) || slices.ContainsFunc(s.pins, pin.momentary) {
		return "", false
	}
	return s.bind(k.binder())
}

// keysOf are the keys of the rows that meet a condition, as others see them.
func (c *conn) keysOf(ctx context.Context, s scope, where string) (map[string]key, error) {
	rows, err := c.outside(ctx, "SELECT "+s.t.selectKey(quoteIdent(s.name))+" FROM "+s.from()+" WHERE "+where)
	keys := map[string]key{}
	for _, r := range rows {
		k := key(r[:len(s.t.key)])
		keys[k.id()] = k
	}
	return keys, err
}

// metNoOther fails where another client has meanwhile given a row with slots a unique
// key by which the statement met it: it wrote the base row alone.
func (c *conn) metNoOther(ctx context.Context, s scope, where string, met map[string]key) error {
	now, err := c.keysOf(ctx, s, where)
	if err != nil {
		return err
	}
	var others []key
	for id, k := range now {
		if met[id] == nil {
			others = append(others, k)
		}
	}
	if others == nil {
		return nil
	}
	found, err := c.slotRows(ctx, s.t, others, c.outside)
	if err != nil || len(found) == 0 {
		return err
	}
	return c.asDeadlock("another client has given a row of " + s.t.String() + " its key meanwhile")
}

// asDeadlock rolls the transaction back, as the server does at a deadlock.
func (c *conn) asDeadlock(why string) error {
	err := c.rollBack()
	c.ended()
	if err != nil {
		return err
	}
	return &mysql.MySQLError{Number: errDeadlock, SQLState: [5]byte([]byte("40001")), Message: "countermysql: " + why + "; try restarting transaction"}
}
