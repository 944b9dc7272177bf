package countermysql

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/testserver"
)

// slowReading delays what asks information_schema, and counts readings.
type slowReading struct {
	delay atomic.Int64 // nanoseconds
	reads atomic.Int64

	dialing func(context.Context) // nil: nothing
	full    atomic.Bool           // no connection is to be had
}

func (s *slowReading) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if s.full.Load() {
		return nil, errors.New("too many connections")
	}
	if s.dialing != nil {
		s.dialing(ctx)
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	return &slowConn{Conn: conn, slow: s, closed: make(chan struct{})}, err
}

type slowConn struct {
	net.Conn
	slow   *slowReading
	once   sync.Once
	closed chan struct{}
}

func (c *slowConn) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("information_schema.VIEWS")) {
		c.slow.reads.Add(1)
	}
	if bytes.Contains(b, []byte("information_schema.")) {
		select {
		case <-time.After(time.Duration(c.slow.delay.Load())):
		case <-c.closed:
		}
	}
	return c.Conn.Write(b)
}

func (c *slowConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// eachSlow runs f on both servers, with a connector of a table n.t.
func eachSlow(t *testing.T, f func(t *testing.T, slow *slowReading, c *Connector, db *sql.DB, exec func(string))) {
	servers, err := testserver.Shared(t.Context())
	require.NoError(t, err)
	for _, srv := range servers {
		t.Run(fmt.Sprint(srv.Flavor()), func(t *testing.T) {
			name := fmt.Sprintf("slow_%p", t)
			admin, err := sql.Open("mysql", srv.DSN(""))
			require.NoError(t, err)
			defer admin.Close()
			exec := func(text string) {
				_, err := admin.Exec(text)
				require.NoError(t, err, text)
			}
			exec("CREATE DATABASE " + name)
			defer exec("DROP DATABASE " + name)
			exec("CREATE TABLE " + name + ".t (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0)")
			exec("USE " + name)
			cfg, _, err := ParseDSN(srv.DSN(name))
			require.NoError(t, err)
			slow := &slowReading{}
			cfg.DialFunc = slow.dial
			c, err := NewConnector(cfg, &Config{CreateSlots: true, Logger: slog.New(slog.DiscardHandler),
				Tables: []TableConfig{{Table: "t", Counters: []string{"n"}}}})
			require.NoError(t, err)
			db := sql.OpenDB(c)
			defer db.Close()
			f(t, slow, c, db, func(text string) { exec(fmt.Sprintf(text, name)) })
		})
	}
}

// TestSchemaSlowerThanContexts proves that a schema whose reading takes longer
// than the context of every caller lasts is learned nevertheless.
func TestSchemaSlowerThanContexts(t *testing.T) {
	eachSlow(t, func(t *testing.T, slow *slowReading, c *Connector, db *sql.DB, exec func(string)) {
		slow.delay.Store(int64(100 * time.Millisecond))
		failed := 0
		for {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			err := db.PingContext(ctx)
			cancel()
			if err == nil {
				break
			}
			require.Equal(t, context.DeadlineExceeded, err)
			failed++
			require.Less(t, failed, 100)
		}
		require.Positive(t, failed)
	})
}

// TestSchemaReadOnce proves that connections that are opened together share a
// reading of the schema.
func TestSchemaReadOnce(t *testing.T) {
	eachSlow(t, func(t *testing.T, slow *slowReading, c *Connector, db *sql.DB, exec func(string)) {
		slow.delay.Store(int64(10 * time.Millisecond))
		var wg sync.WaitGroup
		for range 32 {
			wg.Go(func() {
				conn, err := db.Conn(t.Context())
				if err == nil {
					err = conn.Close()
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		require.EqualValues(t, 2, slow.reads.Load()) // before and after the slots table was made
	})
}

// TestSchemaChangeNotMissed proves that everybody waits for what is known to have
// changed, also who comes while it is read, or during a reading that began before.
func TestSchemaChangeNotMissed(t *testing.T) {
	eachSlow(t, func(t *testing.T, slow *slowReading, c *Connector, db *sql.DB, exec func(string)) {
		require.NoError(t, db.Ping())
		slow.delay.Store(int64(10 * time.Millisecond))
		before := c.read(t.Context(), true)
		exec("ALTER TABLE %s.t ADD COLUMN x INT")
		c.changes.Add(1)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 20 * time.Millisecond)
				s, err := c.schema(t.Context())
				if err != nil || s.all()[0].column("x") == nil {
					t.Error(err, "the new column is not known")
				}
			})
		}
		wg.Wait()
		_, err := before.wait(t.Context())
		require.NoError(t, err)
	})
}

// TestReadingHasTheContextsValues proves that look-up connections are opened with
// the values of the context that they are for: a BeforeConnect may need them.
func TestReadingHasTheContextsValues(t *testing.T) {
	type tenant struct{}
	eachSlow(t, func(t *testing.T, slow *slowReading, c *Connector, db *sql.DB, exec func(string)) {
		var without atomic.Int64
		slow.dialing = func(ctx context.Context) {
			if ctx.Value(tenant{}) == nil {
				without.Add(1)
			}
		}
		require.NoError(t, db.PingContext(context.WithValue(t.Context(), tenant{}, 7)))
		require.Positive(t, slow.reads.Load())
		require.Zero(t, without.Load())
	})
}

// TestCloseStopsReading proves that sql.DB.Close does not wait for a reading that
// nobody needs any more.
func TestCloseStopsReading(t *testing.T) {
	eachSlow(t, func(t *testing.T, slow *slowReading, c *Connector, db *sql.DB, exec func(string)) {
		slow.delay.Store(int64(time.Hour))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		require.Equal(t, context.DeadlineExceeded, db.PingContext(ctx))
		closed := make(chan error)
		go func() { closed <- db.Close() }()
		select {
		case err := <-closed:
			require.NoError(t, err)
		case <-time.After(schemaTimeout / 2):
			t.Fatal("Close waits")
		}
	})
}

// TestSchemaOutOfReach proves that a session goes on with what concerns no counter where
// the schema can't be read, because the server has no connection left for example.
func TestSchemaOutOfReach(t *testing.T) {
	eachSlow(t, func(t *testing.T, slow *slowReading, c *Connector, db *sql.DB, exec func(string)) {
		conn, err := db.Conn(t.Context())
		require.NoError(t, err)
		defer conn.Close()
		run := func(text string) error {
			_, err := conn.ExecContext(t.Context(), text)
			return err
		}
		require.NoError(t, run("INSERT INTO t (id) VALUES (1)"))
		tx, err := conn.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		require.NoError(t, run("UPDATE t SET n = n + 1 WHERE id = 1"))

		slow.full.Store(true)
		c.look.Load().SetMaxIdleConns(-1)
		c.checked.Store(time.Now().Add(-time.Hour).UnixNano())
		require.NoError(t, run("DO 1"))
		require.NoError(t, tx.Commit())
		require.ErrorContains(t, run("UPDATE t SET n = n + 1 WHERE id = 1"), "too many connections")
		c.changes.Add(1) // perhaps there is a function now that reads t
		require.ErrorContains(t, run("DO f()"), "too many connections")

		slow.full.Store(false)
		require.NoError(t, run("UPDATE t SET n = n + 1 WHERE id = 1"))
		var n int
		require.NoError(t, conn.QueryRowContext(t.Context(), "SELECT n FROM t").Scan(&n))
		require.Equal(t, 2, n)
	})
}
