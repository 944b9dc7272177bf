package countermysql

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/groupcommit"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/txn"
)

// findAll looks up the rows of every condition, and gives each its increment. It answers takeVerbatim where
// the statement itself has to find out: no row, a NULL counter, a row that the
// transaction has written.
func (c *conn) findAll(ctx context.Context, b *plan.Bound) ([]slotsql.RowIncrement, after, error) {
	if len(b.Rows) > 1 {
		if hits, how, err := c.findRows(ctx, b); err != nil || how != notTried {
			return hits, how, err
		}
		if len(b.Rows) > maxUpserted {
			return nil, takeVerbatim, nil
		}
	}
	var hits []slotsql.RowIncrement
	seen := map[string]bool{}
	for i, where := range b.Conditions {
		found, how, err := c.find(ctx, b, where, b.Deltas[i])
		if err != nil || how != done {
			return nil, how, err
		}
		if b.Rows != nil && len(found) != 1 {
			return nil, takeVerbatim, nil
		}
		for _, h := range found {
			if b.Rows == nil && seen[h.Key.ID()] {
				return nil, takeVerbatim, nil
			}
			seen[h.Key.ID()] = true
		}
		hits = append(hits, found...)
	}
	return hits, done, nil
}

// maxUpserted is how many rows of an upsert are looked up one by one.
const maxUpserted = 8

