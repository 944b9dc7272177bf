package countermysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// findAll looks up the rows of every condition, and gives each its increment. It answers takeVerbatim where
// the statement itself has to find out: no row, a NULL counter, a row that the
// transaction has written.
func (c *conn) findAll(ctx context.Context, b *bound) ([]entry, after, error) {
	if len(b.rows) > 1 {
		if hits, how, err := c.findRows(ctx, b); err != nil || how != notTried {
			return hits, how, err
		}
		if len(b.rows) > maxUpserted {
			return nil, takeVerbatim, nil
		}
	}
	var hits []entry
	seen := map[string]bool{}
	for i, where := range b.conditions {
		found, how, err := c.find(ctx, b, where, b.deltas[i])
		if err != nil || how != done {
			return nil, how, err
		}
		if b.rows != nil && len(found) != 1 {
			return nil, takeVerbatim, nil
		}
		for _, h := range found {
			if b.rows == nil && seen[h.key.id()] {
				return nil, takeVerbatim, nil
			}
			seen[h.key.id()] = true
		}
		hits = append(hits, found...)
	}
	return hits, done, nil
}

// maxUpserted is how many rows of an upsert are looked up one by one.
const maxUpserted = 8

// findRows looks up all rows of an upsert at once; notTried if the server spells a key
// otherwise, so that it can't be told which row it is of.
func (c *conn) findRows(ctx context.Context, b *bound) ([]entry, after, error) {
	if b.named == nil {
		return nil, notTried, nil
	}
	all := make([]int64, len(b.t.counters)) // what any of them adds to
	row := map[string]int{}
	for i, k := range b.named {
		row[k.id()] = i
		for j, n := range b.deltas[i] {
			if n != 0 {
				all[j] = n
			}
		}
	}
	found, how, err := c.find(ctx, b, "("+strings.Join(b.conditions, ") OR (")+")", all)
	switch {
	case err != nil || how != done:
		return nil, how, err
	case len(found) < len(row):
		return nil, takeVerbatim, nil // perhaps the server finds two of them the same: then looking for each would not help
	}
	byKey := map[string]entry{}
	for _, e := range found {
		byKey[e.id] = e
	}
	hits := make([]entry, len(b.named))
	for i, k := range b.named {
		e, ok := byKey[k.id()]
		if !ok {
			return nil, notTried, nil
		}
		e.deltas = b.deltas[i]
		hits[i] = e
	}
	return hits, done, nil
}

