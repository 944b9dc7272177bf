package exact

import (
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/sale"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/stock"
)

// Tell takes what is sent, and when; own says that the text is the user's, with his arguments.
type Tell func(when, text string, own bool)

// ExplainExact tells what becomes of a statement that runs the exact way.
func (r *Runner) ExplainExact(x Execution, tell Tell) {
	alone := sale.Sells(r.Caller)
	trip, inOne := r.oneTrip(x)
	if inOne {
		if _, _, ok := r.part(x); ok && alone {
			tell("as it is, if its base row may be expected to have enough by itself", x.Text, true)
		}
		looks := func() { tell("in one round trip, if the rows have no slots", trip, true) }
		if r.leavesGaps(x) {
			tell("so that no gap is locked between slots while the next waits", session.WithoutGaps, false)
			looks()
			tell("before what comes next, if that has changed no row", session.OwnLevel(r.Session), false)
		} else {
			looks()
		}
	}
	if !r.ExplainTogether(x, "while another one of its row is under way: together with those that wait, if there is enough for all (else one after the other)", tell) {
		if _, ok := x.TextElsewhere(x.Text, x.Arguments); ok && alone {
			tell("while another one of its row is under way: behind it, in one transaction with those that wait", x.Text, true)
		}
	}
	if x.OfLockableRow() {
		tell("inside a transaction that has locked the row, which has no slots: as it is", x.Text, true)
	}
	r.explainParts(x, tell)
	if inOne {
		tell("else, in a transaction:", "", false)
	} else {
		tell("in a transaction:", "", false)
	}
	itself := r.explainFolds(x, tell)
	if slices.ContainsFunc(x.Rows, func(s plan.RowSet) bool { return s.Table.Fed }) {
		tell("what triggers have added to their slots is added to them and taken off another slot", "", false)
	}
	tell("their slots are added to them and deleted", "", false)
	tell(itself, x.Text, true)
}

// ExplainTogether tells the statement for it and others of its row; false if there is none.
func (r *Runner) ExplainTogether(x Execution, when string, tell Tell) bool {
	if x.Guard == nil || !sale.Sells(r.Caller) {
		return false
	}
	g, ok := x.Guard.Bind(x.Arguments.Binder)
	if ok {
		tell(when, g.Together(stock.Enough([]stock.Want{g.Want})), false)
	}
	return ok
}

// explainParts tells what a guarded update does first inside a transaction.
func (r *Runner) explainParts(x Execution, tell Tell) {
	e, _, ok := r.part(x)
	if !ok {
		return
	}
	when := "else, inside a transaction: on the base row, if it has enough by itself"
	if g := x.Guard; g.Reserves() {
		e.Slot = catalog.FirstReserved
		tell("inside a transaction, while several want the row: locked is a row of its reserve that has enough", slotsql.LockReserved(g.Table, e.Key, e.Slot, g.Counter, e.Touch), false)
		tell("and written before COMMIT, with the increments of its row that are pending", slotsql.TakeReserved(g.Table, &e), false)
		when += "; behind the first row of its reserve, if it has one"
	}
	tell(when, x.Text, true)
}

// explainFolds tells which rows are locked, as takeThenRun does, and when the statement comes then.
func (r *Runner) explainFolds(x Execution, tell Tell) (itself string) {
	locked := func(s plan.RowSet, where, when string) {
		tell(when, slotsql.LockSQL(s.Table, sqltext.Quote(s.Name), s.Locking(), where, "FOR UPDATE"), false)
	}
	itself = "then the statement itself"
	narrow, only, kept := r.narrowed(x)
	before := kept && x.Restriction.By == nil // its rows are locked instead of all others
	if kept && !r.LocksGaps() {
		itself += ", for none but these rows"
	}
	if before {
		locked(narrow, only, "the rows that it changes are locked")
	}
	again := x.Moves && !kept
	for _, s := range x.Rows {
		where, ok := s.Bind(x.Arguments.Binder)
		_, collides := r.collisions(x)
		switch {
		case before:
		case collides:
			tell("the rows that it meets are locked by their keys", "", false)
		case !ok || s.Where == nil && s.Keys == nil:
			again = again || x.Plan.Writes != nil
			tell("every row of "+s.Table.String()+" that has slots is locked", "", false)
		default:
			locked(s, where, "the rows concerned are locked")
		}
	}
	if kept && !before {
		locked(narrow, only, "and those that its condition matches then")
	}
	if again && !x.Plan.Once {
		itself += ", and again if others have incremented one of its rows meanwhile"
	}
	return itself
}
