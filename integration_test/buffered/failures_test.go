package buffered

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/ngrok/sqlmw"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// breaker breaks the connection of a flush at one statement, once.
type breaker struct {
	sqlmw.NullInterceptor
	mu    sync.Mutex
	at    string // how the statement begins; "": nowhere
	how   string
	broke int
}

func (b *breaker) set(at, how string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at, b.how = at, how
}

func (b *breaker) ConnExecContext(ctx context.Context, c driver.ExecerContext, query string, args []driver.NamedValue) (driver.Result, error) {
	b.mu.Lock()
	at, how := b.at, b.how
	if at == "" || !strings.Contains(query, at) {
		b.mu.Unlock()
		return c.ExecContext(ctx, query, args)
	}
	b.at = ""
	b.broke++
	b.mu.Unlock()
	conn := harness.Parent(c).(io.Closer)
	switch how {
	case "before":
		_ = conn.Close()
	case "after":
		if _, err := c.ExecContext(ctx, query, args); err != nil {
			return nil, err
		}
		_ = conn.Close()
	case "uncertain":
		if _, err := c.ExecContext(ctx, query, args); err != nil {
			return nil, err
		}
		return nil, &mysql.MySQLError{Number: 2013, Message: "Lost connection to server during query"}
	case "expelled": // from a group of servers, the others of which have the transaction
		if _, err := c.ExecContext(ctx, query, args); err != nil {
			return nil, err
		}
		return nil, &mysql.MySQLError{Number: 3101, Message: "Plugin instructed the server to rollback the current transaction."}
	}
	return nil, mysql.ErrInvalidConn
}

// TestBrokenFlush proves that what a flush sends counts once, wherever its connection breaks.
func TestBrokenFlush(t *testing.T) {
	eachWay(t, func(t *testing.T, srv *testserver.Server, w way) {
		tw := newPages(t, srv, 1000)
		b := &breaker{}
		own := *tw.Config
		own.Interceptor = b
		db, _ := harness.OpenOurs(t, tw.OursDSN, &own)
		opened(t, db)
		known(t, db, 1, 2)
		w.begin(t, srv, tw)
		want, second := int64(1), int64(1)
		places := []string{"_flush.batch ="}
		if w == inTransaction {
			places = append(places, "START TRANSACTION", "countermysql_flushes SET batch", "page_slots", "COMMIT")
		}
		for _, at := range places {
			hows := []string{"before", "after", "uncertain"}
			if at == "COMMIT" || w != inTransaction {
				hows = append(hows, "expelled")
			}
			for _, how := range hows {
				for _, both := range []bool{false, true} {
					for range 3 {
						require.EqualValues(t, 1, harness.Affected(t, db, hit, 1))
						want++
						if both {
							harness.Affected(t, db, hit, 2)
							second++
						}
					}
					b.set(at, how)
					was := b.broke
					for deadline := time.Now().Add(30 * time.Second); countermysql.Flush(t.Context(), db) != nil; {
						require.True(t, time.Now().Before(deadline), buffer(t, db).Error)
					}
					require.Equal(t, was+1, b.broke, "%s %s", at, how)
					require.Equal(t, want, stored(t, tw, 1), "%s %s", at, how)
					s := buffer(t, db)
					require.Zero(t, s.Waiting)
					require.Empty(t, s.Lost)
				}
			}
		}
		require.Equal(t, second, stored(t, tw, 2))
	})
}

// TestKilledFlush proves the same where the server kills the connection.
func TestKilledFlush(t *testing.T) {
	eachWay(t, func(t *testing.T, srv *testserver.Server, w way) {
		tw := newPages(t, srv, 1000)
		known(t, tw.Ours, 1)
		w.begin(t, srv, tw)
		places := []string{"_flush.batch ="}
		if w == inTransaction {
			places = append(places, "START TRANSACTION", "countermysql_flushes SET batch", "page_slots", "COMMIT")
		}
		for i, at := range places {
			for range 3 {
				harness.Affected(t, tw.Ours, hit, 1)
			}
			var once sync.Once
			tw.Sent.Meddle(t, func(query string) error {
				if strings.Contains(query, at) {
					once.Do(func() { killFlusher(t, tw) })
				}
				return nil
			})
			for deadline := time.Now().Add(30 * time.Second); countermysql.Flush(t.Context(), tw.Ours) != nil; {
				require.True(t, time.Now().Before(deadline), buffer(t, tw.Ours).Error)
			}
			require.EqualValues(t, 1+3*(i+1), stored(t, tw, 1), at)
		}
	})
}

// killFlusher kills the connections of the database that sleep inside a transaction, or all
// if there is none.
func killFlusher(t *testing.T, tw *harness.Twin) {
	rows, err := tw.Direct.Query("SELECT ID FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND ID <> CONNECTION_ID() AND COMMAND = 'Sleep'")
	require.NoError(t, err)
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		require.NoError(t, rows.Scan(&id))
		ids = append(ids, id)
	}
	for _, id := range ids {
		_, _ = tw.Direct.Exec(fmt.Sprint("KILL ", id))
	}
}

