package countermysql

import (
	"context"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// runOverwriting runs a statement that does nothing but give counters of one row values
// which read none, as applications do that count anew: UPDATE post SET likes = (SELECT
// COUNT(*) FROM post_like …). Inside a transaction it is sent first, as on plain MySQL,
// where all that is between two statements makes deadlocks likelier; then it is asked
// whether the row, which is locked now, has slots. If it has, the row gets back what it
// was, and done is false: it goes the exact way.
func (c *conn) runOverwriting(ctx context.Context, k *call) (out outcome, done bool, err error) {
	p, x := k.Plan, c.transaction()
	if !p.Overwrites || k.rows || x.inside || c.unbegun != nil || c.locks || x.concerns(p.Scopes[0].Table) {
		return outcome{}, false, nil
	}
	s := p.Scopes[0]
	where, ok := plan.BindPins(p.Writes[0].Pins, s.Name, k.binder())
	if !ok {
		return outcome{}, false, nil
	}
	if out, err = k.forward(ctx, k.text); err != nil {
		return out, true, err
	}
	was, err := c.hadSlots(ctx, s, where)
	if err == nil && was != "" && out.affected() > 0 {
		_, err = c.do(ctx, c.unsnapshot()+"UPDATE "+s.From()+" SET "+was+" WHERE "+where)
	}
	if err != nil && c.inTransaction() { // it may not be committed as it is
		if rerr := c.cut(ctx, err); ctx.Err() != nil {
			return outcome{}, true, rerr
		}
		return outcome{}, true, c.asDeadlock("it can't be told whether a row of " + s.Table.String() + " has slots (" + err.Error() + ")")
	}
	return out, was == "", err
}

// hadSlots returns what the row of a condition was before the transaction, as assignments;
// "" if it has no slots. While it is locked nobody adds any.
func (c *conn) hadSlots(ctx context.Context, s plan.RowSet, where string) (was string, err error) {
	t, name := s.Table, sqltext.Quote(s.Name)
	var refs, values []string
	for _, col := range t.Counters {
		refs = append(refs, name+"."+sqltext.Quote(col.Name))
	}
	for _, col := range t.Touch {
		if col.OnUpdate {
			refs = append(refs, name+"."+sqltext.Quote(col.Name))
		}
	}
	for _, ref := range refs {
		values = append(values, "CAST("+ref+" AS CHAR)")
	}
	rows, err := c.outside(ctx, "SELECT "+strings.Join(values, ", ")+" FROM "+s.From()+" WHERE ("+where+") AND EXISTS (SELECT 1 FROM "+t.Slots()+" AS "+catalog.PrivateName+
		" WHERE "+t.SameKey(catalog.PrivateName, name)+" AND "+t.Planned(catalog.PrivateName)+")")
	if err != nil || len(rows) == 0 {
		return "", err
	}
	sets := make([]string, len(refs))
	for i, ref := range refs {
		value := "NULL"
		if v := rows[0][i]; v != "" {
			value = "'" + v + "'"
		}
		sets[i] = ref + " = " + value
	}
	return strings.Join(sets, ", "), nil
}
