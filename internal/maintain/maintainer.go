package maintain

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/session"
)

// Maintainer works on the tables of a connector, in sessions of its own.
type Maintainer struct {
	Shared *session.Shared
	Warn   func(cause, message string, args ...any) // logs, once for each cause

	overridden sync.Map // derived counters that statements have set, by their full names
}

// Options bound a rollup.
type Options struct {
	Tables   []string // none: all
	MaxLock  time.Duration
	Progress func(table string, slots, total int64) // nil: nobody asks
	Wait     bool                                   // for a table that somebody else rolls up; or it is left out
	Turns    *turns                                 // it rests between its transactions, so that those beside it hardly notice; nil: it does not
}

// RollUp adds the slots of tables to their base rows.
func (m *Maintainer) RollUp(ctx context.Context, options Options) ([]RolledUp, error) {
	return m.rollUp(ctx, options, func(s *catalog.Schema) ([]*catalog.Table, error) {
		return Named(s, options.Tables, m.Shared.Config.DBName)
	})
}

// rollUp does so to those of the tables as they are now that are chosen.
func (m *Maintainer) rollUp(ctx context.Context, options Options, choose func(*catalog.Schema) ([]*catalog.Table, error)) (done []RolledUp, err error) {
	m.Shared.Stats.Rollups.Add(1)
	defer func() {
		if err != nil {
			m.Shared.Stats.RollupErrors.Add(1)
		}
	}()
	s, err := m.Shared.Watcher.Schema(ctx)
	if err != nil {
		return nil, err
	}
	tables, err := choose(s)
	if err != nil {
		return nil, err
	}
	var errs []error
	if options.Wait && len(options.Tables) == 0 { // in the background it has been logged
		errs = append(errs, complete(s))
	}
	for _, t := range tables {
		if t.Unfit == nil && t.DDL().NotMade() {
			continue // there is no slots table, and so nothing to roll up
		}
		if err := catalog.Unfoldable(t); err != nil {
			errs = append(errs, err)
			continue
		}
		out, err := m.rollUpTable(ctx, t, options)
		if out != nil {
			m.Shared.Stats.RolledUp(out.statistics())
			done = append(done, *out)
		}
		if ctx.Err() != nil {
			return done, errors.Join(append(errs, ctx.Err())...)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("countermysql: rolling up %s: %w", t, err))
		}
	}
	return done, errors.Join(errs...)
}

func (m *Maintainer) rollUpTable(ctx context.Context, t *catalog.Table, options Options) (*RolledUp, error) {
	r, err := m.open(ctx, t, options.MaxLock)
	if err != nil {
		return nil, err
	}
	defer r.close() // which also rolls back
	r.turns, r.begun = options.Turns, time.Now()
	if mine, err := r.reserve(ctx, options.Wait); err != nil || !mine {
		return nil, err
	}
	defer func() { _ = r.release(ctx) }() // a proxy may keep the connection, and its GET_LOCK, for others
	defer func() { m.Shared.Traffic.Of(t).Slots.Forget() }()
	var progress func(slots, total int64)
	if options.Progress != nil {
		progress = func(slots, total int64) { options.Progress(t.String(), slots, total) }
	}
	if err = r.run(ctx, r.turns.from(t), progress); err == nil {
		err = r.forget(ctx)
	}
	if errors.Is(err, errLeft) {
		err = nil
	}
	return r.out, err
}
