package exact

import (
	"context"
	"slices"
	"strconv"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/sale"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/traffic"
)

// runOnPart has a guarded update inside a transaction take from a part of the counter's value that
// has enough by itself: no part is below zero, so that the whole has enough as well. That is a
// reserved row of the key, where it has some, or the base row. done is false where no part has
// enough, or the statement does more.
func (r *Runner) runOnPart(ctx context.Context, x Execution) (out answer.Outcome, done bool, err error) {
	if x.Guard == nil || !r.InTransaction() || x.Asked || x.Arguments.Count() != x.Plan.Params || r.Locks {
		return answer.Outcome{}, false, nil
	}
	e, units, ok := r.part(x)
	if !ok {
		return answer.Outcome{}, false, nil
	}
	g := x.Guard
	if g.Reserves() && r.takes(g.Table) {
		if done, err := r.takeReserved(ctx, x, e, units); done || err != nil {
			return answer.Outcome{Result: answer.Affected(1)}, true, err
		}
	}
	if r.hasReserve(x) {
		switch enough, err := r.passGate(ctx, x, e, units); {
		case err != nil:
			return answer.Outcome{}, true, err
		case !enough: // its reserved rows are to be locked before it
			return answer.Outcome{}, false, nil
		}
	}
	if r.HasSnapshot && r.Settings.SnapshotIsolation { // which a fold may be behind: the exact way looks past it
		return answer.Outcome{}, false, nil
	}
	if out, done, err = r.runOnBase(ctx, x); done || err != nil {
		return out, true, err
	}
	if out.Result != nil && r.LocksGaps() && !r.Open().HasPending(g.Table) && g.Table.Key.Integers() { // the row is locked, and so are its slots
		switch slots, err := r.SlotRows(ctx, g.Table, []catalog.Key{e.Key}, r.Outside); {
		case err != nil:
			return answer.Outcome{}, true, err
		case len(slots) == 0:
			r.NoteWrites(x.Plan.Writes, x.Arguments.Binder, 0)
			return out, true, nil
		}
	}
	r.HasRow = out.Result == nil || r.LocksGaps() // else the server lets go of one that has too little
	return answer.Outcome{}, false, nil
}

// part is what a guarded update takes, and how many units a part has to have for that; ok is false
// where it needs the whole.
func (r *Runner) part(x Execution) (e slotsql.RowIncrement, units int64, ok bool) {
	if g := x.Guard; g != nil && g.TakesFromParts() && sale.Computes(r.Settings) {
		return g.Taken(x.Arguments.Binder)
	}
	return e, 0, false
}

// passGate locks the first of the key's reserved rows, which nobody takes from. Whoever wants the
// base row for its units does so before, one at a time: so the base row has what is seen of it from
// here, and who waits for it with reserved rows locked is not behind who has it and waits for those.
// enough is false where the base row has too little, or the value will be needed.
func (r *Runner) passGate(ctx context.Context, x Execution, e slotsql.RowIncrement, units int64) (enough bool, err error) {
	t := x.Guard.Table
	if !x.Takes.May() {
		return false, nil
	}
	if _, err := r.Read(ctx, r.Settings.Unsnapshot()+slotsql.LockSlots(t, e.Key, []string{strconv.Itoa(catalog.FirstReserved)})); err != nil {
		return false, err
	}
	found, err := r.Lookups.QueryAs(ctx, r.Initial.Kin, slotsql.HasUnits(t, e.Key, x.Guard.Counter, units))
	if err != nil {
		return false, ctx.Err()
	}
	return len(found) > 0, nil
}

// runOnBase sends the statement as it is; done is false where the base row has too little, with
// the answer that it gave, if that was one.
func (r *Runner) runOnBase(ctx context.Context, x Execution) (out answer.Outcome, done bool, err error) {
	out, err = x.Send(ctx, x.Text)
	switch n := mysqlerr.Number(err); {
	case mysqlerr.Beyond[n]:
		r.Stats.Unheard(n)
		return answer.Outcome{}, false, nil
	case err == nil && out.Affected() == 0:
		return out, false, nil
	case err == nil:
		r.NoteOwn(x.Plan.Writes, x.Arguments.Binder, out.Affected())
	}
	return out, true, err
}

// takeReserved takes units from a reserved row, which is locked without waiting; false where none
// has enough. What is taken is written at COMMIT: before that an older snapshot would show one row
// as it is now, and all others as they were.
func (r *Runner) takeReserved(ctx context.Context, x Execution, e slotsql.RowIncrement, units int64) (taken bool, err error) {
	t, c := x.Guard.Table, x.Guard.Counter
	taking := r.taking(t, e.Key, c, x.Takes)
	if taking.Fill() {
		r.background.Fill(t, e.Key, c, units)
	}
	if !x.Takes.May() {
		return false, nil
	}
	if e.Slot, err = r.lockUnits(ctx, taking, t, c, e, units); err != nil || e.Slot == 0 {
		return false, err
	}
	p := r.Transaction().PendingFor(t)
	if !p.Add(e) { // beside what else it has pending
		return false, nil
	}
	p.NoteLate(r.HasSnapshot)
	r.Transaction().Increments++
	r.Stats.Pending.Add(1)
	r.Stats.Reserved.Add(1)
	return true, nil
}

