package groups

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// tally counts what became of increments of one.
type tally struct{ acknowledged, unknown, refused atomic.Int64 }

func (l *tally) note(rows int64, err error) {
	switch {
	case err == nil:
		l.acknowledged.Add(rows)
	case harness.Refuses(err):
		l.refused.Add(1)
	default:
		l.unknown.Add(1)
	}
}

func (l *tally) Check(t *testing.T, value int64) {
	t.Helper()
	t.Logf("%d acknowledged, %d refused, %d unknown; the value is %d", l.acknowledged.Load(), l.refused.Load(), l.unknown.Load(), value)
	require.NotZero(t, l.acknowledged.Load())
	require.LessOrEqual(t, l.acknowledged.Load(), value, "an acknowledged increment was lost")
	require.LessOrEqual(t, value, l.acknowledged.Load()+l.unknown.Load(), "an increment counted twice, or although it was refused")
}

// killing runs increments of many clients, each so many, whose connections or statements are killed, or
// whose contexts end within some time.
type killing struct {
	clients, each int
	within        time.Duration
	increment     func(ctx context.Context, conn *sql.Conn, client, k int) (rows int64, err error)
}

// everyWay runs a test with each way to end statements.
func everyWay(t *testing.T, test func(t *testing.T, kill string)) {
	for _, kill := range []string{"KILL QUERY", "KILL", "cancel"} {
		t.Run(strings.ToLower(kill), func(t *testing.T) { test(t, kill) })
	}
}

func (k killing) run(t *testing.T, srv *testserver.Server, tw *harness.Twin, kill string) *tally {
	killer, name := harness.Open(t, srv.DSN("")), tw.Name(t)
	l := &tally{}
	var c harness.Crowd
	c.Run(k.clients, func(client int) {
		var conn *sql.Conn // the answers of a lone connection are not tried again
		defer func() {
			if conn != nil {
				conn.Close()
			}
		}()
		for n := range k.each {
			var err error
			if conn == nil {
				if conn, err = tw.Ours.Conn(t.Context()); err != nil {
					conn = nil
					continue
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			if kill == "cancel" && rand.IntN(3) == 0 {
				time.AfterFunc(rand.N(k.within), cancel)
			}
			rows, err := k.increment(ctx, conn, client, n)
			cancel()
			l.note(rows, err)
			if err != nil && harness.ErrorNumber(err) < 0 {
				conn.Close()
				conn = nil
			}
		}
	}, func(i int) {
		if kill == "cancel" {
			return
		}
		ids, err := processes(killer, name)
		if c.Check(err) && len(ids) > 0 {
			_, _ = killer.Exec(fmt.Sprint(kill, " ", ids[rand.IntN(len(ids))]))
		}
	})
	if err := c.Failed.Load(); err != nil {
		require.NoError(t, *err)
	}
	return l
}

// processes are the connections that run a statement in a database.
func processes(db *sql.DB, database string) ([]int64, error) {
	rows, err := db.Query("SELECT ID FROM information_schema.PROCESSLIST WHERE DB = ? AND COMMAND = 'Query'", database)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}
