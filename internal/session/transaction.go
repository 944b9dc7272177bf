package session

import (
	"cmp"
	"context"
	"database/sql/driver"

	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/txn"
)

// openTransaction is what is known of the transaction until it ends; the zero value is
// that of none.
type openTransaction struct {
	Ctx         context.Context // of BeginTx; nil: it was begun by text
	Next        string          // the level that SET TRANSACTION or BeginTx gives it, or the next one; "": the session's
	Unbegun     *Deferred       // its BEGIN is not sent yet
	HasSnapshot bool            // it has a snapshot
	XAEnded     bool            // XA END: until it is over the server refuses all else
	Tx          *txn.State      // what it has done to counter tables; nil: nothing yet
}

// Deferred is the BEGIN of BeginTx, which is sent with the first statement that needs it.
type Deferred struct {
	Opts driver.TxOptions
	Raw  driver.Tx // nil: it is not sent
}

// Flags of the server's status (https://dev.mysql.com/doc/dev/mysql-server/latest/mysql__com_8h.html).
const (
	statusInTransaction = 1 << 0
	statusAutocommit    = 1 << 1
	statusReadOnly      = 1 << 13
)

func (s *Session) Autocommit() bool { return s.status.Uint()&statusAutocommit != 0 }

// InTransaction reports whether the next statement belongs to a transaction
// that somebody else ends.
func (s *Session) InTransaction() bool {
	return s.Unbegun != nil || s.Begun() || !s.Autocommit()
}

// Begun reports whether a transaction is open on the server.
func (s *Session) Begun() bool { return s.status.Uint()&statusInTransaction != 0 }

// Implies reports whether the next statement that uses a table begins a transaction:
// with autocommit = 0.
func (s *Session) Implies() bool { return !s.Autocommit() && !s.Begun() }

// ReadOnly reports whether the open transaction refuses writes; then the
// server says so at once.
func (s *Session) ReadOnly() bool { return s.status.Uint()&statusReadOnly != 0 }

// Transaction is open where something is to be noted of the transaction.
func (s *Session) Transaction() *txn.State {
	if s.Tx == nil {
		s.Tx = txn.New(s.Level())
	}
	return s.Tx
}

// Open is what the open transaction has done to counter tables; nil: nothing yet, or
// none is open.
func (s *Session) Open() *txn.State {
	if !s.InTransaction() {
		return nil
	}
	return s.Tx
}

// Level is the isolation level of the open or the next transaction.
func (s *Session) Level() string {
	if s.Tx != nil {
		return s.Tx.Isolation
	}
	return cmp.Or(s.Next, s.Settings.Isolation)
}

// Spend forgets what SET TRANSACTION said of the next transaction, if the last
// statement was that.
func (s *Session) Spend() {
	if s.Spent && !s.InTransaction() {
		s.Next = ""
	}
	s.Spent = false
}

// Begins is what SET TRANSACTION has said of a transaction that begins now. What it has
// said of the one that is open holds for that, too, where MySQL's BEGIN ends it.
func (s *Session) Begins() string {
	s.Spend()
	if known := s.Watcher.Current(); known != nil && known.Server.MariaDB && s.Begun() {
		return ""
	}
	return s.Next
}

// Ended forgets the transaction.
func (s *Session) Ended() {
	if s.Tx != nil {
		s.Stats.Pending.Add(-s.Tx.Increments)
		s.Tx.EndPromises()
	}
	s.openTransaction = openTransaction{}
	s.Leased.Release()
}

// EndedByUser forgets the transaction that the application has ended. Where that has
// begun another one, by AND CHAIN or completion_type, it has the same isolation level.
func (s *Session) EndedByUser() {
	level := s.Level()
	s.Ended()
	if s.Begun() {
		s.Next = level
	}
}

// SendBegin sends the BEGIN that is still to be sent.
func (s *Session) SendBegin(ctx context.Context) error {
	d := s.Unbegun
	if d == nil {
		return nil
	}
	raw, err := s.Raw.(driver.ConnBeginTx).BeginTx(ctx, d.Opts)
	if err != nil {
		return s.Cut(ctx, s.Failed(err)) // or COMMIT would have nothing to send, and succeed
	}
	s.Unbegun, d.Raw = nil, raw
	return nil
}

// SavedUnbegun reports whether there are savepoints with autocommit = 0 and no
// transaction yet: a BEGIN would end them.
func (s *Session) SavedUnbegun() bool {
	return s.Implies() && s.Tx != nil && s.Tx.HasSavepoints()
}

// BeginImplied begins the transaction that an increment begins on plain MySQL with
// autocommit = 0.
func (s *Session) BeginImplied(ctx context.Context) error {
	if !s.Implies() {
		return nil
	}
	_, err := s.Do(ctx, StartTransaction)
	return err
}

// LocksGaps reports whether no other row can come to meet a condition whose rows the
// transaction has locked.
func (s *Session) LocksGaps() bool {
	level := s.Level()
	return level == sqltext.RepeatableRead || level == sqltext.Serializable
}

// NoteWrites remembers which base rows the open transaction has written.
func (s *Session) NoteWrites(writes []plan.WriteTarget, b plan.Binder, affected int64) {
	if len(writes) > 0 && s.InTransaction() {
		s.Transaction().NoteWrites(writes, b, affected, s.writesSame(), s.Config.ClientFoundRows)
	}
}

// writesSame reports whether the server writes rows that an UPDATE does not change.
func (s *Session) writesSame() bool {
	known := s.Watcher.Current()
	return known != nil && known.Server.WritesSame
}
