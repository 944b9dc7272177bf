package countermysql

import (
	"context"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// runAutocommit executes SET autocommit. To switch it on commits, and where the text does
// not tell the value it may do so.
func (c *conn) runAutocommit(ctx context.Context, k *call, e sqltext.SetAutocommit) (answer.Outcome, error) {
	if err := c.MayChange(ctx, k.text); err != nil {
		return answer.Outcome{}, err
	}
	switch {
	case k.Plan.Class() == plan.ClassExact: // it reads counters as well
		return c.runAnything(ctx, k)
	case e.On && !c.Autocommit():
		return c.runCommit(ctx, k)
	case !e.Off:
		return c.runAnything(ctx, k)
	}
	if err := c.SettleTexts(ctx, k.text); err != nil {
		return answer.Outcome{}, err
	}
	out, err := k.Send(ctx, k.text)
	c.HasSnapshot = c.HasSnapshot || k.Plan.Fixes && err == nil
	return out, err
}

// runSet executes a SET of anything else, and USE.
func (c *conn) runSet(ctx context.Context, k *call) (answer.Outcome, error) {
	if err := c.MayChange(ctx, k.text); err != nil {
		return answer.Outcome{}, err
	}
	if err := c.SettleTexts(ctx, k.text); err != nil {
		return answer.Outcome{}, err
	}
	out, err := c.runData(ctx, k)
	if err == nil && !c.Begun() && sqltext.SetsLevel(sqltext.Tokenize(k.text, c.Settings.Mode)) {
		c.Next = ""
	}
	return out, err
}

// runSetTransaction executes SET TRANSACTION, and SET @@transaction_isolation, for the
// next transaction.
func (c *conn) runSetTransaction(ctx context.Context, k *call, e sqltext.SetTransaction) (answer.Outcome, error) {
	level := e.Level
	if e.ByVariable { // other settings may stand beside it
		if err := c.MayChange(ctx, k.text); err != nil {
			return answer.Outcome{}, err
		}
		level = c.NextLevel(ctx, k.text)
		if k.Plan.Class() == plan.ClassExact {
			if _, err := c.SettleAll(ctx, k.Plan); err != nil {
				return answer.Outcome{}, err
			}
		}
	}
	out, err := k.Send(ctx, k.text)
	switch {
	case err != nil:
	case level != "":
		c.Next = level
	case c.Next == "": // READ ONLY: nobody else may run what comes next
		c.Next = c.Settings.Isolation
	}
	return out, err
}
