package countermysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/ngrok/sqlmw"
)

func init() { sql.Register("countermysql", &Driver{}) }

// Driver is the database/sql driver. Its name is "countermysql".
type Driver struct {
	config    *Config    // of Register; nil: the DSN says all
	connector *Connector // the connector whose driver it is; nil for a registered one
}

var (
	_ driver.Driver        = (*Driver)(nil)
	_ driver.DriverContext = (*Driver)(nil)
	_ driver.Connector     = (*Connector)(nil)
	_ io.Closer            = (*Connector)(nil)
)

// Register makes a driver name whose connections keep the given counters,
// whatever the DSN says beside them. Like sql.Register it panics if the name
// is taken.
func Register(name string, config *Config) {
	sql.Register(name, &Driver{config: config.clone()})
}

// Open returns a new connection. database/sql uses OpenConnector instead.
func (d *Driver) Open(dsn string) (driver.Conn, error) {
	c, err := d.OpenConnector(dsn)
	if err != nil {
		return nil, err
	}
	return c.Connect(context.Background())
}

// OpenConnector reads the DSN; all mistakes in it are reported together.
func (d *Driver) OpenConnector(dsn string) (driver.Connector, error) {
	cfg, config, err := parseDSN(dsn, d.config)
	if err != nil {
		return nil, err
	}
	return newConnector(cfg, config, d.config)
}

// NewConnector returns a connector for sql.OpenDB. Both configurations are
// copied; a nil config has no counters. All mistakes are reported together, as
// *ConfigError.
func NewConnector(cfg *mysql.Config, config *Config) (*Connector, error) {
	return newConnector(cfg.Clone(), config.clone(), nil)
}

// Connector makes connections that share what is known of the schema and the
// plans of statements. It is safe for concurrent use, and closed by sql.DB.Close.
type Connector struct {
	driver *Driver
	cfg    *mysql.Config
	config *Config
	specs  []tableSpec

	slotRange slotRange
	log       *slog.Logger
	raw       driver.Connector // go-sql-driver's

	mu       gate                   // held while the schema is learned
	look     atomic.Pointer[sql.DB] // the look-up connections; nil until needed, and once closed
	current  atomic.Pointer[schema]
	stale    atomic.Bool
	ddl      atomic.Int64 // statements so far
	checked  atomic.Int64 // when the schema was learned, Unix nanoseconds
	checking atomic.Bool
	work     sync.WaitGroup
	leases   sync.Map // by table: *leases
	warned   sync.Map // what has been logged once
	stats    stats

	stopRollups context.CancelFunc // nil: none were started
	closed      atomic.Bool
	open        atomic.Int64 // connections
}

func newConnector(cfg *mysql.Config, config, registered *Config) (*Connector, error) {
	if config == nil {
		config = &Config{}
	}
	specs, mistakes := config.check(cfg.DBName)
	for _, key := range sortedKeys(cfg.Params) {
		if ourParam(key) {
			mistakes = append(mistakes, &ConfigError{Place: "mysql.Config.Params[" + strconv.Quote(key) + "]", Problem: "it is not for the server",
				Remedy: "read the DSN with countermysql.ParseDSN, or set it in countermysql.Config"})
		}
	}
	if err := errors.Join(mistakes...); err != nil {
		return nil, err
	}
	raw, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	log := config.Logger
	if log == nil {
		log = slog.Default()
	}
	c := &Connector{cfg: cfg, config: config, specs: specs, log: log, raw: raw, mu: make(gate, 1)}
	c.slotRange, _ = parseSlotRange(config.SlotRange) // checked by check
	c.driver = &Driver{registered, c}                 // sql.DB.Driver leads to the connector
	if config.Interceptor != nil {
		wrapped, err := sqlmw.Driver(connectorDriver{raw}, config.Interceptor).(driver.DriverContext).OpenConnector("")
		if err != nil {
			return nil, err
		}
		c.raw = wrapped
	}
	return c, nil
}

