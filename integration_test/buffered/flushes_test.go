package buffered

import (
	"context"
	"database/sql"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestRefusedCommit proves that a COMMIT which fails with an error of locks, as one of a Galera
// cluster may, is looked for as any other that fails: its increments count once.
func TestRefusedCommit(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw, db, m := meddled(t, srv)
		known(t, db, 1)
		inTransaction.begin(t, srv, tw)
		want := int64(1)
		for _, number := range []uint16{1213, 1205, 3572} {
			for _, stores := range []bool{false, true} {
				for range 3 {
					harness.Affected(t, db, hit, 1)
					want++
				}
				var refused atomic.Bool
				m.set(func(_ context.Context, query string, send func(string) error) error {
					if !inTransaction.stores(query) || !refused.CompareAndSwap(false, true) {
						return send(query)
					}
					if err := inTransaction.end(send, query, stores); err != nil {
						return err
					}
					return &mysql.MySQLError{Number: number, Message: "refused by the test"}
				})
				require.NoError(t, countermysql.Flush(t.Context(), db))
				require.True(t, refused.Load())
				require.Equal(t, want, stored(t, tw, 1), "%d %v", number, stores)
				require.Zero(t, buffer(t, db).Waiting)
			}
		}
	})
}

// TestFlushesGone proves that a flush makes what it needs anew, at once, where somebody has dropped
// or emptied the table of flushes while processes run.
func TestFlushesGone(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw, db, _ := meddled(t, srv)
		known(t, db, 1)
		for i, stmt := range []string{"DROP TABLE countermysql_flushes", "TRUNCATE countermysql_flushes", "DELETE FROM countermysql_flushes", "DROP TABLE countermysql_flushes"} {
			harness.Affected(t, db, hit, 1)
			harness.Affected(t, tw.Direct, stmt)
			require.NoError(t, countermysql.Flush(t.Context(), db), stmt)
			require.EqualValues(t, 2+i, stored(t, tw, 1), stmt)
		}
		b := buffer(t, db)
		require.Zero(t, b.Waiting)
		require.Zero(t, b.Failures)
		require.Empty(t, b.Lost)
	})
}

// TestFlushesGoneUnmade proves that a process which may not make the table of flushes says what to do,
// and goes on as soon as there is one.
func TestFlushesGoneUnmade(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newPages(t, srv, 1000)
		own := *tw.Config
		own.CreateSlots = false
		db, _ := harness.OpenOurs(t, tw.OursDSN, &own)
		opened(t, db)
		known(t, db, 1)
		harness.Affected(t, db, hit, 1)
		harness.Affected(t, tw.Direct, "DROP TABLE countermysql_flushes")
		for range 2 {
			require.ErrorContains(t, countermysql.Flush(t.Context(), db), "countermysql init")
		}
		require.EqualValues(t, 1, buffer(t, db).Waiting)
		_, err := countermysql.Init(t.Context(), tw.Ours, nil)
		require.NoError(t, err)
		require.NoError(t, countermysql.Flush(t.Context(), db))
		require.EqualValues(t, 2, stored(t, tw, 1))
	})
}

// TestRecordGone proves that what a flush sent whose COMMIT was not answered, and of which nothing
// tells any more whether it was stored, is told to be lost and never sent again; what comes later is stored.
func TestRecordGone(t *testing.T) {
	eachWay(t, func(t *testing.T, srv *testserver.Server, w way) {
		tw, db, m := meddled(t, srv)
		known(t, db, 1)
		w.begin(t, srv, tw)
		want := int64(1)
		lost := int64(0)
		for _, gone := range []string{"DROP TABLE countermysql_flushes", "DELETE FROM countermysql_flushes"} {
			for _, stores := range []bool{false, true} {
				harness.Affected(t, db, hit, 1)
				harness.Affected(t, db, hit, 1)
				lost += 2
				if stores {
					want += 2
				}
				var once atomic.Bool
				m.set(func(_ context.Context, query string, send func(string) error) error {
					if !w.stores(query) || !once.CompareAndSwap(false, true) {
						return send(query)
					}
					if err := w.end(send, query, stores); err != nil {
						return err
					}
					if _, err := tw.Direct.Exec(gone); err != nil {
						return err
					}
					return mysql.ErrInvalidConn
				})
				require.ErrorContains(t, countermysql.Flush(t.Context(), db), "2 increments are lost", "%s %v", gone, stores)
				require.Equal(t, want, stored(t, tw, 1), "%s %v", gone, stores)
				b := buffer(t, db)
				require.Zero(t, b.Waiting)
				require.Equal(t, map[string]int64{"nobody knows whether the last flush was stored: its row in countermysql_flushes is gone": lost}, b.Lost)
				harness.Affected(t, db, hit, 1)
				want++
				require.NoError(t, countermysql.Flush(t.Context(), db))
				require.Equal(t, want, stored(t, tw, 1), "%s %v", gone, stores)
			}
		}
	})
}

