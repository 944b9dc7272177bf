package integration_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestPreparedXA proves that an exact statement waits for a prepared transaction that
// has incremented its row: MariaDB ends shared locks at XA PREPARE, and every server
// when it starts again, so that increments in slots would be seen too late.
func TestPreparedXA(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := counters("post", "likes")
		config.Tables[0].Slots = 1 // the transaction's slot is one that is folded
		tw := newTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL);\nINSERT INTO post VALUES (1, 0)", config, "innodb_lock_wait_timeout=20")
		for _, exact := range []string{"UPDATE post SET likes = likes * 2 WHERE id = 1", "SELECT likes FROM post WHERE id = 1 FOR UPDATE", "rollup"} {
			affected(t, tw.ours, "UPDATE post SET likes = likes + 1 WHERE id = 1")
			before := number(t, tw.ours, "SELECT likes FROM post")
			conn := session(t, tw.ours)
			for _, stmt := range []string{"XA START " + xid, "UPDATE post SET likes = likes + 10 WHERE id = 1", "XA END " + xid, "XA PREPARE " + xid} {
				affected(t, conn, stmt)
			}
			ended := make(chan string, 1)
			go func() {
				if exact == "rollup" {
					_, err := countermysql.Rollup(context.Background(), tw.ours, nil)
					ended <- fmt.Sprint(err)
					return
				}
				ended <- queried(context.Background(), tw.ours, exact)
			}()
			if exact != "rollup" { // which gives up after a second
				time.Sleep(200 * time.Millisecond)
				require.Empty(t, ended, exact)
			}
			affected(t, conn, "XA COMMIT "+xid)
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
			require.Equal(t, want, number(t, tw.ours, "SELECT likes FROM post"), exact)
			conn.Close()
		}
	})
}

// TestDeadlockAtXAEnd proves that a transaction whose increments meet a deadlock at XA
// END can be rolled back, as one that met it before, and that its connection is of use.
func TestDeadlockAtXAEnd(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newBlog(t, srv, blogCounters())
		conn := session(t, tw.ours)
		other, err := tw.direct.Begin()
		require.NoError(t, err)
		defer other.Rollback()
		for id := 100; id < 150; id++ { // so much that ours is the victim
			affected(t, other, "INSERT INTO note VALUES (?, '')", id)
		}
		number(t, other, "SELECT likes FROM post WHERE id = 1 FOR UPDATE")
		affected(t, conn, "XA START "+xid)
		affected(t, conn, "UPDATE post SET title = 'x' WHERE id = 3")
		affected(t, conn, likeOne)
		ended := later(t, conn, "XA END "+xid)
		time.Sleep(200 * time.Millisecond)
		number(t, other, "SELECT likes FROM post WHERE id = 3 FOR UPDATE")
		require.NoError(t, other.Rollback())
		require.Equal(t, "error 1213", soon(t, ended))
		affected(t, conn, "XA ROLLBACK "+xid)
		require.EqualValues(t, 1, affected(t, conn, likeOne))
		require.EqualValues(t, 11, number(t, tw.ours, "SELECT likes FROM post WHERE id = 1"))
	})
}
