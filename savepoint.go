package countermysql

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/fold"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// runSavepoint executes a statement that sets, goes back to or releases a savepoint.
func (c *conn) runSavepoint(ctx context.Context, k *call) (outcome, error) {
	name, err := c.savepointName(ctx, k.Plan.Arg)
	if err != nil {
		return outcome{}, err
	}
	if k.Plan.Kind == sqltext.EffectSavepoint {
		if err := c.join(ctx); err != nil {
			return outcome{}, err
		}
	}
	out, err := k.forward(ctx, k.text)
	if err != nil || !c.InTransaction() {
		return out, err
	}
	switch x := c.Transaction(); k.Plan.Kind {
	case sqltext.EffectSavepoint:
		x.Save(name)
	case sqltext.EffectRollbackTo:
		x.RollbackTo(name)
	default:
		x.Release(name, true)
	}
	return out, nil
}

// join makes InnoDB part of the server's transaction, as the pending increments would
// have: what joins behind a savepoint is rolled back as a whole by ROLLBACK TO, its
// snapshot and its locks too.
func (c *conn) join(ctx context.Context) error {
	x := c.Open()
	if x == nil || len(x.Pending) == 0 || c.HasSnapshot || x.Joined {
		return nil
	}
	some := slices.Collect(maps.Values(x.Pending))[0]
	if _, err := c.Read(ctx, "SELECT 1 FROM "+some.Table.Base()+" WHERE FALSE"); err != nil {
		return err
	}
	x.Joined = true
	return nil
}

// savepointName is equal for names that the servers take for one: to them é is e.
func (c *conn) savepointName(ctx context.Context, name string) (string, error) {
	if catalog.Ascii(name) {
		return strings.ToUpper(name), nil
	}
	rows, err := c.Read(ctx, "SELECT CONVERT(CAST(WEIGHT_STRING(CONVERT("+catalog.Text(name)+" USING utf8mb3) COLLATE utf8mb3_general_ci) AS CHAR CHARACTER SET ucs2) USING utf8mb4)")
	if err != nil {
		return "", err
	}
	return rows[0][0], nil
}

// forwardWatched sends a statement that may go back to a savepoint. Increments that
// were made before that savepoint have been applied after it: they would be lost. A
// savepoint of ours tells whether it did, by being gone.
func (c *conn) forwardWatched(ctx context.Context, k *call) (outcome, error) {
	if x := c.Open(); x == nil || !x.KeepsPending() {
		return k.forward(ctx, k.text)
	}
	if _, err := c.Do(ctx, "SAVEPOINT "+fold.OwnSavepoint); err != nil {
		return outcome{}, err
	}
	check := func(err error) error {
		if !c.Begun() { // it is over, and the savepoint with it
			return err
		}
		if _, rerr := c.Do(context.WithoutCancel(ctx), "RELEASE SAVEPOINT "+fold.OwnSavepoint); mysqlerr.Number(rerr) != mysqlerr.ErrNoSavepoint {
			return cmp.Or(err, rerr)
		}
		c.Abandon()
		return errors.New("countermysql: a routine went back to a savepoint that was set after increments; the transaction is rolled back")
	}
	out, err := k.forward(ctx, k.text)
	if out.rows != nil {
		out.rows = answer.Over(out.rows).Then(check)
		return out, err
	}
	return out, check(err)
}
