package schema

import (
	"database/sql"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestDDLBesideUnlearnedSlots proves that DDL of a process which has found no slots table takes
// along what others have counted since in one that they have made, and that it goes on where
// there still is none.
func TestDDLBesideUnlearnedSlots(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, made := range []bool{true, false} {
			for _, ddl := range []string{
				"TRUNCATE TABLE post; " + threeRows, "DROP TABLE post; " + madePost + "; " + threeRows, "DROP TABLE note, post; " + madePost + "; " + threeRows,
				"RENAME TABLE post TO post_old; " + madePost + "; " + threeRows + "; SELECT likes FROM post_old ORDER BY id", "CREATE TABLE copy AS SELECT * FROM post; SELECT likes FROM copy ORDER BY id",
				"RENAME TABLE post TO post_old, spare TO post; " + threeRows + "; SELECT likes FROM post_old ORDER BY id", "ALTER TABLE post DROP COLUMN likes; ALTER TABLE post ADD COLUMN likes INT NOT NULL DEFAULT 0",
			} {
				swaps := strings.Contains(ddl, "spare TO post")
				tw := harness.NewTwin(t, srv, madePost+";\nCREATE TABLE spare LIKE post;\nCREATE TABLE note (id INT);\n"+threeRows, harness.Counters("post", "likes"))
				harness.Affected(t, tw.Direct, "DROP TABLE post_slots")
				without := *tw.Config
				without.CreateSlots, without.Interceptor = false, nil
				late, _ := harness.OpenOurs(t, tw.OursDSN, &without)
				var none *countermysql.SlotsTableError
				require.ErrorAs(t, late.QueryRow(firstRow).Err(), &none)
				counts := sync.OnceValue(func() *sql.DB { // it makes the slots table
					db, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
					return db
				})
				if made {
					likeHot(t, tw.Direct, counts(), 5)
					require.EqualValues(t, 5, harness.Number(t, tw.Direct, "SELECT SUM(likes) FROM post_slots"))
					harness.Affected(t, tw.Plain, "UPDATE post SET likes = likes + 5 WHERE id = 1")
				}
				if swaps && made {
					_, err := late.Exec(strings.Split(ddl, "; ")[0])
					var refused *countermysql.RefusedError
					require.ErrorAs(t, err, &refused)
					continue
				}
				for _, stmt := range strings.Split(ddl, "; ") {
					if strings.HasPrefix(stmt, "SELECT") {
						require.Equal(t, harness.Queried(t.Context(), tw.Plain, stmt), harness.Queried(t.Context(), tw.Direct, stmt), ddl)
						continue
					}
					by := late
					if strings.HasPrefix(stmt, "INSERT") {
						by = counts()
					}
					for _, db := range []*sql.DB{tw.Plain, by} {
						harness.Affected(t, db, stmt)
					}
				}
				require.Equal(t, harness.Queried(t.Context(), tw.Plain, "SELECT * FROM post ORDER BY id"), harness.Queried(t.Context(), counts(), "SELECT * FROM post ORDER BY id"), ddl)
			}
		}
	})
}

// TestDDLBesideMisfitSlots proves the same where the slots table lacks a column for one of the
// counters: what it holds of the others ends with the table, and does not get lost with its name.
func TestDDLBesideMisfitSlots(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		const table = "CREATE TABLE post (id INT AUTO_INCREMENT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, views INT NOT NULL DEFAULT 0)"
		for _, ddl := range []string{"TRUNCATE TABLE post", "DROP TABLE post", "RENAME TABLE post TO post_old", "ALTER TABLE post CHANGE likes hearts INT NOT NULL DEFAULT 0", "ALTER TABLE post COMMENT 'x'"} {
			tw := harness.NewTwin(t, srv, table+";\n"+threeRows, harness.Counters("post", "likes"))
			likeHot(t, tw.Direct, tw.Ours, 5)
			require.EqualValues(t, 5, harness.Number(t, tw.Direct, "SELECT SUM(likes) FROM post_slots"))
			wider := *harness.Counters("post", "likes", "views")
			wider.CreateSlots = false
			db, _ := harness.OpenOurs(t, tw.OursDSN, &wider)
			_, err := db.Exec(ddl)
			var misfit *countermysql.SlotsTableError
			switch {
			case strings.HasPrefix(ddl, "RENAME"), strings.Contains(ddl, "CHANGE"):
				require.ErrorAs(t, err, &misfit, ddl)
				continue
			case strings.HasPrefix(ddl, "ALTER"):
				require.NoError(t, err)
				require.EqualValues(t, 5, harness.Number(t, tw.Ours, firstRow))
				continue
			case strings.HasPrefix(ddl, "DROP"):
				require.NoError(t, err)
				harness.Affected(t, tw.Ours, table)
			}
			require.NoError(t, err)
			harness.Affected(t, tw.Ours, threeRows)
			require.Zero(t, harness.Number(t, tw.Ours, firstRow), ddl)
		}
	})
}
