package increment

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
)

// CommitInOnePacket sends the pending increments of one table and COMMIT as one
// text, where the DSN allows that; done is false if nothing was done. The server
// stops at the first error, so that COMMIT is never reached without the increments
// (https://dev.mysql.com/doc/c-api/8.4/en/c-api-multiple-queries.html).
func (c *Caller) CommitInOnePacket(ctx context.Context) (done bool, err error) {
	x := c.Open()
	if !c.Config.MultiStatements || x == nil {
		return false, nil
	}
	x.DropEmpty()
	unsent := x.Unsent()
	if len(unsent) != 1 || x.HoldsAll(maxDirectRows) || len(c.Taken) > 0 { // which go to base rows, or reserved ones
		return false, nil
	}
	if sorted := unsent[0].Sorted(); len(sorted) > c.Settings.Several(unsent[0].Table, plan.SendBatch, session.EachOf(sorted, (*slotsql.RowIncrement).KeyOf)) {
		return false, nil // after an error it could not be told what was done
	}
	t, entries := unsent[0].Table, unsent[0].Sorted()
	if slices.ContainsFunc(entries, func(e *slotsql.RowIncrement) bool { return e.Finds != nil }) { // see areWhereFound
		return false, nil
	}
	_, err = c.Do(ctx, c.upsert(t, entries).Strict()+"; COMMIT")
	switch {
	case err == nil:
		x.Sent = true
		c.shared.Background.Slotted(&c.shared.Batch(t, t.Spec.Name, t.Key).keys, entries)
	case rowGone(err), mysqlerr.BadValue[mysqlerr.Number(err)], errors.Is(err, driver.ErrBadConn): // perhaps to another key, or it has another type; nothing was sent
		return false, nil
	case mysqlerr.Number(err) != 0 && c.InTransaction():
		_ = c.RollBack() // the first error is the one to report
	}
	return true, err
}

// CommitTogether hands a transaction of nothing but increments to the group
// commit, all or nothing; done is false where it has to be sent by itself.
func (c *Caller) CommitTogether(ctx context.Context) (done bool, err error) {
	if c.Tx == nil {
		return true, nil
	}
	c.Tx.DropEmpty()
	unsent := c.Tx.Unsent()
	if len(unsent) == 0 {
		return true, nil
	}
	t := unsent[0].Table
	name, entries, ok := asFound(t, unsent[0].Sorted())
	u := c.request(entries)
	if len(unsent) > 1 || !ok || !u.Fits() {
		return false, nil
	}
	h, tx := c.Unbegun, c.Tx
	c.Unbegun, c.Tx = nil, nil                 // the batch is no part of the transaction,
	defer func() { c.Unbegun, c.Tx = h, tx }() // which a deadlock of the batch leaves as it is
	v := c.together(ctx, c.shared.Batch(t, name, t.Key), u, AsCounted)
	tx.Sent = !v.Alone && v.Err == nil
	return !v.Alone, v.Err
}

// asFound are the entries with the conditions by which their rows were found, which others may have
// changed since, and what these call the table; ok is false where one row has several.
func asFound(t *catalog.Table, entries []*slotsql.RowIncrement) (name string, conditional []*slotsql.RowIncrement, ok bool) {
	for _, e := range entries {
		for _, f := range e.Finds {
			if f.Where != e.Finds[0].Where || name != "" && f.Name != name {
				return "", nil, false
			}
			name = f.Name
		}
	}
	name = cmp.Or(name, t.Spec.Name)
	for _, e := range entries {
		if e.Finds != nil {
			e = e.Clone()
			e.OnlyIf(t, name, e.Finds[0].Where)
		}
		conditional = append(conditional, e)
	}
	return name, conditional, true
}