// TestVanishedRow proves that increments of a row that somebody has deleted are told to be
// lost, and that the next one is told that there is no row.
func TestVanishedRow(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newPages(t, srv, 1000)
		known(t, tw.Ours, 1, 2)
		for range 4 {
			harness.Affected(t, tw.Ours, hit, 1)
			harness.Affected(t, tw.Ours, hit, 2)
		}
		harness.Affected(t, tw.Direct, "DELETE FROM page WHERE id = 1")
		require.ErrorContains(t, countermysql.Flush(t.Context(), tw.Ours), "4 increments are lost")
		require.Equal(t, map[string]int64{"the row is gone, or its counter NULL": 4}, buffer(t, tw.Ours).Lost)
		require.Zero(t, buffer(t, tw.Ours).Waiting)
		require.EqualValues(t, 5, stored(t, tw, 2))
		require.EqualValues(t, 0, harness.Affected(t, tw.Ours, hit, 1))
		require.NoError(t, countermysql.Flush(t.Context(), tw.Ours))
	})
}

// TestBecomesNull proves that of two counters of a row the one that has become NULL is lost,
// as on plain MySQL, and the other stored.
func TestBecomesNull(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newPages(t, srv, 1000)
		harness.Affected(t, tw.Direct, "UPDATE page SET likes = 0")
		both := "UPDATE page SET hits = hits + 1, likes = likes + 1 WHERE id = 1"
		for range 4 {
			require.EqualValues(t, 1, harness.Affected(t, tw.Ours, both))
		}
		require.Positive(t, buffer(t, tw.Ours).Waiting)
		harness.Affected(t, tw.Direct, "UPDATE page SET likes = NULL WHERE id = 1")
		_ = countermysql.Flush(t.Context(), tw.Ours)
		require.EqualValues(t, 4, stored(t, tw, 1))
		require.Zero(t, buffer(t, tw.Ours).Waiting)
	})
}

// TestOutOfRange proves that what neither a slot nor the base row can hold is told to be lost.
func TestOutOfRange(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newPages(t, srv, 1000)
		known(t, tw.Ours, 1, 2)
		harness.Affected(t, tw.Direct, "UPDATE page SET hits = 9223372036854775807 WHERE id = 1")
		harness.Affected(t, tw.Direct, "DELETE FROM page_slots")
		harness.Affected(t, tw.Direct, "INSERT INTO page_slots (id, slot, hits) SELECT 1, seq, 9223372036854775807 FROM ("+sixteen+") s")
		for range 3 {
			harness.Affected(t, tw.Ours, hit, 1)
			harness.Affected(t, tw.Ours, hit, 2)
		}
		require.ErrorContains(t, countermysql.Flush(t.Context(), tw.Ours), "3 increments are lost")
		require.Equal(t, map[string]int64{"out of the counter's range": 3}, buffer(t, tw.Ours).Lost)
		require.Zero(t, buffer(t, tw.Ours).Waiting)
		require.EqualValues(t, 3, stored(t, tw, 2))
	})
}

var sixteen = "SELECT 0 AS seq" + numbersTo(15)

func numbersTo(n int) (text string) {
	for i := 1; i <= n; i++ {
		text += fmt.Sprint(" UNION ALL SELECT ", i)
	}
	return text
}

// TestChecked proves that check tells what keeps increments from being buffered.
func TestChecked(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema+";\nALTER TABLE page ADD changed TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP", pages(10))
		found, err := countermysql.Check(t.Context(), tw.Ours)
		require.NoError(t, err)
		var problems []string
		for _, f := range found {
			if strings.Contains(f.Problem, "buffered") {
				problems = append(problems, f.Problem)
				require.NotEmpty(t, f.Remedy)
			}
		}
		require.Len(t, problems, 2, "%v", found)
		require.Contains(t, problems[0], "its column changed")
		require.Contains(t, problems[1], "countermysql_flushes")
		_, err = countermysql.Init(t.Context(), tw.Ours, nil)
		require.NoError(t, err)
		found, err = countermysql.Check(t.Context(), tw.Ours)
		require.NoError(t, err)
		for _, f := range found {
			require.NotContains(t, f.Problem, "countermysql_flushes")
		}
	})
}

// TestLockedRowWaits proves that a flush leaves out a row that somebody has locked, stores the
// others, and that one later.
func TestLockedRowWaits(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newPages(t, srv, 1000)
		known(t, tw.Ours, 1, 2, 3)
		holder, err := tw.Direct.Begin()
		require.NoError(t, err)
		defer holder.Rollback()
		harness.Number(t, holder, "SELECT hits FROM page WHERE id = 2 FOR UPDATE")
		for range 3 {
			for id := 1; id <= 3; id++ {
				harness.Affected(t, tw.Ours, hit, id)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		require.ErrorIs(t, countermysql.Flush(ctx, tw.Ours), context.DeadlineExceeded)
		require.EqualValues(t, 4, stored(t, tw, 1))
		require.EqualValues(t, 4, stored(t, tw, 3))
		b := buffer(t, tw.Ours)
		require.EqualValues(t, 3, b.Waiting)
		require.EqualValues(t, 1, b.Keys)
		require.Empty(t, b.Error)
		require.Greater(t, b.Oldest, time.Second)
		require.EqualValues(t, 1, harness.Affected(t, tw.Ours, hit, 2), "nobody waits")
		require.NoError(t, holder.Rollback())
		require.NoError(t, countermysql.Flush(t.Context(), tw.Ours))
		require.EqualValues(t, 5, stored(t, tw, 2))
	})
}

