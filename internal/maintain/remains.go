package maintain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
)

// leave drops what tables have besides their slots tables: the triggers that write histories,
// and what nobody needs or was asked for. Of what stays it tells.
func (m *Maintainer) leave(ctx context.Context, s *catalog.Schema, tables []*catalog.Table, options DropOptions) error {
	if options.StopOnly {
		return nil
	}
	for _, t := range tables {
		if t.History != (catalog.HistoryState{}) {
			drops, err := m.dropHistoryTriggers(ctx, t)
			if err == nil {
				err = m.runDDL(ctx, drops)
			}
			if err != nil {
				return fmt.Errorf("countermysql: leaving %s, its history: %w", t, err)
			}
		}
		if err := m.leaveHistories(ctx, t, options); err != nil {
			return fmt.Errorf("countermysql: leaving %s, its history: %w", t, err)
		}
	}
	for _, db := range notBuffered(s, tables) {
		if err := m.leaveFlushes(ctx, s.Server, db, options); err != nil {
			return fmt.Errorf("countermysql: leaving %s: %w", catalog.Flushes(db), err)
		}
	}
	return nil
}

// stays tells of a table that stays.
func (o DropOptions) stays(quoted string) {
	if o.Stays != nil {
		o.Stays(strings.ReplaceAll(quoted, "`", ""), "DROP TABLE "+quoted)
	}
}

// leaveHistories drops the history tables of a table if that is asked for: what is in them is
// nowhere else.
func (m *Maintainer) leaveHistories(ctx context.Context, t *catalog.Table, options DropOptions) error {
	var seen []string
	for _, q := range []catalog.HistoryDDL{t.WrittenDDL(), t.HistoryDDL()} {
		if !q.Named() || slices.Contains(seen, q.Name()) {
			continue
		}
		seen = append(seen, q.Name())
		_, comment := q.Of()
		said, err := m.Shared.Lookups.Query(ctx, comment)
		if err != nil {
			return err
		}
		if len(said) == 0 || said[0][0] != catalog.HistoryComment { // it is not there, or is somebody else's
			continue
		}
		if !options.History {
			options.stays(q.Name())
			continue
		}
		if err := m.runDDL(ctx, []string{"DROP TABLE IF EXISTS " + q.Name()}); err != nil {
			return err
		}
	}
	return nil
}

// notBuffered are the databases of buffered tables that are left, if none of the others is.
func notBuffered(s *catalog.Schema, left []*catalog.Table) (dbs []string) {
	for _, t := range left {
		if t.Spec.Buffered.Every == 0 || slices.Contains(dbs, t.Spec.DB) {
			continue
		}
		stays := slices.ContainsFunc(s.Specs, func(o catalog.Spec) bool {
			return o.Buffered.Every != 0 && o.DB == t.Spec.DB && !slices.ContainsFunc(left, func(l *catalog.Table) bool { return l.Spec.DB == o.DB && l.Spec.Name == o.Name })
		})
		if !stays {
			dbs = append(dbs, t.Spec.DB)
		}
	}
	return dbs
}

// leaveFlushes drops the table of flushes of a database while nobody can write to it, if it is
// empty. Each process that buffers has a row in it, whatever its list is; one that has none yet
// buffers nothing before it has one. Locks of a Galera cluster are one node's: there it stays.
func (m *Maintainer) leaveFlushes(ctx context.Context, srv catalog.Server, db string, options DropOptions) error {
	there, err := m.Shared.Lookups.Query(ctx, hasFlushes(db))
	if err != nil || len(there) == 0 {
		return err
	}
	flushes, dropped := catalog.Flushes(db), false
	if !srv.Galera {
		s, err := m.ddlSession(ctx)
		if err != nil {
			return err
		}
		defer s.Close()
		err = patiently(func() (err error) {
			dropped, err = s.DropEmpty(ctx, flushes, "")
			return err
		})
		if err != nil {
			return err
		}
	}
	if !dropped {
		options.stays(flushes)
	}
	return nil
}
