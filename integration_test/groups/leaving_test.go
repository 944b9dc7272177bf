package groups

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestRowsGoneBeforeCommit proves what becomes of an increment whose row others
// delete or re-key before COMMIT: it follows its condition, or goes with the row.
func TestRowsGoneBeforeCommit(t *testing.T) {
	cases := []struct {
		name      string
		increment string
		others    []string
		want      string // SELECT id, likes FROM post
	}{
		{"deleted", "UPDATE post SET likes = likes + 100 WHERE id = 1", []string{"DELETE FROM post WHERE id = 1"}, "[2 9][3 0]"},
		{"deleted among others", "UPDATE post SET likes = likes + 100 WHERE id IN (1, 2, 3)", []string{"DELETE FROM post WHERE id = 2"}, "[1 110][3 100]"},
		{"deleted and inserted", "UPDATE post SET likes = likes + 100 WHERE id = 1", []string{"DELETE FROM post WHERE id = 1", "INSERT INTO post (id, slug) VALUES (1, 'a')"}, "[1 100][2 9][3 0]"},
		{"another key, by key", "UPDATE post SET likes = likes + 100 WHERE id = 1", []string{"UPDATE post SET id = 50 WHERE id = 1"}, "[2 9][3 0][50 10]"},
		{"another key, by slug", "UPDATE post SET likes = likes + 100 WHERE slug = 'a'", []string{"UPDATE post SET id = 50 WHERE id = 1"}, "[2 9][3 0][50 110]"},
		{"another slug", "UPDATE post SET likes = likes + 100 WHERE slug = 'a'", []string{"UPDATE post SET slug = 'z' WHERE id = 1"}, "[1 110][2 9][3 0]"},
		{"another key, by key and by slug", "UPDATE post SET likes = likes + 100 WHERE id = 1; UPDATE post SET likes = likes + 1000 WHERE slug = 'a'", []string{"UPDATE post SET id = 50 WHERE id = 1"}, "[2 9][3 0][50 1010]"},
		{"another key, by slug and by key", "UPDATE post SET likes = likes + 1000 WHERE slug = 'a'; UPDATE post SET likes = likes + 100 WHERE id = 1", []string{"UPDATE post SET id = 50 WHERE id = 1"}, "[2 9][3 0][50 1010]"},
		{"another key of one, by slugs", "UPDATE post SET likes = likes + 100 WHERE slug IN ('a', 'b')", []string{"UPDATE post SET id = 50 WHERE id = 1"}, "[2 109][3 0][50 110]"},
		{"other keys, by slugs", "UPDATE post SET likes = likes + 100 WHERE slug IN ('a', 'b')", []string{"UPDATE post SET id = 50 WHERE id = 1", "UPDATE post SET id = 51 WHERE id = 2"}, "[3 0][50 110][51 109]"},
		{"one's key is the other's, by slugs", "UPDATE post SET likes = likes + 100 WHERE slug IN ('a', 'b')", []string{"UPDATE post SET id = 50 WHERE id = 1", "UPDATE post SET id = 1 WHERE id = 2"}, "[1 109][3 0][50 110]"},
		{"another key and deleted, by slugs", "UPDATE post SET likes = likes + 100 WHERE slug IN ('a', 'b')", []string{"DELETE FROM post WHERE id = 1", "UPDATE post SET id = 51 WHERE id = 2"}, "[3 0][51 109]"},
		{"another key and another slug, by slugs", "UPDATE post SET likes = likes + 100 WHERE slug IN ('a', 'b')", []string{"UPDATE post SET slug = 'z' WHERE id = 1", "UPDATE post SET id = 51 WHERE id = 2"}, "[1 110][3 0][51 109]"},
		{"all deleted", "UPDATE post SET likes = likes + 100 WHERE id = 1", []string{"DELETE FROM post"}, ""},
		{"deleted by a client that knows nothing of slots", "UPDATE post SET likes = likes + 100 WHERE id = 1", []string{"direct"}, "[2 9][3 0]"},
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_lock_wait_timeout=1")
		for _, c := range cases {
			for name, start := range starts {
				t.Run(c.name+"/"+name, func(t *testing.T) {
					tw.Reset(t)
					conn := harness.Session(t, tw.Ours)
					on, commit := start(t, conn)
					harness.Affected(t, on, "INSERT INTO note VALUES (1, 'x')")
					for _, stmt := range strings.Split(c.increment, "; ") {
						require.NotZero(t, harness.Affected(t, on, stmt))
					}
					for _, stmt := range c.others {
						if stmt == "direct" {
							harness.Affected(t, tw.Direct, "DELETE FROM post WHERE id = 1")
							continue
						}
						harness.Affected(t, tw.Ours, stmt)
					}
					require.NoError(t, commit())
					require.Equal(t, "id INT, likes INT, "+c.want, harness.Queried(t.Context(), tw.Ours, "SELECT id, likes FROM post ORDER BY id"))
					require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM note"))
					harness.Affected(t, tw.Ours, "DELETE FROM post WHERE id = 1")
					harness.Affected(t, tw.Ours, "INSERT INTO post (id, slug) VALUES (1, 'again')")
					require.Zero(t, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"), "slots were left behind")
				})
			}
		}
	})
}

