package countermysql

import (
	"cmp"
	"context"
	"errors"
	"strings"
)

// runSavepoint executes a statement that sets, goes back to or releases a savepoint.
func (c *conn) runSavepoint(ctx context.Context, k *call) (outcome, error) {
	name, err := c.savepointName(ctx, k.plan.arg)
	if err != nil {
		return outcome{}, err
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
	if !c.inTransaction() || c.tx == nil || !c.tx.keepsPending() {
		return k.forward(ctx, k.text)
	}
	if _, err := c.do(ctx, "SAVEPOINT "+ownSavepoint); err != nil {
		return outcome{}, err
	}
	check := func(err error) error {
		if !c.inTransaction() {
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
