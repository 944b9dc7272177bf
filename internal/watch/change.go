package watch

import (
	"context"
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
)

// alterations are what DDL of ours has been about since the schema was read.
type alterations struct {
	tables []string // the names of listed tables and slots tables, in lower case, in whatever database
	epochs int64    // so many of the epochs are these
}

// Refresh returns the schema as it is now; unchanged, the old one stays with its plans.
func (w *Watcher) Refresh(ctx context.Context) (*catalog.Schema, error) {
	return w.read(ctx, ofAnyone).wait(ctx)
}

// Look returns the schema as it is now if DDL has begun since it was read, and else what is known.
func (w *Watcher) Look(ctx context.Context) (*catalog.Schema, error) {
	return w.read(ctx, ofDDL).wait(ctx)
}

// RefreshOf has the schema read after DDL of some tables; nil: perhaps of others too.
func (w *Watcher) RefreshOf(ctx context.Context, tables []string) (err error) {
	if tables == nil {
		_, err = w.Refresh(ctx)
	} else {
		w.mu.Lock()
		w.altered.tables = append(w.altered.tables, tables...)
		w.mu.Unlock()
		_, err = w.read(ctx, ofOurs).wait(ctx)
	}
	if err != nil {
		w.epoch.Add(1)
	}
	return err
}

// NoteChange begins an epoch: the next who names a listed table has the schema read. The
// change is one of these tables; of none: perhaps of others too.
func (w *Watcher) NoteChange(tables ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if tables != nil {
		w.altered.tables = append(w.altered.tables, tables...)
		w.altered.epochs++
	}
	w.epoch.Add(1)
}

// remembered is what a reading need not ask for, if it reads a part, and the epoch that it
// learns.
func (w *Watcher) remembered(part bool) (epoch int64, answers catalog.Answers) {
	w.mu.Lock()
	defer w.mu.Unlock()
	altered := w.altered
	epoch, answers = w.epoch.Load(), w.last.answers
	w.altered, w.last.answers = alterations{}, nil
	if !part || answers == nil || epoch-w.learned.Load() != altered.epochs {
		return epoch, catalog.Answers{}
	}
	s := w.current.Load()
	for _, spec := range w.config.Specs {
		if slices.ContainsFunc(altered.tables, func(name string) bool { return spec.Has(name) }) {
			answers.Forget(s.Key(spec.DB, spec.Name))
			answers.Forget(s.Key(spec.DB, spec.SlotsTable))
		}
	}
	return epoch, answers
}
