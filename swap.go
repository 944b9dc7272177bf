package countermysql

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// renaming is one pair of RENAME TABLE.
type renaming struct{ from, to [2]string }

// renamings reads RENAME TABLE; nil where it is something else.
func (c *conn) renamings(toks []sqltext.Token) (list []renaming) {
	name := func(toks []sqltext.Token) [2]string {
		db, name, _ := sqltext.TableName(toks)
		return [2]string{cmp.Or(db, c.Settings.DB), name}
	}
	if len(toks) < 2 || !toks[0].Is("RENAME") || !toks[1].Is("TABLE") && !toks[1].Is("TABLES") {
		return nil
	}
	start := 2
	for i, tok := range toks {
		switch {
		case tok.Punct(','):
			start = i + 1
		case tok.Is("TO") && i > start:
			list = append(list, renaming{name(toks[start:]), name(toks[i+1:])})
		}
	}
	return list
}

// swapped is the name that the table has in the end, if RENAME TABLE gives its own to
// another table, and the name that this one had.
func (c *conn) swapped(t *catalog.Table, toks []sqltext.Token) (to, from [2]string, ok bool) {
	s := c.connector.watcher.Current()
	same := func(x, y [2]string) bool { return s != nil && s.Key(x[0], x[1]) == s.Key(y[0], y[1]) }
	own := [2]string{t.Spec.DB, t.Spec.Name}
	to = own
	for _, r := range c.renamings(toks) {
		switch {
		case same(r.from, to):
			to = r.to
		case same(r.to, own):
			from, ok = r.from, true
		case same(r.from, own):
			ok = false
		}
	}
	return to, from, ok && !same(to, own)
}

// swap executes a RENAME TABLE that gives the table's name to another. In the same
// statement the slots table is exchanged for an empty one: what it holds was counted
// for the table that had the name, and is added to that. done is false if nothing was.
func (c *conn) swap(ctx context.Context, k *call, t *catalog.Table, toks []sqltext.Token) (out outcome, done bool, err error) {
	to, from, ok := c.swapped(t, toks)
	if !ok {
		return outcome{}, false, nil
	}
	private := func(what string) string {
		return fmt.Sprintf("countermysql_%s_%016x", what, rand.Uint64())
	}
	old, empty := t.At(sqltext.Quote(to[0])+"."+sqltext.Quote(to[1])), t.At(t.Base())
	old.Spec.SlotsTable, empty.Spec.SlotsTable = private("old"), private("new")
	if _, err := c.Do(ctx, "CREATE TABLE "+empty.Slots()+" LIKE "+t.Slots()); err != nil {
		return outcome{}, false, nil // a missing privilege, say: then it has to do without
	}
	if tied, _ := c.Read(ctx, t.TiedSQL()); len(tied) > 0 { // LIKE leaves foreign keys out; this one goes along to the new name
		if _, err := c.Do(ctx, empty.TieSQL(sqltext.Quote(from[0])+"."+sqltext.Quote(from[1]))); err != nil {
			c.connector.once("untied "+t.String(), "countermysql: the slots table has lost its foreign key", "table", t.String(), "error", err)
		}
	}
	end := len(toks)
	for toks[end-1].Punct(';') {
		end--
	}
	at := toks[end-1].End
	out, err = k.forward(ctx, k.text[:at]+", "+t.Slots()+" TO "+old.Slots()+", "+empty.Slots()+" TO "+t.Slots()+k.text[at:])
	if err != nil {
		_, _ = c.Do(context.WithoutCancel(ctx), "DROP TABLE IF EXISTS "+empty.Slots()) // the first error is the one to report
		return out, true, err
	}
	if ferr := c.fallIn(ctx, old); ferr != nil {
		c.connector.once("renamed "+t.String(), "countermysql: slots of a renamed table are left", "table", t.String(), "slots", old.Slots(), "error", ferr)
	}
	return out, true, nil
}

// fallIn rolls up a slots table that nobody writes any more, and drops it.
func (c *conn) fallIn(ctx context.Context, t *catalog.Table) error {
	if err := c.rollUp(ctx, t); err != nil {
		return err
	}
	_, err := c.Do(ctx, "DROP TABLE "+t.Slots())
	return err
}
