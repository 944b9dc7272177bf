package watch

import (
	"bytes"
	"context"
	"database/sql"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/lookups"
	"github.com/countermysql/countermysql/internal/servertest"
)

// slowReading delays what asks information_schema, and counts readings.
type slowReading struct {
	delay atomic.Int64 // nanoseconds
	reads atomic.Int64

	dialing func(context.Context) // nil: nothing
	servertest.Crowded
}

func (s *slowReading) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if s.dialing != nil {
		s.dialing(ctx)
	}
	conn, err := s.Crowded.Dial(ctx, network, address)
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

// eachSlow runs f on each server, with a Watcher of a table t.
func eachSlow(t *testing.T, f func(t *testing.T, slow *slowReading, w *Watcher, direct *sql.DB)) {
	servertest.Each(t, func(t *testing.T, d servertest.Database) {
		servertest.Execute(t, d.Direct, "CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0)")
		slow := &slowReading{}
		d.Config.DialFunc = slow.dial
		f(t, slow, watcher(t, d, "t"), d.Direct)
	})
}

// watcher returns one of tables that have a counter n each.
func watcher(t *testing.T, d servertest.Database, tables ...string) *Watcher {
	raw, err := mysql.NewConnector(d.Config)
	require.NoError(t, err)
	config := Config{Lookups: lookups.New(raw), CreateSlots: true, Adopted: func(*catalog.Schema) {}, Warn: func(string, string, ...any) {}}
	for _, name := range tables {
		config.Specs = append(config.Specs, catalog.Spec{DB: d.Name, Name: name, SlotsTable: name + "_slots", Counters: []string{"n"}, Slots: 16})
	}
	w := New(config)
	t.Cleanup(w.close)
	return w
}

// close is what a connector does when it is closed.
func (w *Watcher) close() {
	w.Retire()
	w.Wait()
	w.config.Lookups.Close()
}

// ask asks as a statement does.
func (w *Watcher) ask(t *testing.T) {
	t.Helper()
	_, err := w.Schema(t.Context())
	require.NoError(t, err)
}

func (w *Watcher) look(t *testing.T) *sql.DB {
	look, err := w.config.Lookups.DB()
	require.NoError(t, err)
	return look
}

// TestSchemaSlowerThanContexts proves that a schema whose reading takes longer
// than the context of every caller lasts is learned nevertheless.
func TestSchemaSlowerThanContexts(t *testing.T) {
	eachSlow(t, func(t *testing.T, slow *slowReading, w *Watcher, direct *sql.DB) {
		slow.delay.Store(int64(100 * time.Millisecond))
		failed := 0
		for {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			_, err := w.Schema(ctx)
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

// TestSchemaReadOnce proves that all who ask together share a
// reading of the schema.
func TestSchemaReadOnce(t *testing.T) {
	eachSlow(t, func(t *testing.T, slow *slowReading, w *Watcher, direct *sql.DB) {
		slow.delay.Store(int64(10 * time.Millisecond))
		var wg sync.WaitGroup
		for range 32 {
			wg.Go(func() {
				if _, err := w.Schema(t.Context()); err != nil {
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
	eachSlow(t, func(t *testing.T, slow *slowReading, w *Watcher, direct *sql.DB) {
		w.ask(t)
		slow.delay.Store(int64(10 * time.Millisecond))
		before := w.read(t.Context(), ofAnyone)
		servertest.Execute(t, direct, "ALTER TABLE t ADD COLUMN x INT")
		w.NoteChange()
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 20 * time.Millisecond)
				s, err := w.Schema(t.Context())
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
	eachSlow(t, func(t *testing.T, slow *slowReading, w *Watcher, direct *sql.DB) {
		var without atomic.Int64
		slow.dialing = func(ctx context.Context) {
			if ctx.Value(tenant{}) == nil {
				without.Add(1)
			}
		}
		_, err := w.Schema(context.WithValue(t.Context(), tenant{}, 7))
		require.NoError(t, err)
		require.Positive(t, slow.reads.Load())
		require.Zero(t, without.Load())
	})
}

// TestCloseStopsReading proves that sql.DB.Close does not wait for a reading that
// nobody needs any more.
func TestCloseStopsReading(t *testing.T) {
	eachSlow(t, func(t *testing.T, slow *slowReading, w *Watcher, direct *sql.DB) {
		slow.delay.Store(int64(time.Hour))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := w.Schema(ctx)
		require.Equal(t, context.DeadlineExceeded, err)
		closed := make(chan struct{})
		go func() { w.close(); close(closed) }()
		select {
		case <-closed:
		case <-time.After(readingTimeout / 2):
			t.Fatal("Close waits")
		}
	})
}
