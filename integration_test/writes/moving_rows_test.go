package writes

import (
	"database/sql"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestMovingRows proves that every increment which was acknowledged is counted for its row, while
// its primary key changes all the time: by a cascade, and by statements that move the row themselves.
func TestMovingRows(t *testing.T) {
	const schema = `CREATE TABLE p (id INT PRIMARY KEY, n INT NOT NULL UNIQUE);
CREATE TABLE c (pid INT NOT NULL, k INT NOT NULL, hits INT NOT NULL DEFAULT 0, PRIMARY KEY (pid, k), UNIQUE KEY (k), FOREIGN KEY (pid) REFERENCES p (id) ON UPDATE CASCADE);
INSERT INTO p VALUES (1, 0), (2, 1);
INSERT INTO c (pid, k) VALUES (1, 0), (1, 1), (2, 2), (2, 3)`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for name, every := range map[string]time.Duration{"slots stand": countermysql.RollupNever, "slots vanish": time.Second} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				config := harness.Counters("c", "hits")
				config.Rollup, config.Slots = every, 3
				tw := harness.NewTwin(t, srv, schema, config)
				tw.Sent.Off.Store(true)
				other, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config) // another process
				var counted [4]atomic.Int64
				var moved, last atomic.Int64
				last.Store(10)
				end := time.Now().Add(3 * time.Second)
				var clients sync.WaitGroup
				client := func(do func(db *sql.DB) error) {
					clients.Go(func() {
						for i := 0; time.Now().Before(end); i++ {
							db := tw.Ours
							if i%2 == 1 {
								db = other
							}
							switch err := do(db); harness.ErrorNumber(err) {
							case 0:
								if err != nil && err != sql.ErrNoRows {
									t.Error(err)
								}
							case 1205, 1213, 1452: // the last where the parent has moved meanwhile
							default:
								t.Error(err)
							}
						}
					})
				}
				for range 4 {
					client(func(db *sql.DB) error {
						k := rand.IntN(4)
						res, err := db.Exec("UPDATE c SET hits = hits + 1 WHERE k = ?", k)
						if err == nil {
							n, _ := res.RowsAffected()
							counted[k].Add(n)
						}
						return err
					})
				}
				for i := range 3 {
					client(func(db *sql.DB) error {
						tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead}[rand.IntN(2)]})
						if err != nil {
							return err
						}
						defer tx.Rollback()
						if i < 2 {
							_, err = tx.Exec("UPDATE p SET id = ? WHERE n = ?", last.Add(1), rand.IntN(2))
						} else {
							_, err = tx.Exec("UPDATE c SET pid = COALESCE((SELECT id FROM p WHERE n = ?), pid) WHERE k = ?", rand.IntN(2), rand.IntN(4))
						}
						if err == nil {
							err = tx.Commit()
						}
						if err == nil {
							moved.Add(1)
						}
						return err
					})
				}
				clients.Wait()
				require.Positive(t, moved.Load())
				for k := range counted {
					require.Equal(t, counted[k].Load(), harness.Number(t, tw.Ours, "SELECT hits FROM c WHERE k = ?", k))
				}
			})
		}
	})
}
