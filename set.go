package countermysql

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/txn"
)

// seesMore fails if a statement names a configured table that the session sees by a role
// it has set, and the look-up connections don't: its slots would be left out.
func (c *conn) seesMore(ctx context.Context, s *catalog.Schema, stmt string) error {
	for _, spec := range s.Specs {
		t := (&catalog.Table{Spec: spec}).String()
		if !slices.Contains(s.Unknown, t) || !strings.Contains(strings.ToLower(stmt), strings.ToLower(spec.Name)) {
			continue
		}
		if c.asks(ctx, sqltext.Quote(spec.DB)+"."+sqltext.Quote(spec.Name)) != 0 {
			continue // so does the statement itself
		}
		if now, err := c.connector.watcher.Refresh(ctx); err != nil || !slices.Contains(now.Unknown, t) { // somebody has made it
			continue
		}
		return &UnfitError{Table: t, Reasons: []string{"the driver's look-up connections, which have not the role that this session has set, don't see it; make that the user's default role (SET DEFAULT ROLE)"}}
	}
	return nil
}

// settleTexts applies what is pending before such a SET, as its keys, times and
// conditions are texts, and forgets by which texts rows were written.
func (c *conn) settleTexts(ctx context.Context, text string) error {
	if c.Tx == nil || !slices.ContainsFunc(sqltext.Tokenize(text, c.Settings.Mode), func(t sqltext.Token) bool {
		return sqltext.Rereads[strings.ToUpper(t.Variable())]
	}) {
		return nil
	}
	for _, w := range c.Tx.Written {
		zoned := slices.ContainsFunc(w.Table.Unique, func(k catalog.UniqueKey) bool {
			return slices.ContainsFunc(k.Columns, func(c *catalog.Column) bool { return c.DataType == "timestamp" })
		})
		if slices.ContainsFunc(w.Rows, func(r txn.WrittenRow) bool {
			return zoned || !catalog.Ascii(r.Base) || strings.ContainsRune(r.Base, '\\')
		}) {
			w.SetUnbounded()
		}
	}
	return c.ApplyAll(ctx)
}

// runAutocommit executes SET autocommit. To switch it on commits, and where the text does
// not tell the value it may do so.
func (c *conn) runAutocommit(ctx context.Context, k *call) (outcome, error) {
	if err := c.MayChange(ctx, k.text); err != nil {
		return outcome{}, err
	}
	switch {
	case k.Plan.Class == plan.Exact: // it reads counters as well
		return c.runAnything(ctx, k)
	case k.Plan.Arg == "on" && !c.Autocommit():
		return c.runCommit(ctx, k)
	case k.Plan.Arg != "off":
		return c.runAnything(ctx, k)
	}
	if err := c.settleTexts(ctx, k.text); err != nil {
		return outcome{}, err
	}
	out, err := k.forward(ctx, k.text)
	c.HasSnapshot = c.HasSnapshot || k.Plan.Fixes && err == nil
	return out, err
}

// runSet executes a SET of anything else, and USE.
func (c *conn) runSet(ctx context.Context, k *call) (outcome, error) {
	if err := c.MayChange(ctx, k.text); err != nil {
		return outcome{}, err
	}
	if err := c.settleTexts(ctx, k.text); err != nil {
		return outcome{}, err
	}
	out, err := c.runData(ctx, k)
	if err == nil && !c.Begun() && sqltext.SetsLevel(sqltext.Tokenize(k.text, c.Settings.Mode)) {
		c.Next = ""
	}
	return out, err
}

// runSetTransaction executes SET TRANSACTION, and SET @@transaction_isolation, for the
// next transaction.
func (c *conn) runSetTransaction(ctx context.Context, k *call) (outcome, error) {
	level := k.Plan.Arg
	if level == sqltext.ByVariable { // other settings may stand beside it
		if err := c.MayChange(ctx, k.text); err != nil {
			return outcome{}, err
		}
		level = c.nextLevel(ctx, k.text)
		if k.Plan.Class == plan.Exact {
			if err := c.settleAll(ctx, k); err != nil {
				return outcome{}, err
			}
		}
	}
	out, err := k.forward(ctx, k.text)
	switch {
	case err != nil:
	case level != "":
		c.Next = level
	case c.Next == "": // READ ONLY: nobody else may run what comes next
		c.Next = c.Settings.Isolation
	}
	return out, err
}

// NextLevel is the level that SET @@transaction_isolation gives the next transaction.
// The server would not tell it afterwards.
func (c *conn) nextLevel(ctx context.Context, text string) string {
	level := sqltext.NextLevel(text, c.Settings.Mode)
	if level == "" || c.Begun() { // then it is refused
		return ""
	}
	rows, err := c.Read(ctx, "SELECT CAST("+level+" AS CHAR) LIMIT 1")
	if err != nil {
		return "" // the statement itself says what is wrong
	}
	level = strings.ToUpper(strings.ReplaceAll(rows[0][0], "-", " "))
	if n, err := strconv.Atoi(level); err == nil && 0 <= n && n < len(sqltext.Levels) {
		level = sqltext.Levels[n]
	}
	return level
}
