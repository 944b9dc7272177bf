package transactions

import (
	"slices"
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestFixedSnapshot proves that reads after whatever has fixed a transaction's
// snapshot are as of that moment, and as of a later one after what has not.
func TestFixedSnapshot(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		reads := []string{"B: UPDATE post SET likes = likes + 7 WHERE id IN (1, 2)", "A: UPDATE post SET likes = GREATEST(likes, 0) WHERE id = 1", // changes nothing
			"B: UPDATE post SET likes = likes + 70 WHERE id = 2", "A: SELECT likes FROM post WHERE id > 1 ORDER BY id"}
		values, analyze := "A: VALUES ROW((SELECT COUNT(*) FROM note))", "A: /* sent by Exec */ EXPLAIN ANALYZE SELECT * FROM note"
		if harness.MariaDB(srv) {
			values, analyze = "A: VALUES ((SELECT COUNT(*) FROM note))", "A: /* sent by Exec */ ANALYZE SELECT * FROM note"
		}
		tw.Play(t, "A: CREATE FUNCTION counted() RETURNS INT READS SQL DATA BEGIN DECLARE n INT; SELECT COUNT(*) INTO n FROM note; RETURN n; END")
		for _, first := range []string{
			"A: SET @x = (SELECT COUNT(*) FROM note)", "A: SET @x = (SELECT name FROM author WHERE id = 1), autocommit = 1", "A: SET autocommit = 1, @x = (SELECT COUNT(*) FROM note)", "A: SET @x = counted()",
			"A: DO (SELECT COUNT(*) FROM note)", "A: DO SLEEP(0.001)", "A: DO counted()",
			"A: /* sent by Exec */ SELECT * FROM note", "A: /* sent by Exec */ SELECT COUNT(*) FROM note INTO @x", "A: CHECKSUM TABLE note", values,
			"A: SELECT (SELECT COUNT(*) FROM note) FROM author FOR UPDATE", "A: (SELECT id FROM note FOR UPDATE) UNION (SELECT id FROM author)",
			"A: SELECT EXTRACT(YEAR FROM '2026-01-01') FROM author FOR UPDATE", "A: SELECT * FROM note FOR UPDATE", "A: INSERT INTO note SELECT 5, name FROM author WHERE id = 1", "A: SELECT * FROM note", "A: SELECT nonsense FROM note",
			"A: /* sent by Exec */ EXPLAIN SELECT * FROM note", analyze,
		} {
			tw.Reset(t)
			tw.Play(t, slices.Concat([]string{"A: begin RR", first}, reads, []string{"A: rollback"})...)
		}
		tw.Reset(t)
		tw.Play(t, slices.Concat([]string{"A: SELECT * FROM note", "A: SET autocommit = 0"}, reads, []string{"A: COMMIT", "A: SET autocommit = 1"})...)
	})
}

// TestSnapshotOfFailed proves that a read which fails when it has begun to read has made the
// snapshot, too: of a row that the transaction increments it shows the other columns as they
// are now.
func TestSnapshotOfFailed(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		for _, first := range []string{"A: SELECT * FROM note WHERE id = (SELECT id FROM author)", "A: SELECT likes FROM post WHERE id = (SELECT id FROM author)", "A: /* sent by Exec */ SELECT (SELECT id FROM author)", "A: SELECT nonsense FROM note", "A: SET @x = (SELECT id FROM author)"} {
			tw.Reset(t)
			tw.Play(t, "A: begin RR", first, "B: UPDATE post SET title = 'new', likes = likes + 7 WHERE id = 1", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT title, likes FROM post WHERE id = 1",
				"B: UPDATE post SET title = 'newer' WHERE id = 2", "A: SELECT title, likes FROM post ORDER BY id", "A: rollback")
		}
	})
}
