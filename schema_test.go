package countermysql

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/servertest"
)

// TestSchemaOutOfReach proves that a session goes on with what concerns no counter where
// the schema can't be read, because the server has no connection left for example.
func TestSchemaOutOfReach(t *testing.T) {
	servertest.Each(t, func(t *testing.T, d servertest.Database) {
		servertest.Execute(t, d.Direct, "CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0)")
		server := &servertest.Crowded{}
		d.Config.DialFunc = server.Dial
		c, db := connectorTo(t, d, "t")
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

		server.Full.Store(true)
		look, err := c.lookups.DB()
		require.NoError(t, err)
		look.SetMaxIdleConns(-1)
		c.watcher.Expire()
		require.NoError(t, run("DO 1"))
		require.NoError(t, tx.Commit())
		require.ErrorContains(t, run("UPDATE t SET n = n + 1 WHERE id = 1"), "too many connections")
		c.watcher.NoteChange() // perhaps there is a function now that reads t
		require.ErrorContains(t, run("DO f()"), "too many connections")

		server.Full.Store(false)
		require.NoError(t, run("UPDATE t SET n = n + 1 WHERE id = 1"))
		var n int
		require.NoError(t, conn.QueryRowContext(t.Context(), "SELECT n FROM t").Scan(&n))
		require.Equal(t, 2, n)
	})
}

// TestPartOfSchema proves that DDL through the driver is known at once though nothing is
// asked of the other tables, and that what another client did to those is found by the next
// look nevertheless.
func TestPartOfSchema(t *testing.T) {
	servertest.Each(t, func(t *testing.T, d servertest.Database) {
		for _, name := range []string{"a", "b"} {
			servertest.Execute(t, d.Direct, "CREATE TABLE "+name+" (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0)")
		}
		c, db := connectorTo(t, d, "a", "b")
		servertest.Execute(t, db, "INSERT INTO a (id) VALUES (1)")
		column := func(table, name string) *catalog.Column {
			return c.watcher.Current().Lookup(d.Name, table, "").Column(name)
		}
		servertest.Execute(t, d.Direct, "ALTER TABLE b ADD COLUMN x INT")
		servertest.Execute(t, db, "ALTER TABLE a ADD COLUMN x INT")
		require.NotNil(t, column("a", "x"))
		require.Nil(t, column("b", "x"), "nobody has asked")
		servertest.Execute(t, db, "DROP TABLE a")
		servertest.Execute(t, db, "CREATE TABLE a (id BIGINT PRIMARY KEY, n INT NOT NULL DEFAULT 0)")
		require.Equal(t, "bigint", column("a", "id").DataType)
		require.Nil(t, column("b", "x"), "nobody has asked")
		c.watcher.Expire()
		servertest.Execute(t, db, "DO 1")
		require.NotNil(t, column("b", "x"))
		require.Equal(t, "bigint", column("a", "id").DataType)
	})
}
