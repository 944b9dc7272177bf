package accepted

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestAcceptedNoLock pins that an increment inside a transaction locks nothing
// until COMMIT, and that SELECT … FOR UPDATE is the mutex it always was.
func TestAcceptedNoLock(t *testing.T) {
	t.Parallel()
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_lock_wait_timeout=1")
		tw.Accepted(t, "A: begin", "A: INSERT INTO note VALUES (1, '')",
			"A: UPDATE post SET likes = likes + 1 WHERE id = 1",
			"B: UPDATE post SET likes = likes + 10 WHERE id = 1 ⇒ error 1205 ⇒ affected 1",
			"B: SELECT likes FROM post WHERE id = 1 FOR UPDATE ⇒ error 1205 ⇒ [20]",
			"B: DELETE FROM post WHERE id = 1 ⇒ error 1205 ⇒ affected 1",
			"A: commit",
			"B: SELECT likes FROM post WHERE id = 1 ⇒ [11] ⇒ no rows")
		tw.Reset(t)
		tw.Accepted(t, "A: begin", "A: INSERT INTO note VALUES (1, '')",
			"A: UPDATE page SET hits = hits + 1 WHERE day = '2026-01-02' AND name = 'home'",
			"B: DELETE FROM page WHERE day = '2026-01-02' AND name = 'home' ⇒ error 1205 ⇒ affected 1",
			"B: INSERT INTO page (day, name) VALUES ('2026-01-02', 'home') ⇒ error 1205 ⇒ affected 1",
			"A: commit",
			"B: SELECT hits FROM page WHERE day = '2026-01-02' ⇒ [4] ⇒ [1]")
		tw.Reset(t)
		tw.Accepted(t, "A: begin", "A: SELECT likes FROM post WHERE id = 1 FOR UPDATE",
			"B: UPDATE post SET likes = likes + 10 WHERE id = 1",
			"B: SELECT likes FROM post WHERE id = 1 FOR UPDATE",
			"B: DELETE FROM post WHERE id = 1",
			"A: commit",
			"B: SELECT likes FROM post WHERE id = 1")
	})
}

// TestAcceptedNonsense pins that a query which the server does not understand has its rows
// locked and their slots added before it fails by itself: others wait for them, where
// nothing may be written that is told in place of the mistake, and with autocommit = 0 a
// transaction has begun. Outside a transaction nothing is left of it.
func TestAcceptedNonsense(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		const like = "B: UPDATE post SET likes = likes + 1 WHERE id = 1"
		const nonsense = "SELECT nosuch, likes FROM post WHERE id = 1"
		set := "A: SET TRANSACTION ISOLATION LEVEL READ COMMITTED ⇒ affected 0 ⇒ error 1568"
		ungrouped := "A: SELECT likes % 2 FROM post GROUP BY likes % 2 ORDER BY likes ⇒ error 1055 ⇒ error 1792"
		if harness.MariaDB(srv) { // it begins one, too, and orders groups as it likes
			set, _, _ = strings.Cut(set, " ⇒ ")
			ungrouped = "A: SELECT 1"
		}
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_lock_wait_timeout=1")
		tw.Accepted(t, like, "A: "+nonsense, "B: UPDATE post SET title = 'k' WHERE id = 1", "A: SET TRANSACTION READ WRITE",
			like, "A: BEGIN", "A: "+nonsense, "B: UPDATE post SET title = 'l' WHERE id = 1 ⇒ affected 1 ⇒ error 1205", "A: ROLLBACK", "A: SELECT id, likes FROM post ORDER BY id",
			like, "A: START TRANSACTION READ ONLY", "A: "+nonsense+" ⇒ error 1054 ⇒ error 1792", ungrouped, "A: SELECT likes FROM post WHERE id = 1", "A: COMMIT",
			like, "A: SET autocommit = 0", "A: "+nonsense, set, "A: COMMIT", "A: SELECT id, likes FROM post ORDER BY id")
	})
}

// TestSyntaxErrors proves that what the server can't parse goes to it as it is: nothing is
// locked, rolled up or begun for it, and the error is the same everywhere.
func TestSyntaxErrors(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		const like = "B: UPDATE post SET likes = likes + 1 WHERE id = 1"
		for _, garbled := range []string{"SELEC likes FROM post", "UPDTE post SET likes = 0 WHERE id = 1", "SELECT likes FROM post WHERE id = 1 LIMIT -1"} {
			tw := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_lock_wait_timeout=1")
			tw.Play(t, like, "A: "+garbled, "B: UPDATE post SET title = 'k' WHERE id = 1", "A: SET TRANSACTION READ WRITE",
				like, "A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 2", "A: "+garbled, "B: UPDATE post SET title = 'l' WHERE id = 1", "A: ROLLBACK", "A: SELECT id, likes FROM post ORDER BY id",
				like, "A: START TRANSACTION READ ONLY", "A: "+garbled, "A: SELECT likes FROM post WHERE id = 1", "A: COMMIT",
				like, "A: SET autocommit = 0", "A: "+garbled, "A: SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "A: COMMIT", "A: SELECT id, likes FROM post ORDER BY id")
			require.Empty(t, harness.Stats(t, tw.Ours).Fallbacks)
		}
	})
}

