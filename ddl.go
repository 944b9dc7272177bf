package countermysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// runDDL executes a statement that ends a transaction: what it needs of the
// slots goes with it.
func (c *conn) runDDL(ctx context.Context, k *call) (outcome, error) {
	p := k.plan
	if p.kind == kindDDL || p.kind == kindImplicit {
		defer c.connector.ddl.Add(1)
	}
	if p.kind == kindDDL && (p.named || ofDatabase(k.text, c.session.mode)) {
		// learned before the caller hears of the change; others go on meanwhile
		defer func() {
			if _, err := c.connector.learn(context.WithoutCancel(ctx)); err != nil {
				c.connector.changes.Add(1)
			}
		}()
	}
	toks := tokenize(k.text, c.session.mode)
	if locksTables(toks) {
		return c.runLock(ctx, k)
	}
	if c.locked || c.elsewhere {
		out, err := k.forward(ctx, k.text)
		if err == nil && p.kind == kindBegin && !toks[0].is("XA") {
			c.locked, c.elsewhere = false, false // BEGIN unlocks
		}
		return out, err
	}
	if (p.scopes != nil || p.dropped != nil) && c.inTransaction() {
		if err := k.parses(ctx); err != nil { // or it would be committed for nothing
			return outcome{}, c.noted(err)
		}
	}
	if p.dropped != nil {
		return c.drop(ctx, k)
	}
	for _, s := range p.scopes {
		if err := c.rollUpCommitted(ctx, s.t); err != nil {
			return outcome{}, err
		}
	}
	out, err := c.alter(ctx, k, toks)
	if err == nil && toks[0].is("DROP") {
		err = c.unhide(ctx, toks) // a temporary table is dropped first
	} else if err == nil {
		err = c.renamed(ctx, toks)
	}
	return out, err
}

// ofDatabase reports whether a DDL statement changes a whole database.
func ofDatabase(text string, mode lexMode) bool {
	return slices.ContainsFunc(tokenize(text, mode), func(t token) bool { return t.is("DATABASE") || t.is("SCHEMA") })
}

// rollUpCommitted commits the transaction that the statement is about to commit
// anyway, so that its increments are seen, and rolls up a table.
func (c *conn) rollUpCommitted(ctx context.Context, t *table) error {
	if c.inTransaction() {
		if _, err := c.do(ctx, commit); err != nil {
			return err
		}
	}
	c.ended()
	return c.rollUp(ctx, t)
}

// truncates tells a TRUNCATE from a DROP TABLE.
func (k *call) truncates() bool {
	return strings.EqualFold(tokenize(k.text, k.conn.session.mode)[0].name, "TRUNCATE")
}

// endSQL ends the slots as TRUNCATE or DROP TABLE has ended the base rows.
func (t *table) endSQL(truncate bool) string {
	if truncate {
		return "TRUNCATE TABLE " + t.slots()
	}
	return "DROP TABLE IF EXISTS " + t.slots()
}

// drop executes DROP TABLE and TRUNCATE: the slots go too. Nobody gets in between
// to fill an emptied table, whose increments would go with the slots.
func (c *conn) drop(ctx context.Context, k *call) (_ outcome, err error) {
	truncate := k.truncates()
	if truncate && len(k.plan.dropped) == 1 {
		t := k.plan.dropped[0]
		switch _, lerr := c.do(ctx, "LOCK TABLES "+t.base()+" WRITE, "+t.slots()+" WRITE"); {
		case lerr == nil:
			defer func() {
				if _, uerr := c.do(context.WithoutCancel(ctx), "UNLOCK TABLES"); err == nil {
					err = uerr
				}
			}()
		case errorNumber(lerr) == 0, errorNumber(lerr) == errLockWait:
			return outcome{}, lerr
		} // a missing privilege, say: then it has to do without
	}
	out, err := k.forward(ctx, k.text)
	missing := !truncate && errorNumber(err) == errUnknownTable // MariaDB has dropped the others
	if err != nil && !missing {
		return out, err
	}
	if out.rows != nil { // nothing else can be sent while they are open
		if err := out.rows.Close(); err != nil {
			return outcome{}, err
		}
		out.rows = noRows{}
	}
	for _, t := range k.plan.dropped {
		if missing {
			if _, rerr := c.read(ctx, "SELECT 1 FROM "+t.base()+" LIMIT 0"); errorNumber(rerr) != errNoTable {
				continue
			}
		}
		if _, derr := c.do(ctx, t.endSQL(truncate)); derr != nil {
			return out, derr
		}
	}
	if truncate || err != nil {
		return out, err
	}
	return out, c.unhide(ctx, tokenize(k.text, c.session.mode))
}

