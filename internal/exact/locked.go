package exact

import (
	"context"
	"slices"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/fold"
)

// hasLocked reports whether the transaction has locked the statement's row, and knows of its slots; free is
// true if there are none.
func (r *Runner) hasLocked(x Execution) (free, locked bool) {
	if len(x.Rows) != 1 || !r.Open().HasLocked(x.Rows[0].Table) || r.hasReserve(x) {
		return false, false
	}
	return fold.HasLocked(r.Folder, x.Rows[0].Table, x.Key, x.Arguments.Binder)
}

// OfLockableRow reports whether it is of one row, by the table's key, and who has that locked keeps all others
// from its slots.
func (x Execution) OfLockableRow() bool {
	return len(x.Rows) == 1 && x.Key != nil && slices.Equal(x.Key.Columns, x.Rows[0].Table.Key) && catalog.LockKeepsSlots(x.Rows[0].Table)
}

// HasFree reports whether the transaction has locked the row of an increment, which has no slots: the base row
// takes it, and neither a slot that others read nor COMMIT has to. With clientFoundRows nothing tells which rows
// it has written.
func (r *Runner) HasFree(x Execution) bool {
	free, _ := r.hasLocked(x)
	return free && !r.Config.ClientFoundRows
}

// runFree runs a statement of a row that the transaction has locked, and that has no slots, as it was written.
func (r *Runner) runFree(ctx context.Context, x Execution) (answer.Outcome, error) {
	out, err := x.Send(ctx, x.Text)
	return r.noted(x, out, err)
}

// noteFree notes that a statement that goes alone has locked its row, which has no slots.
func (r *Runner) noteFree(x Execution, affected int64) {
	if affected > 0 && len(x.Rows) == 1 {
		fold.NoteFree(r.Folder, x.Rows[0].Table, x.Key, x.Arguments.Binder)
	}
}