// TestReturnedToThePool proves that a connection that goes back to the pool in
// the middle of a transaction leaves nothing of it to its next user.
func TestReturnedToThePool(t *testing.T) {
	cases := map[string][]string{
		"increment":      {"BEGIN", "UPDATE post SET likes = likes + 100 WHERE id = 1"},
		"edit":           {"BEGIN", "UPDATE post SET title = 'leak', likes = likes + 100 WHERE id = 1"},
		"exact":          {"BEGIN", "UPDATE post SET likes = likes * 2 WHERE id = 1"},
		"autocommit off": {"SET autocommit = 0", "UPDATE post SET likes = likes + 100 WHERE id = 1"},
		"nothing yet":    {"BEGIN"},
		"read":           {"START TRANSACTION", "SELECT * FROM post"},
		"XA":             {"XA START " + harness.Xid, "UPDATE post SET likes = likes + 100 WHERE id = 1"},
		"savepoint":      {"BEGIN", "UPDATE post SET likes = likes + 100 WHERE id = 1", "SELECT likes FROM post WHERE id = 1", "SAVEPOINT a"},
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_lock_wait_timeout=1")
		tw.Ours.SetMaxOpenConns(1)
		for name, steps := range cases {
			t.Run(name, func(t *testing.T) {
				tw.Reset(t)
				conn, err := tw.Ours.Conn(t.Context())
				require.NoError(t, err)
				for _, stmt := range steps {
					_, err := conn.ExecContext(t.Context(), stmt)
					require.NoError(t, err, stmt)
				}
				require.NoError(t, conn.Close())
				require.EqualValues(t, 1, harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes + 1 WHERE id = 1"))
				require.EqualValues(t, 1, harness.Affected(t, tw.Ours, "UPDATE post SET title = CONCAT(title, 'next') WHERE id = 1"))
				require.Equal(t, "likes INT, title VARCHAR, [11 next]", harness.Queried(t.Context(), tw.Ours, "SELECT likes, title FROM post WHERE id = 1"))
				require.Equal(t, "title VARCHAR, [next]", harness.Queried(t.Context(), tw.Direct, "SELECT title FROM post WHERE id = 1"), "the next user was in a transaction")
			})
		}
	})
}

// TestCancelled proves that a cancelled context counts nothing, and that the
// pool goes on as with go-sql-driver.
func TestCancelled(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_lock_wait_timeout=3")
		likes := func() int64 { return harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1") }

		// the context of the transaction
		ctx, cancel := context.WithCancel(t.Context())
		tx, err := tw.Ours.BeginTx(ctx, nil)
		require.NoError(t, err)
		harness.Affected(t, tx, "UPDATE post SET likes = likes + 100 WHERE id = 1")
		cancel()
		require.Error(t, tx.Commit())
		require.EqualValues(t, 10, likes())

		// the context of a statement, cancelled before it
		_, err = tw.Ours.ExecContext(ctx, "UPDATE post SET likes = likes + 100 WHERE id = 1")
		require.ErrorIs(t, err, context.Canceled)
		require.EqualValues(t, 10, likes())

		// and in a transaction that goes on without it, as plain MySQL would
		var answers [2]string
		for i, db := range []*sql.DB{tw.Plain, tw.Ours} {
			tx, err = db.Begin()
			require.NoError(t, err)
			harness.Affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id = 1")
			_, err = tx.ExecContext(ctx, "UPDATE post SET likes = likes + 100 WHERE id = 1")
			require.ErrorIs(t, err, context.Canceled)
			harness.Affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id = 1")
			require.NoError(t, tx.Commit())
			answers[i] = harness.Queried(t.Context(), db, "SELECT likes FROM post WHERE id = 1")
		}
		require.Equal(t, answers[0], answers[1])

		// while an increment waits for somebody who edits the row
		holder, err := tw.Direct.Begin()
		require.NoError(t, err)
		defer holder.Rollback()
		harness.Affected(t, holder, "UPDATE post SET title = 'held' WHERE id = 1")
		short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		began := time.Now()
		_, err = tw.Ours.ExecContext(short, "UPDATE post SET likes = likes + 1 WHERE id = 1")
		require.Error(t, err)
		require.Less(t, time.Since(began), 2*time.Second, "the caller waits on after its context has ended")
		tx, err = tw.Ours.Begin()
		require.NoError(t, err)
		harness.Affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id = 2")
		_, err = tx.QueryContext(short, "SELECT likes FROM post WHERE id = 1 FOR UPDATE")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, tx.Rollback())
		require.NoError(t, holder.Rollback())
		require.EqualValues(t, 9, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 2"))
		require.Contains(t, []int64{12, 13}, likes()) // the server may have gone on
		require.EqualValues(t, 1, harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes + 1 WHERE id = 3"))
	})
}

