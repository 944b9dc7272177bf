package integration_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/testserver"
)

// TestCommitInOnePacket proves that with multiStatements the increments of one
// table and COMMIT are one round trip, that nothing is committed without the
// increments, and that a row which got another key is still found.
func TestCommitInOnePacket(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		begin := func(t *testing.T, tw *twin) (tx interface {
			execer
			Commit() error
		}) {
			x, err := session(t, tw.ours).BeginTx(t.Context(), nil)
			require.NoError(t, err)
			affected(t, x, "INSERT INTO note VALUES (1, 'x')")
			return x
		}
		t.Run("sent", func(t *testing.T) {
			tw := newBlog(t, srv, blogCounters(), "multiStatements=true")
			tx := begin(t, tw)
			affected(t, tx, "UPDATE post SET likes = likes + 1, views = views + 2 WHERE id IN (2, 1)")
			sent := tw.sent.during(func() { require.NoError(t, tx.Commit()) })
			require.Len(t, sent, 1, "%v", sent)
			require.True(t, strings.HasSuffix(sent[0].text, "; COMMIT"), sent[0].text)
			require.EqualValues(t, 21, number(t, tw.ours, "SELECT SUM(likes) FROM post WHERE id < 3"))
			require.EqualValues(t, 1, number(t, tw.direct, "SELECT COUNT(*) FROM note"))
		})
		t.Run("moved", func(t *testing.T) {
			tw := newBlog(t, srv, blogCounters(), "multiStatements=true")
			tx := begin(t, tw)
			affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE slug = 'a'")
			affected(t, tw.ours, "UPDATE post SET id = 77 WHERE slug = 'a'")
			was := number(t, tw.ours, "SELECT likes FROM post WHERE slug = 'a'")
			require.NoError(t, tx.Commit())
			require.Equal(t, was+1, number(t, tw.ours, "SELECT likes FROM post WHERE slug = 'a'"))
		})
		t.Run("refused", func(t *testing.T) {
			tw := newBlog(t, srv, blogCounters(), "multiStatements=true", "innodb_lock_wait_timeout=1")
			holder, err := tw.direct.Begin()
			require.NoError(t, err)
			defer holder.Rollback()
			number(t, holder, "SELECT likes FROM post WHERE id = 2 FOR UPDATE")
			tx := begin(t, tw)
			affected(t, tx, "UPDATE post SET likes = likes + 100 WHERE id IN (1, 2)")
			require.Equal(t, 1205, errorNumber(tx.Commit()))
			require.NoError(t, holder.Rollback())
			require.EqualValues(t, 19, number(t, tw.ours, "SELECT SUM(likes) FROM post WHERE id < 3"))
			require.Zero(t, number(t, tw.direct, "SELECT COUNT(*) FROM note"))
		})
	})
}

// TestDeadlockAtCommit proves that a transaction whose increments meet a deadlock
// at COMMIT fails with it, and that none of it is counted.
func TestDeadlockAtCommit(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"multiStatements=false", "multiStatements=true"} {
			t.Run(params, func(t *testing.T) {
				tw := newBlog(t, srv, blogCounters(), params)
				tx, err := session(t, tw.ours).BeginTx(t.Context(), nil)
				require.NoError(t, err)
				affected(t, tx, "UPDATE post SET likes = likes + 100 WHERE id = 1")
				number(t, tx, "SELECT likes FROM post WHERE id = 1") // row 1 is locked now
				affected(t, tx, "UPDATE post SET likes = likes + 100 WHERE id = 2")

				other, err := tw.direct.BeginTx(t.Context(), nil)
				require.NoError(t, err)
				for id := range 50 { // so much that ours is the victim
					affected(t, other, fmt.Sprintf("INSERT INTO note VALUES (%d, '')", 100+id))
				}
				number(t, other, "SELECT likes FROM post WHERE id = 2 FOR UPDATE")
				waits := make(chan error, 1)
				go func() {
					_, err := other.ExecContext(context.WithoutCancel(t.Context()), "UPDATE post SET title = 'x' WHERE id = 1")
					waits <- err
				}()
				time.Sleep(100 * time.Millisecond)
				require.Equal(t, 1213, errorNumber(tx.Commit()))
				require.NoError(t, <-waits)
				require.NoError(t, other.Commit())
				require.EqualValues(t, 19, number(t, tw.ours, "SELECT SUM(likes) FROM post WHERE id < 3"))
			})
		}
	})
}
