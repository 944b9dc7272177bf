package groups

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestNewRowsSideBySide proves that exact upserts and REPLACE of rows that are not there
// lock nothing but those, so that others in open transactions do not wait for each other.
func TestNewRowsSideBySide(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_lock_wait_timeout=1")
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
				tw.Reset(t)
				tw.Play(t, "A: begin "+level, "B: begin "+level, "A: "+first, "B: "+second,
					"C: UPDATE post SET likes = likes + 1 WHERE slug = 'b'", "A: commit", "B: commit",
					"C: SELECT id, slug, likes FROM post ORDER BY id", "C: SELECT day, name, hits FROM page ORDER BY day, name")
			}
			// rows of others are left alone, and those that are met are rolled up
			for _, write := range []string{
				"INSERT INTO post (id, slug, likes) VALUES (1, 'a', 4) ON DUPLICATE KEY UPDATE likes = VALUES(likes)",
				"INSERT INTO post (id, slug, likes) VALUES (70, 'a', 4), (71, 'other', 3) ON DUPLICATE KEY UPDATE likes = post.likes * 2",
				"REPLACE INTO post (id, slug, likes) VALUES (1, 'new', 4)",
			} {
				tw.Reset(t)
				tw.Play(t, "A: begin "+level, "A: UPDATE post SET title = 'held' WHERE id = 3", "B: begin "+level, "B: "+write, "B: commit", "A: rollback",
					"C: SELECT id, slug, likes FROM post ORDER BY id")
			}
			// a key that the transaction has given a row itself is seen by no one else
			tw.Reset(t)
			tw.Play(t, "A: begin "+level, "A: UPDATE post SET slug = 'new' WHERE id = 1",
				"A: INSERT INTO post (id, slug, likes) VALUES (9, 'new', 1) ON DUPLICATE KEY UPDATE likes = post.likes * 2", "A: commit",
				"A: SELECT id, slug, likes FROM post ORDER BY id")
		}
	})
}

// TestUpsertOfRenamed proves that an exact upsert leaves no slots standing of a row to
// which another client gives its key after the driver has looked for it.
func TestUpsertOfRenamed(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		const upsert = "INSERT INTO post (id, slug, likes) VALUES (9, 'new', 1) ON DUPLICATE KEY UPDATE likes = 0"
		for _, level := range []string{"READ COMMITTED", "REPEATABLE READ"} {
			tw := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_lock_wait_timeout=1")
			other := harness.Open(t, tw.OursDSN)
			tw.Sent.Meddle(t, func(query string) error {
				if strings.HasPrefix(query, "INSERT INTO post") {
					_, _ = other.Exec("UPDATE post SET slug = 'new' WHERE id = 1")
				}
				return nil
			})
			conn := harness.Session(t, tw.Ours)
			harness.Affected(t, conn, "SET SESSION TRANSACTION ISOLATION LEVEL "+level)
			harness.Affected(t, conn, upsert)
			require.EqualValues(t, 0, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"))

			tw.Reset(t)
			harness.Affected(t, conn, "BEGIN")
			harness.Affected(t, conn, "INSERT INTO note VALUES (1, '')")
			_, err := conn.ExecContext(t.Context(), upsert) // what went before can't be done again
			require.Equal(t, 1213, harness.ErrorNumber(err))
			harness.Affected(t, conn, "COMMIT")
			require.EqualValues(t, 0, harness.Number(t, tw.Ours, "SELECT COUNT(*) FROM note"))
			require.EqualValues(t, 10, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"))

			tw.Reset(t) // a row that is inserted counts one, one that stays as its base row is none
			harness.Affected(t, conn, "INSERT INTO post (id, slug, likes) VALUES (8, 'first', 1), (9, 'new', 1) ON DUPLICATE KEY UPDATE likes = 5")
			require.EqualValues(t, 5, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"))
			tw.Sent.Before.Store(nil)
		}
	})
}

// TestNothingPendingAfterOurDeadlock proves that a transaction which the driver rolls
// back as the server does at a deadlock keeps nothing pending, also where autocommit is
// off and the next one begins by itself.
func TestNothingPendingAfterOurDeadlock(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_lock_wait_timeout=1")
		other := harness.Open(t, tw.OursDSN)
		conn := harness.Session(t, tw.Ours)
		before := harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 2")
		harness.Affected(t, conn, "SET autocommit = 0")
		harness.Affected(t, conn, "UPDATE post SET likes = likes + 1 WHERE id = 2")
		tw.Sent.Meddle(t, func(query string) error {
			if strings.HasPrefix(query, "INSERT INTO post") {
				_, _ = other.Exec("UPDATE post SET slug = 'new' WHERE id = 1")
			}
			return nil
		})
		_, err := conn.ExecContext(t.Context(), "INSERT INTO post (id, slug, likes) VALUES (9, 'new', 1) ON DUPLICATE KEY UPDATE likes = 0")
		require.Equal(t, 1213, harness.ErrorNumber(err))
		tw.Sent.Before.Store(nil)
		harness.Affected(t, conn, "UPDATE post SET likes = likes + 1 WHERE id = 2") // once more, as one does after a deadlock
		harness.Affected(t, conn, "COMMIT")
		require.Equal(t, before+1, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 2"))
	})
}
