package txn

import (
	"errors"
	"slices"

	"github.com/go-sql-driver/mysql"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/traffic"
)

// Promise is the result of an increment in a transaction whose row has not been looked
// for: who does not ask for RowsAffected does not wait for the answer. COMMIT needs none, as
// the statement that it sends finds out whether the row is there. But it has to be known
// before the transaction itself may make that row, or see that there is none: so the next
// statement keeps the promise, if it is more than a write of other tables.
type Promise struct {
	Keeper   Keeper // nil: it is kept, or the transaction is over
	Bound    *plan.BoundIncrement
	Behind   *traffic.Behind // it, by plan
	Late     bool            // it came after the transaction's snapshot
	Affected int64
	Err      error
}

// Keeper looks for the rows of a transaction's promises. What it finds, or its error, is in
// the promises.
type Keeper interface{ KeepPromises() }

var _ mysql.Result = (*Promise)(nil)

// errNotLookedFor is what a Result answers that is asked too late.
var errNotLookedFor = errors.New("countermysql: RowsAffected of an increment was asked after its transaction was rolled back")

// RowsAffected looks for the row, if nobody has done so. It has no context of its own. An
// error breaks the connection, as the caller may overlook it and commit.
func (p *Promise) RowsAffected() (int64, error) {
	if p.Keeper != nil {
		p.Keeper.KeepPromises()
	}
	return p.Affected, p.Err
}

// LastInsertId is that of an UPDATE.
func (p *Promise) LastInsertId() (int64, error) { return 0, nil }

// AllRowsAffected is for callers of Raw.
func (p *Promise) AllRowsAffected() []int64 {
	n, _ := p.RowsAffected()
	return []int64{n}
}

// AllLastInsertIds is for callers of Raw.
func (p *Promise) AllLastInsertIds() []int64 { return []int64{0} }

// Entry is the increment itself.
func (p *Promise) Entry() slotsql.RowIncrement {
	return slotsql.RowIncrement{ID: p.Bound.ID, Key: catalog.Key{p.Bound.ID}, Deltas: p.Bound.Deltas[0], Touch: []string{}}
}

// Outdated reports whether a promise was made by another schema's table.
func (x *State) Outdated(s *catalog.Schema) bool {
	return slices.ContainsFunc(x.Promises, func(p *Promise) bool {
		return s.Lookup(p.Bound.Table.Spec.DB, p.Bound.Table.Spec.Name, "") != p.Bound.Table
	})
}

// Due makes the promises pending increments, right before these are sent.
func (x *State) Due() {
	for _, p := range x.Promises {
		of := x.PendingFor(p.Bound.Table)
		of.Add(p.Entry())
		of.NoteLate(p.Late)
	}
	x.Promised, x.Promises = append(x.Promised, x.Promises...), nil
}

// Missed notes that a row was not there when its increment was sent.
func (x *State) Missed(t *catalog.Table, id string) {
	for _, p := range x.Promised {
		if p.Bound.Table.String() == t.String() && p.Bound.ID == id {
			p.Affected = 0
		}
	}
}

// EndPromises answers what nobody has asked for: by what was found when the increments were
// sent, or by an error, to who overlooks which no row is missing. The application may not
// know of a rollback: database/sql rolls back when a context ends, at any time.
func (x *State) EndPromises() {
	for _, p := range slices.Concat(x.Promises, x.Promised) {
		if p.Keeper, p.Err = nil, nil; !x.Sent {
			p.Err = errNotLookedFor
		}
	}
}
