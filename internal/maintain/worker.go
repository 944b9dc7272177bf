package maintain

import (
	"context"
	"sync"
	"time"

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

// job is what is done beside statements whenever one asks for it.
type job struct {
	begins sync.Once
	wake   chan struct{}
}

// ask has a job done, which begins with the first who asks.
func (b *Background) ask(j *job, do func(ctx context.Context, w *worker)) {
	j.begins.Do(func() {
		j.wake = make(chan struct{}, 1)
		b.begin(func(ctx context.Context) { b.serve(ctx, j.wake, do) })
	})
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// sessionIdle is for how long the session of a job is kept while there is nothing to do: where keys get
// hot again and again, or a buffer is flushed once a second, a new one each time would be most of the work.
const sessionIdle = 10 * time.Second

// sessionLook is how long the answer of a session that has been kept may take.
const sessionLook = 2 * time.Second

// serve does a job each time that it is woken.
func (b *Background) serve(ctx context.Context, wake <-chan struct{}, do func(ctx context.Context, w *worker)) {
	w := &worker{Maintainer: b.Maintainer}
	defer w.end()
	for idle := (<-chan time.Time)(nil); ; {
		select {
		case <-ctx.Done():
			return
		case <-idle:
			w.end()
			continue
		case <-wake:
		}
		if w.rollup != nil {
			look, cancel := context.WithTimeout(ctx, sessionLook)
			_, err := w.rollup.folder.Do(look, "DO 0")
			cancel()
			if err != nil { // the server has ended it meanwhile, or is no more
				w.end()
			}
		}
		do(ctx, w)
		idle = time.After(sessionIdle)
	}
}
