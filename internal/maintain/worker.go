package maintain

import (
	"context"

	"github.com/countermysql/countermysql/internal/catalog"
)

// worker is a session in which now this table is worked on and now that. It is opened when it is needed, and kept.
type worker struct {
	*Maintainer
	rollup *rollup // nil: it is not open
}

// on is its rollup of a table.
func (w *worker) on(ctx context.Context, t *catalog.Table) (*rollup, error) {
	if w.rollup == nil {
		r, err := w.open(ctx, t, 0)
		if err != nil {
			return nil, err
		}
		w.rollup = r
	}
	w.rollup.table, w.rollup.out = t, &RolledUp{}
	return w.rollup, nil
}

// end ends the session; the next who works opens another.
func (w *worker) end() {
	if w.rollup != nil {
		w.rollup.close()
		w.rollup = nil
	}
}