// TestAcceptedShareIsExclusive pins that a shared lock of a query that reads a
// counter is an exclusive one.
func TestAcceptedShareIsExclusive(t *testing.T) {
	t.Parallel()
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		share := []string{"LOCK IN SHARE MODE"}
		if !harness.MariaDB(srv) {
			share = append(share, "FOR SHARE")
		}
		for _, lock := range share {
			tw := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_lock_wait_timeout=1")
			tw.Accepted(t, "A: begin", "B: begin",
				"A: SELECT likes FROM post WHERE id = 1 "+lock,
				"B: SELECT likes FROM post WHERE id = 1 "+lock+" ⇒ [10] ⇒ error 1205",
				"A: rollback", "B: rollback", "A: begin", "B: begin",
				"A: SELECT title FROM post WHERE id = 1 "+lock,
				"B: SELECT title FROM post WHERE id = 1 "+lock, // reads no counter
				"C: UPDATE post SET title = 'x' WHERE id = 1", "C: UPDATE post SET likes = likes + 1 WHERE id = 1 ⇒ error 1205 ⇒ affected 1",
				"A: rollback", "B: rollback")
		}
	})
}

// TestAcceptedErrorsAtCommit pins that what keeps an increment from being sent
// is told by COMMIT, which rolls the transaction back, and not by the increment.
func TestAcceptedErrorsAtCommit(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_lock_wait_timeout=1")
		t.Run("1205", func(t *testing.T) {
			tw.Accepted(t, "O: BEGIN", "O: SELECT title FROM post WHERE id = 1 FOR UPDATE",
				"A: begin", "A: INSERT INTO note VALUES (1, '')",
				"A: UPDATE post SET likes = likes + 1 WHERE id = 1 ⇒ error 1205 ⇒ affected 1",
				"A: commit ⇒ done ⇒ error 1205",
				"O: ROLLBACK", "A: SELECT COUNT(*) FROM note ⇒ [1] ⇒ [0]", "A: SELECT likes FROM post WHERE id = 1")
		})
		t.Run("1142", func(t *testing.T) {
			tw.Reset(t)
			user := fmt.Sprintf("itg_reader_%d", os.Getpid())
			plain, ours := tw.WithoutWriting(t, user, tw.Plain, "post"), tw.WithoutWriting(t, user, tw.Ours, "post_slots")
			_, err := plain.Exec(harness.LikeOne)
			require.Equal(t, 1142, harness.ErrorNumber(err))
			tx, err := ours.Begin()
			require.NoError(t, err)
			defer tx.Rollback()
			harness.Affected(t, tx, "INSERT INTO note VALUES (1, '')")
			require.EqualValues(t, 1, harness.Affected(t, tx, harness.LikeOne))
			require.Equal(t, 1142, harness.ErrorNumber(tx.Commit()))
			require.Equal(t, "COUNT(*) BIGINT, [0]", harness.Queried(t.Context(), tw.Ours, "SELECT COUNT(*) FROM note"))
			_, err = ours.Exec(harness.LikeOne)
			require.Equal(t, 1142, harness.ErrorNumber(err))
		})
		t.Run("1290", func(t *testing.T) { // read_only is the whole server's, which is not ours: the answer is made here
			tw.Reset(t)
			tx, err := tw.Ours.Begin()
			require.NoError(t, err)
			defer tx.Rollback()
			harness.Affected(t, tx, "INSERT INTO note VALUES (1, '')")
			require.EqualValues(t, 1, harness.Affected(t, tx, harness.LikeOne))
			tw.Sent.Meddle(t, func(query string) error {
				if harness.InsertsSlots.MatchString(query) {
					return &mysql.MySQLError{Number: 1290, Message: "made by the test"}
				}
				return nil
			})
			require.Equal(t, 1290, harness.ErrorNumber(tx.Commit()))
			tw.Sent.Before.Store(nil)
			require.Equal(t, "COUNT(*) BIGINT, [0]", harness.Queried(t.Context(), tw.Ours, "SELECT COUNT(*) FROM note"))
			require.EqualValues(t, 10, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"))
		})
	})
}

