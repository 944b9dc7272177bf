package countermysql

import (
	"context"
	"database/sql/driver"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/ddl"
	"github.com/countermysql/countermysql/internal/exact"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/read"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// conn is a session of the application's: it looks up the plan of each statement, binds
// and runs it. What concerns no statement, internal/session does. Like every driver.Conn it
// is used by one goroutine at a time.
type conn struct {
	*read.Reader
	connector *Connector
	ddl       *ddl.Definer // in the same session
	buffering
}

// buffering is the memory of increments that go to a buffer, from one to the next.
type buffering struct {
	waiting call
	merged  []driver.NamedValue
	key     []byte
}

var (
	_ driver.Conn               = (*conn)(nil)
	_ driver.ConnBeginTx        = (*conn)(nil)
	_ driver.ConnPrepareContext = (*conn)(nil)
	_ driver.ExecerContext      = (*conn)(nil)
	_ driver.QueryerContext     = (*conn)(nil)
	_ driver.NamedValueChecker  = (*conn)(nil)
	_ driver.Pinger             = (*conn)(nil)
	_ driver.SessionResetter    = (*conn)(nil)
	_ driver.Validator          = (*conn)(nil)

	_ execer  = (*conn)(nil)
	_ queryer = (*conn)(nil)
)

// What database/sql/driver has deprecated, by its names there: go-sql-driver has it too, for
// callers of Raw.
type (
	execer interface {
		Exec(query string, args []driver.Value) (driver.Result, error)
	}
	queryer interface {
		Query(query string, args []driver.Value) (driver.Rows, error)
	}
	columnConverter interface {
		ColumnConverter(i int) driver.ValueConverter
	}
)

// planOf returns the plan of a text, which may have been prepared; nil: it has not.
func (c *conn) planOf(ctx context.Context, text string, prepared *stmt) (planUse, error) {
	c.Spend()
	if c.LevelKept && !sqltext.AsksOfLast(sqltext.Tokenize(text, c.Settings.Mode)) {
		if err := session.SetLevelBack(ctx, c.Session); err != nil {
			return planUse{}, err
		}
	}
	s, err := c.SchemaFor(ctx, text)
	if err != nil {
		if s = c.connector.watcher.Current(); s == nil || ctx.Err() != nil || c.connector.watcher.Changed() {
			return planUse{}, c.Cut(ctx, err)
		}
	}
	p := c.planIn(s, text)
	if err != nil && p.Named { // all else goes on without a look-up connection, when the server has no more of them
		return planUse{}, err
	}
	if c.Role {
		if err := c.SeesMore(ctx, s, text); err != nil {
			return planUse{}, err
		}
	}
	if _, back := p.Effect.(sqltext.Rollback); !back {
		if err := c.Adopt(ctx, s); err != nil {
			return planUse{}, err
		}
	}
	if p.Named && c.Stale {
		if err := c.ReadSettings(ctx, s); err != nil {
			return planUse{}, err
		}
		p = c.planIn(s, text)
	}
	if p.Named {
		if err := c.Settings.Readable(); err != nil {
			return planUse{}, err
		}
	}
	if prepared != nil && p.Named && !prepared.current() {
		p = c.connector.planBy(planKey{s, prepared.settings.Mode, text, prepared.settings.DB})
		p.Plan = p.AsPrepared()
	}
	if _, calls := p.Effect.(sqltext.Call); p.Fallback || calls && p.Class() == plan.ClassExact && p.Encounter == nil { // CALL, or no verb that is known
		if err := c.SendBegin(ctx); err != nil { // as it is sent before any other statement
			return planUse{}, err
		}
		p = c.understood(ctx, p, text)
		if err := c.Untold(); err != nil { // or it would be taken for the statement's, and sent again
			return planUse{}, err
		}
	}
	if c.Next != "" && !c.InTransaction() {
		c.Spent = p.Effect == nil && sqltext.UsesTables(sqltext.Tokenize(text, c.Settings.Mode))
	}
	return p, nil
}

// ExecContext runs a statement.
func (c *conn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	out, err := c.execute(ctx, text, nil, args, false)
	return out.Result, session.InTime(ctx, err)
}

// QueryContext runs a statement that may return rows.
func (c *conn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	out, err := c.execute(ctx, text, nil, args, true)
	return out.Rows, session.InTime(ctx, err)
}

// execute runs a statement of the application's, sent as text or prepared.
func (c *conn) execute(ctx context.Context, text string, prepared *stmt, args []driver.NamedValue, rows bool) (answer.Outcome, error) {
	p, err := c.planOf(ctx, text, prepared)
	if err != nil {
		return answer.Outcome{}, err
	}
	k := call{conn: c, planUse: p, text: text, args: args, stmt: prepared, rows: rows}
	if p.state.buffer != nil {
		if out, done, err := c.acknowledge(ctx, k); done {
			return out, err
		}
	}
	if p.Increment() == nil {
		c.Open().Other()
	}
	if !p.Simple {
		own := k // which is allocated: what is simple is not
		return c.run(ctx, &own)
	}
	if p.Named {
		c.connector.stats.Verbatim.Add(1)
	}
	if rows {
		if err := c.KeepPromises(ctx); err != nil {
			return answer.Outcome{}, err
		}
	}
	if err := c.SendBegin(ctx); err != nil {
		return answer.Outcome{}, err
	}
	out, err := k.try(ctx, text, args)
	c.HasSnapshot = c.HasSnapshot || p.Fixes && err == nil
	out.Rows = c.Watched(out.Rows)
	return out, c.noted(err)
}

// noted passes on the answer to a statement of the user's.
func (c *conn) noted(err error) error {
	if err == nil || exact.NamesSlots(err) { // which is an answer
		return err
	}
	return c.Failed(err)
}

// Exec is for callers of Raw; database/sql uses ExecContext.
func (c *conn) Exec(text string, args []driver.Value) (driver.Result, error) {
	return c.ExecContext(context.Background(), text, named(args))
}

// Query is for callers of Raw; database/sql uses QueryContext.
func (c *conn) Query(text string, args []driver.Value) (driver.Rows, error) {
	return c.QueryContext(context.Background(), text, named(args))
}

func named(args []driver.Value) []driver.NamedValue {
	out := make([]driver.NamedValue, len(args))
	for i, v := range args {
		out[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return out
}

// Prepare prepares a statement; database/sql uses PrepareContext.
func (c *conn) Prepare(text string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), text)
}

// PrepareContext prepares the statement as it is, so that it fails as it
// would; what is sent in its place is decided at each execution.
func (c *conn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	raw, err := c.Raw.(driver.ConnPrepareContext).PrepareContext(ctx, text)
	if err != nil {
		return nil, c.Failed(err)
	}
	if s := c.connector.watcher.Current(); c.Stale && s != nil && s.Mentions(text) {
		err := c.ReadSettings(ctx, s)
		if err == nil {
			err = c.Settings.Readable()
		}
		if err != nil {
			raw.Close()
			return nil, err
		}
	}
	return &stmt{conn: c, text: text, raw: raw, settings: c.Settings}, nil
}
