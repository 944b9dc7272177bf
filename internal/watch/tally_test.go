package watch

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/servertest"
)

// rested has the schema of a connector as old as age, read when no DDL had begun for long,
// and waits for what is under way.
func (w *Watcher) rested(t *testing.T, age, loaded time.Duration) {
	require.Eventually(t, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.running != nil {
			return false
		}
		w.checked.Store(int64(catalog.Clock() - age))
		w.last.began, w.last.moved = catalog.Clock()-loaded, catalog.Clock()-time.Hour
		return true
	}, 10*time.Second, time.Millisecond)
}

// TestIdleSchemaIsLookedAt proves that who was idle does not read the schema again where
// no client has begun DDL, however many tables there are, and reads it where one has,
// whatever it is.
func TestIdleSchemaIsLookedAt(t *testing.T) {
	eachSlow(t, func(t *testing.T, slow *slowReading, w *Watcher, direct *sql.DB) {
		servertest.Execute(t, direct, "CREATE TABLE other (id INT PRIMARY KEY)")
		w.ask(t) // it makes the slots table
		first, reads := w.Current(), slow.reads.Load()
		for range 3 {
			w.rested(t, catalog.SchemaTooOld+time.Second, 0)
			w.ask(t)
		}
		w.rested(t, 0, 0)
		require.Equal(t, reads, slow.reads.Load())

		w.rested(t, catalog.SchemaTooOld+time.Second, catalog.SchemaSettles)
		w.ask(t)
		w.rested(t, 0, 0) // it was read in the background
		require.Equal(t, reads+1, slow.reads.Load())
		require.True(t, first == w.Current())

		definer := "CREATE PROCEDURE makes() CREATE VIEW v2 AS SELECT * FROM t"
		for _, ddl := range []string{
			"ALTER TABLE t ADD COLUMN x INT", "CREATE VIEW v AS SELECT * FROM t", "ALTER VIEW v AS SELECT id FROM t", "DROP VIEW v",
			"CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.n = NEW.n", "DROP TRIGGER g", "CREATE FUNCTION f() RETURNS INT READS SQL DATA RETURN (SELECT SUM(n) FROM t)", "DROP FUNCTION f",
			definer, "CALL makes()", "DROP VIEW v2",
			"CREATE INDEX i ON t (n)", "DROP INDEX i ON t", "RENAME TABLE other TO another",
		} {
			before := w.Current()
			w.rested(t, catalog.SchemaTooOld+time.Second, 0)
			servertest.Execute(t, direct, ddl)
			reads = slow.reads.Load()
			w.ask(t)
			require.Equal(t, reads+1, slow.reads.Load(), ddl)
			if ddl != "RENAME TABLE other TO another" && !strings.Contains(ddl, " INDEX ") {
				require.False(t, before == w.Current(), ddl)
			}
		}
	})
}

// TestDDLUnderWay proves that DDL which another client had begun when the schema was read,
// and which took effect later, is noticed by a later look, though none has begun since.
func TestDDLUnderWay(t *testing.T) {
	eachSlow(t, func(t *testing.T, slow *slowReading, w *Watcher, direct *sql.DB) {
		w.ask(t) // it makes the slots table
		servertest.Execute(t, direct, "INSERT INTO t (id) VALUES (1)")
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
		w.last.objects = &catalog.Objects{} // all is read, or the next look would read it in any case
		s, err := w.Refresh(t.Context())
		require.NoError(t, err)
		require.Nil(t, s.All()[0].Column("x"))
		require.NoError(t, holder.Rollback())
		require.NoError(t, <-altered)
		require.True(t, w.tally(t.Context()).Same(w.last.tally), "it counts when it begins")
		w.checked.Store(int64(catalog.Clock() - catalog.SchemaAge - time.Second))
		w.ask(t)
		require.Eventually(t, func() bool { return w.Current().All()[0].Column("x") != nil }, 10*time.Second, time.Millisecond)
	})
}

// TestObjectsOfTables proves that what makes and drops tables does not have views, routines
// and triggers read again, that all else does, and that a later look reads them in any case.
func TestObjectsOfTables(t *testing.T) {
	eachSlow(t, func(t *testing.T, _ *slowReading, w *Watcher, direct *sql.DB) {
		known := func() *catalog.Objects {
			_, err := w.Refresh(t.Context())
			require.NoError(t, err)
			return w.last.objects
		}
		was := known()
		servertest.Execute(t, direct, "CREATE TABLE other (id INT PRIMARY KEY)")
		servertest.Execute(t, direct, "ALTER TABLE t ADD COLUMN x INT")
		servertest.Execute(t, direct, "DROP TABLE other")
		require.Same(t, was, known())
		require.NotNil(t, w.Current().All()[0].Column("x"))
		was.At -= catalog.SchemaAge
		require.NotSame(t, was, known(), "it is old")
		for _, ddl := range []string{"CREATE VIEW v AS SELECT n FROM t", "DROP VIEW v", "CREATE FUNCTION f() RETURNS INT READS SQL DATA RETURN (SELECT MAX(n) FROM t)", "DROP FUNCTION f", "CREATE TRIGGER g BEFORE DELETE ON t FOR EACH ROW SET @x = 1"} {
			was = known()
			servertest.Execute(t, direct, ddl)
			require.NotSame(t, was, known(), ddl)
		}
		require.NotSame(t, known(), known(), "a table that is dropped takes its triggers along")
	})
}
