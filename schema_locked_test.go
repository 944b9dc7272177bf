package countermysql

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/testserver"
)

// TestSchemaLocked proves that a counter table stays one while somebody has it locked
// exclusively, as DDL does: MariaDB leaves such a table out of what it tells of the
// schema. And that statements on other tables go on, for however long it is locked,
// but for those that can't do without the schema: they wait.
func TestSchemaLocked(t *testing.T) {
	servers, err := testserver.Shared(t.Context())
	require.NoError(t, err)
	for _, srv := range servers {
		t.Run(fmt.Sprint(srv.Flavor()), func(t *testing.T) {
			name := fmt.Sprintf("locked_%p", t)
			admin, err := sql.Open("mysql", srv.DSN(""))
			require.NoError(t, err)
			defer admin.Close()
			exec := func(db interface {
				ExecContext(context.Context, string, ...any) (sql.Result, error)
			}, text string) {
				_, err := db.ExecContext(t.Context(), text)
				require.NoError(t, err, text)
			}
			exec(admin, "CREATE DATABASE "+name)
			defer exec(admin, "DROP DATABASE "+name)
			direct, err := sql.Open("mysql", srv.DSN(name))
			require.NoError(t, err)
			defer direct.Close()
			exec(direct, "CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL)")
			exec(direct, "CREATE TABLE used (id INT PRIMARY KEY)")
			exec(direct, "INSERT INTO t VALUES (1, 0)")
			cfg, _, err := ParseDSN(srv.DSN(name))
			require.NoError(t, err)
			c, err := NewConnector(cfg, &Config{CreateSlots: true, Tables: []TableConfig{{Table: "t", Counters: []string{"n"}}}, Logger: slog.New(slog.DiscardHandler)})
			require.NoError(t, err)
			db := sql.OpenDB(c)
			defer db.Close()
			exec(db, "UPDATE t SET n = n + 1 WHERE id = 1")

			holder, err := direct.Conn(t.Context())
			require.NoError(t, err)
			defer holder.Close()
			exec(holder, "BEGIN")
			exec(holder, "INSERT INTO used VALUES (1)")
			renamed := make(chan error, 1)
			go func() { // it has locked t, and waits for the other
				_, err := direct.Exec("RENAME TABLE t TO t2, used TO used2")
				renamed <- err
			}()
			renaming := func() (id int) {
				_ = admin.QueryRow("SELECT ID FROM information_schema.PROCESSLIST WHERE DB = ? AND INFO LIKE 'RENAME%' AND STATE LIKE '%metadata lock'", name).Scan(&id) // none yet
				return id
			}
			require.Eventually(t, func() bool { return renaming() != 0 }, 10*time.Second, 5*time.Millisecond)
			_, err = c.learn(t.Context())
			require.EqualValues(t, errLockWait, errorNumber(err))
			c.checked.Store(time.Now().Add(-schemaTooOld - time.Second).UnixNano())
			exec(db, "DO 1")
			start := time.Now()
			exec(db, "DO 1")
			require.Less(t, time.Since(start), 500*time.Millisecond, "it waits for the schema")

			first, err := NewConnector(cfg, c.config)
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
			exec(admin, fmt.Sprintf("KILL QUERY %d", renaming()))
			require.Error(t, <-renamed)
			exec(holder, "ROLLBACK")
			require.NoError(t, <-waited)
			require.NoError(t, <-waited)

			var n int
			require.NoError(t, db.QueryRow("SELECT n FROM t").Scan(&n))
			require.Equal(t, 1, n)
			_, err = c.learn(t.Context())
			require.NoError(t, err)
		})
	}
}
