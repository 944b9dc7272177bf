package countermysql

import (
	"context"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
)

// overTables gives the answer to a query, which is sent once more if it has failed for a
// row's sake, or for that of a temporary table: over views that are tables the servers
// compute what they compute over the base tables.
func (c *conn) overTables(ctx context.Context, k *call, out answer.Outcome, err error) (answer.Outcome, error) {
	failed := err
	if err == nil && k.rows {
		rows := answer.Over(out.Rows)
		out.Rows, failed = rows, rows.Peek()
	}
	if !plan.OfRow(failed) && mysqlerr.Number(failed) != mysqlerr.ErrCantReopen {
		return out, err
	}
	_ = out.Close()
	k.tables = true
	text, args, _, err := c.rewritten(ctx, k)
	if err != nil {
		return answer.Outcome{}, err
	}
	return k.sendWith(ctx, text, args)
}
