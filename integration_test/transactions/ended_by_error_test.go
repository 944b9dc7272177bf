package transactions

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestEndedByError proves that an increment after an error goes where the server
// is then: on with the transaction, or outside if the error has ended it.
func TestEndedByError(t *testing.T) {
	const like = "A: UPDATE post SET likes = likes + 100 WHERE id = 1"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		tw.Play(t, "A: CREATE PROCEDURE half() BEGIN COMMIT; SIGNAL SQLSTATE '45000'; END")
		for _, steps := range [][]string{
			{"A: BEGIN", like, "A: CREATE TABLE note (id INT)", like, "A: ROLLBACK"},
			{"A: begin", like, "A: DROP TABLE nosuch", like, "A: rollback"},
			{"A: SET autocommit = 0", like, "A: ALTER TABLE nosuch ADD x INT", like, "A: ROLLBACK"},
			{"A: BEGIN", like, "A: ALTER TABLE post ADD nonsense", like, "A: ROLLBACK"},
			{"A: begin", like, "A: TRUNCATE TABLE post nonsense", like, "A: rollback"},
			{"A: begin", like, "A: ALTER TABLE post ADD title INT", like, "A: rollback"},
			{"A: BEGIN", like, "A: CALL half()", like, "A: ROLLBACK"},
			{"A: BEGIN", like, "A: SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213", like, "A: COMMIT"},
			{"A: BEGIN", like, "A: INSERT INTO author VALUES (1, '')", "A: SHOW WARNINGS", like, "A: COMMIT"},
			{"A: SET autocommit = 0", like, "A: SELECT nonsense", like, "A: COMMIT"},
			{"A: SET autocommit = 0", "A: SELECT nosuch FROM post", "A: SET TRANSACTION ISOLATION LEVEL READ COMMITTED", like, "A: COMMIT"},
			{"A: SET autocommit = 0", "A: SAVEPOINT a", like, "A: ROLLBACK TO a", "A: COMMIT"},
			{"A: SET autocommit = 0", "A: SAVEPOINT a", "A: SET TRANSACTION ISOLATION LEVEL READ COMMITTED", like, like, "A: ROLLBACK TO a", like, "A: SAVEPOINT b", like, "A: ROLLBACK TO b", "A: COMMIT"},
		} {
			tw.Reset(t)
			tw.Play(t, slices.Concat(steps, []string{"A: SET autocommit = 1"}, harness.Everything)...)
		}
	})
}

// TestDeadlockAmongRows proves that a deadlock which the server tells in the place
// of a row has ended the transaction, with its pending increments.
func TestDeadlockAmongRows(t *testing.T) {
	const like = "A: UPDATE post SET likes = likes + 100 WHERE id = 1"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		for _, c := range []struct {
			begin string
			after []string
		}{
			{"A: BEGIN", []string{like, "A: ROLLBACK"}},
			{"A: begin", []string{"A: commit"}},
			{"A: SET autocommit = 0", []string{"A: COMMIT"}},
		} {
			tw.Reset(t)
			var answers [2]string
			for i, db := range []*sql.DB{tw.Plain, tw.Ours} {
				s := &harness.Script{Db: db, Clients: map[string]*harness.Client{}}
				for _, step := range []string{c.begin, like, "A: UPDATE author SET name = 'x' WHERE id = 1",
					"B: begin", "B: INSERT INTO note VALUES (11, ''), (12, ''), (13, ''), (14, ''), (15, ''), (16, ''), (17, ''), (18, ''), (19, '')"} {
					s.Do(t, step)
				}
				waits := make(chan string)
				go func() {
					waits <- harness.Queried(context.WithoutCancel(t.Context()), s.Clients["B"].Tx, "SELECT name FROM author WHERE name <> '' FOR UPDATE")
				}()
				require.Eventually(t, func() bool { return harness.Waits(t, tw.DirectTo(db)) }, 10*time.Second, 10*time.Millisecond)
				s.Do(t, "A: SELECT body FROM note WHERE body <> 'x' FOR UPDATE") // its writes are fewer: it has to give way
				s.Answers = append(s.Answers, <-waits)
				for _, step := range append(append(c.after, "B: rollback"), harness.Everything...) {
					s.Do(t, step)
				}
				s.End()
				answers[i] = strings.Join(s.Answers, "\n")
			}
			require.Contains(t, answers[0], "error 1213")
			require.Equal(t, answers[0], answers[1])
		}
	})
}

// TestBeginAfterFailedSending proves that BeginTx, which commits what is open, rolls
// it back where its increments can't be sent: the next try would send some twice.
func TestBeginAfterFailedSending(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_lock_wait_timeout=1")
		conn := harness.Session(t, tw.Ours)
		harness.Affected(t, conn, "SET autocommit = 0")
		for _, id := range []string{"1", "2", "3"} {
			require.EqualValues(t, 1, harness.Affected(t, conn, "UPDATE post SET likes = likes + 100 WHERE id = "+id))
		}
		other := harness.Session(t, tw.Direct)
		harness.ExecAll(t, tw.Direct, "DELETE FROM post WHERE id = 1") // so that they are sent one by one
		tx, err := other.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		harness.Affected(t, tx, "UPDATE post SET title = 'theirs' WHERE id = 3")
		_, err = conn.BeginTx(t.Context(), nil)
		require.Equal(t, 1205, harness.ErrorNumber(err))
		require.NoError(t, tx.Rollback())
		harness.Affected(t, conn, "COMMIT")
		harness.Affected(t, conn, "SET autocommit = 1")
		require.Equal(t, "id INT, likes INT, [2 9][3 0]", harness.Queried(t.Context(), tw.Ours, "SELECT id, likes FROM post ORDER BY id"))
	})
}

// TestMovedRowLocked proves that an increment whose row has moved to another key
// stays pending where the row can't be locked in time.
func TestMovedRowLocked(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_lock_wait_timeout=1")
		ours, other := harness.Session(t, tw.Ours), harness.Session(t, tw.Direct)
		tx, err := ours.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		defer tx.Rollback()
		for _, slug := range []string{"a", "b"} {
			require.EqualValues(t, 1, harness.Affected(t, tx, "UPDATE post SET likes = likes + 100 WHERE slug = '"+slug+"'"))
		}
		harness.ExecAll(t, tw.Ours, "UPDATE post SET id = id + 10")
		holds, err := other.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		harness.Affected(t, holds, "UPDATE post SET title = 'theirs'")
		_, err = tx.ExecContext(t.Context(), "SELECT likes FROM post")
		require.Equal(t, 1205, harness.ErrorNumber(err))
		require.NoError(t, holds.Rollback())
		require.NoError(t, tx.Commit())
		require.Equal(t, "id INT, likes INT, [11 110][12 109][13 0]", harness.Queried(t.Context(), tw.Ours, "SELECT id, likes FROM post ORDER BY id"))
	})
}
