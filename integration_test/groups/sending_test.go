package groups

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// concerning keeps the statements that name a table or its slots, and COMMIT.
func concerning(sent []harness.Sending, tables ...string) []string {
	var texts []string
	for _, s := range sent {
		for _, table := range append(tables, "COMMIT") {
			if strings.Contains(s.Text, table) && !strings.Contains(s.Text, "information_schema") {
				texts = append(texts, s.Text)
				break
			}
		}
	}
	return texts
}

// TestOneRoundTrip proves that what can be done in one round trip is: the
// autocommit increment, however it is sent, and the guarded exact statement of
// a row without slots.
func TestOneRoundTrip(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"interpolateParams=true", "interpolateParams=false"} {
			tw := harness.NewBlog(t, srv, harness.BlogCounters(), params)
			conn := harness.Session(t, tw.Ours)
			harness.Affected(t, conn, "UPDATE post SET likes = likes + 1 WHERE id = 1")
			for _, c := range []struct {
				text string
				args []any
			}{
				{"UPDATE post SET likes = likes + 1 WHERE id = 1", nil},
				{"UPDATE post SET likes = likes + ?, views = views + ? WHERE slug = ?", []any{1, 2, "a"}},
				{"UPDATE page SET hits = hits + 1 WHERE day = '2026-01-01' AND name = 'home'", nil},
				{"UPDATE post SET likes = likes - 1 WHERE id = 3 AND likes >= 0", nil}, // no slots
				{"UPDATE post SET likes = GREATEST(likes + 1, 0) WHERE id = 3", nil},
				{"UPDATE post SET title = ? WHERE id = 3", []any{"x" + params}},
			} {
				sent := tw.Sent.During(func() { require.EqualValues(t, 1, harness.Affected(t, conn, c.text, c.args...), c.text) })
				texts := concerning(sent, "post", "page")
				if strings.Contains(c.text, "title") && params == "interpolateParams=false" {
					require.Len(t, texts, 2, texts) // go-sql-driver prepares it first
					continue
				}
				require.Len(t, sent, 1, "%s: %v", c.text, sent)
			}
			upsert := tw.Sent.During(func() {
				require.EqualValues(t, 2, harness.Affected(t, conn, "INSERT INTO page (day, name, hits) VALUES ('2026-01-01', ?, 1) ON DUPLICATE KEY UPDATE hits = hits + 1", "home"))
			})
			require.Len(t, upsert, 1, "%v", upsert)
			stmt, err := conn.PrepareContext(t.Context(), "UPDATE post SET likes = likes + ? WHERE id = ?")
			require.NoError(t, err)
			for range 3 {
				sent := tw.Sent.During(func() {
					res, err := stmt.ExecContext(t.Context(), 1, 1)
					require.NoError(t, err)
					n, _ := res.RowsAffected()
					require.EqualValues(t, 1, n)
				})
				require.Len(t, sent, 1, "%v", sent)
			}
			require.NoError(t, stmt.Close())
		}
	})
}

