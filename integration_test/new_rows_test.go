package integration_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/testserver"
)

// TestNewRowsSideBySide proves that exact upserts and REPLACE of rows that are not there
// lock nothing but those, so that others in open transactions do not wait for each other.
func TestNewRowsSideBySide(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newBlog(t, srv, blogCounters(), "innodb_lock_wait_timeout=1")
		n := 100 // a key once used may stand in an index a while longer
		next := func(form string) string {
			n++
			return strings.ReplaceAll(form, "{n}", strconv.Itoa(n))
		}
		for _, level := range []string{"RR", "RC"} {
			for _, form := range []string{
				"INSERT INTO page (day, name, hits) VALUES ('2026-03-01', '{n}', 4) ON DUPLICATE KEY UPDATE hits = VALUES(hits)",
				"INSERT INTO page (day, name, hits) VALUES ('2026-03-01', '{n}', 4), ('2026-03-01', '{n}b', 5) ON DUPLICATE KEY UPDATE hits = VALUES(hits)",
				"REPLACE INTO page (day, name, hits) VALUES ('2026-03-01', '{n}', 4)",
				"INSERT INTO post (id, slug, likes) VALUES ({n}, 'n{n}', 4) ON DUPLICATE KEY UPDATE likes = VALUES(likes)",
				"REPLACE INTO post (id, slug, likes) VALUES ({n}, 'n{n}', 4)",
			} {
				first, second := next(form), next(form)
				tw.reset(t)
				tw.play(t, "A: begin "+level, "B: begin "+level, "A: "+first, "B: "+second,
					"C: UPDATE post SET likes = likes + 1 WHERE slug = 'b'", "A: commit", "B: commit",
					"C: SELECT id, slug, likes FROM post ORDER BY id", "C: SELECT day, name, hits FROM page ORDER BY day, name")
			}
			// rows of others are left alone, and those that are met are rolled up
			for _, write := range []string{
				"INSERT INTO post (id, slug, likes) VALUES (1, 'a', 4) ON DUPLICATE KEY UPDATE likes = VALUES(likes)",
				"INSERT INTO post (id, slug, likes) VALUES (70, 'a', 4), (71, 'other', 3) ON DUPLICATE KEY UPDATE likes = post.likes * 2",
				"REPLACE INTO post (id, slug, likes) VALUES (1, 'new', 4)",
			} {
				tw.reset(t)
				tw.play(t, "A: begin "+level, "A: UPDATE post SET title = 'held' WHERE id = 3", "B: begin "+level, "B: "+write, "B: commit", "A: rollback",
					"C: SELECT id, slug, likes FROM post ORDER BY id")
			}
			// a key that the transaction has given a row itself is seen by no one else
			tw.reset(t)
			tw.play(t, "A: begin "+level, "A: UPDATE post SET slug = 'new' WHERE id = 1",
				"A: INSERT INTO post (id, slug, likes) VALUES (9, 'new', 1) ON DUPLICATE KEY UPDATE likes = post.likes * 2", "A: commit",
				"A: SELECT id, slug, likes FROM post ORDER BY id")
		}
	})
}

// TestUpsertOfRenamed proves that an exact upsert leaves no slots standing of a row to
// which another client gives its key after the driver has looked for it.
func TestUpsertOfRenamed(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		const upsert = "INSERT INTO post (id, slug, likes) VALUES (9, 'new', 1) ON DUPLICATE KEY UPDATE likes = 0"
		for _, level := range []string{"READ COMMITTED", "REPEATABLE READ"} {
			tw := newBlog(t, srv, blogCounters(), "innodb_lock_wait_timeout=1")
			other := open(t, tw.oursDSN)
			tw.sent.meddle(t, func(query string) error {
				if strings.HasPrefix(query, "INSERT INTO post") {
					_, _ = other.Exec("UPDATE post SET slug = 'new' WHERE id = 1")
				}
				return nil
			})
			conn := session(t, tw.ours)
			affected(t, conn, "SET SESSION TRANSACTION ISOLATION LEVEL "+level)
			affected(t, conn, upsert)
			require.EqualValues(t, 0, number(t, tw.ours, "SELECT likes FROM post WHERE id = 1"))

			tw.reset(t)
			affected(t, conn, "BEGIN")
			affected(t, conn, "INSERT INTO note VALUES (1, '')")
			_, err := conn.ExecContext(t.Context(), upsert) // what went before can't be done again
			require.Equal(t, 1213, errorNumber(err))
			affected(t, conn, "COMMIT")
			require.EqualValues(t, 0, number(t, tw.ours, "SELECT COUNT(*) FROM note"))
			require.EqualValues(t, 10, number(t, tw.ours, "SELECT likes FROM post WHERE id = 1"))

			tw.reset(t) // a row that is inserted counts one, one that stays as its base row is none
			affected(t, conn, "INSERT INTO post (id, slug, likes) VALUES (8, 'first', 1), (9, 'new', 1) ON DUPLICATE KEY UPDATE likes = 5")
			require.EqualValues(t, 5, number(t, tw.ours, "SELECT likes FROM post WHERE id = 1"))
			tw.sent.before.Store(nil)
		}
	})
}

// TestNothingPendingAfterOurDeadlock proves that a transaction which the driver rolls
// back as the server does at a deadlock keeps nothing pending, also where autocommit is
// off and the next one begins by itself.
func TestNothingPendingAfterOurDeadlock(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newBlog(t, srv, blogCounters(), "innodb_lock_wait_timeout=1")
		other := open(t, tw.oursDSN)
		conn := session(t, tw.ours)
		before := number(t, tw.ours, "SELECT likes FROM post WHERE id = 2")
		affected(t, conn, "SET autocommit = 0")
		affected(t, conn, "UPDATE post SET likes = likes + 1 WHERE id = 2")
		tw.sent.meddle(t, func(query string) error {
			if strings.HasPrefix(query, "INSERT INTO post") {
				_, _ = other.Exec("UPDATE post SET slug = 'new' WHERE id = 1")
			}
			return nil
		})
		_, err := conn.ExecContext(t.Context(), "INSERT INTO post (id, slug, likes) VALUES (9, 'new', 1) ON DUPLICATE KEY UPDATE likes = 0")
		require.Equal(t, 1213, errorNumber(err))
		tw.sent.before.Store(nil)
		affected(t, conn, "UPDATE post SET likes = likes + 1 WHERE id = 2") // once more, as one does after a deadlock
		affected(t, conn, "COMMIT")
		require.Equal(t, before+1, number(t, tw.ours, "SELECT likes FROM post WHERE id = 2"))
	})
}
