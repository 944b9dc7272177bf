package countermysql

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/watch"
)

// runEncounter runs a statement that may meet what was absent, so that it is right also
// where that is there by now: then the schema is read, and it is planned anew. What only
// reads, outside a transaction, looks after it has succeeded: mostly it fails. All else
// looks before, in a transaction, in which a table that is there stays as it is.
func (c *conn) runEncounter(ctx context.Context, k *call) (answer.Outcome, error) {
	if c.Locks || c.XAEnded {
		return c.runKnown(ctx, k)
	}
	m := &meeting{c: c, k: k, inside: c.InTransaction(), twice: k.Encounter.Twice, reads: k.Encounter.Reads}
	m.before, m.behind = k.Encounter.Looks(m.inside, k.Plan.Effect == nil)
	out, err := answer.Outcome{}, c.SendBegin(ctx)
	switch {
	case err != nil:
	case m.inside || m.reads || k.Plan.Effect != nil:
		out, err = m.run(ctx)
	default:
		err = session.Again(ctx, func() (err error) {
			out, err = c.Alone(ctx, func() (answer.Outcome, error) { return m.run(ctx) })
			return err
		})
	}
	switch {
	case err == nil || !m.ran && !errors.Is(err, plan.ErrAppeared):
		return out, err
	case m.ran && m.inside && !m.reads:
		if errors.Is(err, plan.ErrAppeared) {
			err = nil
		}
		return answer.Outcome{}, cmp.Or(err, c.AsDeadlock("a table was made that the statement has written"))
	case !errors.Is(err, plan.ErrAppeared):
		return answer.Outcome{}, c.Cut(ctx, err)
	}
	if _, err := c.connector.watcher.Refresh(watch.Holding(ctx, c.Begun())); err != nil {
		return answer.Outcome{}, c.Cut(ctx, err)
	}
	if err := k.planAgain(ctx); err != nil {
		return answer.Outcome{}, err
	}
	if k.Encounter != nil && !k.met { // it was gone again when the schema was read
		k.met = true
		return c.runEncounter(ctx, k)
	}
	return c.runKnown(ctx, k) // or it is a temporary table of this session alone
}

// meeting is the run of a statement that may meet what was absent.
type meeting struct {
	c              *conn
	k              *call          // which may be planned anew meanwhile, so that all else is as it began
	inside         bool           // a transaction
	twice, reads   bool           // as its encounter says
	before, behind []plan.Absence // as it looks for them
	ran            bool
}

// run fails with ErrAppeared where something is there by now.
func (m *meeting) run(ctx context.Context) (out answer.Outcome, err error) {
	if err = appeared(m.before, func(b plan.Absence) error { return m.c.Try(ctx, b.Query()) }); err != nil {
		return answer.Outcome{}, err
	}
	if out, err = m.c.runKnown(ctx, m.k); err != nil {
		return out, err
	}
	m.ran = true
	met := shown(m.behind, out)
	if err = appeared(met, m.outside(ctx)); err == nil && len(met) > 0 && m.twice && !m.inside {
		// It has met one of another kind of that name, or one that has gone again since: then it fails now.
		_ = out.Close()
		if out, err = m.c.runKnown(ctx, m.k); err == nil {
			err = appeared(shown(m.behind, out), m.outside(ctx))
		} else if n := mysqlerr.Number(err); n == mysqlerr.ErrNoTable || n == mysqlerr.ErrNoColumn {
			return answer.Outcome{}, plan.ErrAppeared
		}
	}
	if err != nil {
		_ = out.Close() // the first error is the one to report
		return answer.Outcome{}, err
	}
	return out, nil
}

// outside looks on a look-up connection. What that may not see of a table, and a query has been
// answered from, is there: the session is newer, and has other rights on the database.
func (m *meeting) outside(ctx context.Context) func(b plan.Absence) error {
	return func(b plan.Absence) error {
		_, err := m.c.connector.lookups.QueryAs(ctx, m.c.Initial.Kin, b.Query())
		if m.reads && b.Column == "" && mysqlerr.Denied[mysqlerr.Number(err)] {
			return nil
		}
		return err
	}
}

// shown are the absences that a query's answer may show.
func shown(all []plan.Absence, out answer.Outcome) []plan.Absence {
	return slices.DeleteFunc(slices.Clone(all), func(b plan.Absence) bool {
		return out.Rows != nil && !b.MayShow(out.Rows.Columns())
	})
}

// appeared is ErrAppeared if any of the absences has ended.
func appeared(all []plan.Absence, look func(b plan.Absence) error) error {
	for _, b := range all {
		err := look(b)
		switch n := mysqlerr.Number(err); {
		case err == nil:
			return plan.ErrAppeared
		case n != mysqlerr.ErrNoTable && n != mysqlerr.ErrNoColumn && !mysqlerr.Denied[n]:
			return err
		}
	}
	return nil
}