// takes reports whether the open transaction may take from reserved rows of a table: it has not
// written the table otherwise, and may write it.
func (r *Runner) takes(t *catalog.Table) bool {
	x := r.Open()
	if r.Altered() || r.ReadOnly() || r.Level() == sqltext.Serializable {
		return false
	}
	return x == nil || !x.Called && !x.Inside && (x.Written[t.String()] == nil || !x.Written[t.String()].Some())
}

// taking is what the transaction has to do with the reserved rows of a key.
func (r *Runner) taking(t *catalog.Table, k catalog.Key, c *catalog.Column, by *traffic.Takes) *traffic.Taking {
	reserve := &r.Traffic.Of(t).Reserve
	if i := slices.IndexFunc(r.Taken, func(x *traffic.Taking) bool { return x.From(reserve, k.ID(), c.Name) }); i >= 0 {
		return r.Taken[i]
	}
	x := reserve.Enter(k, c.Name, by, slices.ContainsFunc(r.Taken, func(x *traffic.Taking) bool { return x.Of(reserve, k.ID()) }))
	r.Taken = append(r.Taken, x)
	return x
}

// lockUnits locks a reserved row that has enough units, and returns the number of its slot; 0 if
// none was to be had. A transaction takes from one row of a key: its increments go there, too.
func (r *Runner) lockUnits(ctx context.Context, taking *traffic.Taking, t *catalog.Table, c *catalog.Column, e slotsql.RowIncrement, units int64) (slot int, err error) {
	own, at := int64(0), slices.Index(t.Counters, c)
	pending := r.Transaction().PendingFor(t).Get(e.ID)
	if pending != nil {
		own, slot = pending.Deltas[at], pending.Slot
	}
	if slot != 0 {
		has, err := r.unitsOf(ctx, t, e, slot, c)
		if has+min(own, 0) < units {
			return 0, err
		}
		taking.Took(slot-catalog.FirstReserved, has+min(own, 0)+e.Deltas[at])
		return slot, nil
	}
	for range traffic.Tries {
		if taking.Looks() {
			if err := r.lookAtUnits(ctx, taking, t, c, e.Key); err != nil {
				return 0, err
			}
		}
		row, ok := taking.Choose(units)
		if !ok {
			return 0, nil
		}
		has, err := r.unitsOf(ctx, t, e, catalog.FirstReserved+row, c)
		if err != nil {
			return 0, err
		}
		taking.Found(row, has)
		switch {
		case has >= units:
			taking.Took(row, has+e.Deltas[at])
			return catalog.FirstReserved + row, nil
		case has >= 0 && !r.First: // it is locked now: no further ones
			return 0, nil
		case has >= 0: // and that is all that the transaction has done
			if _, err := r.Do(ctx, session.BeginAgain); err != nil {
				return 0, err
			}
		}
	}
	return 0, nil
}

// lookAtUnits sees what the reserved rows of a key have, as committed.
func (r *Runner) lookAtUnits(ctx context.Context, taking *traffic.Taking, t *catalog.Table, c *catalog.Column, k catalog.Key) error {
	rows, err := r.Lookups.QueryAs(ctx, r.Initial.Kin, slotsql.UnitsOf(t, k, c))
	if err != nil {
		return ctx.Err() // then what is believed has to do
	}
	for _, row := range rows {
		slot, _ := strconv.Atoi(row[0]) // a number
		if units, err := strconv.ParseInt(row[1], 10, 64); err == nil {
			taking.Saw(slot-catalog.FirstReserved, units)
		}
	}
	return nil
}

// unitsOf locks a reserved row and reads what it has, Unknown where that is not to be had, and the
// times that are those of now.
func (r *Runner) unitsOf(ctx context.Context, t *catalog.Table, e slotsql.RowIncrement, slot int, c *catalog.Column) (units int64, err error) {
	rows, err := r.Read(ctx, r.Settings.Unsnapshot()+slotsql.LockReserved(t, e.Key, slot, c, e.Touch))
	if err != nil || len(rows) != 1 {
		return traffic.Unknown, err
	}
	if units, err = strconv.ParseInt(rows[0][0], 10, 64); err != nil {
		return 0, nil
	}
	for i, at := range rows[0][1:] {
		if e.Touch[i] != "" { // which is the caller's
			e.Touch[i] = "'" + at + "'"
		}
	}
	return units, nil
}

// hasReserve reports whether the statement's row is known to have reserved rows: they are to be
// locked before it.
func (r *Runner) hasReserve(x Execution) bool {
	if len(x.Rows) == 0 {
		return false
	}
	s := x.Rows[0]
	reserve := &r.Traffic.Of(s.Table).Reserve
	if !reserve.Some() {
		return false
	}
	if x.Key == nil {
		return true
	}
	k, ok := x.Key.Key(s.Table, x.Arguments.Binder)
	return !ok || reserve.Has(k.ID())
}
