package read

import (
	"context"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
)

// overTables gives the answer to a query, which is sent once more if it has failed for a
// row's sake, or for that of a temporary table: over views that are tables the servers
// compute what they compute over the base tables.
func (r *Reader) overTables(ctx context.Context, x *Execution, out answer.Outcome, err error) (answer.Outcome, error) {
	failed := err
	if err == nil && x.Rows {
		rows := answer.Over(out.Rows)
		out.Rows, failed = rows, rows.Peek()
	}
	if !plan.OfRow(failed) && mysqlerr.Number(failed) != mysqlerr.ErrCantReopen {
		return out, err
	}
	_ = out.Close()
	x.tables = true
	text, args, _, err := r.rewritten(ctx, x)
	if err != nil {
		return answer.Outcome{}, err
	}
	out, err = x.SendWith(ctx, text, args)
	return out, mysqlerr.AsKilled(err)
}
