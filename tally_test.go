package countermysql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/catalog"
)

// rested has the schema of a connector as old as age, read when no DDL had begun for long,
// and waits for what is under way.
func (c *Connector) rested(t *testing.T, age, loaded time.Duration) {
	require.Eventually(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.under != nil {
			return false
		}
		c.checked.Store(int64(catalog.Clock() - age))
		c.loaded, c.moved = catalog.Clock()-loaded, catalog.Clock()-time.Hour
		return true
	}, 10*time.Second, time.Millisecond)
}

// TestIdleSchemaIsLookedAt proves that who was idle does not read the schema again where
// no client has begun DDL, however many tables there are, and reads it where one has,
// whatever it is.
func TestIdleSchemaIsLookedAt(t *testing.T) {
	eachSlow(t, func(t *testing.T, slow *slowReading, c *Connector, db, direct *sql.DB) {
		execute(t, direct, "CREATE TABLE other (id INT PRIMARY KEY)")
		execute(t, db, "DO 1") // it makes the slots table
		first, reads := c.current.Load(), slow.reads.Load()
		for range 3 {
			c.rested(t, catalog.SchemaTooOld+time.Second, 0)
			execute(t, db, "UPDATE t SET n = n + 1 WHERE id = 1")
		}
		c.rested(t, 0, 0)
		require.Equal(t, reads, slow.reads.Load())

		c.rested(t, catalog.SchemaTooOld+time.Second, catalog.SchemaSettles)
		execute(t, db, "DO 1")
		c.rested(t, 0, 0) // it was read in the background
		require.Equal(t, reads+1, slow.reads.Load())
		require.True(t, first == c.current.Load())

		definer := "CREATE PROCEDURE makes() CREATE VIEW v2 AS SELECT * FROM t"
		for _, ddl := range []string{
			"ALTER TABLE t ADD COLUMN x INT", "CREATE VIEW v AS SELECT * FROM t", "ALTER VIEW v AS SELECT id FROM t", "DROP VIEW v",
			"CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.n = NEW.n", "DROP TRIGGER g", "CREATE FUNCTION f() RETURNS INT READS SQL DATA RETURN (SELECT SUM(n) FROM t)", "DROP FUNCTION f",
			definer, "CALL makes()", "DROP VIEW v2",
			"CREATE INDEX i ON t (n)", "DROP INDEX i ON t", "RENAME TABLE other TO another",
		} {
			before := c.current.Load()
			c.rested(t, catalog.SchemaTooOld+time.Second, 0)
			execute(t, direct, ddl)
			reads = slow.reads.Load()
			execute(t, db, "DO 1")
			require.Equal(t, reads+1, slow.reads.Load(), ddl)
			if ddl != "RENAME TABLE other TO another" && !strings.Contains(ddl, " INDEX ") {
				require.False(t, before == c.current.Load(), ddl)
			}
		}
	})
}

// TestDDLUnderWay proves that DDL which another client had begun when the schema was read,
// and which took effect later, is noticed by a later look, though none has begun since.
func TestDDLUnderWay(t *testing.T) {
	eachSlow(t, func(t *testing.T, slow *slowReading, c *Connector, db, direct *sql.DB) {
		execute(t, db, "INSERT INTO t (id) VALUES (1)")
		holder, err := direct.Begin()
		require.NoError(t, err)
		defer holder.Rollback()
		_, err = holder.Exec("UPDATE t SET n = 0 WHERE id = 1")
		require.NoError(t, err)
		altered := make(chan error, 1)
		go func() {
			_, err := direct.ExecContext(context.WithoutCancel(t.Context()), "ALTER TABLE t ADD COLUMN x INT")
			altered <- err
		}()
		require.Eventually(t, func() bool {
			var n int
			_ = direct.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND INFO LIKE 'ALTER TABLE t %' AND STATE LIKE '%metadata lock'").Scan(&n) // none yet
			return n == 1
		}, 10*time.Second, 5*time.Millisecond)
		c.objects = &catalog.Objects{} // all is read, or the next look would read it in any case
		s, err := c.learn(t.Context())
		require.NoError(t, err)
		require.Nil(t, s.All()[0].Column("x"))
		require.NoError(t, holder.Rollback())
		require.NoError(t, <-altered)
		require.True(t, c.tally(t.Context()).Same(c.tallied), "it counts when it begins")
		c.checked.Store(int64(catalog.Clock() - catalog.SchemaAge - time.Second))
		execute(t, db, "DO 1")
		require.Eventually(t, func() bool { return c.current.Load().All()[0].Column("x") != nil }, 10*time.Second, time.Millisecond)
	})
}

