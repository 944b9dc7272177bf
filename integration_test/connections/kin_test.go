package connections

import (
	"context"
	"database/sql"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

type zoneKey struct{}

// inZones opens our driver on a database where mysql.BeforeConnect gives each
// connection the time zone of its context.
func inZones(t *testing.T, srv *testserver.Server, name string, config *countermysql.Config) *sql.DB {
	t.Helper()
	cfg, err := mysql.ParseDSN(srv.DSN(name))
	require.NoError(t, err)
	require.NoError(t, cfg.Apply(mysql.BeforeConnect(func(ctx context.Context, cfg *mysql.Config) error {
		if zone, ok := ctx.Value(zoneKey{}).(string); ok {
			cfg.Params = map[string]string{"time_zone": "'" + zone + "'"}
		}
		return nil
	})))
	connector, err := countermysql.NewConnector(cfg, config)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// TestSessionsOfOtherZones proves that connections to which a hook has given different
// time zones count on their own days: none does it for another.
func TestSessionsOfOtherZones(t *testing.T) {
	const schema = `
CREATE TABLE daily (day DATE PRIMARY KEY, hits INT NOT NULL DEFAULT 0);
INSERT INTO daily (day) VALUES (CURRENT_DATE - INTERVAL 2 DAY), (CURRENT_DATE - INTERVAL 1 DAY), (CURRENT_DATE), (CURRENT_DATE + INTERVAL 1 DAY), (CURRENT_DATE + INTERVAL 2 DAY);
`
	const hit, hits = "UPDATE daily SET hits = hits + 1 WHERE day = CURRENT_DATE", "SELECT hits FROM daily WHERE day = CURRENT_DATE"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		name := harness.NewDatabase(t, srv)
		harness.ExecAll(t, harness.Open(t, srv.DSN(name)), schema)
		config := harness.Counters("daily", "hits")
		config.CreateSlots = true
		db := inZones(t, srv, name, config)
		var conns []*sql.Conn
		for _, zone := range []string{"-12:00", "+13:00", "-12:00", "+13:00"} { // in which it is never the same day
			conn, err := db.Conn(context.WithValue(t.Context(), zoneKey{}, zone))
			require.NoError(t, err)
			defer conn.Close()
			conns = append(conns, conn)
		}
		const each = 300
		done := make(chan error, len(conns))
		for _, conn := range conns {
			go func() {
				var err error
				for i := 0; i < each && err == nil; i++ {
					_, err = conn.ExecContext(t.Context(), hit)
				}
				done <- err
			}()
		}
		for range conns {
			require.NoError(t, <-done)
		}
		for _, conn := range conns {
			require.EqualValues(t, 2*each, harness.Number(t, conn, hits))
		}
		for _, conn := range conns[:2] {
			for _, first := range []string{"DO 1", "SELECT COUNT(*) FROM daily", "UPDATE daily SET hits = hits + 0 WHERE day = CURRENT_DATE"} {
				tx, err := conn.BeginTx(t.Context(), nil)
				require.NoError(t, err)
				harness.Affected(t, tx, first)
				require.EqualValues(t, 1, harness.Affected(t, tx, hit))
				require.EqualValues(t, 1, harness.Affected(t, tx, hit))
				require.NoError(t, tx.Commit())
			}
			require.EqualValues(t, 1, harness.Affected(t, conn, "UPDATE daily SET hits = hits * 2 WHERE day = CURRENT_DATE"))
			require.EqualValues(t, 2*(2*each+6), harness.Number(t, conn, hits))
		}
	})
}