// connectorDriver lets sqlmw wrap a connector, whose settings no DSN can carry.
type connectorDriver struct{ driver.Connector }

func (d connectorDriver) Open(string) (driver.Conn, error) { return d.Connect(context.Background()) }
func (d connectorDriver) OpenConnector(string) (driver.Connector, error) {
	return capturing(d), nil
}

// capturing hands the connection below the interceptor to who asks for it.
type capturing struct{ driver.Connector }

type captureKey struct{}

func (c capturing) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if below, ok := ctx.Value(captureKey{}).(*driver.Conn); ok {
		*below = conn
	}
	return conn, err
}

// Driver returns the connector's driver.
func (c *Connector) Driver() driver.Driver { return c.driver }

// Connect opens a connection. Without counters it is go-sql-driver's own.
func (c *Connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.connect(ctx)
	if err == nil {
		c.startRollups()
	}
	return conn, err
}

func (c *Connector) connect(ctx context.Context) (driver.Conn, error) {
	var below driver.Conn
	raw, err := c.raw.Connect(context.WithValue(ctx, captureKey{}, &below))
	if err != nil {
		return nil, err
	}
	if len(c.specs) == 0 {
		return raw, nil
	}
	switch {
	case c.config.Interceptor == nil:
		below = raw
	case below == nil:
		raw.Close()
		return nil, errors.New("countermysql: ConnectorConnect of Config.Interceptor has to connect by the connector and the context that it is given")
	}
	c.open.Add(1)
	conn, err := c.wrap(ctx, raw, below)
	if err != nil {
		raw.Close()
		c.left()
		return nil, err
	}
	return conn, nil
}

func (c *Connector) wrap(ctx context.Context, raw, below driver.Conn) (*conn, error) {
	status := reflect.ValueOf(below).Elem().FieldByName("status")
	if !status.IsValid() || !status.CanUint() {
		return nil, errors.New("countermysql: this version of go-sql-driver/mysql does not tell the transaction's state; use the version in countermysql's go.mod")
	}
	s, err := c.schema(ctx)
	if err != nil {
		return nil, err
	}
	k := &conn{connector: c, raw: raw, below: below, status: status}
	k.execer, k.queryer = raw.(driver.ExecerContext), raw.(driver.QueryerContext)
	return k, k.probe(ctx, s)
}

// maxLookups bounds the look-up connections of a connector.
const maxLookups = 8

// schemaAge is how old the knowledge of the schema may be before it is renewed
// in the background, for DDL by other clients. A statement that finds it older
// than schemaTooOld, in a process that was idle, waits for that.
const (
	schemaAge    = 10 * time.Second
	schemaTooOld = 30 * time.Second
)

// schema returns what is known of the schema, and learns it if need be.
func (c *Connector) schema(ctx context.Context) (*schema, error) {
	if s := c.current.Load(); s != nil && !c.stale.Load() {
		age := c.age()
		if age > schemaTooOld {
			return c.relearn(ctx)
		}
		if age > schemaAge && !c.closed.Load() && c.checking.CompareAndSwap(false, true) {
			c.work.Go(func() {
				defer c.checking.Store(false)
				ctx, cancel := context.WithTimeout(context.Background(), schemaAge)
				defer cancel()
				_, _ = c.learn(ctx) // tried again by the next statement
			})
		}
		return s, nil
	}
	return c.learn(ctx)
}

// age is how long ago the schema was learned. A clock that was set back makes it
// old, or it would stay for as long as the clock was set back by.
func (c *Connector) age() time.Duration {
	return time.Duration(time.Now().UnixNano() - c.checked.Load()).Abs()
}

// learn reads the schema; unchanged, the old one stays with its plans.
func (c *Connector) learn(ctx context.Context) (*schema, error) {
	if err := c.mu.enter(ctx); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	return c.learnLocked(ctx)
}

