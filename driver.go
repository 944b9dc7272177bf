package countermysql

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"

	"github.com/go-sql-driver/mysql"
	"github.com/ngrok/sqlmw"

	"github.com/countermysql/countermysql/internal/buffer"
	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/ddl"
	"github.com/countermysql/countermysql/internal/exact"
	"github.com/countermysql/countermysql/internal/fold"
	"github.com/countermysql/countermysql/internal/increment"
	"github.com/countermysql/countermysql/internal/lookups"
	"github.com/countermysql/countermysql/internal/maintain"
	"github.com/countermysql/countermysql/internal/read"
	"github.com/countermysql/countermysql/internal/sale"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/stats"
	"github.com/countermysql/countermysql/internal/traffic"
	"github.com/countermysql/countermysql/internal/watch"
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

// Register makes a driver name whose connections keep the given counters. What a
// DSN, or the file that it or COUNTERMYSQL_CONFIG names, says besides overrides
// and extends the config, as ParseDSN has it. The config is copied; mistakes in it
// are reported by sql.Open. Like sql.Register it panics if the name is taken.
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
	k.Closed = func() error { return d.leave(dsn, o) }
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
// copied; a nil config has no counters. It reads no file and no environment
// variable. Of a DSN with parameters of ours ParseDSN makes both configurations;
// mysql.ParseDSN leaves them in Params, where they are a mistake, as they would go
// to the server. All mistakes are reported together, as *ConfigError.
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

	log *slog.Logger
	raw driver.Connector // go-sql-driver's

	lookups    *lookups.Pool
	watcher    *watch.Watcher
	plans      *planCache
	background maintain.Background
	increments *increment.Shared
	buffers    *buffer.Buffers
	sales      sale.Queues
	defines    ddl.Config
	warned     sync.Map // what has been logged once
	stats      stats.Stats
	shared     session.Shared
}

func newConnector(cfg *mysql.Config, config, registered *Config) (*Connector, error) {
	config = cmp.Or(config, &Config{})
	specs, err := config.settings().Resolve(cfg)
	if err != nil {
		return nil, err
	}
	raw, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	log := cmp.Or(config.Logger, slog.Default())
	c := &Connector{cfg: cfg, config: config, specs: specs, log: log, raw: raw, sales: sale.NewQueues(specs), plans: newPlanCache()}
	c.driver = &Driver{config: registered, connector: c} // sql.DB.Driver leads to the connector
	if config.Interceptor != nil {
		wrapped, err := sqlmw.Driver(connectorDriver{raw}, config.Interceptor).(driver.DriverContext).OpenConnector("")
		if err != nil {
			return nil, err
		}
		c.raw = wrapped
	}
	c.lookups = lookups.New(c.raw)
	c.watcher = watch.New(watch.Config{Lookups: c.lookups, Specs: specs, CreateSlots: config.CreateSlots, Adopted: c.adopted, Warn: c.once, Missing: c.noteMissing})
	slotRange, _ := traffic.ParseSlotRange(config.SlotRange) // checked by Resolve
	c.shared = session.Shared{
		Config: cfg, Connect: c.dial, Stats: &c.stats, Watcher: c.watcher, Lookups: c.lookups,
		Traffic: traffic.ForTables[traffic.Table](specs), SlotRange: slotRange,
	}
	c.background.Maintainer = &maintain.Maintainer{Shared: &c.shared, Warn: c.once}
	if config.Rollup != RollupNever {
		c.background.Every = cmp.Or(config.Rollup, DefaultRollup)
	}
	c.increments = increment.NewShared(specs, config.NoGroupCommit, &c.background, log)
	c.buffers = buffer.New(specs, &buffer.Config{Shared: &c.shared, Create: config.CreateSlots, Slotted: c.increments.Slotted, Warn: c.once})
	c.defines = ddl.Config{CreateSlots: config.CreateSlots, Flush: c.buffers.FlushTable, FollowLater: c.background.FollowName}
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
	if len(c.specs) == 0 {
		return c.raw.Connect(ctx)
	}
	conn, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	c.background.Start()
	return conn, nil
}

func (c *Connector) connect(ctx context.Context) (*conn, error) {
	s, err := session.Open(ctx, &c.shared)
	if err != nil {
		return nil, err
	}
	f := fold.New(s)
	return &conn{Reader: read.New(exact.New(increment.New(f, c.increments), c.sales, &c.background)), connector: c, ddl: ddl.New(f, &c.defines)}, nil
}

// dial opens a connection to the server, which is below the interceptor's wrapper.
func (c *Connector) dial(ctx context.Context) (raw, below driver.Conn, err error) {
	raw, err = c.raw.Connect(context.WithValue(ctx, captureKey{}, &below))
	switch {
	case err != nil:
		return nil, nil, err
	case c.config.Interceptor == nil:
		return raw, raw, nil
	case below == nil:
		raw.Close()
		return nil, nil, errors.New("countermysql: ConnectorConnect of Config.Interceptor has to connect by the connector and the context that it is given")
	}
	return raw, below, nil
}

// adopted forgets what was of another schema than the one that holds now.
func (c *Connector) adopted(s *catalog.Schema) {
	c.plans.clear()
	c.increments.Forget(s)
}

// noteMissing logs listed tables and columns that are not there yet, each once.
func (c *Connector) noteMissing(names []string) {
	missing := slices.DeleteFunc(names, func(name string) bool {
		_, seen := c.warned.LoadOrStore("missing "+name, true)
		return seen
	})
	if len(missing) > 0 {
		c.log.Info("countermysql: these tables and columns are not there yet, or the user may not see them; they count from when they are", "missing", missing)
	}
}

// once logs a rare event a single time.
func (c *Connector) once(cause, msg string, args ...any) {
	if _, seen := c.warned.LoadOrStore(cause, true); !seen {
		c.log.Warn(msg, args...)
	}
}

// Close stores what waits in buffers, and ends the look-up connections and the rollups in
// the background. sql.DB.Close calls it.
func (c *Connector) Close() error {
	lost := c.buffers.Close()
	c.background.Stop()
	c.background.Wait() // with the sessions of its own, in which Retire would see transactions that still need the schema
	c.watcher.Retire()
	c.watcher.Wait()
	c.lookups.Close()
	return lost
}
