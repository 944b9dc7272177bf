package transactions

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestSetBesideAutocommit proves that a SET which reads a counter reads its sum, also
// where it switches autocommit or the next transaction's level besides.
func TestSetBesideAutocommit(t *testing.T) {
	const read, see = "@x = (SELECT likes FROM post WHERE id = 1)", "A: SELECT @x"
	const count, others = "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "B: SELECT id, likes FROM post ORDER BY id"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		level := "@@transaction_isolation"
		if harness.MariaDB(srv) {
			level = "@@tx_isolation"
		}
		scripts := [][]string{
			{"A: SET " + read + ", autocommit = 1", see},
			{"A: SET autocommit = 1, " + read, see},
			{"A: SET autocommit = 0", count, "A: SET " + read + ", autocommit = 1", see, others},
			{"A: begin", count, "A: SET " + read + ", autocommit = 1", see, others, "A: rollback"},
			{"A: begin", count, "A: SET " + read + ", autocommit = 0", see, others, "A: commit"},
			{"A: SET " + level + " = 'READ-COMMITTED', " + read, see, "A: begin", count, "A: commit"},
			{"A: SET " + read + ", " + level + " = 'READ-COMMITTED'", see},
		}
		if harness.MariaDB(srv) { // MySQL 9.7 dies of an assertion, later, if plain go-sql-driver asks for these
			scripts = append(scripts, []string{"A: SET autocommit = 0, " + read, see, "A: COMMIT"}, []string{"A: SET " + read + ", autocommit = 0", see, "A: COMMIT"},
				[]string{"A: SET autocommit = 0", "A: SET " + read + ", autocommit = 1", see})
		}
		for _, steps := range scripts {
			tw := harness.NewBlog(t, srv, harness.BlogCounters())
			tw.Play(t, "B: UPDATE post SET likes = likes + 7 WHERE id IN (1, 2)")
			tw.Play(t, append(steps, others)...)
		}
	})
}
