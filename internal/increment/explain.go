package increment

import (
	"context"

	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/slotsql"
)

// Explanation is what would be sent for an increment.
type Explanation struct {
	Direct    string // on the base row, as long as it meets no other; "": never
	Statement string // that takes it to slots
	Shared    bool   // perhaps with those of other callers
	Flush     string // of a buffer, on the base row; "": it can't be told
	Strict    string // the same, to slots
}

// Explain says what would be sent for an increment, if its rows can take it.
func (c *Caller) Explain(ctx context.Context, x Execution, b *plan.BoundIncrement) (Explanation, After, error) {
	defer c.Leased.Release()
	if b.One {
		var e *slotsql.RowIncrement
		joins := c.Filler.Bind(b.Increment, x.Binder) && x.Batch != nil && c.Grouped()
		if joins {
			e, joins = c.Filler.Entry()
		}
		if !joins {
			text, _ := c.Filler.Statement(c.Settings.Insert(), b.Table.Lock(), c.Slot(b.Table))
			return Explanation{Statement: text}, Done, nil
		}
		out := Explanation{Statement: x.Batch.upsert(c, []*slotsql.RowIncrement{e}).SQL(), Shared: true}
		if b.ByKey && !b.Narrowed {
			u := c.upsert(b.Table, []*slotsql.RowIncrement{{Key: e.Key, Deltas: e.Deltas, Touch: e.Touch}})
			u.Lock = b.Table.NoWait()
			out.Flush, out.Strict = u.Flush("?", "?", "?"), u.One()
		}
		if c.cools(x.Batch) {
			out.Direct = string(x.Batch.baseUpdate(e, true).Fill(nil, c.Settings.NoWaiting(), "", 0, x.Batch.filling(e)))
		}
		return out, Done, nil
	}
	_, entries, how, err := c.findSeveral(ctx, b)
	if err != nil || how != Done {
		return Explanation{}, how, err
	}
	way := c.shared.Batch(b.Table, b.Name, b.Table.Key)
	if c.Grouped() && c.request(entries).Fits() {
		return Explanation{Statement: way.upsert(c, entries).SQL(), Shared: true}, Done, nil
	}
	return Explanation{Statement: way.waiting(c, entries)}, Done, nil
}
