package schema

import (
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
)

// BenchmarkWatch is what watching the schema costs: the driver's own statements in a minute
// in which the application sends none, and in one in which it sends ten a second, and what
// the first statement behind the minute takes, beside plain MySQL's. That is the median of
// pools which have all been idle, and take turns with plain ones.
func BenchmarkWatch(b *testing.B) {
	const pools = 15
	for _, srv := range harness.Servers {
		for _, size := range []struct{ counters, others int }{{1, 0}, {300, 0}, {1, 3000}} {
			b.Run(fmt.Sprintf("%s/%d counter tables beside %d others", srv.Flavor(), size.counters, size.others), func(b *testing.B) {
				dsn := srv.DSN(harness.NewDatabase(b, srv))
				plain := harness.Open(b, dsn)
				config := &countermysql.Config{CreateSlots: true}
				for i := range size.counters {
					harness.Affected(b, plain, fmt.Sprintf("CREATE TABLE t%d (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0)", i))
					config.Tables = append(config.Tables, countermysql.TableConfig{Table: fmt.Sprint("t", i), Counters: []string{"n"}})
				}
				for i := range size.others {
					harness.Affected(b, plain, fmt.Sprintf("CREATE TABLE other%d (id INT PRIMARY KEY, note VARCHAR(20))", i))
				}
				harness.Affected(b, plain, "INSERT INTO t0 VALUES (1, 1)")
				read := func(db *sql.DB) time.Duration {
					var n int
					begun := time.Now()
					require.NoError(b, db.QueryRow("SELECT n FROM t0 WHERE id = 1").Scan(&n))
					return time.Since(begun)
				}
				open := func() (*sql.DB, *harness.Recorder) {
					own := *config
					sent := harness.NewRecorder()
					own.Interceptor = sent
					db, _ := harness.OpenOurs(b, dsn, &own)
					read(db)
					return db, sent
				}
				var plains, ours []*sql.DB
				var idleSent *harness.Recorder
				for range pools {
					db, sent := open()
					ours, idleSent = append(ours, db), sent
					plains = append(plains, harness.Open(b, dsn))
					read(plains[len(plains)-1])
				}
				busy, busySent := open()
				var first, firstPlain, cost []time.Duration
				idle, own, minutes := 0, 0, 0
				for b.Loop() {
					minutes++
					idle += len(idleSent.During(func() {
						asked := 0
						own += len(busySent.During(func() {
							every := time.NewTicker(100 * time.Millisecond)
							defer every.Stop()
							for end := time.Now().Add(time.Minute); time.Now().Before(end); asked++ {
								harness.Affected(b, busy, "DO 1")
								<-every.C
							}
						})) - asked
					}))
					for i := range ours {
						p, o := read(plains[i]), read(ours[i])
						firstPlain, first, cost = append(firstPlain, p), append(first, o), append(cost, o-p)
						time.Sleep(time.Second) // the look that this one begins, which nobody waits for, is over then
					}
				}
				median := func(of []time.Duration) float64 {
					slices.Sort(of)
					return of[len(of)/2].Seconds() * 1000
				}
				b.ReportMetric(float64(idle)/float64(minutes), "idle-statements")
				b.ReportMetric(float64(own)/float64(minutes), "busy-statements")
				b.ReportMetric(median(firstPlain), "plain-ms")
				b.ReportMetric(median(first), "first-ms")
				b.ReportMetric(median(cost), "more-ms")
			})
		}
	}
}