// TestTallySame proves that a server that was started anew, or another, is not taken for
// the same, nor one that does not tell.
func TestTallySame(t *testing.T) {
	now := catalog.Tally{Counts: "Com_create_view=1 ", Since: time.Hour}
	require.True(t, now.Same(catalog.Tally{Counts: now.Counts, Since: now.Since + time.Second}))
	for _, other := range []catalog.Tally{{}, {Counts: now.Counts, Since: 2 * time.Hour}, {Counts: now.Counts, Since: 0}, {Counts: "Com_create_view=2 ", Since: time.Hour}} {
		require.False(t, now.Same(other), fmt.Sprint(other))
	}
	require.False(t, catalog.Tally{}.Same(catalog.Tally{}))
}

// TestObjectsOfTables proves that what makes and drops tables does not have views, routines
// and triggers read again, that all else does, and that a later look reads them in any case.
func TestObjectsOfTables(t *testing.T) {
	eachSlow(t, func(t *testing.T, _ *slowReading, c *Connector, db, direct *sql.DB) {
		known := func() *catalog.Objects {
			_, err := c.learn(t.Context())
			require.NoError(t, err)
			return c.objects
		}
		was := known()
		execute(t, direct, "CREATE TABLE other (id INT PRIMARY KEY)")
		execute(t, direct, "ALTER TABLE t ADD COLUMN x INT")
		execute(t, direct, "DROP TABLE other")
		require.Same(t, was, known())
		require.NotNil(t, c.current.Load().All()[0].Column("x"))
		was.At -= catalog.SchemaAge
		require.NotSame(t, was, known(), "it is old")
		for _, ddl := range []string{"CREATE VIEW v AS SELECT n FROM t", "DROP VIEW v", "CREATE FUNCTION f() RETURNS INT READS SQL DATA RETURN (SELECT MAX(n) FROM t)", "DROP FUNCTION f", "CREATE TRIGGER g BEFORE DELETE ON t FOR EACH ROW SET @x = 1"} {
			was = known()
			execute(t, direct, ddl)
			require.NotSame(t, was, known(), ddl)
		}
		require.NotSame(t, known(), known(), "a table that is dropped takes its triggers along")
	})
}

// TestPartOfSchema proves that DDL through the driver is known at once though nothing is
// asked of the other tables, and that what another client did to those is found by the next
// look nevertheless.
func TestPartOfSchema(t *testing.T) {
	forEachServer(t, func(t *testing.T, d database) {
		for _, name := range []string{"a", "b"} {
			execute(t, d.direct, "CREATE TABLE "+name+" (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0)")
		}
		c, db := d.connector(t, "a", "b")
		execute(t, db, "INSERT INTO a (id) VALUES (1)")
		column := func(table, name string) *catalog.Column {
			return c.current.Load().Lookup(d.name, table, "").Column(name)
		}
		execute(t, d.direct, "ALTER TABLE b ADD COLUMN x INT")
		execute(t, db, "ALTER TABLE a ADD COLUMN x INT")
		require.NotNil(t, column("a", "x"))
		require.Nil(t, column("b", "x"), "nobody has asked")
		execute(t, db, "DROP TABLE a")
		execute(t, db, "CREATE TABLE a (id BIGINT PRIMARY KEY, n INT NOT NULL DEFAULT 0)")
		require.Equal(t, "bigint", column("a", "id").DataType)
		require.Nil(t, column("b", "x"), "nobody has asked")
		c.rested(t, catalog.SchemaTooOld+time.Second, 0)
		execute(t, db, "DO 1")
		require.NotNil(t, column("b", "x"))
		require.Equal(t, "bigint", column("a", "id").DataType)
	})
}
