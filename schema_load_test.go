package countermysql

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/catalog"
)

// TestSchemaStays proves that a schema that has not changed stays with its plans
// when it is read again, however many tables it has, and a changed one does not.
func TestSchemaStays(t *testing.T) {
	const tables = 12
	forEachServer(t, func(t *testing.T, d database) {
		execute(t, d.direct, "CREATE TABLE parent (id INT PRIMARY KEY)")
		var names []string
		for i := range tables {
			names = append(names, fmt.Sprintf("t%d", i))
			execute(t, d.direct, fmt.Sprintf("CREATE TABLE t%d (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0, u INT UNIQUE, p INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE)", i))
			execute(t, d.direct, fmt.Sprintf("CREATE VIEW v%d AS SELECT * FROM t%d", i, i))
			execute(t, d.direct, fmt.Sprintf("CREATE TRIGGER x%d AFTER INSERT ON t%d FOR EACH ROW SET @x = 1", i, i))
		}
		c, db := d.connector(t, names...)
		require.NoError(t, db.Ping())
		first, err := c.learn(t.Context())
		require.NoError(t, err)
		require.Len(t, first.Tables, tables)
		for range 5 {
			again, err := c.learn(t.Context())
			require.NoError(t, err)
			require.True(t, first == again)
		}
		for _, change := range []string{"ALTER TABLE t3 ADD COLUMN x INT", "ALTER TABLE t3 DROP INDEX u", "DROP VIEW v5", "DROP TRIGGER x7", "ALTER TABLE t1 ADD CHECK (n < 1000)"} {
			execute(t, d.direct, change)
			changed, err := c.learn(t.Context())
			require.NoError(t, err)
			require.False(t, first == changed, change)
			first = changed
		}
	})
}

// TestSchemaUnread proves that a schema that can't be read again goes on to serve
// until it is too old, if no DDL is known of.
func TestSchemaUnread(t *testing.T) {
	forEachServer(t, func(t *testing.T, d database) {
		server := &crowded{}
		d.cfg.DialFunc = server.dial
		c, db := d.connector(t, "t")
		conn, err := db.Conn(t.Context())
		require.NoError(t, err)
		defer conn.Close()
		run := func(age time.Duration) error {
			c.checked.Store(int64(catalog.Clock() - age))
			_, err := conn.ExecContext(t.Context(), "DO 't'")
			require.Eventually(t, func() bool {
				c.mu.Lock()
				defer c.mu.Unlock()
				return c.under == nil
			}, 10*time.Second, time.Millisecond)
			return err
		}
		server.full.Store(true)
		c.look.Load().SetMaxIdleConns(-1)
		for range 3 {
			require.NoError(t, run(catalog.SchemaAge+time.Second))
		}
		require.ErrorContains(t, run(catalog.SchemaTooOld+time.Second), "too many connections")
		c.changes.Add(1) // DDL
		require.ErrorContains(t, run(0), "too many connections")
		require.ErrorContains(t, run(0), "too many connections")
		server.full.Store(false)
		require.NoError(t, run(0))
		require.Less(t, c.age(), catalog.SchemaAge)
	})
}