// TestSentBeforeCommit proves that increments are sent right before COMMIT and
// never earlier, in one statement a table, tables and keys in order, and that
// each of them costs one look-up until then.
func TestSentBeforeCommit(t *testing.T) {
	begins := map[string][2]string{"BeginTx": {}, "text": {"BEGIN", "COMMIT"}, "chain": {"START TRANSACTION", "COMMIT AND CHAIN"}, "DDL": {"BEGIN", "CREATE TABLE other (id INT)"}, "autocommit": {"SET autocommit = 0", "SET autocommit = 1"}, "XA": {"XA START " + harness.Xid, "XA END " + harness.Xid}}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for name, words := range begins {
			t.Run(name, func(t *testing.T) {
				tw := harness.NewBlog(t, srv, harness.BlogCounters())
				harness.Affected(t, tw.Direct, "INSERT INTO post (id, slug) SELECT id * 1111, CONCAT('s', id) FROM (SELECT 2 AS id UNION SELECT 3 UNION SELECT 10 UNION SELECT 4) x")
				conn := harness.Session(t, tw.Ours)
				var on interface {
					harness.Execer
					harness.Querier
				} = conn
				var tx *sql.Tx
				k := 0
				sent := tw.Sent.During(func() {
					if name == "BeginTx" {
						var err error
						tx, err = conn.BeginTx(t.Context(), nil)
						require.NoError(t, err)
						on = tx
					} else {
						harness.Affected(t, on, words[0])
					}
					harness.Affected(t, on, "INSERT INTO note VALUES (1, 'x')") // more than increments
					for _, id := range []int{4444, 11110, 2222, 4444, 3333, 2222} {
						require.EqualValues(t, 1, harness.Affected(t, on, "UPDATE post SET likes = likes + ? WHERE id = ?", 2, id))
						require.EqualValues(t, 1, harness.Affected(t, on, "UPDATE page SET hits = hits + 1 WHERE day = '2026-01-02' AND name = 'home'"))
						k += 2
					}
				})
				texts := concerning(sent, "post", "page")
				require.LessOrEqual(t, len(texts), k, "look-ups: %s", strings.Join(texts, "\n"))
				for _, text := range texts {
					require.True(t, strings.HasPrefix(text, "SELECT ") || strings.HasPrefix(text, "PREPARE SELECT "), text)
				}
				sent = tw.Sent.During(func() {
					if tx != nil {
						require.NoError(t, tx.Commit())
					} else {
						harness.Affected(t, on, words[1])
					}
				})
				on = conn
				texts = tw.Sent.OnlyOn(t, on, sent)
				suffix, writes := "_slots", harness.WritesSlots
				if name == "XA" { // to the base rows, which a prepared transaction keeps locked
					suffix, writes = "", regexp.MustCompile("^UPDATE `")
					texts = slices.DeleteFunc(texts, func(text string) bool { return strings.HasSuffix(text, " FOR UPDATE") })
				}
				require.Len(t, texts, 3, strings.Join(texts, "\n"))
				for i, table := range []string{"page", "post"} {
					require.Regexp(t, writes, texts[i])
					require.Contains(t, texts[i], "`"+table+suffix+"`")
				}
				if words[1] != "" {
					require.Equal(t, words[1], texts[2])
				} else {
					require.Equal(t, "COMMIT", texts[2])
				}
				keys := regexp.MustCompile(`\b(2222|3333|4444|11110)\b`).FindAllString(texts[1], -1)
				if name == "XA" {
					keys = keys[:4] // they are in the WHERE once more
					harness.Affected(t, on, "XA COMMIT "+harness.Xid+" ONE PHASE")
				}
				require.Equal(t, []string{"2222", "3333", "4444", "11110"}, keys)
				require.EqualValues(t, 12, harness.Number(t, tw.Ours, "SELECT SUM(likes) FROM post WHERE id > 1000"))
				require.EqualValues(t, 9, harness.Number(t, tw.Ours, "SELECT hits FROM page WHERE day = '2026-01-02'"))
				if name == "chain" {
					harness.Affected(t, on, "ROLLBACK")
				}
			})
		}
	})
}

// starts are the two ways of a transaction. end commits.
var starts = map[string]func(t *testing.T, conn *sql.Conn) (on harness.Execer, end func() error){
	"BeginTx": func(t *testing.T, conn *sql.Conn) (harness.Execer, func() error) {
		tx, err := conn.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		return tx, tx.Commit
	},
	"text": func(t *testing.T, conn *sql.Conn) (harness.Execer, func() error) {
		harness.Affected(t, conn, "BEGIN")
		return conn, func() error {
			_, err := conn.ExecContext(t.Context(), "COMMIT")
			return err
		}
	},
}

// TestFailedSending proves that a COMMIT whose increments can't be sent returns
// the server's error, commits nothing, and leaves a usable connection.
func TestFailedSending(t *testing.T) {
	t.Parallel()
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for name, start := range starts {
			for _, alone := range []bool{true, false} {
				t.Run(fmt.Sprintf("lock wait/%s/alone %v", name, alone), func(t *testing.T) {
					tw := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_lock_wait_timeout=1")
					holder, err := tw.Direct.Begin()
					require.NoError(t, err)
					defer holder.Rollback()
					require.EqualValues(t, 7, harness.Number(t, holder, "SELECT likes FROM post WHERE id = 2 FOR UPDATE"))
					conn := harness.Session(t, tw.Ours)
					on, commit := start(t, conn)
					if !alone {
						harness.Affected(t, on, "INSERT INTO note VALUES (1, 'x')")
					}
					for id := 1; id <= 3; id++ {
						require.EqualValues(t, 1, harness.Affected(t, on, "UPDATE post SET likes = likes + 100 WHERE id = ?", id))
					}
					harness.Affected(t, on, "UPDATE page SET hits = hits + 100 WHERE day = '2026-01-02' AND name = 'home'")
					require.Equal(t, 1205, harness.ErrorNumber(commit()))
					harness.Affected(t, conn, "UPDATE post SET likes = likes + 1 WHERE id = 1") // not in a transaction any more
					require.NoError(t, holder.Rollback())
					require.EqualValues(t, 20, harness.Number(t, tw.Ours, "SELECT SUM(likes) FROM post"))
					require.EqualValues(t, 3, harness.Number(t, tw.Ours, "SELECT SUM(hits) FROM page"))
					require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM note"))
				})
				t.Run(fmt.Sprintf("killed/%s/alone %v", name, alone), func(t *testing.T) {
					tw := harness.NewBlog(t, srv, harness.BlogCounters())
					conn := harness.Session(t, tw.Ours)
					id := harness.Number(t, conn, "SELECT CONNECTION_ID()")
					on, commit := start(t, conn)
					if !alone {
						harness.Affected(t, on, "INSERT INTO note VALUES (1, 'x')")
					}
					harness.Affected(t, on, "UPDATE post SET likes = likes + 100 WHERE id = 1")
					harness.Affected(t, tw.Direct, fmt.Sprintf("KILL %d", id))
					require.Eventually(t, func() bool {
						return harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = ?", id) == 0
					}, 5*time.Second, 10*time.Millisecond)
					if err := commit(); err == nil {
						require.True(t, alone, "the connection was killed") // increments alone may go another way
						require.EqualValues(t, 110, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"))
						return
					}
					require.EqualValues(t, 10, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"))
					require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM note"))
				})
			}
		}
	})
}

