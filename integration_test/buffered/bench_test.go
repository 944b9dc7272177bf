package buffered

import (
	"database/sql"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
)

// BenchmarkBuffered acknowledges increments of nine pages through database/sql, prepared
// statements on connections of their own, while the buffer is flushed every second, and
// requires that all are stored behind Flush.
func BenchmarkBuffered(b *testing.B) {
	for _, srv := range harness.Servers {
		for name, pooled := range map[string]bool{"conn": false, "pool": true} {
			b.Run(string(srv.Flavor())+"/"+name, func(b *testing.B) {
				dsn := srv.DSN(harness.NewDatabase(b, srv))
				direct := harness.Open(b, dsn)
				harness.ExecAll(b, direct, schema)
				cfg, err := mysql.ParseDSN(dsn)
				require.NoError(b, err)
				config := pages(1000)
				config.CreateSlots, config.Rollup, config.Tables[0].Buffered.Every = true, 0, time.Second
				connector, err := countermysql.NewConnector(cfg, config)
				require.NoError(b, err)
				db := sql.OpenDB(connector)
				defer db.Close()
				db.SetMaxIdleConns(64)
				for {
					harness.Affected(b, db, hit, 9)
					s, err := countermysql.Stats(db)
					require.NoError(b, err)
					if s.Buffered[cfg.DBName+".page"].Acknowledged > 0 {
						break
					}
				}
				for id := 1; id <= 9; id++ {
					harness.Affected(b, db, hit, id)
				}
				require.NoError(b, countermysql.Flush(b.Context(), db))
				sum := func() (n int64) {
					require.NoError(b, direct.QueryRow("SELECT (SELECT SUM(hits) FROM page) + COALESCE((SELECT SUM(hits) FROM page_slots), 0)").Scan(&n))
					return n
				}
				before := sum()
				var clients atomic.Int64
				b.ReportAllocs()
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					id := int(clients.Add(1))
					prepare := db.PrepareContext
					if !pooled {
						conn, err := db.Conn(b.Context())
						if err != nil {
							b.Error(err)
							return
						}
						defer conn.Close()
						prepare = conn.PrepareContext
					}
					s, err := prepare(b.Context(), hit)
					if err != nil {
						b.Error(err)
						return
					}
					defer s.Close()
					for pb.Next() {
						id = id%9 + 1
						if _, err := s.Exec(id); err != nil {
							b.Error(err)
							return
						}
					}
				})
				b.StopTimer()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "increments/s")
				require.NoError(b, countermysql.Flush(b.Context(), db))
				require.EqualValues(b, b.N, sum()-before)
			})
		}
	}
}