// TestOldestFalls proves that Stats tells since when the oldest increment waits, also while there is
// always some row that a flush has to leave.
func TestOldestFalls(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw, db, _ := meddled(t, srv)
		known(t, db, 1, 2)
		leaves := func() { // one row alone
			for deadline := time.Now().Add(20 * time.Second); ; {
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				err := countermysql.Flush(ctx, db)
				cancel()
				require.ErrorIs(t, err, context.DeadlineExceeded)
				if buffer(t, db).Waiting == 1 {
					return
				}
				require.True(t, time.Now().Before(deadline))
			}
		}
		locks := func(id int) *sql.Tx {
			tx, err := tw.Direct.Begin()
			require.NoError(t, err)
			harness.Number(t, tx, "SELECT hits FROM page WHERE id = ? FOR UPDATE", id)
			return tx
		}
		first := locks(1)
		defer first.Rollback()
		began := time.Now()
		harness.Affected(t, db, hit, 1)
		leaves()
		time.Sleep(2 * time.Second)
		oldest := buffer(t, db).Oldest
		require.Greater(t, oldest, 2*time.Second)
		require.LessOrEqual(t, oldest, time.Since(began))

		second := locks(2)
		defer second.Rollback()
		began = time.Now()
		harness.Affected(t, db, hit, 2)
		require.NoError(t, first.Rollback())
		leaves()
		require.EqualValues(t, 2, stored(t, tw, 1))
		oldest = buffer(t, db).Oldest
		require.Positive(t, oldest)
		require.LessOrEqual(t, oldest, time.Since(began))

		require.NoError(t, second.Rollback())
		require.NoError(t, countermysql.Flush(t.Context(), db))
		require.Zero(t, buffer(t, db).Oldest)
	})
}

// TestLongFlush proves that a flush has as long as its rows need: what ends in time is each of its transactions.
func TestLongFlush(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw, db, m := meddled(t, srv)
		known(t, db, 1, 2, 3)
		for id := 1; id <= 3; id++ {
			harness.Affected(t, db, hit, id)
		}
		_, err := countermysql.Drop(t.Context(), db, &countermysql.DropOptions{StopOnly: true, Notice: time.Nanosecond}) // base rows take them one by one
		require.NoError(t, err)
		var mu sync.Mutex
		var ends []time.Time
		m.set(func(ctx context.Context, query string, send func(string) error) error {
			if strings.Contains(query, "countermysql_flushes SET batch") {
				end, _ := ctx.Deadline()
				mu.Lock()
				ends = append(ends, end)
				mu.Unlock()
				time.Sleep(time.Second)
			}
			return send(query)
		})
		require.NoError(t, countermysql.Flush(t.Context(), db))
		mu.Lock()
		defer mu.Unlock()
		require.GreaterOrEqual(t, len(ends), 3)
		require.GreaterOrEqual(t, time.Until(ends[0]), 10*time.Second)
		for i := range ends[1:] {
			require.GreaterOrEqual(t, ends[i+1].Sub(ends[i]), time.Second)
		}
		for id := 1; id <= 3; id++ {
			require.EqualValues(t, 2, harness.Number(t, tw.Direct, "SELECT hits FROM page WHERE id = ?", id))
		}
	})
}

// locksFlushes locks the rows of the table of flushes, as a transaction does that the server has not given up
// though its connection is broken.
func locksFlushes(t *testing.T, tw *harness.Twin) *sql.Tx {
	tx, err := tw.Direct.Begin()
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback() })
	rows, err := tw.Direct.Query("SELECT flusher FROM countermysql_flushes")
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var id string
		require.NoError(t, rows.Scan(&id))
		harness.Number(t, tx, "SELECT batch FROM countermysql_flushes WHERE flusher = ? FOR UPDATE", id)
	}
	require.NoError(t, rows.Err())
	return tx
}

