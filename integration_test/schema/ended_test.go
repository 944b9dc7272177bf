package schema

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

const (
	madePost  = "CREATE TABLE post (id INT AUTO_INCREMENT PRIMARY KEY, likes INT NOT NULL DEFAULT 0)"
	threeRows = "INSERT INTO post (likes) VALUES (0), (0), (0)"
	likeFirst = "UPDATE post SET likes = likes + 1 WHERE id = 1"
	firstRow  = "SELECT likes FROM post WHERE id = 1"
)

// withSlots is a twin whose post 1 has five likes, which ours has in slots.
func withSlots(t *testing.T, srv *testserver.Server, more string) *harness.Twin {
	t.Helper()
	tw := harness.NewTwin(t, srv, madePost+more+";\n"+threeRows, harness.Counters("post", "likes"))
	_, err := countermysql.Init(t.Context(), tw.Ours, nil)
	require.NoError(t, err)
	harness.Affected(t, tw.Plain, "UPDATE post SET likes = likes + 5 WHERE id = 1")
	likeHot(t, tw.Direct, tw.Ours, 5)
	require.EqualValues(t, 5, harness.Number(t, tw.Direct, "SELECT SUM(likes) FROM post_slots"))
	return tw
}

// likeHot increments post 1 while its row is locked: into slots.
func likeHot(t *testing.T, direct, db *sql.DB, times int) {
	t.Helper()
	tx, err := direct.Begin()
	require.NoError(t, err)
	defer tx.Rollback()
	require.NoError(t, tx.QueryRow(firstRow+" LOCK IN SHARE MODE").Scan(new(int)))
	for range times {
		require.EqualValues(t, 1, harness.Affected(t, db, likeFirst))
	}
}

// TestEndCutOff proves that DROP and TRUNCATE which are cut off, or fail, before they have ended
// the slots lose nothing of a table that stays, and leave nothing to the rows of the next one.
func TestEndCutOff(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, end := range []string{"DROP TABLE post", "DROP TABLE IF EXISTS post", "DROP TABLE post, note", "TRUNCATE TABLE post"} {
			for _, before := range []string{"of the slots", "of the base table", "lock wait"} {
				name := end + ", " + before
				tw := withSlots(t, srv, ";\nCREATE TABLE note (id INT)")
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				conn := harness.Session(t, tw.Ours)
				tx, err := tw.Direct.Begin()
				require.NoError(t, err)
				if before == "lock wait" {
					harness.Affected(t, conn, "SET SESSION lock_wait_timeout = 1")
					harness.Affected(t, tx, "UPDATE post_slots SET likes = likes WHERE id = 7") // as the triggers of a derived counter
				}
				cut := false
				tw.Sent.Meddle(t, func(query string) error {
					if before == "of the base table" && query == end || before == "of the slots" && strings.HasPrefix(query, end[:4]) && strings.Contains(query, "post_slots") {
						cut = true
						cancel()
						time.Sleep(50 * time.Millisecond)
					}
					return nil
				})
				_, err = conn.ExecContext(ctx, end)
				require.NoError(t, tx.Rollback())
				if before == "lock wait" {
					require.Equal(t, 1205, harness.ErrorNumber(err), name)
				} else {
					require.True(t, cut, name)
				}
				if rows := harness.Queried(t.Context(), tw.Direct, "SELECT COUNT(*) FROM post"); strings.Contains(rows, "[3]") {
					require.NotEqual(t, "of the slots", before, name)
					require.EqualValues(t, 5, harness.Number(t, tw.Ours, firstRow), name)
					continue
				}
				require.Equal(t, "of the slots", before, "%s: it is told that nothing was done", name)
				if !strings.HasPrefix(end, "TRUNCATE") {
					harness.Affected(t, tw.Ours, "DROP TABLE IF EXISTS post")
					harness.Affected(t, tw.Ours, madePost)
				}
				harness.Affected(t, tw.Ours, threeRows)
				require.Zero(t, harness.Number(t, tw.Ours, firstRow), name)
			}
		}
	})
}

// TestEndRefused proves that nothing is lost where the server refuses DROP or TRUNCATE.
func TestEndRefused(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := withSlots(t, srv, ";\nCREATE TABLE child (id INT PRIMARY KEY, post INT, FOREIGN KEY (post) REFERENCES post (id))")
		tw.Play(t, "A: DROP TABLE post", "A: "+firstRow, "A: TRUNCATE post", "A: "+firstRow, "A: DROP TABLE nosuch, post", "A: "+firstRow, "A: "+likeFirst, "A: "+firstRow,
			"A: SET foreign_key_checks = 0", "A: TRUNCATE post", "A: "+threeRows, "A: "+firstRow, "A: DROP TABLE post", "A: "+madePost, "A: "+threeRows, "A: "+firstRow)
	})
}

// TestMadeAgainBesideDrop proves that who makes a table again as soon as it is dropped, and counts
// in it, keeps what was counted.
func TestMadeAgainBesideDrop(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, drop := range []string{"DROP TABLE post", "DROP TABLE post, note", "DROP TABLE IF EXISTS nosuch, post"} {
			for _, by := range []string{"driver", "other client"} {
				tw := withSlots(t, srv, ";\nCREATE TABLE note (id INT)")
				quiet := *tw.Config
				quiet.Interceptor = nil
				other, _ := harness.OpenOurs(t, tw.OursDSN, &quiet)
				require.EqualValues(t, 5, harness.Number(t, other, firstRow))
				maker := other
				if by == "other client" {
					maker = tw.Direct
				}
				done := make(chan bool, 1)
				meddled := false
				tw.Sent.Meddle(t, func(query string) error {
					if meddled || !strings.Contains(query, "TABLE") || !strings.Contains(query, "post_slots") || harness.Queried(t.Context(), tw.Direct, "SELECT COUNT(*) FROM post") != "error 1146" {
						return nil
					}
					meddled = true
					go func() {
						defer close(done)
						harness.Affected(t, maker, madePost)
						harness.Affected(t, maker, threeRows)
						likeHot(t, tw.Direct, other, 3)
					}()
					select {
					case <-done:
					case <-time.After(500 * time.Millisecond): // it waits for us
					}
					return nil
				})
				harness.Affected(t, tw.Ours, drop)
				require.True(t, meddled)
				<-done
				for _, db := range []*sql.DB{tw.Ours, other} {
					require.EqualValues(t, 3, harness.Number(t, db, firstRow), "%s, made by %s", drop, by)
				}
			}
		}
	})
}

// TestEndGoneTable proves that DDL of a table which another client has dropped answers as on
// plain MySQL, and that the slots of the former one end with it.
func TestEndGoneTable(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		statements := []string{"DROP TABLE post", "DROP TABLE IF EXISTS post", "DROP TABLE IF EXISTS note, post", "TRUNCATE post", "ALTER TABLE post DROP COLUMN likes", "ALTER TABLE post COMMENT 'x'", "RENAME TABLE post TO post_old"}
		if harness.MariaDB(srv) {
			statements = append(statements, "CREATE OR REPLACE"+strings.TrimPrefix(madePost, "CREATE"))
		}
		for _, stmt := range statements {
			tw := withSlots(t, srv, ";\nCREATE TABLE note (id INT)")
			tw.Play(t, "O: DROP TABLE post", "A: "+stmt, "A: "+stmt)
			if strings.HasPrefix(stmt, "DROP") {
				require.Equal(t, "error 1146", harness.Queried(t.Context(), tw.Direct, "SELECT * FROM post_slots"), stmt)
				tw.Play(t, "A: "+madePost, "A: "+threeRows, "A: "+firstRow)
			}
		}
	})
}
