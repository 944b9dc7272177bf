package lookups

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/servertest"
)

// firewall forgets look-up connections: what is sent on them is lost, and
// nothing is heard any more.
type firewall struct {
	mu      sync.Mutex
	lookups []*forgettable
}

func (f *firewall) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	return &forgettable{Conn: conn, firewall: f, forgotten: make(chan struct{}), closed: make(chan struct{})}, err
}

func (f *firewall) forget() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.lookups {
		close(c.forgotten)
	}
	n = len(f.lookups)
	f.lookups = nil
	return n
}

type forgettable struct {
	net.Conn
	firewall          *firewall
	once              sync.Once
	forgotten, closed chan struct{}
}

func (c *forgettable) Write(b []byte) (int, error) {
	select {
	case <-c.forgotten:
		return len(b), nil
	default:
	}
	if bytes.Contains(b, []byte("SET autocommit = 1, completion_type = 0, SESSION lock_wait_timeout = 1")) {
		c.firewall.mu.Lock()
		defer c.firewall.mu.Unlock()
		c.firewall.lookups = append(c.firewall.lookups, c)
	}
	return c.Conn.Write(b)
}

func (c *forgettable) Read(b []byte) (int, error) {
	select {
	case <-c.forgotten:
		<-c.closed
		return 0, net.ErrClosed
	default:
		return c.Conn.Read(b)
	}
}

func (c *forgettable) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// pool returns one whose connections are kept for so long.
func pool(t *testing.T, d servertest.Database, idle time.Duration) *Pool {
	raw, err := mysql.NewConnector(d.Config)
	require.NoError(t, err)
	p := New(raw)
	require.Equal(t, maxIdle, p.idle)
	p.idle = idle
	t.Cleanup(p.Close)
	return p
}

// TestForgottenLookups proves that look-up connections are given up before a
// firewall has forgotten them: a transaction would wait for ever.
func TestForgottenLookups(t *testing.T) {
	servertest.Each(t, func(t *testing.T, d servertest.Database) {
		wall := &firewall{}
		d.Config.DialFunc = wall.dial
		p := pool(t, d, 50*time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := p.Query(ctx, "SELECT 1")
		require.NoError(t, err)
		time.Sleep(2 * time.Second) // database/sql looks once in a second
		require.Positive(t, wall.forget())
		rows, err := p.Query(ctx, "SELECT 1, NULL, 'x'")
		require.NoError(t, err)
		require.Equal(t, [][]string{{"1", "", "x"}}, rows)
	})
}

// TestLookupsInUse proves that look-up connections which are used are not given up: a
// server that has no connection left would refuse new ones, and every statement failed.
func TestLookupsInUse(t *testing.T) {
	servertest.Each(t, func(t *testing.T, d servertest.Database) {
		server := &servertest.Crowded{}
		d.Config.DialFunc = server.Dial
		p := pool(t, d, 500*time.Millisecond)
		require.NoError(t, p.Exec(t.Context(), "DO 1"))
		server.Full.Store(true)
		for start := time.Now(); time.Since(start) < 1500*time.Millisecond; time.Sleep(20 * time.Millisecond) {
			require.NoError(t, p.Exec(t.Context(), "DO 1"))
		}
	})
}

// TestLastSessionEndsThem proves that sessions which are open when the connector is closed
// have look-ups of their own, until the last has ended, and nobody has any from then on.
func TestLastSessionEndsThem(t *testing.T) {
	servertest.Each(t, func(t *testing.T, d servertest.Database) {
		p := pool(t, d, maxIdle)
		p.Enter()
		p.Enter()
		look, err := p.DB()
		require.NoError(t, err)
		p.Retire()
		p.Close()
		require.Error(t, look.PingContext(t.Context()))
		p.Leave()
		look, err = p.DB()
		require.NoError(t, err)
		require.NoError(t, look.PingContext(t.Context()))
		p.Leave()
		require.Error(t, look.PingContext(t.Context()))
		_, err = p.Query(t.Context(), "SELECT 1")
		require.ErrorIs(t, err, sql.ErrConnDone)
	})
}

// TestAffinity proves that what only some sessions' kind can answer is answered by no other.
func TestAffinity(t *testing.T) {
	servertest.Each(t, func(t *testing.T, d servertest.Database) {
		p := pool(t, d, maxIdle)
		rows, err := p.Query(t.Context(), "SELECT "+AffinitySQL)
		require.NoError(t, err)
		_, err = p.QueryAs(t.Context(), rows[0][0], "SELECT 1")
		require.NoError(t, err)
		_, err = p.QueryAs(t.Context(), "another "+rows[0][0], "SELECT 1")
		require.ErrorIs(t, err, driver.ErrBadConn)
	})
}

// TestUncommitted proves that a query which sees what is not committed leaves its connection
// as it was, and that one which fails leaves none.
func TestUncommitted(t *testing.T) {
	servertest.Each(t, func(t *testing.T, d servertest.Database) {
		p := pool(t, d, maxIdle)
		look, err := p.DB()
		require.NoError(t, err)
		look.SetMaxOpenConns(1)
		servertest.Execute(t, d.Direct, "CREATE TABLE t (id INT PRIMARY KEY)")
		tx, err := d.Direct.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		defer tx.Rollback()
		servertest.Execute(t, tx, "INSERT INTO t VALUES (7)")
		id := func() string {
			rows, err := p.Query(t.Context(), "SELECT CONNECTION_ID()")
			require.NoError(t, err)
			return rows[0][0]
		}
		first := id()
		for range 2 {
			rows, err := p.Query(Uncommitted(t.Context()), "SELECT id FROM t")
			require.NoError(t, err)
			require.Equal(t, [][]string{{"7"}}, rows)
			rows, err = p.Query(t.Context(), "SELECT id FROM t")
			require.NoError(t, err)
			require.Empty(t, rows)
		}
		require.Equal(t, first, id())
		_, err = p.Query(Uncommitted(t.Context()), "SELECT nothing FROM t")
		require.Error(t, err)
		require.NotEqual(t, first, id())
	})
}