func (c *conn) find(ctx context.Context, b *bound, where string, deltas []int64) ([]entry, after, error) {
	t, name := b.t, quoteIdent(b.name)
	var w *written
	if c.inTransaction() {
		w = c.transaction().writtenTo(t)
	}
	null, future := unless(t.incrementable(name, true)), []string(nil)
	for i, counter := range t.counters {
		if deltas[i] != 0 {
			null = append(null, name+"."+quoteIdent(counter.name)+" IS NULL")
		}
	}
	nowExprs := ""
	for i, at := range b.touch {
		now := "NULL" // look-ups that go together have the same columns
		if at != "" {
			now = "CAST(CAST(" + at + " AS DATETIME(6)) AS CHAR)"
			future = append(future, name+"."+quoteIdent(t.touch[i].name)+" > CAST("+at+" AS "+t.touch[i].moments()+")")
		}
		nowExprs += ", " + now
	}
	mine := "0"
	if w != nil && len(w.rows) > 0 {
		conds := make([]string, len(w.rows))
		for i, r := range w.rows {
			conds[i] = strings.ReplaceAll(r.base, quoteIdent(t.spec.name)+".", name+".")
		}
		mine = "(" + strings.Join(conds, ") OR (") + ")"
	}
	l := lookup{t: t, text: strings.Join(null, " OR ") + ", COALESCE(" + orFalse(future) + ", 0), " + mine + ", " + t.selectKey(name) + nowExprs +
		" FROM " + t.base() + " AS " + name + " WHERE ", where: "(" + where + ")"}
	if b.id != "" {
		l.id, l.where = b.id, name+"."+quoteIdent(t.key[0].name)
	}
	rows, err := c.lookUp(ctx, l, w)
	switch {
	case badValue[errorNumber(err)]: // as a query says it; the statement itself says what is wrong with it
		return nil, takeVerbatim, nil
	case err != nil:
		return nil, done, err
	}
	if len(rows) == 0 || len(rows) < b.keys || len(t.key) == 0 && len(rows) > 1 {
		return nil, takeVerbatim, nil // what is missing may have been inserted by a transaction that is still open
	}
	hits := make([]entry, len(rows))
	for i, r := range rows {
		switch {
		case r[1] == "1":
			return nil, takeExact, nil
		case r[0] == "1", r[2] == "1":
			return nil, takeVerbatim, nil
		}
		e := entry{deltas: deltas, touch: make([]string, len(b.touch))}
		if e.key = key(r[3 : 3+len(t.key)]); !t.writesKey(e.key) {
			return nil, takeVerbatim, nil
		}
		e.id = e.key.id()
		for j, at := range b.touch {
			if at != "" {
				e.touch[j] = "'" + r[3+max(len(t.key), 1)+j] + "'"
			}
		}
		hits[i] = e
	}
	if !b.byKey && (b.rows == nil || len(rows) == 1) {
		keys := make([]key, len(hits))
		for i, h := range hits {
			keys[i] = h.key
		}
		slices.SortFunc(keys, t.compare)
		for i := range hits {
			hits[i].finds = []find{{b.name, where, deltas, keys}}
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
	t     *table
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

// lookUp reads base rows without changing what the transaction sees or locks:
// together with other callers, as committed; on this connection where the
// transaction has written rows that are not known, or the session computes
// otherwise than a look-up connection.
func (c *conn) lookUp(ctx context.Context, l lookup, w *written) ([][]string, error) {
	query := "SELECT " + l.of(l.id)
	if c.altered() || w != nil && w.any {
		if w != nil && c.transaction().isolation == repeatableRead && c.unbegun == nil {
			query += " " + l.t.lock()
		}
		return c.read(ctx, query)
	}
	if c.inTransaction() && c.transaction().inside {
		return c.outside(ctx, query)
	}
	u := c.unit(l.of(l.id))
	u.look, u.holds = l, c.unbegun == nil
	switch v := l.t.lookups.do(ctx, u, func(units []*unit) sending {
		mayWait := !slices.ContainsFunc(units, func(u *unit) bool { return u.holds }) // behind an ALTER, which then waits for none of them
		look := func(ctx context.Context, c *conn) { c.lookUpAll(ctx, units, mayWait) }
		if mayWait || len(units) == 1 {
			return c.leading(ctx, units, look)
		}
		shared, cancel := outlive(ctx)
		return sending{
			run: func() {
				defer cancel()
				look(shared, c)
			},
			leave: func() bool { return true }, // it is sent on another connection
		}
	}); {
	case v.alone:
		return c.outside(ctx, query)
	case v.err != nil:
		return nil, v.err
	}
	return u.found, nil
}

// lookUpAll looks up for several callers in one statement: on the leader's connection, if
// that may wait.
func (c *conn) lookUpAll(ctx context.Context, units []*unit, mayWait bool) {
	var looks []lookup // those of equal text differ in the keys
	var ids [][]string
	number, found := map[[2]string]int{}, map[asked][][]string{}
	for _, u := range units {
		text := [2]string{u.look.text, u.look.where}
		n, ok := number[text]
		if !ok {
			n = len(looks)
			number[text], looks, ids = n, append(looks, u.look), append(ids, nil)
		}
		if _, ok := found[asked{n, u.look.id}]; !ok {
			found[asked{n, u.look.id}] = nil
			ids[n] = append(ids[n], u.look.id)
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
		rows, err = c.read(ctx, query)
	} else {
		rows, err = c.connector.query(by(ctx, c.initial.kin), query)
	}
	for _, r := range rows {
		n, _ := strconv.Atoi(r[0])
		of := asked{n: n}
		if looks[n].id != "" {
			of.id = r[4]
		}
		found[of] = append(found[of], r[1:])
	}
	for i, u := range units {
		u.found = found[asked{number[[2]string{u.look.text, u.look.where}], u.look.id}]
		switch {
		case err == nil:
		case errorNumber(err) != 0, !mayWait && ctx.Err() == nil:
			u.verdict.alone = true
		case i > 0:
			u.verdict.again = true
		default:
			u.verdict.err = err
		}
	}
}

// asked is what one of several look-ups finds for a key, if it goes by keys.
type asked struct {
	n  int
	id string
}

// outside runs a query on a look-up connection. Where none of the session's kin answers
// (no connection is to be had, it leads to another server, it is stuck behind an ALTER
// TABLE that waits for this transaction), the session reads.
func (c *conn) outside(ctx context.Context, query string) ([][]string, error) {
	if c.unbegun != nil || c.locks == lockedOurs { // all others wait
		return c.read(ctx, query)
	}
	inside := c.inTransaction()
	if !inside || !c.transaction().inside {
		rows, err := c.connector.query(by(ctx, c.initial.kin), c.inZone(query))
		if err == nil || ctx.Err() != nil {
			return rows, err
		}
		if !inside {
			return c.read(ctx, query)
		}
		c.transaction().inside = true
	}
	return c.read(ctx, query+" "+shareMode)
}

// inZone makes a query on a look-up connection read TIMESTAMPs as this session
// writes them: keys and times of touch columns.
func (c *conn) inZone(query string) string {
	if c.session.zone == c.initial.zone {
		return query
	}
	if s := c.connector.current.Load(); s != nil && s.server.mariaDB {
		return "SET STATEMENT time_zone = " + text(c.session.zone) + " FOR " + query
	}
	return "SELECT /*+ SET_VAR(time_zone = '" + c.session.zone + "') */" + strings.TrimPrefix(query, "SELECT")
}

// query runs a query of ours on a look-up connection.
func (c *Connector) query(ctx context.Context, query string) ([][]string, error) {
	look := c.look.Load()
	if look == nil {
		return nil, sql.ErrConnDone // the sql.DB was closed
	}
	rows, err := look.QueryContext(ctx, query)
	if err != nil {
		passPanic(err)
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var all [][]string
	cells := make([]any, len(names))
	values := make([]nullText, len(names))
	for i := range cells {
		cells[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(cells...); err != nil {
			return nil, err
		}
		row := make([]string, len(values))
		for i, v := range values {
			row[i] = v.text
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// nullText scans any column as text; NULL is "".
type nullText struct{ text string }

func (n *nullText) Scan(v any) error {
	n.text = texts([]driver.Value{v})[0]
	return nil
}
