package increment

import (
	"context"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/traffic"
	"github.com/countermysql/countermysql/internal/txn"
)

// findAll looks up the rows of every condition, and gives each its increment. It answers TakeVerbatim where
// the statement itself has to find out: no row, a NULL counter, a row that the
// transaction has written. Of a promise, which may hold its row, it is told what comes behind it.
func (c *Caller) findAll(ctx context.Context, b *plan.BoundIncrement, behind *traffic.Behind) ([]slotsql.RowIncrement, After, error) {
	if len(b.Rows) > 1 {
		if hits, how, err := c.findRows(ctx, b); err != nil || how != NotTried {
			return hits, how, err
		}
		if len(b.Rows) > maxUpserted {
			return nil, TakeVerbatim, nil
		}
	}
	var hits []slotsql.RowIncrement
	seen := map[string]bool{}
	for i, where := range b.Conditions {
		found, how, err := c.find(ctx, b, where, b.Deltas[i], behind)
		if err != nil || how != Done {
			return nil, how, err
		}
		if b.Rows != nil && len(found) != 1 {
			return nil, TakeVerbatim, nil
		}
		for _, h := range found {
			if b.Rows == nil && seen[h.Key.ID()] {
				return nil, TakeVerbatim, nil
			}
			seen[h.Key.ID()] = true
		}
		hits = append(hits, found...)
	}
	return hits, Done, nil
}

// maxUpserted is how many rows of an upsert are looked up one by one.
const maxUpserted = 8

// findRows looks up all rows of an upsert at once; NotTried if the server spells a key
// otherwise, so that it can't be told which row it is of.
func (c *Caller) findRows(ctx context.Context, b *plan.BoundIncrement) ([]slotsql.RowIncrement, After, error) {
	if b.Named == nil {
		return nil, NotTried, nil
	}
	all := make([]int64, len(b.Table.Counters)) // what any of them adds to
	row := map[string]int{}
	for i, k := range b.Named {
		row[k.ID()] = i
		for j, n := range b.Deltas[i] {
			if n != 0 {
				all[j] = n
			}
		}
	}
	found, how, err := c.find(ctx, b, "("+strings.Join(b.Conditions, ") OR (")+")", all, nil)
	switch {
	case err != nil || how != Done:
		return nil, how, err
	case len(found) < len(row):
		return nil, TakeVerbatim, nil // perhaps the server finds two of them the same: then looking for each would not help
	}
	byKey := map[string]slotsql.RowIncrement{}
	for _, e := range found {
		byKey[e.ID] = e
	}
	hits := make([]slotsql.RowIncrement, len(b.Named))
	for i, k := range b.Named {
		e, ok := byKey[k.ID()]
		if !ok {
			return nil, NotTried, nil
		}
		e.Deltas = b.Deltas[i]
		hits[i] = e
	}
	return hits, Done, nil
}

func (c *Caller) find(ctx context.Context, b *plan.BoundIncrement, where string, deltas []int64, behind *traffic.Behind) ([]slotsql.RowIncrement, After, error) {
	t := b.Table
	var w *txn.WriteSet
	if c.InTransaction() {
		w = c.Transaction().Written[t.String()]
	}
	l := lookupOf(c.shared, b, where, deltas, w)
	var rows []foundRow
	var held bool
	var err error
	if behind != nil {
		rows, held, err = c.hold(ctx, behind, l)
	}
	if !held && err == nil {
		rows, err = c.lookUp(ctx, l, w)
	}
	switch {
	case mysqlerr.BadValue[mysqlerr.Number(err)]: // as a query says it; the statement itself says what is wrong with it
		return nil, TakeVerbatim, nil
	case err != nil:
		return nil, Done, err
	}
	if len(rows) == 0 || len(rows) < b.Most || len(t.Key) == 0 && len(rows) > 1 {
		return nil, TakeVerbatim, nil // what is missing may have been inserted by a transaction that is still open
	}
	hits := make([]slotsql.RowIncrement, len(rows))
	for i, r := range rows {
		switch {
		case r.future:
			return nil, TakeExact, nil
		case r.null, r.mine, !t.Key.Writes(r.key):
			return nil, TakeVerbatim, nil
		}
		e := slotsql.RowIncrement{ID: r.key.ID(), Key: r.key, Deltas: deltas, Touch: make([]string, len(b.Touch)), Held: held}
		for j, at := range b.Touch {
			if at != "" {
				e.Touch[j] = "'" + r.times[j] + "'"
			}
		}
		hits[i] = e
	}
	if !b.ByKey && (b.Rows == nil || len(rows) == 1) {
		keys := make([]catalog.Key, len(hits))
		for i, h := range hits {
			keys[i] = h.Key
		}
		slices.SortFunc(keys, t.Key.Compare)
		for i := range hits {
			hits[i].Finds = []slotsql.Locator{{Name: b.Name, Where: where, Deltas: deltas, Keys: keys}}
		}
	}
	return hits, Done, nil
}

// lookupOf is the look-up of a condition's rows: whether an increment is none of theirs, their keys, and
// the present times of touch columns.
func lookupOf(s *Shared, b *plan.BoundIncrement, where string, deltas []int64, w *txn.WriteSet) lookup {
	t := b.Table
	touches := slices.ContainsFunc(b.Touch, func(at string) bool { return at != "" })
	used, few := setOf(deltas)
	same := few && b.ID != "" && !touches && (w == nil || len(w.Rows) == 0) // but for the key
	l := made(&s.Batch(t, b.Name, t.Key).texts.keys, used, same, func() lookup {
		l := lookup{t: t, text: lookupText(b, deltas, w), where: "(" + where + ")"}
		if b.ID != "" {
			l.id, l.where = "?", sqltext.Qualified(b.Name, t.Key[0].Name)
			l.held = l.holding(l.id)
		}
		return l
	})
	l.id = b.ID
	return l
}

// lookupText is its text up to WHERE.
func lookupText(b *plan.BoundIncrement, deltas []int64, w *txn.WriteSet) string {
	t, name := b.Table, sqltext.Quote(b.Name)
	null, future := catalog.Unless(t.Key.Incrementable(name, true)), []string(nil)
	for i, counter := range t.Counters {
		if deltas[i] != 0 {
			null = append(null, name+"."+sqltext.Quote(counter.Name)+" IS NULL")
		}
	}
	nowExprs := ""
	for i, at := range b.Touch {
		now := "NULL" // look-ups that go together have the same columns
		if at != "" {
			now = "CAST(CAST(" + at + " AS DATETIME(6)) AS CHAR)"
			future = append(future, name+"."+sqltext.Quote(t.Touch[i].Name)+" > CAST("+at+" AS "+t.Touch[i].Moments()+")")
		}
		nowExprs += ", " + now
	}
	mine := "0"
	if w != nil && len(w.Rows) > 0 {
		conds := make([]string, len(w.Rows))
		for i, r := range w.Rows {
			conds[i] = strings.ReplaceAll(r.Base, sqltext.Quote(t.Spec.Name)+".", name+".")
		}
		mine = "(" + strings.Join(conds, ") OR (") + ")"
	}
	return strings.Join(null, " OR ") + ", COALESCE(" + orFalse(future) + ", 0), " + mine + ", " + t.Key.Select(name) + nowExprs + " FROM " + t.Base() + " AS " + name + " WHERE "
}

func orFalse(conds []string) string {
	if conds == nil {
		return "FALSE"
	}
	return strings.Join(conds, " OR ")
}
