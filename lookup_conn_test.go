package countermysql

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/testserver"
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
	servers, err := testserver.Shared(t.Context())
	require.NoError(t, err)
	for _, srv := range servers {
		t.Run(string(srv.Flavor()), func(t *testing.T) {
			name := fmt.Sprintf("forgotten_%d", os.Getpid())
			admin, err := sql.Open("mysql", srv.DSN(""))
			require.NoError(t, err)
			defer admin.Close()
			for _, stmt := range []string{"CREATE DATABASE " + name, "CREATE TABLE " + name + ".t (id INT PRIMARY KEY, n INT NOT NULL)", "INSERT INTO " + name + ".t VALUES (1, 0)"} {
				_, err := admin.Exec(stmt)
				require.NoError(t, err)
			}
			defer func() {
				_, err := admin.Exec("DROP DATABASE " + name)
				require.NoError(t, err)
			}()
			cfg, _, err := ParseDSN(srv.DSN(name))
			require.NoError(t, err)
			wall := &firewall{}
			cfg.DialFunc = wall.dial
			c, err := NewConnector(cfg, &Config{CreateSlots: true, Logger: slog.New(slog.DiscardHandler), Tables: []TableConfig{{Table: "t", Counters: []string{"n"}}}})
			require.NoError(t, err)
			require.Equal(t, maxLookupIdle, c.lookupIdle)
			c.lookupIdle = 50 * time.Millisecond
			db := sql.OpenDB(c)
			defer db.Close()
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
}

// TestLookupsInUse proves that look-up connections which are used are not given up: a
// server that has no connection left would refuse new ones, and every statement failed.
func TestLookupsInUse(t *testing.T) {
	servers, err := testserver.Shared(t.Context())
	require.NoError(t, err)
	for _, srv := range servers {
		t.Run(string(srv.Flavor()), func(t *testing.T) {
			cfg, _, err := ParseDSN(srv.DSN(""))
			require.NoError(t, err)
			var full atomic.Bool
			cfg.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
				if full.Load() {
					return nil, errors.New("too many connections")
				}
				return new(net.Dialer).DialContext(ctx, network, address)
			}
			c, err := NewConnector(cfg, &Config{Tables: []TableConfig{{Table: "none.t", Counters: []string{"n"}}}, Logger: slog.New(slog.DiscardHandler)})
			require.NoError(t, err)
			c.lookupIdle = 500 * time.Millisecond
			db := sql.OpenDB(c)
			defer db.Close()
			conn, err := db.Conn(t.Context())
			require.NoError(t, err)
			defer conn.Close()
			full.Store(true)
			for start := time.Now(); time.Since(start) < 1500*time.Millisecond; time.Sleep(20 * time.Millisecond) {
				c.checked.Store(0)
				_, err := conn.ExecContext(t.Context(), "DO 1")
				require.NoError(t, err)
			}
		})
	}
}