// TestDeadlockInside proves that a deadlock error drops what is pending, and
// that the statements after it run as on plain MySQL, which is out of the transaction.
func TestDeadlockInside(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		for name, start := range starts {
			t.Run(name, func(t *testing.T) {
				tw.Reset(t)
				var answers [2][]string
				for i, db := range []*sql.DB{tw.Plain, tw.Ours} {
					harness.Affected(t, db, "INSERT INTO note VALUES (1, ''), (2, '')")
					conn, err := db.Conn(t.Context())
					require.NoError(t, err)
					on, commit := start(t, conn)
					harness.Affected(t, on, "UPDATE post SET likes = likes + 100 WHERE id = 1")
					harness.Affected(t, on, "UPDATE note SET body = 'a' WHERE id = 1")
					other, err := db.BeginTx(t.Context(), nil)
					require.NoError(t, err)
					for id := 100; id < 150; id++ { // so much that the other transaction is the victim
						harness.Affected(t, other, "INSERT INTO note VALUES (?, '')", id)
					}
					harness.Affected(t, other, "UPDATE note SET body = 'b' WHERE id = 2")
					waits := make(chan error, 1)
					go func() {
						_, err := on.ExecContext(context.WithoutCancel(t.Context()), "UPDATE note SET body = 'a' WHERE id = 2")
						waits <- err
					}()
					time.Sleep(100 * time.Millisecond)
					harness.Affected(t, other, "UPDATE note SET body = 'b' WHERE id = 1")
					require.Equal(t, 1213, harness.ErrorNumber(<-waits))
					require.NoError(t, other.Commit())
					harness.Affected(t, on, "UPDATE post SET likes = likes + 7 WHERE id = 2")
					answers[i] = append(answers[i], harness.Queried(t.Context(), tw.DirectTo(db), "SELECT COUNT(*), MAX(body) FROM note"))
					answers[i] = append(answers[i], harness.Told(commit()), harness.Told(func() error { _, err := conn.ExecContext(t.Context(), "ROLLBACK"); return err }()))
					require.NoError(t, conn.Close())
					answers[i] = append(answers[i], harness.Queried(t.Context(), db, "SELECT id, likes FROM post ORDER BY id"))
				}
				require.Equal(t, answers[0], answers[1])
			})
		}
	})
}

// TestReadOfAnotherRow proves that a read that names its rows leaves the pending
// increments of others pending.
func TestReadOfAnotherRow(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		tx, err := harness.Session(t, tw.Ours).BeginTx(t.Context(), nil)
		require.NoError(t, err)
		harness.Affected(t, tx, "INSERT INTO note VALUES (1, 'x')")
		harness.Affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id = 1")
		was := harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1")
		sent := tw.Sent.During(func() {
			harness.Number(t, tx, "SELECT likes FROM post WHERE id = ?", 2)
			harness.Number(t, tx, "SELECT likes FROM post WHERE id IN (2, 3) AND title IS NOT NULL LIMIT 1")
		})
		for _, s := range sent {
			require.NotContains(t, s.Text, "FOR UPDATE")
			require.NotRegexp(t, harness.WritesSlots, s.Text)
		}
		require.Equal(t, was+1, harness.Number(t, tx, "SELECT likes FROM post WHERE id IN (2, 1) ORDER BY id LIMIT 1"))
		require.NoError(t, tx.Commit())
		require.Equal(t, was+1, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"))
	})
}
