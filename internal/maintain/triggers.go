package maintain

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// triggersSQL asks for triggers: the database of the table that each is for, its name, that
// table, its event, its body, its definer.
const triggersSQL = "SELECT EVENT_OBJECT_SCHEMA, TRIGGER_NAME, EVENT_OBJECT_TABLE, EVENT_MANIPULATION, ACTION_STATEMENT, DEFINER FROM information_schema.TRIGGERS WHERE "

// trigger is one as the server has it.
type trigger struct {
	catalog.Trigger
	definer string
}

// triggersOn asks for the triggers of a table.
func triggersOn(t *catalog.Table) string {
	return triggersSQL + "EVENT_OBJECT_SCHEMA = " + catalog.Text(t.Spec.DB) + " AND EVENT_OBJECT_TABLE = " + catalog.Text(t.Spec.Name) + " ORDER BY TRIGGER_NAME"
}

// triggersOf are what rows of triggersSQL tell of.
func triggersOf(rows [][]string) []trigger {
	all := make([]trigger, len(rows))
	for i, r := range rows {
		all[i] = trigger{catalog.Trigger{DB: r[0], Name: r[1], Table: r[2], Event: r[3], Body: r[4]}, r[5]}
	}
	return all
}

// isNamed reports whether it has the name of a wanted one.
func (g trigger) isNamed(wanted catalog.Trigger) bool {
	return g.DB == wanted.DB && g.Name == wanted.Name
}

// is reports whether it does what a wanted one is to do. It may have another name: in what was restored
// as another database, or is from a tool that copies tables.
func (g trigger) is(wanted catalog.Trigger) bool {
	return g.DB == wanted.DB && strings.EqualFold(g.Table, wanted.Table) && g.Event == wanted.Event && strings.TrimSpace(g.Body) == wanted.Body
}

// MakeTriggers makes what writes histories and keeps derived counters, where that is missing
// or other than configured, and then sets such counters by their formulas; dry runs nothing.
// It returns the statements.
func (m *Maintainer) MakeTriggers(ctx context.Context, s *catalog.Schema, dry bool) (statements []string, err error) {
	var errs []error
	for _, t := range s.All() {
		stmts, err := m.makeHistory(ctx, t, dry)
		statements = append(statements, stmts...)
		if err != nil {
			errs = append(errs, fmt.Errorf("countermysql: the history of %s: %w", t, err))
		}
	}
	if len(statements) > 0 && !dry {
		_, err := m.Shared.Watcher.Refresh(ctx)
		errs = append(errs, err)
	}
	stmts, err := m.derive(ctx, s, dry)
	return append(statements, stmts...), errors.Join(append(errs, err)...)
}

// inMode are statements that make triggers, which run in that sql_mode ever after.
func inMode(mode string, stmts ...string) []string {
	return append([]string{"SET SESSION sql_mode = '" + mode + "'"}, stmts...)
}

// runDDL runs statements about triggers in a session of their own.
func (m *Maintainer) runDDL(ctx context.Context, stmts []string) error {
	s, err := m.ddlSession(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	for _, stmt := range stmts {
		err := patiently(func() error {
			_, err := s.Do(ctx, stmt)
			return err
		})
		if mysqlerr.Number(err) == mysqlerr.ErrNeedsSuper {
			return fmt.Errorf("%w: the server has a binary log, and lets only users with SUPER make triggers; have such a user run countermysql init, or, by an administrator: SET GLOBAL log_bin_trust_function_creators = 1", err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ddlSession is for what waits for the transactions that use a table: two seconds each time.
func (m *Maintainer) ddlSession(ctx context.Context) (*session.Session, error) {
	s, err := session.Open(ctx, m.Shared)
	if err != nil {
		return nil, err
	}
	if _, err := s.Do(ctx, "SET "+sqltext.Untimed+"SESSION lock_wait_timeout = 2"); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// whenBusy says what to do if trying again has not helped.
func whenBusy(err error) error {
	if mysqlerr.Number(err) != mysqlerr.ErrLockWait {
		return err
	}
	return fmt.Errorf("%w: the table stays in use; try again when no long transaction is open", err)
}

// patiently tries again what has waited for long, and lets others pass between.
func patiently(do func() error) (err error) {
	for range session.MaxRetries {
		if err = do(); mysqlerr.Number(err) != mysqlerr.ErrLockWait {
			break
		}
	}
	return err
}