// TestFullBuffer proves that who finds no place waits, until his context ends or there is one,
// and is not counted unless he is told so.
func TestFullBuffer(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newPages(t, srv, 2)
		known(t, tw.Ours, 1, 2, 3)
		holder, err := tw.Direct.Begin()
		require.NoError(t, err)
		defer holder.Rollback()
		harness.Number(t, holder, "SELECT COUNT(*) FROM (SELECT 1 FROM page WHERE id < 3 FOR UPDATE) x")
		harness.Affected(t, tw.Ours, hit, 1)
		harness.Affected(t, tw.Ours, hit, 2)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = tw.Ours.ExecContext(ctx, hit, 3)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.EqualValues(t, 1, harness.Affected(t, tw.Ours, hit, 1), "its key has a place")
		waits := harness.Later(t, tw.Ours, "UPDATE page SET hits = hits + 1 WHERE id = 3")
		time.Sleep(100 * time.Millisecond)
		require.Empty(t, waits)
		require.NoError(t, holder.Rollback())
		require.Equal(t, "affected 1", harness.Soon(t, waits))
		require.NoError(t, countermysql.Flush(t.Context(), tw.Ours))
		require.EqualValues(t, 3, stored(t, tw, 1))
		require.EqualValues(t, 2, stored(t, tw, 2))
		require.EqualValues(t, 2, stored(t, tw, 3))
	})
}

// TestKnownRows proves that a buffer with place for few keys knows of the rows of more of them, so that
// it is not chance which increments it takes.
func TestKnownRows(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newPages(t, srv, 1)
		for id := 101; id <= 200; id++ {
			harness.Affected(t, tw.Direct, "INSERT INTO page (id) VALUES (?)", id)
			known(t, tw.Ours, id)
		}
		before := buffer(t, tw.Ours).Acknowledged
		for id := 101; id <= 200; id++ {
			harness.Affected(t, tw.Ours, hit, id)
			require.NoError(t, countermysql.Flush(t.Context(), tw.Ours))
		}
		require.EqualValues(t, 100, buffer(t, tw.Ours).Acknowledged-before)
	})
}

// TestAlteredMeanwhile proves that what waits is stored in the table as it is by then, and
// told to be lost where that has another key.
func TestAlteredMeanwhile(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newPages(t, srv, 1000)
		known(t, tw.Ours, 1)
		harness.Affected(t, tw.Ours, hit, 1)
		harness.Affected(t, tw.Ours, "ALTER TABLE page ADD COLUMN more INT NOT NULL DEFAULT 0 FIRST, MODIFY hits BIGINT UNSIGNED NOT NULL DEFAULT 0")
		harness.Affected(t, tw.Ours, hit, 1)
		require.NoError(t, countermysql.Flush(t.Context(), tw.Ours))
		require.EqualValues(t, 3, stored(t, tw, 1))
		require.Empty(t, buffer(t, tw.Ours).Lost)
		require.Zero(t, buffer(t, tw.Ours).Waiting)
	})
}

// TestClosedSlots proves that what waits goes to base rows while the table's slots table is
// closed.
func TestClosedSlots(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newPages(t, srv, 1000)
		known(t, tw.Ours, 1, 2)
		harness.Affected(t, tw.Ours, hit, 1)
		harness.Affected(t, tw.Ours, hit, 2)
		_, err := countermysql.Drop(t.Context(), tw.Ours, &countermysql.DropOptions{StopOnly: true, Notice: time.Nanosecond})
		require.NoError(t, err)
		require.NoError(t, countermysql.Flush(t.Context(), tw.Ours))
		require.EqualValues(t, 2, harness.Number(t, tw.Direct, "SELECT hits FROM page WHERE id = 1"))
		require.EqualValues(t, 2, harness.Number(t, tw.Direct, "SELECT hits FROM page WHERE id = 2"))
		require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM page_slots"))
	})
}

// TestUnreachableAtTheEnd proves that who closes a sql.DB whose server is gone is told what is
// lost.
func TestUnreachableAtTheEnd(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw, db, m := meddled(t, srv)
		known(t, db, 1)
		harness.Affected(t, db, hit, 1)
		m.set(func(_ context.Context, query string, send func(string) error) error {
			if strings.Contains(query, "countermysql_flushes") {
				return errors.New("refused by the test")
			}
			return send(query)
		})
		require.Error(t, countermysql.Flush(t.Context(), db))
		require.NotEmpty(t, buffer(t, db).Error)
		require.EqualValues(t, 1, buffer(t, db).Waiting)
		require.ErrorContains(t, db.Close(), "1 buffered increments")
		require.EqualValues(t, 1, stored(t, tw, 1))
	})
}
