package countermysql

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
)

type savepoint struct {
	name    string
	pending map[string]*pending
	written map[string]*written
}

// save remembers the state at SAVEPOINT; a name used before moves.
func (x *txState) save(name string) {
	x.release(name, false)
	x.savepoints = append(x.savepoints, savepoint{name, copyPending(x.pending), copyWritten(x.written)})
}

// rollbackTo brings back the state at SAVEPOINT, as the server brings back the
// rows: increments that were applied to base rows since are pending again.
func (x *txState) rollbackTo(name string) {
	for i := len(x.savepoints) - 1; i >= 0; i-- {
		if s := x.savepoints[i]; s.name == name {
			x.pending, x.written = copyPending(s.pending), copyWritten(s.written)
			x.savepoints = x.savepoints[:i+1]
			return
		}
	}
	x.pending = map[string]*pending{} // a routine has set it, and before it ran all was applied
	x.doubt()
}

// keepsPending reports whether to go back to some savepoint makes increments pending
// again.
func (x *txState) keepsPending() bool {
	return slices.ContainsFunc(x.savepoints, func(s savepoint) bool {
		for _, p := range s.pending {
			if p.some() {
				return true
			}
		}
		return false
	})
}

// release forgets a savepoint and, as RELEASE SAVEPOINT does, all set after it.
func (x *txState) release(name string, later bool) {
	for i := len(x.savepoints) - 1; i >= 0; i-- {
		if x.savepoints[i].name == name {
			if later {
				x.savepoints = x.savepoints[:i]
			} else {
				x.savepoints = slices.Delete(x.savepoints, i, i+1)
			}
			return
		}
	}
}

func copyPending(from map[string]*pending) map[string]*pending {
	to := make(map[string]*pending, len(from))
	for name, p := range from {
		to[name] = &pending{p.t, p.entries.keep(), p.late}
	}
	return to
}

func copyWritten(from map[string]*written) map[string]*written {
	to := make(map[string]*written, len(from))
	for name, w := range from {
		to[name] = &written{w.t, w.any, slices.Clone(w.rows), w.writes, w.taken.keep()}
	}
	return to
}

// runSavepoint executes a statement that sets, goes back to or releases a savepoint.
func (c *conn) runSavepoint(ctx context.Context, k *call) (outcome, error) {
	name, err := c.savepointName(ctx, k.plan.arg)
	if err != nil {
		return outcome{}, err
	}
	if k.plan.kind == kindSavepoint {
		if err := c.join(ctx); err != nil {
			return outcome{}, err
		}
	}
	out, err := k.forward(ctx, k.text)
	if err != nil || !c.inTransaction() {
		return out, err
	}
	switch x := c.transaction(); k.plan.kind {
	case kindSavepoint:
		x.save(name)
	case kindRollbackTo:
		x.rollbackTo(name)
	default:
		x.release(name, true)
	}
	return out, nil
}

// join makes InnoDB part of the server's transaction, as the pending increments would
// have: what joins behind a savepoint is rolled back as a whole by ROLLBACK TO, its
// snapshot and its locks too.
func (c *conn) join(ctx context.Context) error {
	x := c.open()
	if x == nil || len(x.pending) == 0 || c.fixed || x.joined {
		return nil
	}
	some := slices.Collect(maps.Values(x.pending))[0]
	if _, err := c.read(ctx, "SELECT 1 FROM "+some.t.base()+" WHERE FALSE"); err != nil {
		return err
	}
	x.joined = true
	return nil
}

// savepointName is equal for names that the servers take for one: to them é is e.
func (c *conn) savepointName(ctx context.Context, name string) (string, error) {
	if ascii(name) {
		return strings.ToUpper(name), nil
	}
	rows, err := c.read(ctx, "SELECT CONVERT(CAST(WEIGHT_STRING(CONVERT("+text(name)+" USING utf8mb3) COLLATE utf8mb3_general_ci) AS CHAR CHARACTER SET ucs2) USING utf8mb4)")
	if err != nil {
		return "", err
	}
	return rows[0][0], nil
}

// forwardWatched sends a statement that may go back to a savepoint. Increments that
// were made before that savepoint have been applied after it: they would be lost. A
// savepoint of ours tells whether it did, by being gone.
func (c *conn) forwardWatched(ctx context.Context, k *call) (outcome, error) {
	if x := c.open(); x == nil || !x.keepsPending() {
		return k.forward(ctx, k.text)
	}
	if _, err := c.do(ctx, "SAVEPOINT "+ownSavepoint); err != nil {
		return outcome{}, err
	}
	check := func(err error) error {
		if !c.begun() { // it is over, and the savepoint with it
			return err
		}
		if _, rerr := c.do(context.WithoutCancel(ctx), "RELEASE SAVEPOINT "+ownSavepoint); errorNumber(rerr) != errNoSavepoint {
			return cmp.Or(err, rerr)
		}
		c.abandon()
		return errors.New("countermysql: a routine went back to a savepoint that was set after increments; the transaction is rolled back")
	}
	out, err := k.forward(ctx, k.text)
	if rows, ok := out.rows.(physicalRows); ok {
		out.rows = &countedRows{physicalRows: rows, finish: check}
		return out, err
	}
	return out, check(err)
}
