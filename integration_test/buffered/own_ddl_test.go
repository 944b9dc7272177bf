package buffered

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestFlushedBeforeOwnDDL proves that DDL of the process itself finds stored what waits in its memory:
// behind it the table, its key or its counter may have another name.
func TestFlushedBeforeOwnDDL(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for ddl, read := range map[string]string{
			"RENAME TABLE page TO leaf":                                      "SELECT hits FROM leaf WHERE id = 1",
			"ALTER TABLE page RENAME leaf":                                   "SELECT hits FROM leaf WHERE id = 1",
			"ALTER TABLE page RENAME COLUMN hits TO seen":                    "SELECT seen FROM page WHERE id = 1",
			"ALTER TABLE page CHANGE id no INT NOT NULL":                     "SELECT hits FROM page WHERE no = 1",
			"ALTER TABLE page DROP PRIMARY KEY, ADD PRIMARY KEY (id, title)": "SELECT hits FROM page WHERE id = 1",
		} {
			tw := newPages(t, srv, 100)
			known(t, tw.Ours, 1)
			for range 4 {
				harness.Affected(t, tw.Ours, hit, 1)
			}
			require.EqualValues(t, 4, buffer(t, tw.Ours).Waiting, "they are not in memory")
			tx, err := tw.Ours.Begin()
			require.NoError(t, err)
			harness.Affected(t, tx, "UPDATE page SET title = 'x' WHERE id = 1") // which the DDL commits
			_, err = tx.Exec(ddl)
			require.NoError(t, err, ddl)
			require.EqualValues(t, 5, harness.Number(t, tw.Ours, read), ddl)
			require.NoError(t, tx.Commit())
		}
	})
}
