package countermysql

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/servertest"
)

// TestSchemaLocked proves that a counter table stays one while somebody has it locked
// exclusively, as DDL does: MariaDB leaves such a table out of what it tells of the
// schema. And that statements on other tables go on, for however long it is locked,
// but for those that can't do without the schema: they wait.
func TestSchemaLocked(t *testing.T) {
	servertest.Each(t, func(t *testing.T, d servertest.Database) {
		servertest.Execute(t, d.Direct, "CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL)")
		servertest.Execute(t, d.Direct, "CREATE TABLE used (id INT PRIMARY KEY)")
		servertest.Execute(t, d.Direct, "INSERT INTO t VALUES (1, 0)")
		c, db := connectorTo(t, d, "t")
		servertest.Execute(t, db, "UPDATE t SET n = n + 1 WHERE id = 1")

		holder, err := d.Direct.Conn(t.Context())
		require.NoError(t, err)
		defer holder.Close()
		servertest.Execute(t, holder, "BEGIN")
		servertest.Execute(t, holder, "INSERT INTO used VALUES (1)")
		renamed := make(chan error, 1)
		go func() { // it has locked t, and waits for the other
			_, err := d.Direct.Exec("RENAME TABLE t TO t2, used TO used2")
			renamed <- err
		}()
		renaming := func() (id int) {
			_ = d.Direct.QueryRow("SELECT ID FROM information_schema.PROCESSLIST WHERE DB = ? AND INFO LIKE 'RENAME%' AND STATE LIKE '%metadata lock'", d.Name).Scan(&id) // none yet
			return id
		}
		require.Eventually(t, func() bool { return renaming() != 0 }, 10*time.Second, 5*time.Millisecond)
		require.Eventually(t, func() bool { // it may have had to wait for the first for a moment, too
			_, err := c.watcher.Refresh(t.Context())
			return mysqlerr.Number(err) == mysqlerr.ErrLockWait
		}, 10*time.Second, 5*time.Millisecond)
		c.watcher.Expire()
		servertest.Execute(t, db, "DO 1")
		start := time.Now()
		servertest.Execute(t, db, "DO 1")
		require.Less(t, time.Since(start), 500*time.Millisecond, "it waits for the schema")

		first, err := NewConnector(d.Config, c.config)
		require.NoError(t, err)
		firstDB := sql.OpenDB(first)
		defer firstDB.Close()
		c.watcher.NoteChange()
		waited := make(chan error, 2)
		for _, db := range []*sql.DB{firstDB, db} {
			go func() {
				_, err := db.Exec("DO 1")
				waited <- err
			}()
		}
		select {
		case err := <-waited:
			require.Fail(t, "it did not wait", "%v", err)
		case <-time.After(2500 * time.Millisecond): // a query gives up after one
		}
		servertest.Execute(t, d.Direct, fmt.Sprintf("KILL QUERY %d", renaming()))
		require.Error(t, <-renamed)
		servertest.Execute(t, holder, "ROLLBACK")
		require.NoError(t, <-waited)
		require.NoError(t, <-waited)

		var n int
		require.NoError(t, db.QueryRow("SELECT n FROM t").Scan(&n))
		require.Equal(t, 1, n)
		_, err = c.watcher.Refresh(t.Context())
		require.NoError(t, err)
	})
}
