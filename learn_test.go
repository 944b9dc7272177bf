package countermysql

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
)

// slowReading delays what asks information_schema, and counts readings.
type slowReading struct {
	delay atomic.Int64 // nanoseconds
	reads atomic.Int64

	dialing func(context.Context) // nil: nothing
	crowded
}

func (s *slowReading) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if s.dialing != nil {
		s.dialing(ctx)
	}
	conn, err := s.crowded.dial(ctx, network, address)
	return &slowConn{Conn: conn, slow: s, closed: make(chan struct{})}, err
}

type slowConn struct {
	net.Conn
	slow   *slowReading
	once   sync.Once
	closed chan struct{}
}

func (c *slowConn) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("TABLE_TYPE = 'VIEW'")) {
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

// eachSlow runs f on each server, with a connector of a table t.
func eachSlow(t *testing.T, f func(t *testing.T, slow *slowReading, c *Connector, db, direct *sql.DB)) {
	forEachServer(t, func(t *testing.T, d database) {
		execute(t, d.direct, "CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0)")
		slow := &slowReading{}
		d.cfg.DialFunc = slow.dial
		c, db := d.connector(t, "t")
		f(t, slow, c, db, d.direct)
	})
}

// TestSchemaSlowerThanContexts proves that a schema whose reading takes longer
// than the context of every caller lasts is learned nevertheless.
func TestSchemaSlowerThanContexts(t *testing.T) {
	eachSlow(t, func(t *testing.T, slow *slowReading, c *Connector, db, direct *sql.DB) {
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
	eachSlow(t, func(t *testing.T, slow *slowReading, c *Connector, db, direct *sql.DB) {
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
		require.EqualValues(t, 1, slow.reads.Load())
	})
}

// TestSchemaChangeNotMissed proves that everybody waits for what is known to have
// changed, also who comes while it is read, or during a reading that began before.
func TestSchemaChangeNotMissed(t *testing.T) {
	eachSlow(t, func(t *testing.T, slow *slowReading, c *Connector, db, direct *sql.DB) {
		require.NoError(t, db.Ping())
		slow.delay.Store(int64(10 * time.Millisecond))
		before := c.read(t.Context(), asServed)
		execute(t, direct, "ALTER TABLE t ADD COLUMN x INT")
		c.changes.Add(1)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 20 * time.Millisecond)
				s, err := c.schema(t.Context())
				if err != nil || s.All()[0].Column("x") == nil {
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
	eachSlow(t, func(t *testing.T, slow *slowReading, c *Connector, db, direct *sql.DB) {
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
	eachSlow(t, func(t *testing.T, slow *slowReading, c *Connector, db, direct *sql.DB) {
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
	eachSlow(t, func(t *testing.T, slow *slowReading, c *Connector, db, direct *sql.DB) {
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
		c.checked.Store(int64(catalog.Clock() - time.Hour))
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

// TestUnlessRefused proves that refused DDL is tried again after pauses that grow, and
// after a success at once.
func TestUnlessRefused(t *testing.T) {
	c := &Connector{refused: map[string]refusedDDL{}}
	tries := 0
	answer := error(&mysql.MySQLError{Number: mysqlerr.ErrLockWait})
	try := func() error {
		return c.unlessRefused("ALTER", func() error {
			tries++
			return answer
		})
	}
	pass := func() time.Duration {
		r := c.refused["ALTER"]
		pause := time.Until(r.until)
		r.until = time.Now()
		c.refused["ALTER"] = r
		return pause
	}
	last := time.Duration(0)
	for i := range 8 {
		require.EqualValues(t, mysqlerr.ErrLockWait, mysqlerr.Number(try()))
		require.EqualValues(t, mysqlerr.ErrLockWait, mysqlerr.Number(try()))
		require.Equal(t, i+1, tries)
		pause := pass()
		require.Greater(t, pause, shortestPause-time.Second)
		require.True(t, pause > last || pause > longestPause-time.Second, "%v after %v", pause, last)
		last = pause
	}
	answer = nil
	require.NoError(t, try())
	answer = errors.New("another")
	require.ErrorIs(t, try(), answer)
	require.ErrorIs(t, try(), answer)
	require.Equal(t, 11, tries)
}