// runSplit executes a text of several statements one by one, as the server
// would: what went before an error stays done.
func (c *conn) runSplit(ctx context.Context, k *call) (outcome, error) {
	if k.rows {
		rows := &splitRows{conn: c, ctx: ctx, texts: k.plan.split, args: k.args}
		return outcome{rows: rows}, rows.first()
	}
	all := &result{}
	args := k.args
	for _, text := range k.plan.split {
		var own []driver.NamedValue
		own, args = splitArgs(text, c.session.mode, args)
		res, err := c.ExecContext(ctx, text, own)
		if err != nil {
			return outcome{}, notAgain(err, len(all.affected) > 0)
		}
		n, _ := res.RowsAffected()
		id, _ := res.LastInsertId()
		all.affected, all.ids = append(all.affected, n), append(all.ids, id)
	}
	return outcome{res: all}, nil
}

// notAgain keeps database/sql from sending the whole text once more on another
// connection where a part of it is done.
func notAgain(err error, begun bool) error {
	if begun && errors.Is(err, driver.ErrBadConn) {
		return mysql.ErrInvalidConn
	}
	return err
}

func splitArgs(text string, mode lexMode, args []driver.NamedValue) (own, rest []driver.NamedValue) {
	n := min(parameters(text, mode), len(args))
	return args[:n], args[n:]
}

// parameters is the number of ? in a text.
func parameters(text string, mode lexMode) int {
	n := 0
	for _, t := range tokenize(text, mode) {
		if t.kind == tokParam {
			n++
		}
	}
	return n
}

// splitRows are the result sets of several statements, each run when it is
// asked for. Like go-sql-driver's they skip statements without rows.
type splitRows struct {
	physicalRows
	conn  *conn
	ctx   context.Context
	texts []string
	args  []driver.NamedValue
	begun bool // a statement was run
}

// Close runs the statements that nobody asked for, as the server would have.
func (r *splitRows) Close() error {
	for {
		if err := r.NextResultSet(); err != nil {
			break // io.EOF, or an error that nobody waits for
		}
	}
	return r.physicalRows.Close()
}

func (r *splitRows) first() error {
	err := r.NextResultSet()
	if errors.Is(err, io.EOF) {
		r.physicalRows = noRows{}
		return nil
	}
	return err
}

func (r *splitRows) HasNextResultSet() bool {
	return len(r.texts) > 0 || r.physicalRows.HasNextResultSet()
}

func (r *splitRows) Next(dest []driver.Value) error {
	err := r.physicalRows.Next(dest)
	if err != nil && !errors.Is(err, io.EOF) {
		r.texts = nil
	}
	return err
}

// NextResultSet runs statements up to the next that has rows. Like the server it
// stops for good at the first error.
func (r *splitRows) NextResultSet() error {
	err := r.next()
	if err != nil {
		r.texts = nil
	}
	return err
}

func (r *splitRows) next() error {
	if r.physicalRows != nil {
		if r.physicalRows.HasNextResultSet() {
			return r.physicalRows.NextResultSet()
		}
		if err := r.physicalRows.Close(); err != nil {
			return err
		}
	}
	for len(r.texts) > 0 {
		text := r.texts[0]
		r.texts = r.texts[1:]
		var own []driver.NamedValue
		own, r.args = splitArgs(text, r.conn.session.mode, r.args)
		rows, err := r.conn.QueryContext(r.ctx, text, own)
		if err != nil {
			return notAgain(err, r.begun)
		}
		r.begun = true
		if p, ok := rows.(physicalRows); ok && len(rows.Columns()) > 0 {
			r.physicalRows = p
			return nil
		}
		if err := rows.Close(); err != nil {
			return err
		}
	}
	r.physicalRows = noRows{}
	return io.EOF
}
