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

// foundRow is a row that a look-up has found.
type foundRow struct {
	key    catalog.Key
	null   bool     // a counter is NULL, or no slot may have the key
	future bool     // a touch column is later than what it would be set to
	mine   bool     // the transaction has written it
	times  []string // what touch columns would be set to
}

// read reads a row of [lookupText].
func (l lookup) read(row []string) foundRow {
	r := foundRow{null: row[0] == "1", future: row[1] == "1", mine: row[2] == "1"}
	r.key, r.times = l.t.Key.Cut(row[3:])
	return r
}

func (l lookup) readAll(rows [][]string) []foundRow {
	all := make([]foundRow, len(rows))
	for i, row := range rows {
		all[i] = l.read(row)
	}
	return all
}

// search is a look-up that one caller waits for.
type search struct {
	lookup
	holds bool // its transaction may hold what others wait for
	rows  []foundRow
}

// lookUp reads base rows without changing what the transaction sees or locks:
// together with other callers, as committed; on this connection where the
// transaction has written rows that are not known, or the session computes
// otherwise than a look-up connection.
func (c *Caller) lookUp(ctx context.Context, l lookup, w *txn.WriteSet) ([]foundRow, error) {
	query := "SELECT " + l.of(l.id)
	if c.Altered() || w != nil && w.Unbounded {
		if w != nil && c.Transaction().Isolation == sqltext.RepeatableRead && c.Unbegun == nil {
			query = c.Settings.Unsnapshot() + query + " " + l.t.Lock()
		}
		rows, err := c.Read(ctx, query)
		return l.readAll(rows), err
	}
	if c.InTransaction() && c.Transaction().Inside {
		rows, err := c.Outside(ctx, query)
		return l.readAll(rows), err
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
		rows, err := c.Outside(ctx, query)
		return l.readAll(rows), err
	case v.Err != nil:
		return nil, v.Err
	}
	return r.Payload.rows, nil
}

// lookUpAll looks up for several callers in one statement: on the leader's connection, if
// that may wait.
func (c *Caller) lookUpAll(ctx context.Context, requests []*groupcommit.Request[*search], mayWait bool) {
	var looks []*sharedLookup
	byText := map[[2]string]*sharedLookup{}
	sharing := func(l lookup) *sharedLookup {
		text := [2]string{l.text, l.where}
		of := byText[text]
		if of == nil {
			of = &sharedLookup{lookup: l, byID: map[string][]foundRow{}}
			byText[text], looks = of, append(looks, of)
		}
		return of
	}
	for _, r := range requests {
		of, id := sharing(r.Payload.lookup), r.Payload.id
		if _, asked := of.byID[id]; !asked {
			of.byID[id], of.ids = nil, append(of.ids, id)
		}
	}
	queries := make([]string, len(looks))
	for n, l := range looks {
		queries[n] = fmt.Sprintf("SELECT %d, %s", n, l.of(l.ids...))
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
		of, id := looks[n], ""
		found := of.read(r[1:])
		if of.id != "" {
			id = found.key.ID()
		}
		of.byID[id] = append(of.byID[id], found)
	}
	for i, r := range requests {
		r.Payload.rows = sharing(r.Payload.lookup).byID[r.Payload.id]
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

// sharedLookup is one SELECT for look-ups of equal text, which differ in the keys.
type sharedLookup struct {
	lookup
	ids  []string
	byID map[string][]foundRow // "": of a condition
}
