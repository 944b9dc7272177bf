package schema

import (
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
)

// BenchmarkSuite is a suite whose tests make their schema anew: twelve tables, of which none,
// one or three have counters, with a few statements on each. Plain MySQL and the driver take
// turns; 28 rounds are 336 CREATE TABLEs, and their medians are compared.
func BenchmarkSuite(b *testing.B) {
	const tables = 12
	for _, srv := range harness.Servers {
		for _, listed := range []int{0, 1, 3} {
			b.Run(fmt.Sprintf("%s/%d of %d with counters", srv.Flavor(), listed, tables), func(b *testing.B) {
				config := &countermysql.Config{Tables: []countermysql.TableConfig{{Table: "elsewhere", Counters: []string{"n"}}}}
				for i := range listed {
					config.Tables = append(config.Tables, countermysql.TableConfig{Table: fmt.Sprint("t", i), Counters: []string{"n"}})
				}
				tw := harness.NewTwin(b, srv, "", config)
				round := func(db *sql.DB) time.Duration {
					begun := time.Now()
					for i := range tables {
						harness.Affected(b, db, fmt.Sprintf("CREATE TABLE t%d (id INT PRIMARY KEY AUTO_INCREMENT, title VARCHAR(50) NOT NULL DEFAULT '', n INT NOT NULL DEFAULT 0)", i))
					}
					for i := range tables {
						for range 3 {
							harness.Affected(b, db, fmt.Sprintf("INSERT INTO t%d (title) VALUES ('x')", i))
						}
						harness.Affected(b, db, fmt.Sprintf("UPDATE t%d SET n = n + 1 WHERE id = 1", i))
						var n int
						if err := db.QueryRow(fmt.Sprintf("SELECT n FROM t%d WHERE id = 1", i)).Scan(&n); err != nil || n != 1 {
							b.Fatal(n, err)
						}
					}
					for i := range tables {
						harness.Affected(b, db, fmt.Sprintf("DROP TABLE t%d", i))
					}
					return time.Since(begun)
				}
				var plain, ours []time.Duration
				for b.Loop() {
					plain, ours = append(plain, round(tw.Plain)), append(ours, round(tw.Ours))
				}
				slices.Sort(plain)
				slices.Sort(ours)
				b.ReportMetric(float64(ours[len(ours)/2])/float64(plain[len(plain)/2]), "times-plain")
			})
		}
	}
}
