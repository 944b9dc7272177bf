package lookups

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync"
	"sync/atomic"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
)

// maxOpen bounds the look-up connections of a connector.
const maxOpen = 8

// maxIdle is for how long one of them is kept unused: firewalls forget connections
// without a word, some after five minutes, and a look-up would wait for ever
// (https://github.com/go-sql-driver/mysql#important-settings). One that is used stays,
// unless rights have changed: a server that has no connection left would refuse another.
const maxIdle = 3 * time.Minute

// Pool is the look-up connections of a connector. It is safe for concurrent use.
type Pool struct {
	raw  driver.Connector
	idle time.Duration

	mu       sync.Mutex             // of who makes or ends them
	db       atomic.Pointer[sql.DB] // nil until needed, and once ended
	sessions atomic.Int64           // of the connector, that are open
	retired  atomic.Bool
	renewed  atomic.Int64 // by catalog.Clock: what was opened before is not used any more
}

// New returns the pool of the connector that raw makes connections for.
func New(raw driver.Connector) *Pool { return &Pool{raw: raw, idle: maxIdle} }

// DB returns the look-up connections, and makes them if need be.
func (p *Pool) DB() (*sql.DB, error) {
	if db := p.db.Load(); db != nil {
		return db, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if db := p.db.Load(); db != nil {
		return db, nil
	}
	if p.retired.Load() && p.sessions.Load() == 0 {
		return nil, sql.ErrConnDone // nobody would end them
	}
	db := sql.OpenDB(connector{p.raw, p})
	db.SetMaxOpenConns(maxOpen)
	db.SetMaxIdleConns(maxOpen)
	db.SetConnMaxIdleTime(p.idle)
	p.db.Store(db)
	return db, nil
}

// Renew has look-ups go over new connections: one that is open goes on with the rights on the default database that
// its user had when it was opened (https://dev.mysql.com/doc/refman/8.4/en/privilege-changes.html).
func (p *Pool) Renew() { p.renewed.Store(int64(catalog.Clock())) }

// Enter notes that a session of the connector begins.
func (p *Pool) Enter() { p.sessions.Add(1) }

// Leave notes that one has ended. A transaction that is open while the sql.DB is closed
// goes on, and has its own look-ups: the last session ends them.
func (p *Pool) Leave() {
	if p.sessions.Add(-1) == 0 && p.retired.Load() {
		p.Close()
	}
}

// InUse reports whether a session is open.
func (p *Pool) InUse() bool { return p.sessions.Load() > 0 }

// Retire notes that the connector is being closed: nobody but sessions that are still open
// looks anything up from now on.
func (p *Pool) Retire() { p.retired.Store(true) }

// Retired reports whether the connector is being closed.
func (p *Pool) Retired() bool { return p.retired.Load() }

// Close ends the connections that there are. That a server is gone is no matter of who closes
// a sql.DB: plain has no such connections.
func (p *Pool) Close() {
	p.mu.Lock()
	db := p.db.Swap(nil)
	p.mu.Unlock()
	if db != nil {
		_ = db.Close()
	}
}

// Query returns the rows of a query of ours as text; NULL is "".
func (p *Pool) Query(ctx context.Context, query string) ([][]string, error) {
	db, err := p.DB()
	if err != nil {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		passPanic(err)
		return nil, err
	}
	return catalog.Texts(rows)
}

// QueryAs is Query for what only a connection of a session's affinity can answer.
func (p *Pool) QueryAs(ctx context.Context, affinity, query string) ([][]string, error) {
	return p.Query(context.WithValue(ctx, affinityKey{}, affinity), query)
}

// Exec runs a statement of ours.
func (p *Pool) Exec(ctx context.Context, stmt string) error {
	db, err := p.DB()
	if err == nil {
		_, err = db.ExecContext(ctx, stmt)
	}
	return err
}
