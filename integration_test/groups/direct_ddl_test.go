package groups

import (
	"database/sql"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

var changesBaseRow = regexp.MustCompile("(?is)^(SET STATEMENT .* FOR )?UPDATE .*`post` AS [^ ]+ .*SET ")

// TestDirectBesideDDL proves that the increments of a transaction which another client's
// DDL meets at COMMIT, while they go to base rows, are counted once or not at all, with the
// rest of it; and that COMMIT fails no more than on plain MySQL, where a transaction that has
// changed a table keeps DDL waiting.
func TestDirectBesideDDL(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for n, ddl := range []string{"ALTER TABLE post ADD COLUMN later%d INT NULL", "CREATE TRIGGER retitle%d BEFORE UPDATE ON post FOR EACH ROW SET NEW.title = UPPER(NEW.title)"} {
			for _, ids := range [][]int{{1}, {1, 2}, {1, 2, 3}} {
				for _, writes := range []bool{false, true} {
					t.Run(fmt.Sprintf("%.14s/%d/%t", ddl, len(ids), writes), func(t *testing.T) {
						tw := harness.NewTwin(t, srv, cold+";\nCREATE TABLE other (id INT)", cooling(harness.Counters("post", "likes", "views")), "interpolateParams=true")
						tx, err := tw.Ours.BeginTx(t.Context(), nil)
						require.NoError(t, err)
						if writes {
							harness.Affected(t, tx, "INSERT INTO other VALUES (1)")
						}
						for _, id := range ids {
							harness.Affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id = ?", id)
						}
						gate := harness.NewGateOn(t, tw.Sent, func(query string) bool {
							return changesBaseRow.MatchString(query) || harness.WritesSlots.MatchString(query)
						})
						committed := make(chan error, 1)
						go func() { committed <- tx.Commit() }()
						select {
						case <-gate.Reached:
						case err := <-committed:
							require.Fail(t, "nothing was sent", err)
						}
						altered := alterLater(t, tw, fmt.Sprintf(ddl, n))
						gate.Open()
						err = <-committed
						require.NoError(t, <-altered)
						counted := 1
						if err != nil {
							counted = 0
						}
						for _, id := range ids {
							assert.EqualValues(t, counted, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = ?", id), "post %d, COMMIT: %v", id, err)
						}
						if writes {
							assert.EqualValues(t, counted, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM other"))
						}
						assert.NoError(t, err)
					})
				}
			}
		}
	})
}

// alterLater starts DDL, and returns when it waits for others or is over.
func alterLater(t *testing.T, tw *harness.Twin, ddl string) <-chan error {
	t.Helper()
	altered, over := make(chan error, 1), make(chan struct{})
	go func() {
		_, err := tw.Direct.Exec(ddl)
		altered <- err
		close(over)
	}()
	require.Eventually(t, func() bool {
		select {
		case <-over:
			return true
		default:
			return waitsForTable(t, tw.Plain, ddl[:12])
		}
	}, 20*time.Second, 5*time.Millisecond)
	return altered
}

func waitsForTable(t *testing.T, db *sql.DB, ddl string) bool {
	return harness.Number(t, db, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE LIKE 'Waiting for table metadata lock%' AND INFO LIKE ?", ddl+"%") > 0
}

// TestTimedDirect proves that COMMIT waits for rows that others have locked for longer than
// MySQL's max_execution_time, by which it ends queries and no UPDATE.
func TestTimedDirect(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		params := []string{"max_execution_time=100"}
		if harness.MariaDB(srv) { // which has another setting, for all statements
			params = nil
		}
		tw := harness.NewTwin(t, srv, cold, cooling(harness.Counters("post", "likes", "views")), params...)
		holder, err := tw.Direct.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		harness.Affected(t, holder, "UPDATE post SET title = 'x' WHERE id = 1")
		tx, err := tw.Ours.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		harness.Affected(t, tx, "INSERT INTO log (post_id) VALUES (4)")
		harness.Affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id = 1")
		harness.Affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id = 2")
		time.AfterFunc(400*time.Millisecond, func() { _ = holder.Rollback() })
		require.NoError(t, tx.Commit())
		require.EqualValues(t, 2, harness.Number(t, tw.Ours, "SELECT SUM(likes) FROM post"))
	})
}
