package writes

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/ngrok/sqlmw"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// failure fails one of the statements that are sent, in one of the ways there are.
type failure struct {
	sqlmw.NullInterceptor
	way  string
	kill func(id int64)
	left atomic.Int64 // statements to go
}

const (
	refused    = "KILL QUERY"           // nothing was done, and the connection goes on
	cutBefore  = "KILL"                 // before the statement
	answerLost = "KILL with the answer" // the statement was executed
)

// strike does what f does, unless it is its turn to fail.
func (f *failure) strike(ctx context.Context, conn any, do func() error) error {
	if f.left.Add(-1) != 0 {
		return do()
	}
	if f.way == refused {
		return &mysql.MySQLError{Number: 1317, Message: "Query execution was interrupted"}
	}
	id, err := connectionID(ctx, conn)
	if err != nil {
		return err
	}
	if f.way == cutBefore {
		f.kill(id)
		return do()
	}
	if err := do(); err != nil {
		return err
	}
	f.kill(id)
	return mysql.ErrInvalidConn
}

// connectionID asks a connection of go-sql-driver's, around all that counts statements.
func connectionID(ctx context.Context, conn any) (int64, error) {
	s, err := conn.(driver.ConnPrepareContext).PrepareContext(ctx, "SELECT CONNECTION_ID()")
	if err != nil {
		return 0, err
	}
	defer s.Close()
	rows, err := s.(driver.StmtQueryContext).QueryContext(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	dest := make([]driver.Value, 1)
	if err := rows.Next(dest); err != nil {
		return 0, err
	}
	var id int64
	_, err = fmt.Sscan(fmt.Sprint(dest[0]), &id)
	return id, err
}

func (f *failure) ConnExecContext(ctx context.Context, c driver.ExecerContext, query string, args []driver.NamedValue) (res driver.Result, err error) {
	err = f.strike(ctx, harness.Parent(c), func() (err error) {
		res, err = c.ExecContext(ctx, query, args)
		return err
	})
	return res, err
}

func (f *failure) ConnQueryContext(ctx context.Context, c driver.QueryerContext, query string, args []driver.NamedValue) (_ context.Context, rows driver.Rows, err error) {
	err = f.strike(ctx, harness.Parent(c), func() (err error) {
		rows, err = c.QueryContext(ctx, query, args)
		return err
	})
	if err != nil && rows != nil {
		_ = rows.Close()
		rows = nil
	}
	return ctx, rows, err
}

// work is what an application does, and how much it adds to posts 1 and 2 if it succeeds.
type work struct {
	name  string
	adds  [2]int64
	do    func(t *testing.T, conn *sql.Conn) error
	books bool // in the ledger, what it adds
}

// inTx runs statements in a transaction. Those that count are booked by others of it.
func inTx(level sql.IsolationLevel, texts ...string) func(t *testing.T, conn *sql.Conn) error {
	return func(t *testing.T, conn *sql.Conn) error {
		tx, err := conn.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
		if err != nil {
			return err
		}
		for _, text := range texts {
			if harness.IsQuery.MatchString(text) {
				var n int64
				err = tx.QueryRowContext(t.Context(), text).Scan(&n)
			} else {
				_, err = tx.ExecContext(t.Context(), text)
			}
			if err != nil {
				_ = tx.Rollback()
				return notDone{err}
			}
		}
		return tx.Commit()
	}
}

// notDone is an error before COMMIT: whatever it says, nothing is committed.
type notDone struct{ error }

func byText(texts ...string) func(t *testing.T, conn *sql.Conn) error {
	return func(t *testing.T, conn *sql.Conn) error {
		for i, text := range texts {
			if _, err := conn.ExecContext(t.Context(), text); err != nil {
				if i < len(texts)-1 && len(texts) > 1 {
					_, _ = conn.ExecContext(t.Context(), "ROLLBACK")
					return notDone{err}
				}
				_, _ = conn.ExecContext(t.Context(), "ROLLBACK")
				return err
			}
		}
		return nil
	}
}

var works = []work{
	{"increment", [2]int64{1, 0}, byText(harness.LikeOne), false},
	{"two rows", [2]int64{1, 1}, byText("UPDATE post SET likes = likes + 1 WHERE id IN (1, 2)"), false},
	{"upsert", [2]int64{1, 1}, byText("INSERT INTO post (id, slug, likes) VALUES (1, 'a', 1), (2, 'b', 1) ON DUPLICATE KEY UPDATE likes = likes + 1"), false},
	{"exact", [2]int64{1, 0}, byText("UPDATE post SET likes = GREATEST(likes + 1, 0) WHERE id = 1"), false},
	{"only increments", [2]int64{3, 1}, inTx(sql.LevelDefault, harness.LikeOne, "UPDATE post SET likes = likes + 1 WHERE id IN (1, 2)", harness.LikeOne), false},
	{"booked", [2]int64{2, 0}, inTx(sql.LevelDefault, "INSERT INTO ledger (post, amount) VALUES (1, 2)", "UPDATE post SET likes = likes + 2 WHERE id = 1"), true},
	{"after a snapshot", [2]int64{1, 1}, inTx(sql.LevelRepeatableRead, "SELECT SUM(likes) FROM post", harness.LikeOne, "UPDATE post SET title = CONCAT(LEFT(title, 1), 'x') WHERE id = 2", "UPDATE post SET likes = likes + 1 WHERE id = 2", "INSERT INTO ledger (post, amount) VALUES (1, 1), (2, 1)"), true},
	{"read back", [2]int64{2, 0}, inTx(sql.LevelDefault, harness.LikeOne, "SELECT likes FROM post WHERE id = 1", "INSERT INTO ledger (post, amount) VALUES (1, 2)", harness.LikeOne), true},
	{"savepoints", [2]int64{1, 0}, byText("BEGIN", harness.LikeOne, "SAVEPOINT a", "UPDATE post SET likes = likes + 5 WHERE id IN (1, 2)", "INSERT INTO ledger (post, amount) VALUES (1, 1)", "UPDATE post SET likes = GREATEST(likes + 7, 0) WHERE id = 1", "ROLLBACK TO a", "INSERT INTO ledger (post, amount) VALUES (1, 1)", "COMMIT"), true},
	{"committed by DDL", [2]int64{1, 0}, byText("START TRANSACTION", harness.LikeOne, "INSERT INTO ledger (post, amount) VALUES (1, 1)", "CREATE TABLE IF NOT EXISTS other (a INT)"), true},
}

// TestFailureOfEachStatement proves that whichever of the statements that the driver
// sends fails, and however, an increment is counted once or not at all, and with what
// its transaction wrote beside it.
func TestFailureOfEachStatement(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "interpolateParams=true", "innodb_lock_wait_timeout=5")
		harness.Affected(t, tw.Direct, "CREATE TABLE ledger (id INT AUTO_INCREMENT PRIMARY KEY, post INT NOT NULL, amount INT NOT NULL)")
		f := &failure{kill: func(id int64) {
			_, _ = tw.Direct.Exec(fmt.Sprint("KILL ", id)) // it may have ended by itself
			require.Eventually(t, func() bool {
				return harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE id = ?", id) == 0
			}, 10*time.Second, time.Millisecond)
		}}
		config := *tw.Config
		config.Interceptor = f
		db, _ := harness.OpenOurs(t, tw.OursDSN, &config)
		likes := func(id int) int64 { return harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = ?", id) }
		for _, w := range works {
			for _, f.way = range []string{refused, cutBefore, answerLost} {
				t.Run(w.name+"/"+f.way, func(t *testing.T) {
					for n := int64(1); ; n++ {
						harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes + 3 WHERE id IN (1, 2)") // slots
						harness.Affected(t, tw.Direct, "DELETE FROM ledger")
						before := [2]int64{likes(1), likes(2)}
						conn, err := db.Conn(t.Context())
						require.NoError(t, err)
						require.NoError(t, conn.PingContext(t.Context()))
						f.left.Store(n)
						err = w.do(t, conn)
						struck := f.left.Swap(0) <= 0
						_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // its session was changed
						added := [2]int64{likes(1) - before[0], likes(2) - before[1]}
						var early notDone
						switch {
						case err == nil:
							require.Equal(t, w.adds, added, "statement %d", n)
						case errors.As(err, &early) || harness.Refuses(err):
							require.Zero(t, added, "statement %d: %v", n, err)
						default:
							require.Contains(t, [][2]int64{{}, w.adds}, added, "statement %d: %v", n, err)
						}
						if w.books {
							for i, id := range []int{1, 2} {
								require.Equal(t, added[i], harness.Number(t, tw.Direct, "SELECT COALESCE(SUM(amount), 0) FROM ledger WHERE post = ?", id), "statement %d: %v", n, err)
							}
						}
						if !struck {
							require.Greater(t, n, int64(1), "nothing was sent")
							break
						}
					}
				})
			}
		}
	})
}
