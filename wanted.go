package countermysql

import (
	"context"

	"github.com/countermysql/countermysql/internal/catalog"
)

// want notes the columns that have kept an increment from slots.
func (c *Connector) want(ctx context.Context, k *call) {
	t := k.Plan.Increment().Table
	if t.Verbatim() || !k.Plan.Increment().WantsNow(k.binder()) {
		return
	}
	var columns []*catalog.Column
	for _, set := range k.Plan.Increment().Wanted {
		if !t.Virtual(set.C.Name) {
			columns = append(columns, set.C)
		}
	}
	c.watcher.Want(ctx, t, columns)
}

// wanting says what keeps an increment from slots.
func (k *call) wanting() string {
	t := k.Plan.Increment().Table
	for _, set := range k.Plan.Increment().Wanted {
		switch name := t.FullName(set.C); {
		case t.Virtual(set.C.Name):
		case k.conn.connector.config.CreateSlots:
			return "it sets " + name + " to the present time, which becomes a touch column when such an increment has run"
		default:
			return "it sets " + name + " to the present time, which is no touch column: it becomes one by counterTouch=" + name + " and countermysql init, or by itself where processes have create_slots"
		}
	}
	return "a touch column that it sets is so new that other processes may not know it; within a minute all do"
}
