package connections

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestPreparedReplanned proves that a statement which was prepared in another default database is still of that one's
// table where it has to be planned anew, as another process has given the slots table a column: both databases have
// a counter table of the name.
func TestPreparedReplanned(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		here, there := harness.NewDatabase(t, srv), harness.NewDatabase(t, srv)
		direct := harness.Open(t, srv.DSN(here))
		for _, name := range []string{here, there} {
			harness.ExecAll(t, direct, "CREATE TABLE "+name+".post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0);\nINSERT INTO "+name+".post (id) VALUES (1);\n")
		}
		config := &countermysql.Config{CreateSlots: true, Logger: slog.New(slog.DiscardHandler), Tables: []countermysql.TableConfig{
			{Table: here + ".post", Counters: []string{"likes"}}, {Table: there + ".post", Counters: []string{"likes"}},
		}}
		db, _ := harness.OpenOurs(t, srv.DSN(here), config)
		const increment = "UPDATE post SET likes = likes + 1 WHERE id = 1"
		conn := harness.Session(t, db)
		harness.Affected(t, conn, increment)
		stmt, err := conn.PrepareContext(t.Context(), increment)
		require.NoError(t, err)
		harness.Affected(t, conn, "USE "+there)
		harness.ExecAll(t, direct, "ALTER TABLE post_slots ADD COLUMN more INT")
		_, err = stmt.ExecContext(t.Context())
		require.NoError(t, err)
		require.NoError(t, stmt.Close())
		var likes, others int
		require.NoError(t, conn.QueryRowContext(t.Context(), "SELECT p.likes, q.likes FROM "+here+".post p JOIN "+there+".post q ON p.id = q.id").Scan(&likes, &others))
		require.Equal(t, [2]int{2, 0}, [2]int{likes, others})
	})
}
