package integration_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/testserver"
)

// crossing are two transactions. The second one comes when the first one has run its
// statements, and waits; then the first one commits.
type crossing struct{ first, second []string }

func (x crossing) ends(t *testing.T, db *sql.DB, level sql.IsolationLevel) []int {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
	require.NoError(t, err)
	defer tx.Rollback()
	for _, stmt := range x.first {
		affected(t, tx, stmt)
	}
	second := make(chan error, 1)
	go func() { second <- inTransaction(ctx, db, level, x.second) }()
	time.Sleep(200 * time.Millisecond)
	err = tx.Commit()
	return []int{errorNumber(err), errorNumber(<-second)}
}

// TestAcceptedLockOrder pins that the rows which a transaction has incremented are locked
// last: transactions that take rows in one order, by increments and otherwise, do not
// deadlock on plain MySQL, but can do so here, unless they lock them first.
func TestAcceptedLockOrder(t *testing.T) {
	take := func(id string) string { return "UPDATE post SET likes = likes - 1 WHERE id = " + id + " AND likes >= 1" }
	give := func(id string) string { return "UPDATE post SET likes = likes + 1 WHERE id = " + id }
	const edit, lock = "UPDATE author SET name = 'x' WHERE id = 1", "SELECT id FROM post WHERE id IN (1, 2) ORDER BY id FOR UPDATE"
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newBlog(t, srv, blogCounters())
		for _, c := range []struct {
			crossing
			want []int
		}{
			{crossing{[]string{give("1"), take("2")}, []string{take("1"), give("2")}}, []int{0, 1213}},
			{crossing{[]string{give("1"), edit}, []string{take("1"), edit}}, []int{0, 1213}},
			{crossing{[]string{lock, give("1"), take("2")}, []string{lock, take("1"), give("2")}}, []int{0, 0}},
		} {
			for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelReadCommitted} {
				tw.reset(t)
				require.Equal(t, []int{0, 0}, c.ends(t, tw.plain, level), "%v", c.first)
				require.ElementsMatch(t, c.want, c.ends(t, tw.ours, level), "%v", c.first)
			}
		}
	})
}