// TestLockedFlushes proves that a flush whose own row is locked locks no page while it waits, goes on with
// another one, and takes no page for locked.
func TestLockedFlushes(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw, db, m := meddled(t, srv)
		known(t, db, 1, 2, 3)
		holder := locksFlushes(t, tw)
		var tries atomic.Int64
		m.set(func(_ context.Context, query string, send func(string) error) error {
			if strings.Contains(query, "countermysql_flushes SET batch") {
				tries.Add(1)
			}
			return send(query)
		})
		for id := 1; id <= 3; id++ {
			harness.Affected(t, db, hit, id)
		}
		flushed := make(chan error, 1)
		go func() { flushed <- countermysql.Flush(context.Background(), db) }()
		for begun := time.Now(); time.Since(begun) < time.Second; time.Sleep(10 * time.Millisecond) { // of the two that it waits at least
			harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM (SELECT 1 FROM page FOR UPDATE NOWAIT) x")
		}
		require.NoError(t, <-flushed)
		require.EqualValues(t, 2, tries.Load())
		for id := 1; id <= 3; id++ {
			require.EqualValues(t, 2, stored(t, tw, id))
		}
		require.NoError(t, holder.Rollback())
		require.NoError(t, db.Close())
		require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM countermysql_flushes"))
	})
}

// TestLockedRecord proves that what a flush sent whose COMMIT was not answered waits for as long as
// somebody has locked the row that tells whether it was stored, and says so.
func TestLockedRecord(t *testing.T) {
	eachWay(t, func(t *testing.T, srv *testserver.Server, w way) {
		tw, db, m := meddled(t, srv)
		known(t, db, 1)
		w.begin(t, srv, tw)
		want := int64(1)
		for _, stores := range []bool{false, true} {
			harness.Affected(t, db, hit, 1)
			want++
			var once atomic.Bool
			var holder *sql.Tx
			m.set(func(_ context.Context, query string, send func(string) error) error {
				if !w.stores(query) || !once.CompareAndSwap(false, true) {
					return send(query)
				}
				if err := w.end(send, query, stores); err != nil {
					return err
				}
				holder = locksFlushes(t, tw)
				return mysql.ErrInvalidConn
			})
			require.ErrorContains(t, countermysql.Flush(t.Context(), db), "is looked for")
			require.ErrorContains(t, countermysql.Flush(t.Context(), db), "countermysql_flushes")
			require.EqualValues(t, 1, buffer(t, db).Waiting)
			require.NoError(t, holder.Rollback())
			require.NoError(t, countermysql.Flush(t.Context(), db))
			require.Equal(t, want, stored(t, tw, 1), stores)
			require.Empty(t, buffer(t, db).Lost)
		}
	})
}

// TestFoldsKeepTheirSession proves that what gets into slots now and then is folded by one session, not by a
// new one each time, and that where the server ends that, another goes on.
func TestFoldsKeepTheirSession(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := pages(1000)
		config.Rollup = time.Hour // by which what is cold is folded at once
		tw := harness.NewTwin(t, srv, schema, config)
		opened(t, tw.Ours)
		known(t, tw.Ours, 1)
		folded := func(t *testing.T, times int) (sessions int) {
			for _, s := range tw.Sent.During(func() {
				for range times {
					holder := shares(t, srv, tw)
					harness.Affected(t, tw.Ours, hit, 1)
					require.NoError(t, countermysql.Flush(t.Context(), tw.Ours))
					require.Positive(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM page_slots"))
					require.NoError(t, holder.Rollback())
					require.Eventually(t, func() bool { return harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM page_slots") == 0 }, 10*time.Second, 5*time.Millisecond)
					time.Sleep(200 * time.Millisecond) // until nothing is left to fold
				}
			}) {
				if strings.Contains(s.Text, "time_zone = '+00:00'") {
					sessions++
				}
			}
			return sessions
		}
		folded(t, 1)
		require.Zero(t, folded(t, 5))
		killFlusher(t, tw) // and whoever else sleeps
		require.EqualValues(t, 1, folded(t, 5))
		require.EqualValues(t, 12, harness.Number(t, tw.Direct, "SELECT hits FROM page WHERE id = 1"))
	})
}