// TestAcceptedWideLocks pins that a locking read under REPEATABLE READ keeps
// increments of more rows away than on plain MySQL, if it does not say by its
// own table's other columns which rows it reads: with a condition on a counter,
// whose index does not serve, or over several tables. So do counters that are copied,
// and writes that read a counter table beside their own.
func TestAcceptedWideLocks(t *testing.T) {
	t.Parallel()
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, steps := range [][]string{
			{"A: SELECT id, likes FROM post WHERE likes > 12 FOR UPDATE", "B: UPDATE post SET likes = likes + 1 WHERE id = 1 ⇒ affected 1 ⇒ error 1205"},
			{"A: SELECT p.likes FROM author a JOIN post p ON p.author = a.id WHERE p.id = 2 FOR UPDATE", "B: UPDATE post SET author = 7 WHERE id = 3", "B: UPDATE post SET likes = likes + 1 WHERE id = 3 ⇒ affected 1 ⇒ error 1205"},
			{"A: INSERT INTO author SELECT 9, p.likes FROM author a JOIN post p ON p.author = a.id WHERE p.id = 2", "B: UPDATE post SET author = 7 WHERE id = 3", "B: UPDATE post SET likes = likes + 1 WHERE id = 3 ⇒ affected 1 ⇒ error 1205"},
			{"A: INSERT INTO post (id, author, likes) SELECT 9, author, likes FROM post WHERE id = 2", "B: UPDATE post SET author = 7 WHERE id = 3", "B: UPDATE post SET likes = likes + 1 WHERE id = 3", "B: UPDATE post SET likes = likes + 1 WHERE id = 2"},
			{"A: UPDATE author SET name = (SELECT likes FROM post WHERE id = 2) WHERE id = 1", "B: UPDATE post SET author = 7 WHERE id = 3", "B: UPDATE post SET likes = likes + 1 WHERE id = 3 ⇒ affected 1 ⇒ error 1205"},
			{"B: UPDATE post SET likes = likes + 1 WHERE id = 3", "A: UPDATE author SET name = (SELECT author FROM post WHERE id = 1) WHERE id = 1", "B: UPDATE post SET likes = likes + 1 WHERE id = 3"},
			{"B: UPDATE post SET likes = likes + 1 WHERE id = 3", "A: UPDATE author JOIN post ON post.id = author.id SET name = likes WHERE author.id = 1", "B: UPDATE post SET author = 7 WHERE id = 2", "B: UPDATE post SET likes = likes + 1 WHERE id = 3 ⇒ affected 1 ⇒ error 1205"},
			{"B: UPDATE post SET likes = likes + 1 WHERE id = 3", "A: DELETE FROM author WHERE id IN (SELECT likes FROM post WHERE id = 1)", "B: UPDATE post SET author = 7 WHERE id = 2", "B: UPDATE post SET likes = likes + 1 WHERE id = 3 ⇒ affected 1 ⇒ error 1205"},
			{"A: SELECT id, likes FROM post WHERE id <= 2 FOR UPDATE", "B: UPDATE post SET likes = likes + 1 WHERE id = 4"},
			{"A: SELECT id, likes FROM post WHERE id = 2 AND likes > 3 FOR UPDATE", "B: UPDATE post SET likes = likes + 1 WHERE id = 3", "B: UPDATE post SET likes = likes + 1 WHERE id = 1"},
		} {
			tw := harness.NewTwin(t, srv, harness.Board, harness.Counters("post", "likes"), "innodb_lock_wait_timeout=1")
			tw.Accepted(t, append(append([]string{"A: begin RR"}, steps...), "A: rollback")...)
		}
	})
}

// TestAcceptedReadOwnDeadlock pins that two transactions which increment two
// counters in opposite order and read them back deadlock, as on plain MySQL.
func TestAcceptedReadOwnDeadlock(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
			count := func(tx *sql.Tx, id int) error {
				ctx := context.WithoutCancel(t.Context())
				if _, err := tx.ExecContext(ctx, "UPDATE post SET likes = likes + 1 WHERE id = ?", id); err != nil {
					return err
				}
				var likes int
				return tx.QueryRowContext(ctx, "SELECT likes FROM post WHERE id = ?", id).Scan(&likes)
			}
			first, err := db.Begin()
			require.NoError(t, err)
			defer first.Rollback()
			second, err := db.Begin()
			require.NoError(t, err)
			defer second.Rollback()
			require.NoError(t, count(first, 1))
			require.NoError(t, count(second, 2))
			waits := make(chan error, 1)
			go func() {
				err := count(first, 2)
				first.Rollback()
				waits <- err
			}()
			err = count(second, 1)
			second.Rollback()
			require.ElementsMatch(t, []int{0, 1213}, []int{harness.ErrorNumber(err), harness.ErrorNumber(<-waits)})
		}
	})
}
