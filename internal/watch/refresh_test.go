package watch

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/servertest"
)

// TestSchemaStays proves that a schema that has not changed stays with its plans
// when it is read again, however many tables it has, and a changed one does not.
func TestSchemaStays(t *testing.T) {
	const tables = 12
	servertest.Each(t, func(t *testing.T, d servertest.Database) {
		servertest.Execute(t, d.Direct, "CREATE TABLE parent (id INT PRIMARY KEY)")
		var names []string
		for i := range tables {
			names = append(names, fmt.Sprintf("t%d", i))
			servertest.Execute(t, d.Direct, fmt.Sprintf("CREATE TABLE t%d (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0, u INT UNIQUE, p INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE)", i))
			servertest.Execute(t, d.Direct, fmt.Sprintf("CREATE VIEW v%d AS SELECT * FROM t%d", i, i))
			servertest.Execute(t, d.Direct, fmt.Sprintf("CREATE TRIGGER x%d AFTER INSERT ON t%d FOR EACH ROW SET @x = 1", i, i))
		}
		w := watcher(t, d, names...)
		first, err := w.Refresh(t.Context())
		require.NoError(t, err)
		require.Len(t, first.Tables, tables)
		for range 5 {
			again, err := w.Refresh(t.Context())
			require.NoError(t, err)
			require.True(t, first == again)
		}
		for _, change := range []string{"ALTER TABLE t3 ADD COLUMN x INT", "ALTER TABLE t3 DROP INDEX u", "DROP VIEW v5", "DROP TRIGGER x7", "ALTER TABLE t1 ADD CHECK (n < 1000)"} {
			servertest.Execute(t, d.Direct, change)
			changed, err := w.Refresh(t.Context())
			require.NoError(t, err)
			require.False(t, first == changed, change)
			first = changed
		}
	})
}

// TestSchemaUnread proves that a schema that can't be read again goes on to serve
// until it is too old, if no DDL is known of.
func TestSchemaUnread(t *testing.T) {
	servertest.Each(t, func(t *testing.T, d servertest.Database) {
		server := &servertest.Crowded{}
		d.Config.DialFunc = server.Dial
		w := watcher(t, d, "t")
		w.ask(t)
		run := func(age time.Duration) error {
			w.checked.Store(int64(catalog.Clock() - age))
			_, err := w.Schema(t.Context())
			require.Eventually(t, func() bool {
				w.mu.Lock()
				defer w.mu.Unlock()
				return w.running == nil
			}, 10*time.Second, time.Millisecond)
			return err
		}
		server.Full.Store(true)
		w.look(t).SetMaxIdleConns(-1)
		for range 3 {
			require.NoError(t, run(catalog.SchemaAge+time.Second))
		}
		require.ErrorContains(t, run(catalog.SchemaTooOld+time.Second), "too many connections")
		w.NoteChange() // DDL
		require.ErrorContains(t, run(0), "too many connections")
		require.ErrorContains(t, run(0), "too many connections")
		server.Full.Store(false)
		require.NoError(t, run(0))
		require.Less(t, w.Age(), catalog.SchemaAge)
	})
}

// TestLook proves that who looks whether a table is ready by now, again and again, has the schema read only behind
// DDL, and sees that.
func TestLook(t *testing.T) {
	eachSlow(t, func(t *testing.T, slow *slowReading, w *Watcher, direct *sql.DB) {
		servertest.Execute(t, direct, "CREATE TABLE t_slots (id INT PRIMARY KEY)") // not one that fits
		w.config.CreateSlots = false
		w.ask(t)
		require.False(t, catalog.Ready(w.Current().All()[0]))
		reads := slow.reads.Load()
		for range 5 {
			s, err := w.Look(t.Context())
			require.NoError(t, err)
			require.True(t, s == w.Current())
		}
		require.Equal(t, reads, slow.reads.Load())
		servertest.Execute(t, direct, "ALTER TABLE t_slots ADD COLUMN slot SMALLINT UNSIGNED NOT NULL, ADD COLUMN n BIGINT NOT NULL DEFAULT 0, DROP PRIMARY KEY, ADD PRIMARY KEY (id, slot)")
		s, err := w.Look(t.Context())
		require.NoError(t, err)
		require.True(t, catalog.Ready(s.All()[0]))
		require.Equal(t, reads+1, slow.reads.Load())
	})
}
