package session

import (
	"context"
	"database/sql/driver"
	"errors"
	"reflect"

	"github.com/go-sql-driver/mysql"

	"github.com/countermysql/countermysql/internal/lookups"
	"github.com/countermysql/countermysql/internal/sqltext"
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

// Session is one session of the server's, and its open transaction. Like the connection it
// is used by one goroutine at a time.
type Session struct {
	*Shared
	Raw     driver.Conn // go-sql-driver's, or the interceptor's wrapper around it
	Below   driver.Conn // go-sql-driver's
	Execer  driver.ExecerContext
	Queryer driver.QueryerContext
	status  reflect.Value // of go-sql-driver's connection: the server's status flags

	// For as long as the session:
	Settings Settings
	Initial  Settings // as the DSN made it
	Literals sqltext.Encoder
	Stale    bool         // the settings may have changed: they are read before the next counter statement
	Changed  bool         // a statement of the application's has changed them
	clock    bool         // and perhaps its clock: SET timestamp
	Role     bool         // and perhaps its privileges: SET ROLE
	Locks    bool         // LOCK TABLES holds: of other tables, or for DDL of ours
	Broken   error        // the end of a context, which has closed the connection
	untold   error        // why the driver has closed it, if the application does not know yet
	Closed   func() error // at its end; nil: nothing

	// For as long as the transaction:
	openTransaction
	Leased traffic.Held // slots in use

	// From one statement to the next:
	Spent   bool // it was the transaction that SET TRANSACTION has spoken of
	Locking bool // a query with locks of its own runs
}

// New is the session of a connection; below is go-sql-driver's. Its settings are still to
// be read.
func New(shared *Shared, raw, below driver.Conn) (*Session, error) {
	status := reflect.ValueOf(below).Elem().FieldByName("status")
	if !status.IsValid() || !status.CanUint() {
		return nil, errors.New("countermysql: this version of go-sql-driver/mysql does not tell the transaction's state; use the version in countermysql's go.mod")
	}
	return &Session{Shared: shared, Raw: raw, Below: below, Execer: raw.(driver.ExecerContext), Queryer: raw.(driver.QueryerContext), status: status}, nil
}
