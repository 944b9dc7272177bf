package increment

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/txn"
)

// CommitInOnePacket sends the pending increments of one table and COMMIT as one
// text, where the DSN allows that; done is false if nothing was done. The server
// stops at the first error, so that COMMIT is never reached without the increments
// (https://dev.mysql.com/doc/c-api/8.4/en/c-api-multiple-queries.html). MySQL, if it is told to
// kill the query between the two, stops there, too, and never answers.
func (c *Caller) CommitInOnePacket(ctx context.Context) (done bool, err error) {
	x := c.Open()
	if !c.Config.MultiStatements || !c.Settings.MariaDB || x == nil {
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
	t := unsent[0].Table
	name, entries, ok := asFound(unsent[0])
	if !ok {
		return false, nil
	}
	u := c.upsert(t, entries)
	u.Name = name
	_, err = c.Do(ctx, u.Strict()+"; COMMIT")
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
	name, entries, ok := asFound(unsent[0])
	if !ok || len(unsent) > 1 {
		return false, nil
	}
	u := c.request(entries)
	if !u.Fits() {
		return false, nil
	}
	h, tx := c.Unbegun, c.Tx
	c.Unbegun, c.Tx = nil, nil                 // the batch is no part of the transaction,
	defer func() { c.Unbegun, c.Tx = h, tx }() // which a deadlock of the batch leaves as it is
	v := c.together(ctx, c.shared.Batch(t, name, t.Key), u, AsCounted)
	tx.Sent = !v.Alone && v.Err == nil
	return !v.Alone, v.Err
}

// asFound are a table's entries in the order in which they are sent, each by its key and by the
// conditions by which its row was found, if it was not by the key, and how these call the table:
// others may have given such a row another key since, and a different one that. (Before the
// transaction changes it itself it has it locked: [fold.Follow].) ok is false if they call it in
// several ways, or a column has a name like those of ours, or what cancels out may be of several rows.
func asFound(p *txn.Pending) (name string, entries []*slotsql.RowIncrement, ok bool) {
	entries = p.Sorted()
	found := false
	for i, e := range entries {
		if e.Finds == nil || e.Held {
			continue
		}
		if e.Cancels() {
			return "", nil, false
		}
		var conditions []string
		for _, f := range e.Finds {
			if !found {
				found, name = true, f.Name
			} else if f.Name != name {
				return "", nil, false
			}
			if !slices.Contains(conditions, f.Where) {
				conditions = append(conditions, f.Where)
			}
		}
		entries[i] = e.Clone()
		entries[i].OnlyIf(p.Table, name, "("+strings.Join(conditions, ") AND (")+")")
	}
	if !found {
		return p.Table.Spec.Name, entries, true
	}
	ours := func(c *catalog.Column) bool { return strings.HasPrefix(strings.ToLower(c.Name), "countermysql_") }
	return name, entries, !slices.ContainsFunc(p.Table.Columns, ours)
}
