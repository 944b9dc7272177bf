package groups

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestHeldInPart proves that who does not get all rows for himself with the last increment leaves
// those that he must not wait with to others, who can lock them shared: the held one where the last
// one is refused, and the last one, unless it comes first in canonical order, where the held one is;
// and that nothing is lost.
func TestHeldInPart(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, of := range []struct {
			increments []string
			locks      string   // what somebody else has locked
			free       []string // what others can lock shared then
		}{
			{[]string{voteBook, voteAuthor}, "SELECT 1 FROM author WHERE id = 1 FOR UPDATE", []string{"book"}},
			{[]string{voteBook, voteAuthor}, "SELECT 1 FROM author WHERE id = 1 LOCK IN SHARE MODE", []string{"book", "author"}},
			{[]string{voteBook, voteAuthor}, "SELECT 1 FROM book WHERE id = 1 LOCK IN SHARE MODE", []string{"book"}},
			{[]string{voteAuthor, voteBook}, "SELECT 1 FROM author WHERE id = 1 LOCK IN SHARE MODE", []string{"book", "author"}},
			{[]string{voteAuthor, voteBook}, "SELECT 1 FROM book WHERE id = 1 LOCK IN SHARE MODE", []string{"book"}},
			{[]string{voteAuthor, voteBook}, "SELECT 1 FROM book WHERE id = 1 FOR UPDATE", []string{"author"}},
		} {
			t.Run(fmt.Sprint(of.increments[0][7:13], " ", of.locks), func(t *testing.T) {
				tw := harness.NewTwin(t, srv, voted, votedCounters(), "interpolateParams=true")
				learnVotes(t, tw, of.increments...)
				other, err := tw.Direct.Begin()
				require.NoError(t, err)
				_, err = other.Exec(of.locks)
				require.NoError(t, err)
				tx := begunVote(t, tw.Ours, of.increments...)
				third, err := tw.Direct.Conn(t.Context())
				require.NoError(t, err)
				defer third.Close()
				_, err = third.ExecContext(t.Context(), "SET innodb_lock_wait_timeout = 1")
				require.NoError(t, err)
				for _, table := range of.free {
					_, err := third.ExecContext(t.Context(), "SELECT 1 FROM "+table+" WHERE id = 1 LOCK IN SHARE MODE")
					require.NoError(t, err, table)
				}
				committed := make(chan error, 1)
				go func() { committed <- tx.Commit() }()
				require.Eventually(t, func() bool { return len(committed) > 0 || tw.Waits(t) }, 10*time.Second, 10*time.Millisecond)
				require.NoError(t, other.Commit())
				require.NoError(t, <-committed)
				requireVotes(t, tw, 1)
			})
		}
	})
}

// TestHeldTwice proves that a transaction whose last increment is of a row that it holds for
// another one counts both, whether these are of the same counter or not.
func TestHeldTwice(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, last := range []string{
			"UPDATE book SET votes = votes + 5 WHERE id = (?)",
			"UPDATE book SET votes = votes + 1 WHERE id = (?)",
			"UPDATE book SET votes = votes + 3, seen = seen + 1 WHERE id = ?",
			"UPDATE book SET seen = seen + 1 WHERE id = ?",
		} {
			tw := harness.NewTwin(t, srv, voted, votedCounters(), "interpolateParams=true")
			count := func(db *sql.DB, first, second int) {
				require.NoError(t, transact(db, func(tx *sql.Tx) error {
					harness.Affected(t, tx, "INSERT INTO vote (book_id) VALUES (NULL)")
					if _, err := tx.Exec(strings.TrimSuffix(voteBook, "1")+"?", first); err != nil { // not asked
						return err
					}
					require.EqualValues(t, 1, harness.Affected(t, tx, last, second))
					return nil
				}), last)
			}
			for n := range 20 {
				for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
					if count(db, 1, 2); n >= 8 { // it is known to be the last
						count(db, 3, 3)
					}
				}
			}
			tw.Same(t, "SELECT * FROM book ORDER BY id")
		}
	})
}

// TestEditBetweenHeld pins what may become of an edit of one row that waits for a transaction which
// holds that row: where the transaction then waits for a slot of an earlier row, and who has that for
// the edited row, behind the edit. The increments are counted.
func TestEditBetweenHeld(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := votedCounters()
		for i := range config.Tables {
			config.Tables[i].Slots = 1
		}
		tw := harness.NewTwin(t, srv, voted, config, "interpolateParams=true")
		second, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
		learnVotes(t, tw, voteBook, voteAuthor)
		other, err := tw.Direct.Begin() // so that the author's increments go to slots
		require.NoError(t, err)
		_, err = other.Exec("SELECT 1 FROM author WHERE id = 1 LOCK IN SHARE MODE")
		require.NoError(t, err)
		holds := begunVote(t, tw.Ours, voteBook, voteAuthor)
		looks := begunVote(t, second, voteBook, voteAuthor)
		edited := make(chan error, 1)
		go func() {
			_, err := tw.Direct.Exec("UPDATE book SET title = 'x' WHERE id = 1")
			edited <- err
		}()
		require.Eventually(t, func() bool { return tw.Waits(t) }, 10*time.Second, 10*time.Millisecond)
		committed := make(chan error, 1)
		go func() { committed <- looks.Commit() }()
		slot := func() bool { // of the author's, which it has locked
			_, err := tw.Direct.Exec("SELECT 1 FROM author_slots WHERE id = 1 FOR UPDATE NOWAIT")
			return slices.Contains([]int{1205, 3572}, harness.ErrorNumber(err))
		}
		require.Eventually(t, slot, 10*time.Second, 10*time.Millisecond)
		require.NoError(t, other.Commit())
		require.NoError(t, holds.Commit())
		require.NoError(t, <-committed)
		require.Equal(t, 1213, harness.ErrorNumber(<-edited))
		requireVotes(t, tw, 2)
	})
}