// TestCancelledOften proves that whatever the moment at which a context ends, an
// increment is counted once or not at all, and counted if it was acknowledged.
func TestCancelledOften(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		acknowledged, tried := int64(0), int64(0)
		for i := range 200 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i*i)*2*time.Microsecond)
			tried++
			if i%2 == 0 {
				if _, err := tw.Ours.ExecContext(ctx, "UPDATE post SET likes = likes + 1 WHERE id = 3"); err == nil {
					acknowledged++
				}
			} else if tx, err := tw.Ours.BeginTx(ctx, nil); err == nil {
				_, err = tx.ExecContext(ctx, "UPDATE post SET likes = likes + 1 WHERE id = 3")
				if commit := tx.Commit(); err == nil && commit == nil {
					acknowledged++
				}
			}
			cancel()
		}
		require.Less(t, acknowledged, tried, "nothing was cancelled")
		require.NotZero(t, acknowledged, "all was cancelled")
		require.Eventually(t, func() bool { // statements cut off may still run
			got := harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 3")
			return got >= acknowledged && got <= tried
		}, 3*time.Second, 50*time.Millisecond)
	})
}

// TestOpenRows proves that rows left open have the effect that they have with
// go-sql-driver: on what they hold back, and on what the next statement gets.
func TestOpenRows(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_lock_wait_timeout=1")
		for _, query := range []string{"SELECT * FROM post", "SELECT likes FROM post WHERE id = ?", "SELECT likes FROM post WHERE id = 1 FOR UPDATE", "SELECT * FROM note"} {
			t.Run(query, func(t *testing.T) {
				tw.Reset(t)
				var answers [2][]string
				for i, db := range []*sql.DB{tw.Plain, tw.Ours} {
					tell := func(err error) { answers[i] = append(answers[i], harness.Told(err)) }
					var args []any
					if query[len(query)-1] == '?' {
						args = []any{1}
					}
					// outside a transaction the locks go when the rows are closed
					rows, err := db.QueryContext(t.Context(), query, args...)
					require.NoError(t, err)
					rows.Next()
					require.NoError(t, rows.Close())
					_, err = tw.DirectTo(db).ExecContext(t.Context(), "UPDATE post SET title = 'x' WHERE id = 1")
					tell(err)

					// in a transaction the connection is busy
					tx, err := db.BeginTx(t.Context(), nil)
					require.NoError(t, err)
					harness.Affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id = 1")
					rows, err = tx.QueryContext(t.Context(), query, args...)
					require.NoError(t, err)
					rows.Next()
					_, err = tx.ExecContext(t.Context(), "UPDATE post SET title = 'busy' WHERE id = 1")
					tell(err)
					tell(rows.Close())
					_, err = tx.ExecContext(t.Context(), "UPDATE post SET likes = likes + 1 WHERE id = 1")
					tell(err)
					tell(tx.Commit())
					answers[i] = append(answers[i], harness.Queried(t.Context(), db, "SELECT id, likes, title FROM post ORDER BY id"))
				}
				require.Equal(t, answers[0], answers[1])
			})
		}
	})
}
