package transactions

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestPreparedXA proves that an exact statement waits for a prepared transaction that
// has incremented its row: MariaDB ends shared locks at XA PREPARE, and every server
// when it starts again, so that increments in slots would be seen too late.
func TestPreparedXA(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := harness.Counters("post", "likes")
		config.Tables[0].Slots = 1 // the transaction's slot is one that is folded
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL);\nINSERT INTO post VALUES (1, 0)", config, "innodb_lock_wait_timeout=20")
		for _, exact := range []string{"UPDATE post SET likes = likes * 2 WHERE id = 1", "SELECT likes FROM post WHERE id = 1 FOR UPDATE", "rollup"} {
			harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes + 1 WHERE id = 1")
			before := harness.Number(t, tw.Ours, "SELECT likes FROM post")
			conn := harness.Session(t, tw.Ours)
			for _, stmt := range []string{"XA START " + harness.Xid, "UPDATE post SET likes = likes + 10 WHERE id = 1", "XA END " + harness.Xid, "XA PREPARE " + harness.Xid} {
				harness.Affected(t, conn, stmt)
			}
			ended := make(chan string, 1)
			go func() {
				if exact == "rollup" {
					_, err := countermysql.Rollup(context.Background(), tw.Ours, nil)
					ended <- fmt.Sprint(err)
					return
				}
				ended <- harness.Queried(context.Background(), tw.Ours, exact)
			}()
			if exact != "rollup" { // which gives up after a second
				time.Sleep(200 * time.Millisecond)
				require.Empty(t, ended, exact)
			}
			harness.Affected(t, conn, "XA COMMIT "+harness.Xid)
			want := before + 10
			switch answer := <-ended; exact {
			case "rollup":
				require.Equal(t, "<nil>", answer)
			default:
				if strings.HasPrefix(exact, "UPDATE") {
					want *= 2
				} else {
					require.Equal(t, fmt.Sprintf("likes INT, [%d]", want), answer)
				}
			}
			require.Equal(t, want, harness.Number(t, tw.Ours, "SELECT likes FROM post"), exact)
			conn.Close()
		}
	})
}

// TestDeadlockAtXAEnd proves that a transaction whose increments meet a deadlock at XA
// END can be rolled back, as one that met it before, and that its connection is of use.
func TestDeadlockAtXAEnd(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		conn := harness.Session(t, tw.Ours)
		other, err := tw.Direct.Begin()
		require.NoError(t, err)
		defer other.Rollback()
		for id := 100; id < 150; id++ { // so much that ours is the victim
			harness.Affected(t, other, "INSERT INTO note VALUES (?, '')", id)
		}
		harness.Number(t, other, "SELECT likes FROM post WHERE id = 1 FOR UPDATE")
		harness.Affected(t, conn, "XA START "+harness.Xid)
		harness.Affected(t, conn, "UPDATE post SET title = 'x' WHERE id = 3")
		harness.Affected(t, conn, harness.LikeOne)
		ended := harness.Later(t, conn, "XA END "+harness.Xid)
		time.Sleep(200 * time.Millisecond)
		harness.Number(t, other, "SELECT likes FROM post WHERE id = 3 FOR UPDATE")
		require.NoError(t, other.Rollback())
		require.Equal(t, "error 1213", harness.Soon(t, ended))
		harness.Affected(t, conn, "XA ROLLBACK "+harness.Xid)
		require.EqualValues(t, 1, harness.Affected(t, conn, harness.LikeOne))
		require.EqualValues(t, 11, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"))
	})
}
