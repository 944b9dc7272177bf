package countermysql

import (
	"cmp"
	"context"
	"database/sql/driver"
	"fmt"
	"reflect"
	"strings"
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

	session   session
	initial   session // as the DSN made it
	literals  literals
	dirty     bool   // the session may have changed: probe before the next counter statement
	locked    bool   // LOCK TABLES holds
	elsewhere bool   // it holds other tables only: ours can't be used
	next      string // isolation level of SET TRANSACTION, for the next transaction
	spent     bool   // the last statement was that transaction
	fixed     bool   // the transaction has a snapshot
	xaEnded   bool   // XA END: until the transaction is over the server refuses all else
	tx        *txState
	unbegun   *handle // the transaction whose BEGIN is not sent yet
	broken    error   // the end of a context, which has closed the connection
	changed   bool    // a statement of the application's has changed the session
	clock     bool    // and perhaps its clock: SET timestamp

	filler   filler
	lastRows rowCount // of the last statement, where the server has another
	leased   []lease  // slots in use

	types     map[*plan]*typesCache // asked by a session that was changed
	temporary map[string]bool       // names of temporary tables made here, in small letters
	hidden    map[string]bool       // counter tables whose names they have taken
	visible   *schema               // the schema without those
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

// Flags of the server's status (https://dev.mysql.com/doc/dev/mysql-server/latest/mysql__com_8h.html).
const (
	statusInTransaction = 1 << 0
	statusAutocommit    = 1 << 1
	statusReadOnly      = 1 << 13
)

func (c *conn) autocommit() bool { return c.status.Uint()&statusAutocommit != 0 }

// inTransaction reports whether the next statement belongs to a transaction
// that somebody else ends.
func (c *conn) inTransaction() bool {
	return c.unbegun != nil || c.begun() || !c.autocommit()
}

// begun reports whether a transaction is open on the server.
func (c *conn) begun() bool { return c.status.Uint()&statusInTransaction != 0 }

// readOnly reports whether the open transaction refuses writes; then the
// server says so at once.
func (c *conn) readOnly() bool { return c.status.Uint()&statusReadOnly != 0 }

// transaction returns the state of the open transaction.
func (c *conn) transaction() *txState {
	if c.tx == nil {
		c.tx = newTx(c.level())
	}
	return c.tx
}

// level is the isolation level of the open or the next transaction.
func (c *conn) level() string {
	if c.tx != nil {
		return c.tx.isolation
	}
	return cmp.Or(c.next, c.session.isolation)
}

// spend forgets what SET TRANSACTION said of the next transaction, if the last
// statement was that.
func (c *conn) spend() {
	if c.spent && !c.inTransaction() {
		c.next = ""
	}
	c.spent = false
}

// ended forgets the transaction.
func (c *conn) ended() {
	if c.tx != nil {
		c.connector.stats.pending.Add(-c.tx.increments)
	}
	c.tx, c.unbegun, c.next, c.fixed, c.xaEnded = nil, nil, "", false, false
	c.unlease()
}

// endedByUser forgets the transaction that the application has ended. Where that has
// begun another one, by AND CHAIN or completion_type, it has the same isolation level.
func (c *conn) endedByUser() {
	level := c.level()
	c.ended()
	if c.begun() {
		c.next = level
	}
}

// failed notes an error. It may have ended the transaction (a deadlock, DDL that
// commits and then fails), which the server does not tell with it.
func (c *conn) failed(err error) error {
	n := errorNumber(err)
	if n == 0 {
		return err
	}
	c.connector.stats.failed(n)
	if c.begun() && c.askStatus() == nil && !c.begun() {
		c.ended()
	}
	return err
}

// askStatus asks for the status flags, which an error does not bring, by a
// statement that leaves warnings and ROW_COUNT() as they are.
func (c *conn) askStatus() error {
	ctx, cancel := context.WithTimeout(context.Background(), linger)
	defer cancel()
	rows, err := c.queryer.QueryContext(ctx, "SHOW WARNINGS LIMIT 0", nil)
	if err != nil {
		return err
	}
	return rows.Close()
}

// plan returns the plan of a text.
func (c *conn) plan(ctx context.Context, text string) (planUse, error) {
	return c.planOf(ctx, text, nil)
}

// planOf is plan for a text that may have been prepared.
func (c *conn) planOf(ctx context.Context, text string, prepared *stmt) (planUse, error) {
	c.spend()
	s, err := c.connector.schema(ctx)
	if err != nil {
		if s = c.connector.current.Load(); s == nil || ctx.Err() != nil || c.connector.changed() {
			return planUse{}, c.cut(ctx, err)
		}
	}
	if len(c.hidden) > 0 {
		if c.visible == nil || c.visible.fingerprint != s.fingerprint {
			c.visible = s.without(c.hidden)
		}
		s = c.visible
	}
	p := c.planIn(s, text)
	if err != nil && p.named { // all else goes on without a look-up connection, when the server has no more of them
		return planUse{}, err
	}
	if c.tx != nil && p.kind != kindRollback {
		if t := c.tx.adopt(s); t != nil {
			return planUse{}, c.giveUp(t)
		}
	}
	if p.named && c.dirty {
		if err := c.probe(ctx, s); err != nil {
			return planUse{}, err
		}
		p = c.planIn(s, text)
	}
	if prepared != nil && p.named && !prepared.current() {
		p = c.planBy(s, planKey{text, prepared.session.mode, prepared.session.db})
		p.plan = p.asPrepared()
	}
	if c.next != "" && !c.inTransaction() {
		c.spent = p.kind == kindOther && usesTables(tokenize(text, c.session.mode))
	}
	return p, nil
}

// giveUp rolls the transaction back whose increments can't be counted any more.
func (c *conn) giveUp(t *table) error {
	if c.unbegun == nil {
		c.abandon()
	}
	c.ended()
	return fmt.Errorf("countermysql: the primary key of %s, or the digits of a counter or touch column, were changed while increments were pending; the transaction is rolled back", t)
}

// abandon rolls the transaction back.
func (c *conn) abandon() {
	if _, err := c.do(context.Background(), rollback); err != nil {
		_ = c.raw.Close() // or the application might commit the rest
	}
	c.ended()
}

// ExecContext runs a statement.
func (c *conn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	p, err := c.plan(ctx, text)
	if err != nil {
		return nil, err
	}
	if p.simple {
		c.connector.stats.plain(p.plan)
		if err := c.begin(ctx); err != nil {
			return nil, err
		}
		res, err := c.execer.ExecContext(ctx, text, args)
		c.fixed = c.fixed || p.fixes && err == nil
		return res, c.noted(err)
	}
	out, err := c.run(ctx, &call{conn: c, planUse: p, text: text, args: args})
	return out.res, err
}

// QueryContext runs a statement that may return rows.
func (c *conn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	p, err := c.plan(ctx, text)
	if err != nil {
		return nil, err
	}
	if p.simple {
		c.connector.stats.plain(p.plan)
		if err := c.begin(ctx); err != nil {
			return nil, err
		}
		rows, err := c.queryer.QueryContext(ctx, text, args)
		c.fixed = c.fixed || p.fixes && err == nil
		return c.watched(rows), c.noted(err)
	}
	out, err := c.run(ctx, &call{conn: c, planUse: p, text: text, args: args, rows: true})
	return out.rows, err
}

// noted passes on the answer to a statement of the user's.
func (c *conn) noted(err error) error {
	c.lastRows.known = false
	if err == nil {
		return nil
	}
	return c.failed(err)
}

// rowCount is what ROW_COUNT() has to answer.
type rowCount struct {
	rows  int64
	known bool
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
		return nil, err
	}
	if s := c.connector.current.Load(); c.dirty && s != nil && s.mentions(text) {
		if err := c.probe(ctx, s); err != nil {
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
func (c *conn) Ping(ctx context.Context) error { return c.raw.(driver.Pinger).Ping(ctx) }

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
	if c.inTransaction() && c.autocommit() || c.tx != nil && len(c.tx.tables()) > 0 || c.locked {
		return false
	}
	v, ok := c.raw.(driver.Validator)
	return !ok || v.IsValid()
}

// Close ends the session.
func (c *conn) Close() error {
	c.ended()
	err := c.raw.Close()
	c.connector.left()
	if c.closed != nil {
		err = cmp.Or(err, c.closed())
		c.closed = nil
	}
	return err
}

// digest is a statement's text for the log: short, and without its literals.
func digest(text string) string {
	var b strings.Builder
	at := 0
	for _, t := range tokenize(text, lexMode{}) {
		if b.Len() > 200 {
			return b.String() + "…"
		}
		if t.start > at && b.Len() > 0 {
			b.WriteByte(' ')
		}
		at = t.end
		if t.kind == tokString || t.kind == tokNumber {
			b.WriteByte('?')
			continue
		}
		fmt.Fprint(&b, text[t.start:t.end])
	}
	return b.String()
}
