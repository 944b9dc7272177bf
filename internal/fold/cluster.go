package fold

import (
	"context"
	"slices"

	"github.com/countermysql/countermysql/internal/plan"
)

// Hold notes on a cluster that the transaction's next statement may lock rows: what it
// increments then goes to base rows. takes says that the statement may be all that it
// does to a row, without a write: what is pending goes there as well.
func (f *Folder) Hold(ctx context.Context, p *plan.Plan, takes bool) error {
	if s := f.Watcher.Current(); s == nil || !s.Server.Cluster() || !f.InTransaction() {
		return nil
	}
	tables := p.Tables()
	if read, ok := p.Work.(*plan.BaseRead); ok {
		tables = append(tables, read.Tables...)
	}
	for _, w := range p.Writes {
		if w.Updates || w.Upserts || takes {
			tables = append(tables, w.Table)
		}
	}
	x := f.Transaction()
	for _, t := range tables {
		if !slices.Contains(x.Held, t.String()) {
			x.Held = append(x.Held, t.String())
		}
		if takes && x.HasPending(t) {
			if err := f.ApplyPending(ctx, t, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
