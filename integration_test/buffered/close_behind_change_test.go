package buffered

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// waiting is another process, in which five increments wait, and the sum before these.
func waiting(t *testing.T, tw *harness.Twin) (db *sql.DB, before int64) {
	t.Helper()
	db, _ = harness.OpenOurs(t, tw.OursDSN, tw.Config)
	opened(t, db)
	before = harness.Number(t, tw.Ours, "SELECT SUM(hits) FROM page")
	for range 5 {
		harness.Affected(t, db, hit, 9)
	}
	require.EqualValues(t, 5, buffer(t, db).Waiting)
	return db, before
}

// TestFlushBehindBusySlots proves that what was acknowledged is stored although the slots table
// could not be altered along with the key, as somebody had it in use for two seconds: a flush has
// it altered when it can be, as any statement has.
func TestFlushBehindBusySlots(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, closing := range []bool{false, true} {
			config := pages(1000)
			tw := harness.NewTwin(t, srv, "CREATE TABLE page (id INT PRIMARY KEY, hits BIGINT NOT NULL DEFAULT 0, likes INT NULL, title VARCHAR(20) NOT NULL DEFAULT '');\nINSERT INTO page (id) VALUES (1), (9)", config)
			db, before := waiting(t, tw)
			harness.Affected(t, db, "ALTER TABLE page MODIFY id BIGINT NOT NULL") // a migration, and back
			reader, err := tw.Direct.Begin()                                      // as a dump does, or a transaction that has counted
			require.NoError(t, err)
			harness.Number(t, reader, "SELECT COUNT(*) FROM page_slots")
			harness.Affected(t, db, "ALTER TABLE page MODIFY id INT NOT NULL")
			require.NoError(t, reader.Rollback())
			if closing {
				require.NoError(t, db.Close())
			} else {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				require.NoError(t, countermysql.Flush(ctx, db))
				cancel()
				require.NoError(t, db.Close())
			}
			require.Equal(t, before+5, harness.Number(t, tw.Ours, "SELECT SUM(hits) FROM page"))
		}
	})
}

// TestCloseBehindRename proves that what was acknowledged is stored where the table was away for a
// moment, as where a tool swaps it, and is back when the sql.DB is closed.
func TestCloseBehindRename(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, pages(1000))
		db, before := waiting(t, tw)
		time.Sleep(1100 * time.Millisecond) // the schema is looked at once in a second at most
		harness.Affected(t, tw.Direct, "RENAME TABLE page TO away")
		require.EqualValues(t, 1146, harness.ErrorNumber(db.QueryRow("SELECT hits FROM page WHERE id = 1").Err()))
		harness.Affected(t, tw.Direct, "RENAME TABLE away TO page")
		require.NoError(t, db.Close())
		require.Equal(t, before+5, harness.Number(t, tw.Ours, "SELECT SUM(hits) FROM page"))
	})
}
