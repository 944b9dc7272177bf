package fold

import (
	"context"
	"strings"

	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/slotsql"
)

// ownSavepoint is a savepoint of ours.
const ownSavepoint = "countermysql_own"

// Discarding runs a statement that discards counters: what is folded for it need not hold
// their values. Then Discarded is to be called.
func (f *Folder) Discarding(d *plan.Discarding, run func()) {
	f.discarding = d
	run()
	f.discarding = nil
}

// Discarded ends what Discarding has begun: the values that stand-ins were given for must be
// gone, or else all is as it was before.
func (f *Folder) Discarded(ctx context.Context, d *plan.Discarding, err error) error {
	if d.Stands == nil || f.Open() == nil { // an error has ended the transaction
		return err
	}
	for _, s := range d.Stands {
		if err != nil {
			break
		}
		var left [][]string
		if left, err = f.Read(ctx, f.Settings.Unsnapshot()+"SELECT 1 FROM "+s.Table.From()+" WHERE "+s.Where+" LIMIT 1 FOR UPDATE"); left != nil {
			err = s.Column.OutOfRange()
		}
	}
	if err == nil {
		f.Tx.Release(ownSavepoint, false)
		_, err = f.Do(ctx, "RELEASE SAVEPOINT "+ownSavepoint)
		return err
	}
	if f.Open() == nil {
		return err
	}
	if _, rerr := f.Do(context.WithoutCancel(ctx), "ROLLBACK TO SAVEPOINT "+ownSavepoint); rerr != nil {
		f.Lose(rerr) // or the application might commit the stand-ins
		return err
	}
	f.Tx.RollbackTo(ownSavepoint)
	f.Tx.Release(ownSavepoint, false)
	return err
}

// stand notes that rows are about to get stand-ins.
func (f *Folder) stand(ctx context.Context, folding *slotsql.Folding) error {
	d := f.discarding
	if d.Stands == nil {
		if _, err := f.Do(ctx, "SAVEPOINT "+ownSavepoint); err != nil {
			return err
		}
		f.Transaction().Save(ownSavepoint)
	}
	d.Stands = append(d.Stands, plan.StandIn{Table: folding.Table, Column: folding.Stood, Where: strings.Join(folding.Stands, " OR ")})
	return nil
}
