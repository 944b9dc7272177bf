package countermysql

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
)

// TestSchemaLocked proves that a counter table stays one while somebody has it locked
// exclusively, as DDL does: MariaDB leaves such a table out of what it tells of the
// schema. And that statements on other tables go on, for however long it is locked,
// but for those that can't do without the schema: they wait.
func TestSchemaLocked(t *testing.T) {
	forEachServer(t, func(t *testing.T, d database) {
		execute(t, d.direct, "CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL)")
		execute(t, d.direct, "CREATE TABLE used (id INT PRIMARY KEY)")
		execute(t, d.direct, "INSERT INTO t VALUES (1, 0)")
		c, db := d.connector(t, "t")
		execute(t, db, "UPDATE t SET n = n + 1 WHERE id = 1")

		holder, err := d.direct.Conn(t.Context())
		require.NoError(t, err)
		defer holder.Close()
		execute(t, holder, "BEGIN")
		execute(t, holder, "INSERT INTO used VALUES (1)")
		renamed := make(chan error, 1)
		go func() { // it has locked t, and waits for the other
			_, err := d.direct.Exec("RENAME TABLE t TO t2, used TO used2")
			renamed <- err
		}()
		renaming := func() (id int) {
			_ = d.direct.QueryRow("SELECT ID FROM information_schema.PROCESSLIST WHERE DB = ? AND INFO LIKE 'RENAME%' AND STATE LIKE '%metadata lock'", d.name).Scan(&id) // none yet
			return id
		}
		require.Eventually(t, func() bool { return renaming() != 0 }, 10*time.Second, 5*time.Millisecond)
		_, err = c.learn(t.Context())
		require.EqualValues(t, mysqlerr.ErrLockWait, mysqlerr.Number(err))
		c.checked.Store(int64(catalog.Clock() - catalog.SchemaTooOld - time.Second))
		execute(t, db, "DO 1")
		start := time.Now()
		execute(t, db, "DO 1")
		require.Less(t, time.Since(start), 500*time.Millisecond, "it waits for the schema")

		first, err := NewConnector(d.cfg, c.config)
		require.NoError(t, err)
		firstDB := sql.OpenDB(first)
		defer firstDB.Close()
		c.changes.Add(1)
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
		execute(t, d.direct, fmt.Sprintf("KILL QUERY %d", renaming()))
		require.Error(t, <-renamed)
		execute(t, holder, "ROLLBACK")
		require.NoError(t, <-waited)
		require.NoError(t, <-waited)

		var n int
		require.NoError(t, db.QueryRow("SELECT n FROM t").Scan(&n))
		require.Equal(t, 1, n)
		_, err = c.learn(t.Context())
		require.NoError(t, err)
	})
}
