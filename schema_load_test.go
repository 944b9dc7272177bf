package countermysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/testserver"
)

// TestSchemaStays proves that a schema that has not changed stays with its plans
// when it is read again, however many tables it has, and a changed one does not.
func TestSchemaStays(t *testing.T) {
	const tables = 12
	servers, err := testserver.Shared(t.Context())
	require.NoError(t, err)
	for _, srv := range servers {
		t.Run(fmt.Sprint(srv.Flavor()), func(t *testing.T) {
			name := fmt.Sprintf("stays_%p", t)
			admin, err := sql.Open("mysql", srv.DSN(""))
			require.NoError(t, err)
			defer admin.Close()
			exec := func(text string) {
				_, err := admin.Exec(text)
				require.NoError(t, err, text)
			}
			exec("CREATE DATABASE " + name)
			defer exec("DROP DATABASE " + name)
			config := &Config{CreateSlots: true, Logger: slog.New(slog.DiscardHandler)}
			exec("CREATE TABLE " + name + ".parent (id INT PRIMARY KEY)")
			for i := range tables {
				table := fmt.Sprintf("%s.t%d", name, i)
				exec("CREATE TABLE " + table + " (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0, u INT UNIQUE, p INT, FOREIGN KEY (p) REFERENCES " + name + ".parent (id) ON DELETE CASCADE)")
				exec(fmt.Sprintf("CREATE VIEW %s.v%d AS SELECT * FROM %s", name, i, table))
				exec(fmt.Sprintf("CREATE TRIGGER %s.x%d AFTER INSERT ON %s FOR EACH ROW SET @x = 1", name, i, table))
				config.Tables = append(config.Tables, TableConfig{Table: fmt.Sprintf("%s.t%d", name, i), Counters: []string{"n"}})
			}
			cfg, _, err := ParseDSN(srv.DSN(name))
			require.NoError(t, err)
			c, err := NewConnector(cfg, config)
			require.NoError(t, err)
			db := sql.OpenDB(c)
			defer db.Close()
			require.NoError(t, db.Ping())
			first, err := c.learn(t.Context())
			require.NoError(t, err)
			require.Len(t, first.tables, tables)
			for range 5 {
				again, err := c.learn(t.Context())
				require.NoError(t, err)
				require.True(t, first == again)
			}
			for _, change := range []string{"ALTER TABLE %s.t3 ADD COLUMN x INT", "ALTER TABLE %s.t3 DROP INDEX u", "DROP VIEW %s.v5", "DROP TRIGGER %s.x7", "ALTER TABLE %s.t1 ADD CHECK (n < 1000)"} {
				exec(fmt.Sprintf(change, name))
				changed, err := c.learn(t.Context())
				require.NoError(t, err)
				require.False(t, first == changed, change)
				first = changed
			}
		})
	}
}

// TestSchemaUnread proves that a schema that can't be read again goes on to serve
// until it is too old, if no DDL is known of.
func TestSchemaUnread(t *testing.T) {
	servers, err := testserver.Shared(t.Context())
	require.NoError(t, err)
	for _, srv := range servers {
		t.Run(fmt.Sprint(srv.Flavor()), func(t *testing.T) {
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
			db := sql.OpenDB(c)
			defer db.Close()
			conn, err := db.Conn(t.Context())
			require.NoError(t, err)
			defer conn.Close()
			run := func(age time.Duration) error {
				c.checked.Store(time.Now().Add(-age).UnixNano())
				_, err := conn.ExecContext(t.Context(), "DO 't'")
				require.Eventually(t, func() bool {
					c.mu.Lock()
					defer c.mu.Unlock()
					return c.under == nil
				}, 10*time.Second, time.Millisecond)
				return err
			}
			full.Store(true)
			c.look.Load().SetMaxIdleConns(-1)
			for range 3 {
				require.NoError(t, run(schemaAge+time.Second))
			}
			require.ErrorContains(t, run(schemaTooOld+time.Second), "too many connections")
			c.changes.Add(1) // DDL
			require.ErrorContains(t, run(0), "too many connections")
			require.ErrorContains(t, run(0), "too many connections")
			full.Store(false)
			require.NoError(t, run(0))
			require.NoError(t, run(-time.Hour)) // the clock was set back
			require.Less(t, c.age(), schemaAge)
		})
	}
}
