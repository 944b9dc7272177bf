package maintain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// DropOptions say which tables are left, and how far.
type DropOptions struct {
	Tables   []string // none: all
	StopOnly bool     // the slots tables stay, closed and empty
	History  bool     // history tables go, with what is in them
	Notice   time.Duration
	Progress func(table string, slots, total int64)
	Stays    func(table, drop string) // nil: nobody asks
}

// Drop closes slots tables, waits until every process has noticed that, rolls them up, and
// drops them while nobody can write to them. Where another one has dropped a table meanwhile, it
// begins anew: of what is left nothing is to be done for that.
func (m *Maintainer) Drop(ctx context.Context, options DropOptions) ([]RolledUp, error) {
	done, err := m.drop(ctx, options)
	if mysqlerr.Number(err) != mysqlerr.ErrNoTable {
		return done, err
	}
	rest, err := m.drop(ctx, options)
	return append(done, rest...), err
}

func (m *Maintainer) drop(ctx context.Context, options DropOptions) ([]RolledUp, error) {
	if options.History && options.StopOnly {
		return nil, errors.New("countermysql: histories go on until the slots tables are dropped: leave out History, or StopOnly")
	}
	s, err := m.Shared.Watcher.Refresh(ctx)
	if err != nil {
		return nil, err
	}
	tables, err := Named(s, options.Tables, m.Shared.Config.DBName)
	if err != nil {
		return nil, err
	}
	if err := complete(s); err != nil && len(options.Tables) == 0 {
		return nil, err // before something is done: what it may have in slots would stay behind
	}
	listed := tables
	for _, t := range tables {
		if err := m.dropTriggers(ctx, t); err != nil {
			return nil, err
		}
	}
	names, err := m.closeSlots(ctx, tables)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, m.leave(ctx, s, listed, options)
	}
	if s, err = m.Shared.Watcher.Refresh(ctx); err != nil {
		return nil, err
	}
	if tables, err = Named(s, names, m.Shared.Config.DBName); err != nil {
		return nil, err
	}
	if !session.Pause(ctx, options.Notice) {
		return nil, ctx.Err()
	}
	done, err := m.RollUp(ctx, Options{Tables: names, Progress: options.Progress, Wait: true})
	if err != nil {
		return done, err
	}
	for _, r := range done {
		if len(r.Left) > 0 {
			return done, fmt.Errorf("countermysql: the slots of %s, row %s, can't be added to it: %s", r.Table, r.Left[0].Key, r.Left[0].Reason)
		}
	}
	for _, t := range tables {
		if err := m.allClaimed(ctx, t); err != nil {
			return done, err
		}
	}
	if options.StopOnly {
		return done, nil
	}
	for _, t := range tables {
		if err := m.dropSlots(ctx, t); err != nil {
			return done, fmt.Errorf("countermysql: leaving %s: %w", t, err)
		}
	}
	if err := m.leave(ctx, s, listed, options); err != nil {
		return done, err
	}
	m.Shared.Watcher.NoteChange()
	return done, nil
}

// closeSlots closes the slots tables that there are, and returns the names of their tables.
func (m *Maintainer) closeSlots(ctx context.Context, tables []*catalog.Table) (names []string, err error) {
	for _, t := range tables {
		if t.Unfit == nil && t.DDL().NotMade() {
			continue
		}
		if err := catalog.Unready(t); err != nil {
			return nil, err
		}
		names = append(names, sqltext.JoinName(t.Spec.DB, t.Spec.Name))
		if t.Closed {
			continue
		}
		err := patiently(func() error {
			return m.Shared.Lookups.Exec(ctx, "ALTER TABLE "+t.Slots()+" COMMENT = '"+catalog.ClosedComment+"'")
		})
		if err != nil {
			return nil, fmt.Errorf("countermysql: closing the slots table of %s: %w", t, whenBusy(err))
		}
	}
	return names, nil
}

// dropSlots drops a slots table that is empty while nobody can write to it.
func (m *Maintainer) dropSlots(ctx context.Context, t *catalog.Table) error {
	r, err := m.open(ctx, t, 0)
	if err != nil {
		return err
	}
	defer r.close()
	for range session.MaxRetries {
		dropped, err := r.folder.DropEmpty(ctx, t.Slots(), t.DDL().Shut(), t.Base())
		if mysqlerr.Number(err) == mysqlerr.ErrLockWait {
			continue // a long transaction uses them
		}
		if err != nil || dropped {
			return err
		}
		if _, err := m.rollUpTable(ctx, t, Options{Wait: true}); err != nil {
			return err
		}
	}
	return errors.New("its tables stay in use: a transaction is open for long, or a process has not noticed that the slots table is closed; try again")
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