// gate is a mutex that a context ends the wait for.
type gate chan struct{}

func (g gate) Lock()   { g <- struct{}{} }
func (g gate) Unlock() { <-g }

func (g gate) enter(ctx context.Context) error {
	select {
	case g <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// writesSame reports whether the server writes rows that an UPDATE does not change.
func (c *Connector) writesSame() bool {
	s := c.current.Load()
	return s != nil && s.server.writesSame
}

// relearn is learn, unless somebody did so while it waited.
func (c *Connector) relearn(ctx context.Context) (*schema, error) {
	if err := c.mu.enter(ctx); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	if s := c.current.Load(); s != nil && c.age() < schemaAge {
		return s, nil
	}
	return c.learnLocked(ctx)
}

func (c *Connector) learnLocked(ctx context.Context) (*schema, error) {
	stale := c.stale.Swap(false)
	s, err := c.read(ctx)
	if err != nil {
		if stale {
			c.stale.Store(true) // or what is known will do until it is too old
		}
		return nil, err
	}
	c.checked.Store(time.Now().UnixNano())
	if old := c.current.Load(); old != nil && old.fingerprint == s.fingerprint {
		return old, nil
	}
	c.current.Store(s)
	for _, name := range s.absent {
		c.once("absent "+name, "countermysql: there is no such column yet; it counts from when it is added", "column", name)
	}
	for _, t := range s.tables {
		if t.unfit != nil {
			c.once("unfit "+t.String(), "countermysql: table can't have counters", "table", t.String(), "reasons", t.unfit)
		}
	}
	return s, nil
}

func (c *Connector) read(ctx context.Context) (*schema, error) {
	look := c.look.Load()
	if look == nil {
		look = sql.OpenDB(lookupConnector{c.raw})
		look.SetMaxOpenConns(maxLookups)
		look.SetMaxIdleConns(maxLookups)
		c.look.Store(look)
	}
	srv, err := loadServer(ctx, look)
	if err != nil {
		return nil, err
	}
	s, err := loadSchema(ctx, look, srv, c.specs)
	if err != nil || !c.config.CreateSlots {
		return s, err
	}
	made := false
	for _, key := range sortedKeys(s.tables) {
		if t := s.tables[key]; t.missing != "" && t.unfit == nil {
			var full *SlotsTableError
			if err := makeSlots(ctx, look, t); errors.As(err, &full) {
				continue // the table's own statements say so, and no others fail
			} else if err != nil {
				return nil, fmt.Errorf("countermysql: making the slots table of %s: %w", t, err)
			}
			made = true
		} else if t.narrow != "" { // perhaps the table is in use: until then increments are verbatim
			_, err := look.ExecContext(ctx, t.narrow)
			made = made || err == nil
		}
	}
	if made {
		return loadSchema(ctx, look, srv, c.specs)
	}
	return s, nil
}

// once logs a rare event a single time.
func (c *Connector) once(cause, msg string, args ...any) {
	if _, seen := c.warned.LoadOrStore(cause, true); !seen {
		c.log.Warn(msg, args...)
	}
}

// Close ends the look-up connections and the rollups in the background.
// sql.DB.Close calls it.
func (c *Connector) Close() error {
	c.mu.Lock()
	if c.stopRollups != nil {
		c.stopRollups()
	}
	c.closed.Store(true)
	c.mu.Unlock()
	c.work.Wait()
	return c.closeLookups()
}

func (c *Connector) closeLookups() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	look := c.look.Swap(nil)
	if look == nil {
		return nil
	}
	c.current.Store(nil)
	return look.Close()
}

// left notes that a connection has ended. A transaction that is open while the
// sql.DB is closed goes on, and has its own look-ups.
func (c *Connector) left() {
	if c.open.Add(-1) == 0 && c.closed.Load() {
		_ = c.closeLookups() // nobody is left who could be told
	}
}
