package countermysql

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
)

// openTransaction is what is known of the transaction until it ends; the zero value is
// that of none.
type openTransaction struct {
	ctx     context.Context // of BeginTx; nil: it was begun by text
	next    string          // the level that SET TRANSACTION or BeginTx gives it, or the next one; "": the session's
	unbegun *handle         // its BEGIN is not sent yet
	fixed   bool            // it has a snapshot
	xaEnded bool            // XA END: until it is over the server refuses all else
	tx      *txState        // what it has done to counter tables; nil: nothing yet
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

// implies reports whether the next statement that uses a table begins a transaction:
// with autocommit = 0.
func (c *conn) implies() bool { return !c.autocommit() && !c.begun() }

// readOnly reports whether the open transaction refuses writes; then the
// server says so at once.
func (c *conn) readOnly() bool { return c.status.Uint()&statusReadOnly != 0 }

// transaction is open where something is to be noted of the transaction.
func (c *conn) transaction() *txState {
	if c.tx == nil {
		c.tx = newTx(c.level())
	}
	return c.tx
}

// open is what the open transaction has done to counter tables; nil: nothing yet, or
// none is open.
func (c *conn) open() *txState {
	if !c.inTransaction() {
		return nil
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

// begins is what SET TRANSACTION has said of a transaction that begins now. What it has
// said of the one that is open holds for that, too, where MySQL's BEGIN ends it.
func (c *conn) begins() string {
	c.spend()
	if s := c.connector.watcher.Current(); s != nil && s.Server.MariaDB && c.begun() {
		return ""
	}
	return c.next
}

// ended forgets the transaction.
func (c *conn) ended() {
	if c.tx != nil {
		c.connector.stats.Pending.Add(-c.tx.increments)
		c.tx.endPromises()
	}
	c.openTransaction = openTransaction{}
	c.leased.Release()
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
// commits and then fails), which the server does not tell with it. What is sent on a
// connection that was given up fails by the error for which it was.
func (c *conn) failed(err error) error {
	n := mysqlerr.Number(err)
	if n == 0 {
		if why := c.untold; err != nil && why != nil {
			c.untold = nil
			return why
		}
		return err
	}
	c.connector.stats.Failed(n)
	if s := c.connector.watcher.Current(); s != nil && (n == mysqlerr.ErrNoIndex || n == mysqlerr.ErrNoTable && slices.ContainsFunc(s.All(), func(t *catalog.Table) bool {
		return strings.Contains(err.Error(), "."+t.Spec.SlotsTable+"'")
	})) {
		c.connector.watcher.NoteChange() // nobody but the driver names these: another process has changed them
	}
	if c.begun() {
		if serr := c.askStatus(); serr != nil {
			c.lose(serr)
		} else if !c.begun() {
			c.ended()
		}
	}
	return err
}

// overlook notes an error that the application need not know of: a statement of the
// driver's has failed without which it can do. If that has ended the transaction, what
// comes next would be committed by itself.
func (c *conn) overlook(err error) {
	if begun := c.begun(); err != nil && c.failed(err) != nil && begun && !c.begun() {
		c.lose(err)
	}
}

// lose gives the connection up, so that the server rolls its transaction back, and tells
// whoever comes next why.
func (c *conn) lose(err error) {
	if !c.usable() {
		return // it was closed before
	}
	_ = c.raw.Close()
	if c.untold = err; mysqlerr.Number(err) == 0 {
		c.untold = mysql.ErrInvalidConn
	}
}

// askStatus asks for the status flags, which an error does not bring, by a
// statement that leaves warnings as they are.
func (c *conn) askStatus() error {
	ctx, cancel := context.WithTimeout(context.Background(), linger)
	defer cancel()
	rows, err := c.queryer.QueryContext(ctx, "SHOW WARNINGS LIMIT 0", nil)
	if err != nil {
		return err
	}
	return rows.Close()
}

// adopt makes the transaction go over to a schema that was learned while it was open: it has
// not locked what it has only incremented, which others may alter. Where what it remembers of
// a table would be wrong of that now, it is rolled back.
func (c *conn) adopt(ctx context.Context, s *catalog.Schema) error {
	x := c.tx
	if x == nil || x.schema == s {
		return nil
	}
	if t := x.redefined(s); t != nil {
		return c.asDeadlock("the key, a counter or a touch column of " + t.String() + " has been changed meanwhile")
	}
	if x.outdated(s) {
		if err := c.keepPromises(ctx); err != nil {
			return err
		}
	}
	x.goOver(s)
	return nil
}

// abandon rolls the transaction back.
func (c *conn) abandon() {
	_ = c.rollBack()
	c.ended()
}

// rollBack rolls back what is not to be committed. A connection on which that fails is
// closed, or the application might commit it.
func (c *conn) rollBack() error {
	_, err := c.do(context.Background(), rollback)
	if err != nil && c.begun() {
		_ = c.raw.Close()
	}
	return err
}
