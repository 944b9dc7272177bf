package countermysql

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/session"
)

// runEncounter runs a statement that may meet what was absent, so that it is right also
// where that is there by now: then the schema is read, and it is planned anew. What only
// reads, outside a transaction, looks after it has succeeded: mostly it fails. All else
// looks before, in a transaction, in which a table that is there stays as it is.
func (c *conn) runEncounter(ctx context.Context, k *call) (answer.Outcome, error) {
	e, inside, data := k.Encounter, c.InTransaction(), k.Plan.Effect == nil
	if c.Locks || c.XAEnded {
		return c.runKnown(ctx, k)
	}
	var before, behind []plan.Absence
	for _, b := range e.Absences {
		late := e.Twice && (!inside || b.Shows)
		if !late {
			before = append(before, b)
		}
		if late || b.Column == "" && data && (e.Twice || !e.Reads) { // nothing keeps it from being made meanwhile
			behind = append(behind, b)
		}
	}
	outside := func(query string) error {
		_, err := c.connector.lookups.QueryAs(ctx, c.Initial.Kin, query)
		return err
	}
	ran := false
	try := func() (out answer.Outcome, err error) {
		if err = appeared(before, func(query string) error { return c.Try(ctx, query) }); err != nil {
			return answer.Outcome{}, err
		}
		if out, err = c.runKnown(ctx, k); err != nil {
			return out, err
		}
		ran = true
		met := shown(behind, out)
		if err = appeared(met, outside); err == nil && len(met) > 0 && e.Twice && !inside {
			// It has met one of another kind of that name, or one that has gone again since: then it fails now.
			_ = out.Close()
			if out, err = c.runKnown(ctx, k); err == nil {
				err = appeared(shown(behind, out), outside)
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
	out, err := answer.Outcome{}, c.SendBegin(ctx)
	switch {
	case err != nil:
	case inside || e.Reads || !data:
		out, err = try()
	default:
		err = session.Again(ctx, func() (err error) {
			out, err = c.Alone(ctx, try)
			return err
		})
	}
	switch {
	case err == nil || !ran && !errors.Is(err, plan.ErrAppeared):
		return out, err
	case ran && inside && !e.Reads:
		if errors.Is(err, plan.ErrAppeared) {
			err = nil
		}
		return answer.Outcome{}, cmp.Or(err, c.AsDeadlock("a table was made that the statement has written"))
	case !errors.Is(err, plan.ErrAppeared):
		return answer.Outcome{}, c.Cut(ctx, err)
	}
	if _, err := c.connector.watcher.Refresh(ctx); err != nil {
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

// shown are the absences that a query's answer may show.
func shown(all []plan.Absence, out answer.Outcome) []plan.Absence {
	return slices.DeleteFunc(slices.Clone(all), func(b plan.Absence) bool {
		return b.Shows && out.Rows != nil && !slices.ContainsFunc(out.Rows.Columns(), func(name string) bool {
			return strings.EqualFold(name[strings.LastIndexByte(name, '.')+1:], b.Column) // columnsWithAlias
		})
	})
}

// appeared is ErrAppeared if any of the absences has ended.
func appeared(all []plan.Absence, look func(query string) error) error {
	for _, b := range all {
		err := look(b.Query())
		switch n := mysqlerr.Number(err); {
		case err == nil:
			return plan.ErrAppeared
		case n != mysqlerr.ErrNoTable && n != mysqlerr.ErrNoColumn && !mysqlerr.Denied[n]:
			return err
		}
	}
	return nil
}
