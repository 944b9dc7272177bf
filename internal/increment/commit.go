package increment

import (
	"context"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/txn"
)

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
	v := c.together(ctx, c.shared.Batch(t, name, t.Key), u, asCounted)
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
