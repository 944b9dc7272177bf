package countermysql

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// isolation levels as the server names them
// (https://dev.mysql.com/doc/refman/8.4/en/innodb-transaction-isolation-levels.html).
const (
	repeatableRead = "REPEATABLE READ"
	serializable   = "SERIALIZABLE"
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
	if s := c.connector.current.Load(); s != nil && s.server.mariaDB && c.begun() {
		return ""
	}
	return c.next
}

// ended forgets the transaction.
func (c *conn) ended() {
	if c.tx != nil {
		c.connector.stats.pending.Add(-c.tx.increments)
		c.tx.endPromises()
	}
	c.openTransaction = openTransaction{}
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
// commits and then fails), which the server does not tell with it. What is sent on a
// connection that was given up fails by the error for which it was.
func (c *conn) failed(err error) error {
	n := errorNumber(err)
	if n == 0 {
		if why := c.untold; err != nil && why != nil {
			c.untold = nil
			return why
		}
		return err
	}
	c.connector.stats.failed(n)
	if s := c.connector.current.Load(); s != nil && (n == errNoIndex || n == errNoTable && slices.ContainsFunc(s.all(), func(t *table) bool {
		return strings.Contains(err.Error(), "."+t.spec.slotsTable+"'")
	})) {
		c.connector.changes.Add(1) // nobody but the driver names these: another process has changed them
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
	if c.untold = err; errorNumber(err) == 0 {
		c.untold = mysql.ErrInvalidConn
	}
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

// txState is what one transaction has done to counter tables.
type txState struct {
	isolation  string
	schema     *schema             // that pending and written go by
	pending    map[string]*pending // by table
	written    map[string]*written // by table
	savepoints []savepoint
	rolledUp   []rolledUp // by the running statement
	increments int64      // statements that were added to pending
	inside     bool       // it looks up for itself: others wait for it, or do not see slots that it has written
	called     bool       // it ran what may have set savepoints, or gone back to one
	held       []string   // tables of which it may have locked rows, on a cluster
	joined     bool       // InnoDB is part of the server's transaction, for a savepoint
	promises   []*promise // increments that are not in pending yet, of other keys
	promised   []*promise // those that are, since they are being sent
	sent       bool       // all that was pending
}

func newTx(isolation string) *txState {
	return &txState{isolation: isolation, pending: map[string]*pending{}, written: map[string]*written{}}
}

// anew is a transaction of nothing but increments as it is before they are sent.
func (x *txState) anew() *txState {
	for _, p := range x.promised {
		p.affected = 1
	}
	return &txState{isolation: x.isolation, schema: x.schema, pending: copyPending(x.pending), written: map[string]*written{}, increments: x.increments, promised: x.promised}
}

// pendingFor returns the pending increments of a table, to add to.
func (x *txState) pendingFor(t *table) *pending {
	p := x.pending[t.String()]
	if p == nil {
		p = &pending{t: t}
		x.pending[t.String()] = p
	}
	return p
}

func (x *txState) hasPending(t *table) bool {
	return x != nil && x.pending[t.String()].some()
}

// unsent are the tables' pending increments, in canonical order.
func (x *txState) unsent() []*pending {
	all := slices.DeleteFunc(slices.Collect(maps.Values(x.pending)), func(p *pending) bool { return !p.some() })
	slices.SortFunc(all, func(p, q *pending) int { return strings.Compare(p.t.String(), q.t.String()) })
	return all
}

// dropEmpty forgets increments that cancelled out.
func (x *txState) dropEmpty() {
	for _, p := range x.pending {
		for id, e := range p.entries.all() {
			if e.empty() {
				p.entries.remove(id)
			}
		}
	}
}

// noteCall notes that a statement ran which may have done anything.
func (x *txState) noteCall() {
	if x.called || len(x.savepoints) > 0 {
		x.doubt()
	}
	x.called = true
	for _, w := range x.written { // it may have committed and begun anew: others could add slots meanwhile
		x.inside = x.inside || w.taken.len() > 0
		w.taken.clear()
		for i := range w.rows {
			w.rows[i].sums = nil
		}
	}
}

// adopt goes over to a schema that was learned while the transaction was open:
// it holds no lock that would keep others from adding a counter to a table. It does
// not, and says so, if increments are pending by a key that is no longer the table's.
func (x *txState) adopt(s *schema) (rekeyed *table) {
	if x.schema == s {
		return nil
	}
	if t := rekeyedIn(s, x.pending); t != nil {
		return t
	}
	for _, p := range x.savepoints {
		if t := rekeyedIn(s, p.pending); t != nil {
			return t
		}
	}
	x.schema = s
	converted := map[*layer[*entry]]bool{}
	adoptTables(s, x.pending, x.written, converted)
	for _, p := range x.savepoints {
		adoptTables(s, p.pending, p.written, converted)
	}
	return nil
}

// rekeyedIn is a table with pending increments that a schema has another key for,
// or other digits in what is incremented; nil if there is none.
func rekeyedIn(s *schema, pendings map[string]*pending) *table {
	for _, p := range pendings {
		t := s.lookup(p.t.spec.db, p.t.spec.name, "")
		if p.entries.len() == 0 || t == nil {
			continue
		}
		if !slices.EqualFunc(p.t.key, t.key, (*column).sameKey) || slices.ContainsFunc(slices.Concat(p.t.counters, p.t.touch), func(c *column) bool {
			now := t.column(c.name)
			return now != nil && now.scale != c.scale
		}) {
			return t
		}
	}
	return nil
}

func adoptTables(s *schema, pendings map[string]*pending, writtens map[string]*written, converted map[*layer[*entry]]bool) {
	for _, p := range pendings {
		if t := s.lookup(p.t.spec.db, p.t.spec.name, ""); t != nil && t != p.t {
			p.entries.convert(func(e *entry) *entry { return e.of(p.t, t) }, converted)
			p.t = t
		}
	}
	for _, w := range writtens {
		if t := s.lookup(w.t.spec.db, w.t.spec.name, ""); t != nil && t != w.t {
			w.t = t
			for i := range w.rows {
				w.rows[i].sums = nil
			}
		}
	}
}
