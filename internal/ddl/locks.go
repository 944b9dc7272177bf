package ddl

import (
	"context"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/plan"
)

// runLock executes LOCK TABLES, of other tables than ours. A list that makes no sense
// unlocks and commits nothing.
func (d *Definer) runLock(ctx context.Context, x Statement) error {
	s, err := d.Known(ctx)
	if err != nil {
		return err
	}
	err = x.Send()
	d.Locks = err == nil || d.Locks && d.HoldsLocks(ctx, s)
	return err
}

func notUnderLocks(t *catalog.Table, what string) error {
	return &catalog.RefusedError{Table: t.String(), What: what, Reason: "the rows of its slots table would have to be added up beforehand, and nothing can be under the locks",
		Remedy: "lock its rows by SELECT … FOR UPDATE in a transaction, or leave first (countermysql drop)"}
}

// UnderLocks refuses a statement on a counter table that LOCK TABLES of another has locked
// along with it, as the server does by foreign keys and triggers. One that is not locked the
// server refuses itself.
func (d *Definer) UnderLocks(ctx context.Context, p *plan.Plan) error {
	tables := p.Tables()
	if drop, ok := p.Work.(*plan.Drop); ok {
		tables = append(tables, drop.Tables...)
	}
	for _, w := range p.Writes {
		tables = append(tables, w.Table)
	}
	for _, t := range tables {
		if d.Opens(ctx, t.Base()) == 0 {
			return notUnderLocks(t, "a statement under LOCK TABLES")
		}
	}
	return nil
}