// findRows looks up all rows of an upsert at once; notTried if the server spells a key
// otherwise, so that it can't be told which row it is of.
func (c *conn) findRows(ctx context.Context, b *plan.Bound) ([]slotsql.RowIncrement, after, error) {
	if b.Named == nil {
		return nil, notTried, nil
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
	found, how, err := c.find(ctx, b, "("+strings.Join(b.Conditions, ") OR (")+")", all)
	switch {
	case err != nil || how != done:
		return nil, how, err
	case len(found) < len(row):
		return nil, takeVerbatim, nil // perhaps the server finds two of them the same: then looking for each would not help
	}
	byKey := map[string]slotsql.RowIncrement{}
	for _, e := range found {
		byKey[e.ID] = e
	}
	hits := make([]slotsql.RowIncrement, len(b.Named))
	for i, k := range b.Named {
		e, ok := byKey[k.ID()]
		if !ok {
			return nil, notTried, nil
		}
		e.Deltas = b.Deltas[i]
		hits[i] = e
	}
	return hits, done, nil
}

func (c *conn) find(ctx context.Context, b *plan.Bound, where string, deltas []int64) ([]slotsql.RowIncrement, after, error) {
	t, name := b.Table, sqltext.Quote(b.Name)
	var w *txn.WriteSet
	if c.InTransaction() {
		w = c.Transaction().WrittenTo(t)
	}
	null, future := catalog.Unless(t.Incrementable(name, true)), []string(nil)
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
	l := lookup{t: t, text: strings.Join(null, " OR ") + ", COALESCE(" + orFalse(future) + ", 0), " + mine + ", " + t.SelectKey(name) + nowExprs +
		" FROM " + t.Base() + " AS " + name + " WHERE ", where: "(" + where + ")"}
	if b.ID != "" {
		l.id, l.where = b.ID, name+"."+sqltext.Quote(t.Key[0].Name)
	}
	rows, err := c.lookUp(ctx, l, w)
	switch {
	case mysqlerr.BadValue[mysqlerr.Number(err)]: // as a query says it; the statement itself says what is wrong with it
		return nil, takeVerbatim, nil
	case err != nil:
		return nil, done, err
	}
	if len(rows) == 0 || len(rows) < b.Keys || len(t.Key) == 0 && len(rows) > 1 {
		return nil, takeVerbatim, nil // what is missing may have been inserted by a transaction that is still open
	}
	hits := make([]slotsql.RowIncrement, len(rows))
	for i, r := range rows {
		switch {
		case r[1] == "1":
			return nil, takeExact, nil
		case r[0] == "1", r[2] == "1":
			return nil, takeVerbatim, nil
		}
		e := slotsql.RowIncrement{Deltas: deltas, Touch: make([]string, len(b.Touch))}
		if e.Key = catalog.Key(r[3 : 3+len(t.Key)]); !t.WritesKey(e.Key) {
			return nil, takeVerbatim, nil
		}
		e.ID = e.Key.ID()
		for j, at := range b.Touch {
			if at != "" {
				e.Touch[j] = "'" + r[3+max(len(t.Key), 1)+j] + "'"
			}
		}
		hits[i] = e
	}
	if !b.ByKey && (b.Rows == nil || len(rows) == 1) {
		keys := make([]catalog.Key, len(hits))
		for i, h := range hits {
			keys[i] = h.Key
		}
		slices.SortFunc(keys, t.Compare)
		for i := range hits {
			hits[i].Finds = []slotsql.Locator{{Name: b.Name, Where: where, Deltas: deltas, Keys: keys}}
		}
	}
	return hits, done, nil
}

func orFalse(conds []string) string {
	if conds == nil {
		return "FALSE"
	}
	return strings.Join(conds, " OR ")
}

// lookup is a SELECT of one table's rows without its first word.
type lookup struct {
	t     *catalog.Table
	text  string // up to WHERE
	where string // or the key's column
	id    string // the key, where that is all that is asked for; or ""
}

// of is the SELECT for keys, or for the condition if there are none.
func (l lookup) of(ids ...string) string {
	if l.id == "" {
		return l.text + l.where
	}
	return l.text + l.where + " IN (" + strings.Join(ids, ", ") + ")"
}

// search is a look-up that one caller waits for.
type search struct {
	lookup
	holds bool // its transaction may hold what others wait for
	found [][]string
}

// lookUp reads base rows without changing what the transaction sees or locks:
// together with other callers, as committed; on this connection where the
// transaction has written rows that are not known, or the session computes
// otherwise than a look-up connection.
func (c *conn) lookUp(ctx context.Context, l lookup, w *txn.WriteSet) ([][]string, error) {
	query := "SELECT " + l.of(l.id)
	if c.Altered() || w != nil && w.Unbounded {
		if w != nil && c.Transaction().Isolation == sqltext.RepeatableRead && c.Unbegun == nil {
			query += " " + l.t.Lock()
		}
		return c.Read(ctx, query)
	}
	if c.InTransaction() && c.Transaction().Inside {
		return c.Outside(ctx, query)
	}
	r := ofConn(c, groupcommit.NewRequest(&search{lookup: l, holds: c.Unbegun == nil}, l.of(l.id)))
	switch v := c.connector.traffic.Of(l.t).lookups.Do(ctx, r, func(requests []*groupcommit.Request[*search]) groupcommit.Sending {
		mayWait := !slices.ContainsFunc(requests, func(r *groupcommit.Request[*search]) bool { return r.Payload.holds }) // behind an ALTER, which then waits for none of them
		look := func(ctx context.Context, c *conn) { c.lookUpAll(ctx, requests, mayWait) }
		if mayWait || len(requests) == 1 {
			return c.leading(ctx, len(requests), session.Linger, look)
		}
		shared, cancel := outlive(ctx, session.Linger)
		return groupcommit.Sending{
			Run: func() {
				defer cancel()
				look(shared, c)
			},
			Leave: func() bool { return true }, // it is sent on another connection
			Lost:  mysql.ErrInvalidConn,
		}
	}); {
	case v.Alone:
		return c.Outside(ctx, query)
	case v.Err != nil:
		return nil, v.Err
	}
	return r.Payload.found, nil
}

// lookUpAll looks up for several callers in one statement: on the leader's connection, if
// that may wait.
func (c *conn) lookUpAll(ctx context.Context, requests []*groupcommit.Request[*search], mayWait bool) {
	var looks []lookup // those of equal text differ in the keys
	var ids [][]string
	number, found := map[[2]string]int{}, map[asked][][]string{}
	for _, r := range requests {
		text := [2]string{r.Payload.lookup.text, r.Payload.lookup.where}
		n, ok := number[text]
		if !ok {
			n = len(looks)
			number[text], looks, ids = n, append(looks, r.Payload.lookup), append(ids, nil)
		}
		if _, ok := found[asked{n, r.Payload.lookup.id}]; !ok {
			found[asked{n, r.Payload.lookup.id}] = nil
			ids[n] = append(ids[n], r.Payload.lookup.id)
		}
	}
	queries := make([]string, len(looks))
	for n, l := range looks {
		queries[n] = fmt.Sprintf("SELECT %d, %s", n, l.of(ids[n]...))
	}
	query := strings.Join(queries, " UNION ALL ")
	var rows [][]string
	var err error
	if mayWait {
		rows, err = c.Read(ctx, query)
	} else {
		rows, err = c.connector.lookups.QueryAs(ctx, c.Initial.Kin, query)
	}
	for _, r := range rows {
		n, _ := strconv.Atoi(r[0])
		of := asked{n: n}
		if looks[n].id != "" {
			of.id = r[4]
		}
		found[of] = append(found[of], r[1:])
	}
	for i, r := range requests {
		r.Payload.found = found[asked{number[[2]string{r.Payload.lookup.text, r.Payload.lookup.where}], r.Payload.lookup.id}]
		switch {
		case err == nil:
		case mysqlerr.Number(err) != 0, !mayWait && ctx.Err() == nil:
			r.Outcome.Alone = true
		case i > 0:
			r.Outcome.Again = true
		default:
			r.Outcome.Err = err
		}
	}
}

// asked is what one of several look-ups finds for a key, if it goes by keys.
type asked struct {
	n  int
	id string
}
