package history

import (
	"database/sql"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
)

// BenchmarkHistory compares increments of tables with and without a history, in alternating
// rounds: cold ones, each of which writes its base row and a row of the history, and hot ones,
// which are in the history by their rollup. with/without is the throughput's ratio.
func BenchmarkHistory(b *testing.B) {
	const clients, each = 8, 100
	for _, srv := range harness.Servers {
		for name, keys := range map[string]int{"cold": 5000, "hot": 1} {
			b.Run(string(srv.Flavor())+"/"+name, func(b *testing.B) {
				var dbs []*sql.DB
				for _, kept := range []bool{true, false} {
					config := posts(time.Hour)
					config.Rollup = time.Second
					if !kept {
						config.Tables[0].History = nil
					}
					tw := harness.NewTwin(b, srv, "CREATE TABLE post (id INT PRIMARY KEY AUTO_INCREMENT, likes INT NOT NULL DEFAULT 0, views BIGINT NOT NULL DEFAULT 0, score INT NOT NULL DEFAULT 0, stock INT NOT NULL DEFAULT 0);\n"+
						"INSERT INTO post (likes) VALUES (0), (0), (0), (0), (0), (0), (0), (0), (0);\nINSERT INTO post (likes) SELECT a.likes FROM post a, post b, post c, post d", config)
					initialize(b, tw.Ours)
					tw.Ours.SetMaxIdleConns(clients)
					tw.Sent.Off.Store(true)
					dbs = append(dbs, tw.Ours)
				}
				var took [2]time.Duration
				for n := range 2*b.N + 4 {
					of := (n + n/2) % 2 // with, without, without, with
					db, start := dbs[of], time.Now()
					var working sync.WaitGroup
					for range clients {
						working.Go(func() {
							for range each {
								if _, err := db.Exec("UPDATE post SET likes = likes + 1 WHERE id = ?", 1+rand.N(keys)); err != nil {
									b.Error(err)
									return
								}
							}
						})
					}
					working.Wait()
					if n >= 4 { // warm
						took[of] += time.Since(start)
					}
				}
				b.ReportMetric(float64(clients*each*b.N)/took[0].Seconds(), "with/s")
				b.ReportMetric(float64(clients*each*b.N)/took[1].Seconds(), "without/s")
				b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "with/without")
				_, err := countermysql.Rollup(b.Context(), dbs[0], nil)
				require.NoError(b, err)
				var changed, sum int64
				require.NoError(b, dbs[0].QueryRow("SELECT (SELECT SUM(likes) FROM post_history), (SELECT SUM(likes) FROM post)").Scan(&changed, &sum))
				require.Equal(b, sum, changed)
			})
		}
	}
}
