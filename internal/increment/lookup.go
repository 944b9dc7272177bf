package increment

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
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/txn"
)

// lookup is a SELECT of one table's rows without its first word.
type lookup struct {
	t     *catalog.Table
	text  string // up to WHERE
	where string // or the key's column
	id    string // the key, where that is all that is asked for; or ""
	held  string // the text that locks its row, with a parameter for the key; or ""
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
func (c *Caller) lookUp(ctx context.Context, l lookup, w *txn.WriteSet) ([][]string, error) {
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
	r := OfCaller(c, groupcommit.NewRequest(&search{lookup: l, holds: c.Unbegun == nil}, l.of(l.id)))
	switch v := c.shared.tables.Of(l.t).lookups.Do(ctx, r, func(requests []*groupcommit.Request[*search]) groupcommit.Sending {
		mayWait := !slices.ContainsFunc(requests, func(r *groupcommit.Request[*search]) bool { return r.Payload.holds }) // behind an ALTER, which then waits for none of them
		look := func(ctx context.Context, c *Caller) { c.lookUpAll(ctx, requests, mayWait) }
		if mayWait || len(requests) == 1 {
			return c.Leading(ctx, len(requests), session.Linger, look)
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
func (c *Caller) lookUpAll(ctx context.Context, requests []*groupcommit.Request[*search], mayWait bool) {
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
		rows, err = c.Lookups.QueryAs(ctx, c.Initial.Kin, query)
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
