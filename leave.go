package countermysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/maintain"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// DefaultNotice is how long every process with the driver takes, at most, to
// notice that a slots table was closed.
const DefaultNotice = catalog.SchemaTooOld + 5*time.Second

// DropOptions are for Drop. Nil is the same as the zero value.
type DropOptions struct {
	// Tables are the tables to leave, "post" or "db.post"; none means all.
	Tables []string

	// StopOnly keeps the slots tables, closed and empty: for processes that
	// still have the counters in their lists, which need them. Take the counters
	// from all lists, then Drop without it.
	StopOnly bool

	// Notice is how long to wait for other processes to notice that the slots
	// tables are closed; 0 means DefaultNotice.
	Notice time.Duration

	// Progress is as in RollupOptions.
	Progress func(RollupProgress)
}

// Drop is the way out. It closes the slots tables, upon which increments change
// the base rows as they do without the driver; rolls everything up; makes sure,
// with both tables locked, that no slot is left; and drops the slots tables.
// Afterwards every client sees every count. Init goes back, until the tables are
// dropped.
//
// An increment of a transaction that began before the tables were closed and
// commits after they were dropped fails its COMMIT; none is lost.
func Drop(ctx context.Context, db *sql.DB, options *DropOptions) ([]RolledUp, error) {
	if options == nil {
		options = &DropOptions{}
	}
	c, err := connectorOf(ctx, db)
	if err != nil {
		return nil, err
	}
	s, err := c.watcher.Refresh(ctx)
	if err != nil {
		return nil, err
	}
	tables, err := maintain.Named(s, options.Tables, c.cfg.DBName)
	if err != nil {
		return nil, err
	}
	if err := maintain.Complete(s); err != nil && len(options.Tables) == 0 {
		return nil, err // before something is done: what it may have in slots would stay behind
	}
	names, err := c.closeSlots(ctx, tables)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	if s, err = c.watcher.Refresh(ctx); err != nil {
		return nil, err
	}
	if tables, err = maintain.Named(s, names, c.cfg.DBName); err != nil {
		return nil, err
	}
	notice := options.Notice
	if notice == 0 {
		notice = DefaultNotice
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(notice):
	}
	done, err := c.rollUp(ctx, &RollupOptions{Tables: names, Progress: options.Progress}, true)
	if err != nil {
		return done, err
	}
	for _, r := range done {
		if len(r.Left) > 0 {
			return done, fmt.Errorf("countermysql: the slots of %s, row %s, can't be added to it: %s", r.Table, r.Left[0].Key, r.Left[0].Reason)
		}
	}
	if options.StopOnly {
		return done, nil
	}
	for _, t := range tables {
		if err := c.dropSlots(ctx, t); err != nil {
			return done, fmt.Errorf("countermysql: leaving %s: %w", t, err)
		}
	}
	c.watcher.NoteChange()
	return done, nil
}

// closeSlots closes the slots tables that there are, and returns the names of their tables.
func (c *Connector) closeSlots(ctx context.Context, tables []*catalog.Table) (names []string, err error) {
	for _, t := range tables {
		switch {
		case t.Unfit != nil:
			return nil, &UnfitError{Table: t.String(), Reasons: t.Unfit}
		case t.Missing != "" && t.Missing == t.CreateSQL() && !t.Unseen:
			continue
		case t.Missing != "":
			return nil, t.SlotsError()
		}
		names = append(names, sqltext.JoinName(t.Spec.DB, t.Spec.Name))
		if t.Closed {
			continue
		}
		if err := c.lookups.Exec(ctx, "ALTER TABLE "+t.Slots()+" COMMENT = '"+catalog.ClosedComment+"'"); err != nil {
			return nil, fmt.Errorf("countermysql: closing the slots table of %s: %w", t, err)
		}
	}
	return names, nil
}

// dropSlots drops a slots table that is empty while nobody can write to it.
func (c *Connector) dropSlots(ctx context.Context, t *catalog.Table) error {
	r, err := c.newRollup(ctx, t, 0)
	if err != nil {
		return err
	}
	defer r.close()
	for range session.MaxRetries {
		if _, err := r.Folder.Do(ctx, "LOCK TABLES "+t.Base()+" WRITE, "+t.Slots()+" WRITE"); mysqlerr.Number(err) == mysqlerr.ErrLockWait {
			continue // a long transaction uses them
		} else if err != nil {
			return err
		}
		rows, err := r.Folder.Read(ctx, "SELECT 1 FROM "+t.Slots()+" LIMIT 1")
		if err == nil && len(rows) == 0 {
			_, err = r.Folder.Do(ctx, "DROP TABLE "+t.Slots())
		}
		if _, uerr := r.Folder.Do(context.WithoutCancel(ctx), "UNLOCK TABLES"); err == nil {
			err = uerr
		}
		if err != nil || len(rows) == 0 {
			return err
		}
		if _, err := c.rollUpTable(ctx, t, &RollupOptions{}, true); err != nil {
			return err
		}
	}
	return errors.New("its tables stay in use: a transaction is open for long, or a process has not noticed that the slots table is closed; try again")
}
