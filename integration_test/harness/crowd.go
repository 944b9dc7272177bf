package harness

import (
	"context"
	"database/sql"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/internal/testserver"
)

// Crowd runs clients until all are done, and beside them others until then.
type Crowd struct {
	Deadlocks, Timeouts atomic.Int64
	Failed              atomic.Pointer[error]
}

// Check counts deadlocks and lock waits, which undo the statement or the
// transaction, and keeps other errors. It reports whether all went well.
func (c *Crowd) Check(err error) bool {
	switch ErrorNumber(err) {
	case 0:
		return true
	case 1213:
		c.Deadlocks.Add(1)
	case 1205:
		c.Timeouts.Add(1)
	default:
		c.Failed.CompareAndSwap(nil, &err)
	}
	return false
}

func (c *Crowd) Run(clients int, client func(i int), beside ...func(i int)) {
	stop := make(chan struct{})
	var working, others sync.WaitGroup
	for _, f := range beside {
		others.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
					f(i)
				}
			}
		})
	}
	for i := range clients {
		working.Go(func() { client(i) })
	}
	working.Wait()
	close(stop)
	others.Wait()
}

func (c *Crowd) NoDeadlocks(t *testing.T) {
	t.Helper()
	if err := c.Failed.Load(); err != nil {
		require.NoError(t, *err)
	}
	require.Zero(t, c.Deadlocks.Load(), "deadlocks")
	require.Zero(t, c.Timeouts.Load(), "lock waits timed out")
}

const Hot = `
CREATE TABLE hot (id INT PRIMARY KEY, title VARCHAR(30) NOT NULL DEFAULT '', n INT NOT NULL DEFAULT 0);
INSERT INTO hot (id) VALUES (10), (20), (30), (40), (50), (60), (70), (80);
`

func NewHot(t *testing.T, srv *testserver.Server, readOwn countermysql.ReadOwn) *Twin {
	t.Helper()
	config := Counters("hot", "n")
	if readOwn == countermysql.ReadOwnSnapshot {
		config = ReadOwnSnapshot(config)
	}
	tw := NewTwin(t, srv, Hot, config, "interpolateParams=true", "innodb_lock_wait_timeout=20")
	tw.Sent.Off.Store(true)
	tw.Ours.SetMaxOpenConns(48)
	tw.Ours.SetMaxIdleConns(48)
	return tw
}

func InTransaction(ctx context.Context, db *sql.DB, level sql.IsolationLevel, stmts []string) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, stmt := range stmts {
		if IsQuery.MatchString(stmt) {
			var n int64
			err = tx.QueryRowContext(ctx, stmt).Scan(&n)
		} else {
			_, err = tx.ExecContext(ctx, stmt)
		}
		if err != nil {
			return err
		}
	}
	return tx.Commit()
}

// RollUp rolls everything up.
func RollUp(t *testing.T, db *sql.DB) map[string]countermysql.RolledUp {
	t.Helper()
	done, err := countermysql.Rollup(t.Context(), db, nil)
	require.NoError(t, err)
	byTable := map[string]countermysql.RolledUp{}
	for _, r := range done {
		_, name, _ := strings.Cut(r.Table, ".")
		byTable[name] = r
	}
	return byTable
}

func QueriedList(t *testing.T, db *sql.DB, query string) (list []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var s string
		require.NoError(t, rows.Scan(&s))
		list = append(list, s)
	}
	require.NoError(t, rows.Err())
	return list
}
