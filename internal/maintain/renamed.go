package maintain

import (
	"context"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/fold"
	"github.com/countermysql/countermysql/internal/session"
)

const (
	followRest = 250 * time.Millisecond // between two looks, and behind an error, which doubles it
	followMost = 10 * time.Second       // the longest
	followFor  = 40                     // looks that find the table under its old name: it has kept that
)

// FollowName does [fold.FollowName] in the background, until it is done: the server may still do a RENAME
// that was cut off, and rows of the table may be locked.
func (b *Background) FollowName(t *catalog.Table, to string, drops bool) {
	b.begin(func(ctx context.Context) {
		w := &worker{Maintainer: b.Maintainer}
		defer w.end()
		for kept, rest := 0, followRest; kept < followFor; {
			if !session.Pause(ctx, rest) {
				b.Warn("left "+t.String(), "countermysql: the process ends before what was counted beside a RENAME is added; it is in the slots table", "table", t.String(), "name", to)
				return
			}
			done, err := w.follow(ctx, t, to, drops)
			switch {
			case done:
				return
			case err == nil:
				kept++
				continue
			case ctx.Err() == nil:
				b.note("adding what was counted beside a RENAME of "+t.String(), err)
			}
			w.end()
			rest = min(2*rest, followMost)
		}
	})
}

func (w *worker) follow(ctx context.Context, t *catalog.Table, to string, drops bool) (done bool, err error) {
	r, err := w.on(ctx, t)
	if err != nil {
		return false, err
	}
	return fold.FollowName(ctx, r.folder, t, to, drops)
}
