package countermysql

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/catalog"
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
	if bytes.Contains(b, []byte("SET autocommit = 1, SESSION lock_wait_timeout = 1")) {
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

// TestForgottenLookups proves that look-up connections are given up before a
// firewall has forgotten them: a transaction would wait for ever.
func TestForgottenLookups(t *testing.T) {
	forEachServer(t, func(t *testing.T, d database) {
		execute(t, d.direct, "CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL)")
		execute(t, d.direct, "INSERT INTO t VALUES (1, 0)")
		wall := &firewall{}
		d.cfg.DialFunc = wall.dial
		c, db := d.connector(t, "t")
		require.Equal(t, maxLookupIdle, c.lookupIdle)
		c.lookupIdle = 50 * time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		conn, err := db.Conn(ctx)
		require.NoError(t, err)
		defer conn.Close()
		time.Sleep(2 * time.Second) // database/sql looks once in a second
		require.Positive(t, wall.forget())
		tx, err := conn.BeginTx(ctx, nil)
		require.NoError(t, err)
		_, err = tx.ExecContext(ctx, "DO 1") // BEGIN
		require.NoError(t, err)
		_, err = tx.ExecContext(ctx, "UPDATE t SET n = n + 1 WHERE id = 1")
		require.NoError(t, err)
		require.NoError(t, tx.Commit())
	})
}

// TestLookupsInUse proves that look-up connections which are used are not given up: a
// server that has no connection left would refuse new ones, and every statement failed.
func TestLookupsInUse(t *testing.T) {
	forEachServer(t, func(t *testing.T, d database) {
		server := &crowded{}
		d.cfg.DialFunc = server.dial
		c, db := d.connector(t, "t")
		c.lookupIdle = 500 * time.Millisecond
		conn, err := db.Conn(t.Context())
		require.NoError(t, err)
		defer conn.Close()
		server.full.Store(true)
		for start := time.Now(); time.Since(start) < 1500*time.Millisecond; time.Sleep(20 * time.Millisecond) {
			c.checked.Store(int64(catalog.Clock() - time.Hour))
			_, err := conn.ExecContext(t.Context(), "DO 1")
			require.NoError(t, err)
		}
	})
}
