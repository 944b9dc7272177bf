package session

import (
	"cmp"
	"context"
	"database/sql/driver"
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/traffic"
	"github.com/countermysql/countermysql/internal/txn"
)

// Transactions are those of a session, one after the other, as the server has them: the one
// that is open, and what was said of the next. It sends nothing.
type Transactions struct {
	*Shared
	Wire
	Environment

	// For as long as the transaction:
	openTransaction
	Leased traffic.Held      // slots in use
	Taken  []*traffic.Taking // what it has to do with reserved rows

	Spent     bool // the statement was the transaction that SET TRANSACTION has spoken of
	LevelKept bool // the server may keep another level for the next transaction, that was for one of ours
}

// openTransaction is what is known of the transaction until it ends; the zero value is
// that of none.
type openTransaction struct {
	Ctx         context.Context // of BeginTx; nil: it was begun by text
	Next        string          // the level that SET TRANSACTION or BeginTx gives it, or the next one; "": the session's
	Unbegun     *Deferred       // its BEGIN is not sent yet
	First       bool            // the statement that runs is the first of what BeginTx has begun, and has sent nothing yet that may read
	HasSnapshot bool            // it has a snapshot
	XAEnded     bool            // XA END: until it is over the server refuses all else
	Tx          *txn.State      // what it has done to counter tables; nil: nothing yet
}

// Deferred is the BEGIN of BeginTx, which is sent with the first statement that needs it.
type Deferred struct {
	Opts driver.TxOptions
	Raw  driver.Tx // nil: it is not sent
}

// InTransaction reports whether the next statement belongs to a transaction
// that somebody else ends.
func (x *Transactions) InTransaction() bool {
	return x.Unbegun != nil || x.Begun() || !x.Autocommit()
}

// Transaction is open where something is to be noted of the transaction.
func (x *Transactions) Transaction() *txn.State {
	if x.Tx == nil {
		x.Tx = txn.New(x.Level())
	}
	return x.Tx
}

// Open is what the open transaction has done to counter tables; nil: nothing yet, or
// none is open.
func (x *Transactions) Open() *txn.State {
	if !x.InTransaction() {
		return nil
	}
	return x.Tx
}

// Level is the isolation level of the open or the next transaction.
func (x *Transactions) Level() string {
	if x.Tx != nil {
		return x.Tx.Isolation
	}
	return cmp.Or(x.Next, x.Settings.Isolation)
}

// Spend forgets what SET TRANSACTION said of the next transaction, if the last
// statement was that.
func (x *Transactions) Spend() {
	if x.Spent && !x.InTransaction() {
		x.Next = ""
	}
	x.Spent = false
}

// Begins is what SET TRANSACTION has said of a transaction that begins now. What it has
// said of the one that is open holds for that, too, where MySQL's BEGIN ends it.
func (x *Transactions) Begins() string {
	x.Spend()
	if x.Settings.MariaDB && x.Begun() {
		return ""
	}
	return x.Next
}

// Ended forgets the transaction.
func (x *Transactions) Ended() {
	if x.Tx != nil {
		x.Stats.Pending.Add(-x.Tx.Increments)
		x.Tx.EndPromises()
	}
	x.openTransaction = openTransaction{}
	x.Leased.Release()
	for _, taken := range x.Taken {
		taken.Leave()
	}
	x.Taken = nil
}

// EndedByUser forgets the transaction that the application has ended. Where that has
// begun another one, by AND CHAIN or completion_type, it has the same isolation level.
func (x *Transactions) EndedByUser() {
	level := x.Level()
	x.Ended()
	if x.Begun() {
		x.Next = level
	}
}

// SavedUnbegun reports whether there are savepoints with autocommit = 0 and no
// transaction yet: a BEGIN would end them.
func (x *Transactions) SavedUnbegun() bool {
	return x.implies() && x.Tx != nil && x.Tx.HasSavepoints()
}

// LocksGaps reports whether no other row can come to meet a condition whose rows the
// transaction has locked.
func (x *Transactions) LocksGaps() bool {
	level := x.Level()
	return level == sqltext.RepeatableRead || level == sqltext.Serializable
}

// NoteWrites remembers which base rows the open transaction has written.
func (x *Transactions) NoteWrites(writes []plan.WriteTarget, b plan.Binder, affected int64) {
	x.NoteOwn(writes, b, affected)
	x.upset(writes, b)
}

// NoteOwn is NoteWrites for what needed nothing of the rows' reserves.
func (x *Transactions) NoteOwn(writes []plan.WriteTarget, b plan.Binder, affected int64) {
	if len(writes) > 0 && x.InTransaction() {
		x.Transaction().NoteWrites(writes, b, affected, x.writesSame(), x.Config.ClientFoundRows, x.HasSnapshot)
	}
}

// writesSame reports whether the server writes rows that an UPDATE does not change.
func (x *Transactions) writesSame() bool {
	known := x.Watcher.Current()
	return known != nil && known.Server.WritesSame
}

// Slot is the slot that the session writes for a table: one and the same until the
// transaction ends.
func (x *Transactions) Slot(t *catalog.Table) int {
	return x.Leased.Slot(&x.Traffic.Of(t).Leases, x.SlotRange, x.Settings.Server, t.Spec.Slots)
}

// upset notes where a statement has written a row that the transaction has taken reserved units of.
func (x *Transactions) upset(writes []plan.WriteTarget, b plan.Binder) {
	for _, taken := range x.Taken {
		for _, w := range writes {
			if of := x.Traffic.Of(w.Table); w.Keys == nil && taken.In(&of.Reserve) || slices.ContainsFunc(w.Keys, func(k plan.KeyValue) bool {
				key, ok := k.Key(w.Table, b)
				return ok && taken.Of(&of.Reserve, key.ID())
			}) {
				taken.Upset()
			}
		}
	}
}
