package accepted

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// crossing are two transactions. The second one comes when the first one has run its
// statements, and waits; then the first one goes on, and commits.
type crossing struct{ first, second, then []string }

func (x crossing) ends(t *testing.T, db *sql.DB, level sql.IsolationLevel) []int {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
	require.NoError(t, err)
	defer tx.Rollback()
	for _, stmt := range x.first {
		harness.Affected(t, tx, stmt)
	}
	second := make(chan error, 1)
	go func() { second <- harness.InTransaction(ctx, db, level, x.second) }()
	require.Eventually(t, func() bool { return len(second) > 0 || harness.Waits(t, db) }, 10*time.Second, 10*time.Millisecond)
	for _, stmt := range x.then {
		if _, err = tx.ExecContext(ctx, stmt); err != nil {
			break
		}
	}
	if err == nil {
		err = tx.Commit()
	}
	tx.Rollback()
	return []int{harness.ErrorNumber(err), harness.ErrorNumber(<-second)}
}

// TestAcceptedLockOrder pins that the rows which a transaction has incremented are locked
// last: transactions that take rows in one order, by increments and otherwise, do not
// deadlock on plain MySQL, but can do so here, unless they lock them first.
func TestAcceptedLockOrder(t *testing.T) {
	take := func(id string) string {
		return "UPDATE post SET likes = likes - 1 WHERE id = " + id + " AND likes >= 1"
	}
	give := func(id string) string { return "UPDATE post SET likes = likes + 1 WHERE id = " + id }
	const edit, lock = "UPDATE author SET name = 'x' WHERE id = 1", "SELECT id FROM post WHERE id IN (1, 2) ORDER BY id FOR UPDATE"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		for _, c := range []struct {
			crossing
			want []int
		}{
			{crossing{[]string{give("1"), take("2")}, []string{take("1"), give("2")}, nil}, []int{0, 1213}},
			{crossing{[]string{give("1"), edit}, []string{take("1"), edit}, nil}, []int{0, 1213}},
			{crossing{[]string{lock, give("1"), take("2")}, []string{lock, take("1"), give("2")}, nil}, []int{0, 0}},
		} {
			for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelReadCommitted} {
				tw.Reset(t)
				require.Equal(t, []int{0, 0}, c.ends(t, tw.Plain, level), "%v", c.first)
				require.ElementsMatch(t, c.want, c.ends(t, tw.Ours, level), "%v", c.first)
			}
		}
	})
}

// TestAcceptedCopiedThenWritten pins that a transaction which copies counters under
// REPEATABLE READ, and then writes their rows, deadlocks with increments that came in
// between: they hold the rows shared, and wait for the slots. On plain MySQL they wait
// for the rows; on plain MariaDB it is a deadlock, too. FOR UPDATE is the way out.
func TestAcceptedCopiedThenWritten(t *testing.T) {
	const copied, reset = "INSERT INTO note SELECT id + 10, likes FROM post", "UPDATE post SET likes = 0 WHERE id = 1"
	increment := []string{"INSERT INTO note VALUES (1, '')", harness.LikeOne}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := harness.BlogCounters()
		config.Slots = 1
		tw := harness.NewBlog(t, srv, config)
		for _, c := range []struct {
			copied    string
			deadlocks bool
		}{{copied, true}, {copied + " FOR UPDATE", false}} {
			tw.Reset(t)
			harness.Affected(t, tw.Ours, harness.LikeOne)
			x := crossing{[]string{c.copied}, increment, []string{reset}}
			plain, ours := x.ends(t, tw.Plain, sql.LevelRepeatableRead), x.ends(t, tw.Ours, sql.LevelRepeatableRead)
			if !harness.MariaDB(srv) || !c.deadlocks {
				require.Equal(t, []int{0, 0}, plain)
			}
			if c.deadlocks {
				require.ElementsMatch(t, []int{0, 1213}, ours)
			} else {
				require.Equal(t, []int{0, 0}, ours)
			}
		}
	})
}

// TestAcceptedRekeyed pins what can't be told of increments by another unique key, if others give their
// rows other primary keys before the transaction has come to its COMMIT.
func TestAcceptedRekeyed(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		const schema = "CREATE TABLE acct (id INT PRIMARY KEY, ref INT NOT NULL UNIQUE, n INT NOT NULL);\nCREATE TABLE note (id INT PRIMARY KEY);\nINSERT INTO acct VALUES (1, 1, 10), (2, 2, 20), (3, 3, 30)"
		accepted := func(increment string, rest ...string) {
			tw := harness.NewTwin(t, srv, schema, harness.Counters("acct", "n"), "innodb_lock_wait_timeout=1")
			tw.Accepted(t, append([]string{"A: begin", "A: INSERT INTO note VALUES (1)", "A: " + increment}, rest...)...)
		}
		accepted("UPDATE acct SET n = n + 3 WHERE ref = 2", "B: UPDATE acct SET id = 50 WHERE ref = 2 ⇒ error 1205 ⇒ affected 1",
			"A: SELECT n FROM acct WHERE id = 50 ⇒ no rows ⇒ [20]", "A: SELECT n FROM acct WHERE ref = 2", "A: commit", "A: SELECT ref, n FROM acct ORDER BY ref")
		accepted("UPDATE acct SET n = n + 3 WHERE ref = 2 AND id = 2", "B: UPDATE acct SET id = 50 WHERE ref = 2 ⇒ error 1205 ⇒ affected 1",
			"A: commit", "A: SELECT ref, n FROM acct ORDER BY ref ⇒ [1 10][2 23][3 30] ⇒ [1 10][2 20][3 30]")
		accepted("UPDATE acct SET n = n + 3 WHERE ref IN (1, 2)", "B: UPDATE acct SET id = 50 WHERE ref = 1 ⇒ error 1205 ⇒ affected 1", "B: DELETE FROM acct WHERE ref = 2 ⇒ error 1205 ⇒ affected 1",
			"B: UPDATE acct SET id = 1 WHERE ref = 3 ⇒ error 1205 ⇒ affected 1", "A: commit", "A: SELECT ref, n FROM acct ORDER BY ref ⇒ [1 13][2 23][3 30] ⇒ [1 13][3 33]")
	})
}
