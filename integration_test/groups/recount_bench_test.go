package groups

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
)

// BenchmarkRecounting is what applications do that count anew: a row, and the counter as the
// number of rows, in one transaction. It tells the deadlocks in a thousand transactions of
// plain MySQL and of the driver, which take turns.
func BenchmarkRecounting(b *testing.B) {
	const clients, posts, each = 12, 20, 300 * time.Millisecond
	for _, srv := range harness.Servers {
		b.Run(string(srv.Flavor()), func(b *testing.B) {
			tw := harness.NewTwin(b, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0);\nCREATE TABLE post_like (id INT AUTO_INCREMENT PRIMARY KEY, post_id INT NOT NULL, INDEX (post_id))",
				&countermysql.Config{Tables: []countermysql.TableConfig{{Table: "post", Counters: []string{"likes"}}}})
			dbs := []*sql.DB{tw.Plain, tw.Ours}
			for _, db := range dbs {
				db.SetMaxIdleConns(clients)
				for id := range posts {
					harness.Affected(b, db, "INSERT INTO post (id) VALUES (?)", id)
				}
			}
			var committed, deadlocks [2]int64
			for b.Loop() {
				for i, db := range dbs {
					var crowd harness.Crowd
					end := time.Now().Add(each)
					var done [clients]int64
					crowd.Run(clients, func(client int) {
						for time.Now().Before(end) {
							id := rand.IntN(posts)
							if crowd.Check(recounted(db, id)) {
								done[client]++
							}
						}
					})
					if err := crowd.Failed.Load(); err != nil {
						b.Fatal(*err)
					}
					deadlocks[i] += crowd.Deadlocks.Load()
					for _, n := range done {
						committed[i] += n
					}
				}
			}
			for i, name := range []string{"plain", "ours"} {
				b.ReportMetric(1000*float64(deadlocks[i])/float64(committed[i]+deadlocks[i]), name+"-deadlocks/1000")
			}
			b.ReportMetric(float64(committed[1])/float64(committed[0]), "of-plain")
		})
	}
}

func recounted(db *sql.DB, id int) error {
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.Exec("INSERT INTO post_like (post_id) VALUES (?)", id); err != nil {
		return err
	}
	if _, err := tx.Exec("UPDATE post SET likes = (SELECT COUNT(*) FROM post_like WHERE post_id = ?) WHERE id = ?", id, id); err != nil {
		return err
	}
	return tx.Commit()
}
