package maintain

import (
	"context"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/fold"
	"github.com/countermysql/countermysql/internal/session"
)

const (
	followEvery = 250 * time.Millisecond
	followFor   = 40 // times a table is found under its old name: it has kept that
)

// FollowName does [fold.FollowName] in the background, until it is done: the server may still do a RENAME
// that was cut off, and rows of the table may be locked.
func (b *Background) FollowName(t *catalog.Table, to string, drops bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped {
		return
	}
	if b.stop == nil {
		b.ctx, b.stop = context.WithCancel(context.Background())
	}
	ctx := b.ctx
	b.work.Go(func() {
		w := &worker{Maintainer: b.Maintainer}
		defer w.end()
		for kept := 0; kept < followFor; {
			if !session.Pause(ctx, followEvery) {
				return
			}
			r, err := w.on(ctx, t)
			if err != nil {
				continue
			}
			switch done, err := fold.FollowName(ctx, r.folder, t, to, drops); {
			case err != nil:
				w.end()
			case done:
				return
			default:
				kept++
			}
		}
	})
}
