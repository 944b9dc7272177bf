package integration_test

import (
	"testing"

	"github.com/countermysql/countermysql/internal/testserver"
)

// TestLockedCopy proves that a query whose rows are stored takes the locks that it asks for.
func TestLockedCopy(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, level := range []string{"RR", "RC"} {
			for _, copies := range []string{
				"INSERT INTO note (id, body) SELECT likes, title FROM post WHERE id = 1 FOR UPDATE",
				"REPLACE INTO note SELECT p.likes, title FROM post p WHERE p.slug = 'a' LIMIT 1 FOR UPDATE",
				"INSERT INTO note (id, body) (SELECT likes, title FROM post WHERE id = 1 FOR UPDATE)",
				"INSERT INTO note SELECT p.likes, p.title FROM post p JOIN author a ON a.id = p.author WHERE p.id = 1 FOR UPDATE ON DUPLICATE KEY UPDATE body = 'again'",
			} {
				tw := newBlog(t, srv, blogCounters(), "innodb_lock_wait_timeout=1")
				tw.play(t, "A: begin "+level, "B: begin "+level, "A: "+copies, "B: SELECT likes FROM post WHERE id = 1 FOR UPDATE", "C: UPDATE post SET likes = likes + 1 WHERE id = 1",
					"A: UPDATE post SET likes = likes * 2 WHERE id = 1", "A: commit", "B: "+copies, "B: commit", "C: SELECT * FROM note ORDER BY id", "C: SELECT id, likes FROM post ORDER BY id")
			}
		}
	})
}
