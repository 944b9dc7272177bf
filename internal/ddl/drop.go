package ddl

import (
	"cmp"
	"context"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// truncates tells a TRUNCATE from a DROP TABLE.
func truncates(toks []sqltext.Token) bool { return strings.EqualFold(toks[0].Name, "TRUNCATE") }

// drop executes DROP TABLE and TRUNCATE: the slots go too. They are folded before, so that
// nothing is lost where the server refuses the statement, and no slots are left to the rows of
// the next table where it is cut off. Nobody gets in between, who would count in slots that go.
func (d *Definer) drop(ctx context.Context, x Statement, tables []*catalog.Table, toks []sqltext.Token) error {
	if len(tables) == 1 {
		switch locked, slotted, err := d.lockOut(ctx, tables[0], true); {
		case locked:
			ends := tables
			if !slotted {
				ends = nil
			}
			err = d.end(ctx, x, ends, toks)
			uerr := d.unlock(ctx)
			if !notUnderLock[mysqlerr.Number(err)] { // as it names others, too
				return cmp.Or(err, uerr)
			}
		case err != nil:
			return err
		}
	}
	for _, t := range tables {
		if err := d.mayStay(ctx, d.rollUpCommitted(ctx, t)); err != nil {
			return err
		}
	}
	return d.end(ctx, x, tables, toks)
}

// mayStay overlooks that slots can't be folded which are about to go: they do not fit, or their
// sum is out of range. That they are locked is an error.
func (d *Definer) mayStay(ctx context.Context, err error) error {
	if n := mysqlerr.Number(err); ctx.Err() != nil || !d.Usable() || mysqlerr.Waited(n) || n == mysqlerr.ErrDeadlock {
		return err
	}
	return nil
}

// end sends the statement, and ends the slots.
func (d *Definer) end(ctx context.Context, x Statement, tables []*catalog.Table, toks []sqltext.Token) error {
	err := x.Send()
	if n := mysqlerr.Number(err); err != nil && (n != mysqlerr.ErrUnknownTable || d.Locks) { // where MariaDB has dropped the others
		return err
	}
	if err := x.Close(); err != nil {
		return err
	}
	truncate := truncates(toks)
	for _, t := range tables {
		ends := d.dropLeft
		if truncate || d.Locks {
			ends = func(ctx context.Context, t *catalog.Table) error {
				_, err := d.Do(ctx, t.DDL().End(truncate))
				return err
			}
		}
		if derr := ends(ctx, t); derr != nil && mysqlerr.Number(derr) != mysqlerr.ErrNoTable {
			return derr
		}
	}
	return err
}

// dropLeft drops the slots of a table that is gone. If it is back, others may count in them.
func (d *Definer) dropLeft(ctx context.Context, t *catalog.Table) (err error) {
	if !t.Galera { // see [session.Session.DropEmpty]
		switch _, lerr := d.Do(ctx, "LOCK TABLES "+t.Slots()+" WRITE"); {
		case lerr == nil:
			d.Locks = true
			defer func() { err = cmp.Or(err, d.unlock(ctx)) }()
		case !mayNotLock(lerr):
			return lerr
		}
	}
	if back, err := d.Read(ctx, t.DDL().There()); err != nil || len(back) > 0 {
		return err
	}
	_, err = d.Do(ctx, t.DDL().End(false))
	return err
}

// unlock ends LOCK TABLES of ours.
func (d *Definer) unlock(ctx context.Context) error {
	_, err := d.Do(context.WithoutCancel(ctx), "UNLOCK TABLES")
	d.Locks = false
	return err
}

// ExplainDrop tells what DROP TABLE or TRUNCATE sends, and when; own says that the text is the user's.
func (d *Definer) ExplainDrop(drop *plan.Drop, text string, tell func(when, text string, own bool)) {
	for _, t := range drop.Tables {
		tell("slots are added to their rows first, under LOCK TABLES if it is of one table", slotsql.KeysOfSlots(t), false)
	}
	tell("as it is", text, true)
	truncate := truncates(sqltext.Tokenize(text, d.Settings.Mode))
	for _, t := range drop.Tables {
		tell("then the slots go too", t.DDL().End(truncate), false)
	}
}
