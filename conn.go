package countermysql

import (
	"cmp"
	"context"
	"database/sql/driver"
	"reflect"

	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/traffic"
)

// conn is one session: it looks up the plan of each statement, binds and runs it.
// Like every driver.Conn it is used by one goroutine at a time.
type conn struct {
	connector *Connector
	raw       driver.Conn // go-sql-driver's, or the interceptor's wrapper around it
	below     driver.Conn // go-sql-driver's
	execer    driver.ExecerContext
	queryer   driver.QueryerContext
	status    reflect.Value // of go-sql-driver's connection: the server's status flags
	closed    func() error  // at its end; nil: nothing

	// For as long as the session:
	session   session
	initial   session // as the DSN made it
	literals  sqltext.Encoder
	dirty     bool            // it may have changed: probe before the next counter statement
	changed   bool            // a statement of the application's has changed it
	clock     bool            // and perhaps its clock: SET timestamp
	role      bool            // and perhaps its privileges: SET ROLE
	temporary map[string]bool // names of temporary tables that it has made, in small letters
	locks     bool            // LOCK TABLES holds: of other tables, or for DDL of ours
	broken    error           // the end of a context, which has closed the connection
	untold    error           // why the driver has closed it, if the application does not know yet

	// For as long as the transaction:
	openTransaction
	leased traffic.Held // slots in use

	// From one statement to the next:
	spent      bool             // it was the transaction that SET TRANSACTION has spoken of
	locking    bool             // a query with locks of its own runs
	discarding *plan.Discarding // a statement that discards counters runs
	filler     plan.Filler
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
	//nolint:staticcheck // go-sql-driver has them too, for callers of Raw
	_ driver.Execer = (*conn)(nil)
	//nolint:staticcheck // likewise
	_ driver.Queryer = (*conn)(nil)
)

// Unwrap returns go-sql-driver's own connection. What is sent through it is
// not seen by countermysql.
func (c *conn) Unwrap() driver.Conn {
	_ = c.begin(context.Background()) // if it fails, so does what is sent next
	return c.below
}

// plan returns the plan of a text.
func (c *conn) plan(ctx context.Context, text string) (planUse, error) {
	return c.planOf(ctx, text, nil)
}

// planOf is plan for a text that may have been prepared.
func (c *conn) planOf(ctx context.Context, text string, prepared *stmt) (planUse, error) {
	c.spend()
	s, err := c.schemaFor(ctx, text)
	if err != nil {
		if s = c.connector.current.Load(); s == nil || ctx.Err() != nil || c.connector.changed() {
			return planUse{}, c.cut(ctx, err)
		}
	}
	p := c.planIn(s, text)
	if err != nil && p.Named { // all else goes on without a look-up connection, when the server has no more of them
		return planUse{}, err
	}
	if c.role {
		if err := c.seesMore(ctx, s, text); err != nil {
			return planUse{}, err
		}
	}
	if p.Kind != sqltext.EffectRollback {
		if err := c.adopt(ctx, s); err != nil {
			return planUse{}, err
		}
	}
	if p.Named && c.dirty {
		if err := c.probe(ctx, s); err != nil {
			return planUse{}, err
		}
		p = c.planIn(s, text)
	}
	if p.Named {
		if err := c.session.readable(); err != nil {
			return planUse{}, err
		}
	}
	if prepared != nil && p.Named && !prepared.current() {
		p = c.planBy(planKey{s, text, prepared.session.mode, prepared.session.db})
		p.Plan = p.AsPrepared()
	}
	if c.next != "" && !c.inTransaction() {
		c.spent = p.Kind == sqltext.NoEffect && sqltext.UsesTables(sqltext.Tokenize(text, c.session.mode))
	}
	return p, nil
}

// ExecContext runs a statement.
func (c *conn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	out, err := c.execute(ctx, text, nil, args, false)
	return out.res, err
}

// QueryContext runs a statement that may return rows.
func (c *conn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	out, err := c.execute(ctx, text, nil, args, true)
	return out.rows, err
}

// execute runs a statement of the application's, sent as text or prepared.
func (c *conn) execute(ctx context.Context, text string, prepared *stmt, args []driver.NamedValue, rows bool) (outcome, error) {
	p, err := c.planOf(ctx, text, prepared)
	if err != nil {
		return outcome{}, err
	}
	if !p.Simple {
		return c.run(ctx, &call{conn: c, planUse: p, text: text, args: args, stmt: prepared, rows: rows})
	}
	if p.Named {
		c.connector.stats.Verbatim.Add(1)
	}
	if rows {
		if err := c.keepPromises(ctx); err != nil {
			return outcome{}, err
		}
	}
	if err := c.begin(ctx); err != nil {
		return outcome{}, err
	}
	k := call{conn: c, planUse: p, text: text, args: args, stmt: prepared, rows: rows} // that of run is allocated
	out, err := k.try(ctx, text, args)
	c.fixed = c.fixed || p.Fixes && err == nil
	out.rows = c.watched(out.rows)
	return out, c.noted(err)
}

// noted passes on the answer to a statement of the user's.
func (c *conn) noted(err error) error {
	if err == nil || namesSlots(err) { // which is an answer
		return err
	}
	return c.failed(err)
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
	raw, err := c.raw.(driver.ConnPrepareContext).PrepareContext(ctx, text)
	if err != nil {
		return nil, c.failed(err)
	}
	if s := c.connector.current.Load(); c.dirty && s != nil && s.Mentions(text) {
		err := c.probe(ctx, s)
		if err == nil {
			err = c.session.readable()
		}
		if err != nil {
			raw.Close()
			return nil, err
		}
	}
	return &stmt{conn: c, text: text, raw: raw, session: c.session}, nil
}

// CheckNamedValue converts an argument as go-sql-driver does.
func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	return c.raw.(driver.NamedValueChecker).CheckNamedValue(v)
}

// Ping asks the server for a sign of life.
func (c *conn) Ping(ctx context.Context) error {
	return c.failed(c.raw.(driver.Pinger).Ping(ctx))
}

// ResetSession prepares the connection for its next user.
func (c *conn) ResetSession(ctx context.Context) error {
	if r, ok := c.raw.(driver.SessionResetter); ok {
		return r.ResetSession(ctx)
	}
	return nil
}

// IsValid reports whether the connection may go back to the pool. One that is
// returned inside a transaction may not: closing it is what rolls back.
func (c *conn) IsValid() bool {
	if c.inTransaction() && c.autocommit() || c.tx != nil && len(c.tx.unsent()) > 0 {
		return false
	}
	v, ok := c.raw.(driver.Validator)
	return !ok || v.IsValid()
}

// Close ends the session.
func (c *conn) Close() error {
	c.ended()
	if c.lost() {
		return nil // its deputy closes it
	}
	err := c.raw.Close()
	c.connector.left()
	if c.closed != nil {
		err = cmp.Or(err, c.closed())
		c.closed = nil
	}
	return err
}
