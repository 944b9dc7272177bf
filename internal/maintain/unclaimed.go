package maintain

import (
	"context"
	"fmt"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
)

// unclaimed finds counts that no counter takes: rollups leave them in slots.
func (k *inspection) unclaimed(t *catalog.Table) {
	if k.err != nil {
		return
	}
	holding, err := catalog.HoldingUnclaimed(k.ctx, t, k.in.Lookups.Query)
	if mysqlerr.Number(err) != 0 {
		return // a privilege is missing, which has been told, or the table is not what it was
	}
	k.err = err
	for _, c := range holding {
		problem, remedy := catalog.Claimless(t, c)
		k.fail(t.String(), problem, remedy, "")
	}
}

// allClaimed fails where a slots table that is to go holds counts that no counter takes.
func (m *Maintainer) allClaimed(ctx context.Context, t *catalog.Table) error {
	holding, err := catalog.HoldingUnclaimed(ctx, t, m.Shared.Lookups.Query)
	if err == nil && len(holding) > 0 {
		problem, remedy := catalog.Claimless(t, holding[0])
		err = fmt.Errorf("countermysql: leaving %s: %s; %s", t, problem, remedy)
	}
	return err
}
