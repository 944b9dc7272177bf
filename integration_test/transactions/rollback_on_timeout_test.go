package transactions

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestRollbackOnTimeout proves that pending increments go with the transaction
// where a lock wait timeout ends it, and stay where it ends the statement only, as
// one of a wait for a table does.
func TestRollbackOnTimeout(t *testing.T) {
	t.Parallel()
	for _, flavor := range []testserver.Flavor{testserver.MariaDB, testserver.MySQL} {
		t.Run(string(flavor), func(t *testing.T) {
			t.Parallel()
			srv, err := testserver.Start(t.Context(), flavor, testserver.WithArgs("--innodb-rollback-on-timeout=ON"))
			require.NoError(t, err)
			t.Cleanup(srv.Stop)
			tw := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_lock_wait_timeout=1", "lock_wait_timeout=1")
			row := []string{"B: BEGIN", "B: UPDATE post SET title = 'theirs' WHERE id = 2"}
			table := []string{"B: LOCK TABLES note WRITE"}
			for _, c := range []struct {
				name          string
				begin         []string
				locks         []string
				waits, unlock string
			}{
				{"row", []string{"A: BEGIN"}, row, "A: UPDATE post SET title = 'mine' WHERE id = 2", "B: ROLLBACK"},
				{"row/BeginTx", []string{"A: begin"}, row, "A: SELECT title FROM post WHERE id = 2 FOR UPDATE", "B: ROLLBACK"},
				{"row/autocommit", []string{"A: SET autocommit = 0"}, row, "A: UPDATE post SET likes = 0 WHERE id = 2", "B: ROLLBACK"},
				{"table", []string{"A: BEGIN"}, table, "A: INSERT INTO note VALUES (2, '')", "B: UNLOCK TABLES"},
			} {
				t.Run(c.name, func(t *testing.T) {
					tw.Reset(t)
					end := []string{"A: COMMIT"}
					if strings.HasSuffix(c.name, "BeginTx") {
						end = []string{"A: commit"}
					}
					answers := tw.Play(t, slices.Concat(c.locks, c.begin, []string{"A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: UPDATE author SET name = 'x' WHERE id = 1", c.waits,
						"A: UPDATE post SET likes = likes + 10 WHERE id = 1"}, end, []string{c.unlock}, harness.Everything)...)
					require.Contains(t, strings.Join(answers, "\n"), "→ error 1205")
				})
			}
		})
	}
}
