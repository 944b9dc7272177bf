package transactions

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestRejectReadOnly proves that with rejectReadOnly, which is for a failover that left
// the pool's connections with a server that is a replica now, what is refused ends as on
// the plain driver, whether it goes alone, together with others or at COMMIT, and that
// the pool recovers by itself, with nothing counted twice.
func TestRejectReadOnly(t *testing.T) {
	t.Parallel()
	harness.ForOwnServers(t, func(t *testing.T, srv *testserver.Server) {
		asApp, readOnly := harness.Refusable(t, srv)

		ctx := context.WithoutCancel(t.Context())
		exec := func(query string, args ...any) func(*sql.DB) error {
			return func(db *sql.DB) error {
				_, err := db.ExecContext(ctx, query, args...)
				return err
			}
		}
		inTx := func(statements ...string) func(*sql.DB) error {
			return func(db *sql.DB) error {
				tx, err := db.BeginTx(ctx, nil)
				if err != nil {
					return err
				}
				defer tx.Rollback()
				for _, s := range statements {
					if _, err := tx.ExecContext(ctx, s); err != nil {
						return err
					}
				}
				return tx.Commit()
			}
		}
		together := func(db *sql.DB) error {
			var group sync.WaitGroup
			var errs [16]error
			for i := range errs {
				group.Go(func() { _, errs[i] = db.ExecContext(ctx, harness.LikeOne) })
			}
			group.Wait()
			for _, err := range errs[1:] {
				if harness.Told(err) != harness.Told(errs[0]) {
					return err
				}
			}
			return errs[0]
		}
		for _, c := range []struct {
			name string
			do   func(*sql.DB) error
			adds int64
		}{
			{"alone", exec(harness.LikeOne), 1},
			{"with an argument", exec("UPDATE post SET likes = likes + ? WHERE id = 1", 3), 3},
			{"together", together, 16},
			{"exact", exec("UPDATE post SET likes = GREATEST(likes - 1, 0) + 2 WHERE id = 1"), 1},
			{"upsert", exec("INSERT INTO post (id, slug, title, likes) VALUES (1, 'a', 'x', 2) ON DUPLICATE KEY UPDATE likes = likes + 2"), 2},
			{"relative", exec("UPDATE post SET likes = likes + 1, title = 'y' WHERE id = 1"), 1},
			{"only increments", inTx(harness.LikeOne, harness.LikeOne), 2},
			{"transaction", inTx("INSERT INTO note VALUES (NULL, '')", harness.LikeOne), 1},
			{"increment first", inTx(harness.LikeOne, "INSERT INTO note VALUES (NULL, '')"), 1},
			{"no counter", exec("UPDATE post SET title = 'z' WHERE id = 1"), 0},
		} {
			for _, params := range []string{"interpolateParams=true", "interpolateParams=false", "multiStatements=true"} {
				t.Run(c.name+" "+params, func(t *testing.T) {
					tw := harness.NewBlog(t, srv, harness.BlogCounters())
					dsn := func(db harness.Querier) string {
						return asApp(srv.DSN(harness.DbName(t, db), "rejectReadOnly=true", params))
					}
					harness.Affected(t, tw.Plain, "ALTER TABLE note MODIFY id INT AUTO_INCREMENT")
					harness.Affected(t, tw.DirectTo(tw.Ours), "ALTER TABLE note MODIFY id INT AUTO_INCREMENT")
					ours, _ := harness.OpenOurs(t, dsn(tw.Ours), tw.Config)
					var answers [2]string
					for i, db := range []*sql.DB{harness.Open(t, dsn(tw.Plain)), ours} {
						require.NoError(t, c.do(db))
						readOnly("1")
						refused := c.do(db)
						require.ErrorIs(t, refused, driver.ErrBadConn)
						answers[i] = harness.Told(refused)
						readOnly("0")
						require.NoError(t, c.do(db))
						require.Equal(t, 10+2*c.adds, harness.Number(t, db, "SELECT likes FROM post WHERE id = 1"))
					}
					require.Equal(t, answers[0], answers[1])
				})
			}
		}
	})
}
