package countermysql

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"log/slog"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/ngrok/sqlmw"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/stats"
	"github.com/countermysql/countermysql/internal/traffic"
)

func init() { sql.Register("countermysql", &Driver{}) }

// Driver is the database/sql driver. Its name is "countermysql".
type Driver struct {
	config    *Config    // of Register; nil: the DSN says all
	connector *Connector // the connector whose driver it is; nil for a registered one

	mu     sync.Mutex
	opened map[string]*openedConnector // by DSN
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

// openedConnector is the connector of the connections that Open has made of a DSN.
// Nobody else closes it.
type openedConnector struct {
	driver.Connector
	conns int // open, or being opened
}

// Open returns a new connection. database/sql uses OpenConnector instead, but not
// where a wrapper hides it. Connections of one DSN share a connector, which ends
// with the last of them.
func (d *Driver) Open(dsn string) (driver.Conn, error) {
	d.mu.Lock()
	o := d.opened[dsn]
	if o == nil {
		c, err := d.OpenConnector(dsn)
		if err != nil {
			d.mu.Unlock()
			return nil, err
		}
		if d.opened == nil {
			d.opened = map[string]*openedConnector{}
		}
		o = &openedConnector{Connector: c}
		d.opened[dsn] = o
	}
	o.conns++
	d.mu.Unlock()
	raw, err := o.Connect(context.Background())
	k, ok := raw.(*conn)
	if !ok { // an error, or go-sql-driver's own, which needs no connector
		return raw, cmp.Or(err, d.leave(dsn, o))
	}
	k.closed = func() error { return d.leave(dsn, o) }
	return k, nil
}

// leave closes a connector that Open has made when nobody uses it any more.
func (d *Driver) leave(dsn string, o *openedConnector) error {
	d.mu.Lock()
	o.conns--
	last := o.conns == 0
	if last {
		delete(d.opened, dsn)
	}
	d.mu.Unlock()
	if !last {
		return nil
	}
	return o.Connector.(*Connector).Close()
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
	specs  []catalog.Spec

	slotRange traffic.SlotRange
	log       *slog.Logger
	raw       driver.Connector // go-sql-driver's

	look       atomic.Pointer[sql.DB] // the look-up connections; nil until needed, and once closed
	lookupIdle time.Duration          // for how long one is kept unused
	current    atomic.Pointer[catalog.Schema]
	plans      *planCache
	checked    atomic.Int64 // when the schema was learned, by clock
	changes    atomic.Int64 // of the schema, which a statement must not miss
	learned    atomic.Int64 // so many of them
	ddl        atomic.Int64 // statements so far
	work       sync.WaitGroup
	traffic    map[tableID]*tableTraffic
	cooler     cooler
	warned     sync.Map // what has been logged once
	wanted     sync.Map // columns that increments want as touch columns, by their names
	stats      stats.Stats

	mu             sync.Mutex // guards what follows
	under, next    *reading   // of the schema: under way, and to come; nil if not
	stopReading    context.CancelFunc
	altered        alterations
	background     context.Context // of what goes on beside statements; nil: nothing does
	stopBackground context.CancelFunc

	slotRowsWaiting atomic.Pointer[map[string]int64] // as the rollup in the background saw them last

	// Used by the reading that is under way:
	refused       map[string]refusedDDL // DDL of slots tables
	objects       *catalog.Objects      // of the last reading
	told          catalog.Answers       // in it; nil: it has failed
	server        catalog.Server        // of the last reading that asked
	tallied       catalog.Tally         // the DDL that had begun when the schema was read
	loaded, moved time.Duration         // when it was read, and when a reading saw more DDL, by clock

	closed atomic.Bool
	open   atomic.Int64 // connections
}

func newConnector(cfg *mysql.Config, config, registered *Config) (*Connector, error) {
	if config == nil {
		config = &Config{}
	}
	specs, mistakes := config.check(cfg.DBName)
	for _, key := range sqltext.SortedKeys(cfg.Params) {
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
	c := &Connector{cfg: cfg, config: config, specs: specs, log: log, raw: raw, lookupIdle: maxLookupIdle, traffic: map[tableID]*tableTraffic{}, plans: newPlanCache(), refused: map[string]refusedDDL{}}
	for _, spec := range specs {
		c.traffic[tableID{spec.DB, spec.Name}] = &tableTraffic{}
	}
	c.slotRange, _ = traffic.ParseSlotRange(config.SlotRange) // checked by check
	c.driver = &Driver{config: registered, connector: c}      // sql.DB.Driver leads to the connector
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
	k := &conn{connector: c, raw: raw, below: below, status: status, temporary: map[string]bool{}}
	k.execer, k.queryer = raw.(driver.ExecerContext), raw.(driver.QueryerContext)
	if err := k.probe(ctx, s); err != nil {
		return nil, err
	}
	return k, k.session.readable()
}

// maxLookups bounds the look-up connections of a connector.
const maxLookups = 8

// maxLookupIdle is for how long one of them is kept unused: firewalls forget connections
// without a word, some after five minutes, and a look-up would wait for ever
// (https://github.com/go-sql-driver/mysql#important-settings). One that is used stays:
// a server that has no connection left would refuse another.
const maxLookupIdle = 3 * time.Minute

// writesSame reports whether the server writes rows that an UPDATE does not change.
func (c *Connector) writesSame() bool {
	s := c.current.Load()
	return s != nil && s.Server.WritesSame
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
	if c.stopBackground != nil {
		c.stopBackground()
	}
	c.closed.Store(true)
	if c.under != nil && c.open.Load() == 0 {
		c.stopReading()
	}
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
