package reads

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestExactReadsOfOldSnapshots proves that what reads counters from base rows alone shows no
// number that lacks what was in slots when the transaction's snapshot was made: a rollup has
// moved it to a version of the row that the snapshot does not have. It fails instead; rows
// that nobody has rolled up are read as ever.
func TestExactReadsOfOldSnapshots(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, title VARCHAR(9) NULL);\n"+
			"INSERT INTO post (id, title) VALUES (1, 'a'), (2, 'b'), (3, 'c');\n"+
			"CREATE FUNCTION most() RETURNS INT READS SQL DATA RETURN (SELECT MAX(likes) FROM post);\n"+
			"CREATE PROCEDURE show_most() READS SQL DATA SELECT MAX(likes) FROM post", harness.Counters("post", "likes"))
		ctx := t.Context()
		for _, query := range []string{
			"SELECT /*!40001 SQL_NO_CACHE */ likes FROM post WHERE id = 1",
			"SELECT most()",
			"SELECT MAX(likes) FROM post, JSON_TABLE('[1]', '$[*]' COLUMNS (a INT PATH '$')) j WHERE title < 'c'",
			"CALL show_most()",
		} {
			for _, level := range []string{"REPEATABLE READ", "READ COMMITTED"} {
				for _, rolled := range []bool{false, true} {
					harness.Affected(t, tw.Ours, "UPDATE post SET likes = 0")
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
					err := reader.QueryRowContext(ctx, query).Scan(&likes)
					if rolled && level == "REPEATABLE READ" {
						var refused *countermysql.RefusedError
						require.True(t, errors.As(err, &refused), "%s: %d, %v", query, likes, err)
						require.Contains(t, err.Error(), "snapshot")
					} else {
						require.NoError(t, err, query)
						require.Equal(t, 7, likes, "%s: %s", level, query)
					}
					harness.Affected(t, reader, "COMMIT")
					require.NoError(t, reader.QueryRowContext(ctx, query).Scan(&likes))
					require.Equal(t, 7, likes)
				}
			}
		}
	})
}
