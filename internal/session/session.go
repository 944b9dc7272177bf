package session

import (
	"context"
	"database/sql/driver"

	"github.com/go-sql-driver/mysql"

	"github.com/countermysql/countermysql/internal/lookups"
	"github.com/countermysql/countermysql/internal/stats"
	"github.com/countermysql/countermysql/internal/traffic"
	"github.com/countermysql/countermysql/internal/watch"
)

// Shared is what the sessions of one connector share.
type Shared struct {
	Config    *mysql.Config
	Connect   func(ctx context.Context) (raw, below driver.Conn, err error) // below is go-sql-driver's
	Stats     *stats.Stats
	Watcher   *watch.Watcher // of the schema
	Lookups   *lookups.Pool
	Traffic   traffic.ByTable[traffic.Table]
	SlotRange traffic.SlotRange
}

// Session is one session of the server's: what is sent on it by us, and what its answers do
// to the transaction that is open. Like the connection it is used by one goroutine at a time.
type Session struct {
	Transactions
	Broken  error        // why COMMIT fails: a context has ended, or a promise was not kept, and the connection is closed
	untold  error        // why the driver has closed it, if the application does not know yet
	Closed  func() error // at its end; nil: nothing
	Locking bool         // a query with locks of its own runs
}

// AsOpened reports whether no statement has changed the session, nor its next transaction.
func (s *Session) AsOpened() bool { return !s.Changed && !s.Altered() && s.Next == "" }
