package reads

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// exactReads need all of post 1's likes in base rows.
var exactReads = []string{
	"SELECT /*!40001 SQL_NO_CACHE */ likes FROM post WHERE id = 1",
	"SELECT most()",
	"SELECT likes FROM post_view WHERE id = 1",
	"SELECT likes FROM post_view WHERE id = 1 FOR UPDATE",
	"SELECT MAX(likes) FROM post, JSON_TABLE('[1]', '$[*]' COLUMNS (a INT PATH '$')) j WHERE title < 'c'",
	"WITH w AS (SELECT likes FROM post_view WHERE id < 3) SELECT MAX(likes) FROM w",
	"WITH post AS (SELECT * FROM post WHERE id < 3) SELECT MAX(likes) FROM post",
	"CALL show_most()",
}

// TestExactReadsOfOldSnapshots proves that what reads counters from base rows alone shows no
// number that lacks what was in slots when the transaction's snapshot was made: a rollup has
// moved it to a version of the row that the snapshot does not have.
func TestExactReadsOfOldSnapshots(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, title VARCHAR(9) NULL, changed TIMESTAMP NULL ON UPDATE CURRENT_TIMESTAMP, CHECK (likes BETWEEN 0 AND 7));\n"+
			"INSERT INTO post (id, title) VALUES (1, 'a'), (2, 'b'), (3, 'c');\n"+
			"CREATE VIEW post_view AS SELECT * FROM post;\n"+
			"CREATE FUNCTION most() RETURNS INT READS SQL DATA RETURN (SELECT MAX(likes) FROM post);\n"+
			"CREATE PROCEDURE show_most() READS SQL DATA SELECT MAX(likes) FROM post", harness.Counters("post", "likes"))
		ctx := t.Context()
		for _, query := range exactReads {
			for _, level := range []string{"REPEATABLE READ", "READ COMMITTED"} {
				for _, rolled := range []bool{false, true} {
					harness.Affected(t, tw.Ours, "UPDATE post SET likes = 0, changed = '2026-01-01'")
					harness.Affected(t, tw.Direct, "INSERT INTO post_slots (id, slot, likes) VALUES (1, 3, 7), (2, 3, 1)")
					reader := harness.Session(t, tw.Ours)
					harness.Affected(t, reader, "SET SESSION TRANSACTION ISOLATION LEVEL "+level)
					harness.Affected(t, reader, "BEGIN")
					var title string
					require.NoError(t, reader.QueryRowContext(ctx, "SELECT title FROM post WHERE id = 3").Scan(&title))
					if rolled {
						_, err := countermysql.Rollup(ctx, tw.Ours, nil)
						require.NoError(t, err)
					}
					var likes int
					for range 2 {
						require.NoError(t, reader.QueryRowContext(ctx, query).Scan(&likes), query)
						require.Equal(t, 7, likes, "%s: %s", level, query)
					}
					require.EqualValues(t, 8, harness.Number(t, reader, "SELECT SUM(likes) FROM post"))
					harness.Affected(t, reader, "COMMIT")
					require.NoError(t, reader.QueryRowContext(ctx, query).Scan(&likes))
					require.Equal(t, 7, likes)
					require.EqualValues(t, 3, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM post WHERE changed = '2026-01-01'"), "an edit of the driver's")
				}
			}
		}
	})
}

// TestExactReadOfDeletedRow proves that such a query is refused where a row of its snapshot, with slots
// there, has been deleted since: nothing shows it as it was.
func TestExactReadOfDeletedRow(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0);\nINSERT INTO post (id) VALUES (1), (2);\nCREATE VIEW post_view AS SELECT * FROM post", harness.Counters("post", "likes"))
		harness.Affected(t, tw.Direct, "INSERT INTO post_slots (id, slot, likes) VALUES (1, 3, 7)")
		reader := harness.Session(t, tw.Ours)
		harness.Affected(t, reader, "BEGIN")
		require.EqualValues(t, 7, harness.Number(t, reader, "SELECT SUM(likes) FROM post"))
		harness.Affected(t, tw.Ours, "DELETE FROM post WHERE id = 1")
		var likes int
		err := reader.QueryRowContext(t.Context(), "SELECT SUM(likes) FROM post_view").Scan(&likes)
		var refused *countermysql.RefusedError
		require.True(t, errors.As(err, &refused), "%d, %v", likes, err)
		require.EqualValues(t, 7, harness.Number(t, reader, "SELECT SUM(likes) FROM post"), "the transaction goes on")
	})
}

// TestExactReadOfOldSnapshotWithoutKey is the same of a table without a key, which has one row.
func TestExactReadOfOldSnapshotWithoutKey(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE site (hits INT NOT NULL DEFAULT 0, name VARCHAR(9));\nINSERT INTO site (name) VALUES ('a');\nCREATE VIEW site_view AS SELECT * FROM site", harness.Counters("site", "hits"))
		harness.Affected(t, tw.Direct, "INSERT INTO site_slots (key0_slot, hits) VALUES (3, 7)")
		reader := harness.Session(t, tw.Ours)
		harness.Affected(t, reader, "BEGIN")
		require.EqualValues(t, 7, harness.Number(t, reader, "SELECT SUM(hits) FROM site"))
		_, err := countermysql.Rollup(t.Context(), tw.Ours, nil)
		require.NoError(t, err)
		require.EqualValues(t, 7, harness.Number(t, reader, "SELECT SUM(hits) FROM site_view"))
	})
}

// TestExactReadOlderThanSlots proves that such a query is answered where the slots table is younger than the
// snapshot, which has no row of it.
func TestExactReadOlderThanSlots(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0);\nINSERT INTO post (id) VALUES (1), (2);\nCREATE TABLE note (id INT PRIMARY KEY);\nCREATE VIEW post_view AS SELECT * FROM post", harness.Counters("post", "likes"))
		require.EqualValues(t, 0, harness.Number(t, tw.Ours, "SELECT SUM(likes) FROM post"))
		reader := harness.Session(t, tw.Ours)
		harness.Affected(t, reader, "BEGIN")
		require.EqualValues(t, 0, harness.Number(t, reader, "SELECT COUNT(*) FROM note"))
		harness.Affected(t, tw.Direct, "ALTER TABLE post_slots ENGINE=InnoDB")
		require.EqualValues(t, 0, harness.Number(t, reader, "SELECT SUM(likes) FROM post_view"))
	})
}
