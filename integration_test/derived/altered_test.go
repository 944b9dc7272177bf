package derived

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestWrittenBehindDDL proves that what a counter is derived of can be written behind DDL of the
// counter's table, by everybody, and that Init has the counters right then.
func TestWrittenBehindDDL(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, ddl := range []string{
			"ALTER TABLE post MODIFY id BIGINT NOT NULL",
			"DROP TABLE post",
			"ALTER TABLE post DROP PRIMARY KEY, ADD PRIMARY KEY (id, title)",
			"ALTER TABLE post CHANGE id pid INT NOT NULL",
		} {
			for _, by := range []string{"the driver", "another client"} {
				t.Run(ddl+" by "+by, func(t *testing.T) {
					tw := newPosts(t, srv)
					db := map[string]*sql.DB{"the driver": tw.Ours, "another client": tw.Direct}[by]
					harness.Affected(t, db, ddl)
					if db == tw.Direct { // the process notices it
						tw.LearnAnew(t)
						harness.Queried(t.Context(), tw.Ours, "SELECT comments FROM post WHERE id = 1")
					}
					for _, who := range []*sql.DB{tw.Plain, tw.Direct, tw.Ours} {
						_, err := who.Exec("INSERT INTO comment (post_id, amount) VALUES (2, 3)")
						require.NoError(t, err)
						_, err = who.Exec("UPDATE comment SET post_id = 3 WHERE post_id = 1")
						require.NoError(t, err)
						_, err = who.Exec("DELETE FROM comment WHERE post_id = 3 LIMIT 1")
						require.NoError(t, err)
					}
					if strings.Contains(ddl, "BIGINT") {
						harness.Affected(t, db, "ALTER TABLE comment MODIFY post_id BIGINT NULL")
						initialized(t, tw.Ours)
						requireExact(t, tw)
						harness.Affected(t, tw.Direct, "INSERT INTO comment (post_id, amount) VALUES (2, 3)")
						requireExact(t, tw)
					}
				})
			}
		}
	})
}

// TestKeptBehindRefusedDDL proves that an ALTER that the server refuses leaves the counters kept, and that
// Explain tells that DROP leaves the slots table, which triggers write.
func TestKeptBehindRefusedDDL(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newPosts(t, srv)
		_, err := tw.Ours.Exec("ALTER TABLE post DROP PRIMARY KEY, ADD PRIMARY KEY (nothing)")
		require.EqualValues(t, 1072, harness.ErrorNumber(err))
		for _, db := range []*sql.DB{tw.Direct, tw.Ours} {
			harness.Affected(t, db, "INSERT INTO comment (post_id, amount) VALUES (2, 3)")
			requireExact(t, tw)
		}
		of, err := countermysql.Explain(t.Context(), tw.Ours, "DROP TABLE post")
		require.NoError(t, err)
		require.Contains(t, of.Steps[len(of.Steps)-1].SQL, "TRUNCATE TABLE ")
	})
}
