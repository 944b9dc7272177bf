package session

import (
	"context"
	"database/sql/driver"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/stats"
)

// TestClauses pins what our statements begin with by the session's settings, on both servers.
func TestClauses(t *testing.T) {
	for _, c := range []struct {
		settings                       Settings
		insert, writes, deletes, locks string
	}{
		{Settings{Strict: true}, "INSERT ", "", "", ""},
		{Settings{SQLMode: "ANSI", SafeUpdates: true}, "INSERT /*+ SET_VAR(sql_mode = 'ANSI,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ ", "", "", ""},
		{Settings{MariaDB: true, Strict: true}, "INSERT ", "", "", "SET STATEMENT innodb_lock_wait_timeout=0 FOR "},
		{Settings{MariaDB: true, SQLMode: "ANSI"}, "SET STATEMENT sql_mode='ANSI,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO' FOR INSERT ", "", "", "SET STATEMENT innodb_lock_wait_timeout=0 FOR "},
		{Settings{MariaDB: true, Strict: true, SafeUpdates: true}, "INSERT ", "", "SET STATEMENT sql_safe_updates=OFF FOR ", "SET STATEMENT innodb_lock_wait_timeout=0 FOR "},
		{Settings{MariaDB: true, Strict: true, SafeUpdates: true, SnapshotIsolation: true}, "SET STATEMENT innodb_snapshot_isolation=OFF FOR INSERT ", "SET STATEMENT innodb_snapshot_isolation=OFF FOR ",
			"SET STATEMENT sql_safe_updates=OFF, innodb_snapshot_isolation=OFF FOR ", "SET STATEMENT innodb_lock_wait_timeout=0, innodb_snapshot_isolation=OFF FOR "},
	} {
		require.Equal(t, c.insert, c.settings.Insert(), "%+v", c.settings)
		require.Equal(t, c.writes, c.settings.Unsnapshot(), "%+v", c.settings)
		require.Equal(t, c.deletes, c.settings.UnsafeUpdates(), "%+v", c.settings)
		require.Equal(t, c.locks, c.settings.NoWaiting(), "%+v", c.settings)
	}
}

// TestSeveral proves that fewer keys go into a statement where a packet does not take all.
func TestSeveral(t *testing.T) {
	table, keys := &catalog.Table{Counters: make([]*catalog.Column, 1)}, []catalog.Key{{"1"}, {"22"}}
	of := func(packet int) int {
		s := Settings{Packet: packet}
		return Several(&s, table, 100, keys)
	}
	require.Equal(t, 100, of(1<<26))
	require.Equal(t, 1, of(1024), "one at least")
	require.Equal(t, 8, of(1<<13+1<<11))
}

// TestEnvironment proves that a session knows when it computes otherwise than a look-up
// connection, and has that compute as it does.
func TestEnvironment(t *testing.T) {
	e := Environment{Settings: Settings{Zone: "SYSTEM", Timed: true}, Initial: Settings{Zone: "SYSTEM"}}
	require.False(t, e.Altered())
	require.Equal(t, "SELECT 1", e.inZone("SELECT 1"))
	require.Equal(t, "(SELECT /*+ SET_VAR(max_execution_time = 0) */ 1) UNION SELECT 2", e.untimed("(SELECT 1) UNION SELECT 2"))
	require.Equal(t, "SET STATEMENT x FOR SELECT 1", e.untimed("SET STATEMENT x FOR SELECT 1"))
	e.Settings.Zone = "+01:00"
	require.True(t, e.Altered())
	require.Equal(t, "SELECT /*+ SET_VAR(time_zone = '+01:00') */ 1", e.inZone("SELECT 1"))
	e.Settings.MariaDB = true
	require.Equal(t, "SET STATEMENT time_zone = _utf8mb4 x'2b30313a3030' FOR SELECT 1", e.inZone("SELECT 1"))
	require.Equal(t, "SELECT 1", e.untimed("SELECT 1"))
	e = Environment{}
	e.mayChange("SET @@Timestamp = 1")
	require.True(t, e.Stale && e.Changed && e.Altered())
	require.False(t, e.Role)
}

// connection is one of go-sql-driver's, as far as a Wire knows it.
type connection struct {
	lostConn
	status uint16
}

// TestTransactions follows the level that SET TRANSACTION gives the next transaction, by the
// status flags of a server that is not there.
func TestTransactions(t *testing.T) {
	raw := &connection{status: statusAutocommit}
	wire, err := newWire(raw, raw)
	require.NoError(t, err)
	x := Transactions{Shared: &Shared{Config: &mysql.Config{}, Stats: &stats.Stats{}}, Wire: wire}
	x.Settings.Isolation = sqltext.RepeatableRead
	require.False(t, x.InTransaction())
	require.True(t, x.LocksGaps())

	x.Next, x.Spent = "READ COMMITTED", true // and a statement was that transaction
	x.Spend()
	require.Equal(t, sqltext.RepeatableRead, x.Level())

	x.Next = "READ COMMITTED"
	raw.status |= statusInTransaction
	require.True(t, x.InTransaction())
	require.Nil(t, x.Open())
	x.Transaction().Increments = 2
	x.Stats.Pending.Add(2)
	require.Equal(t, "READ COMMITTED", x.Open().Isolation)
	require.False(t, x.LocksGaps())
	x.EndedByUser() // COMMIT AND CHAIN
	require.Nil(t, x.Open())
	require.Equal(t, "READ COMMITTED", x.Level())
	require.Zero(t, x.Stats.Pending.Load())
	require.Equal(t, "READ COMMITTED", x.Begins())
	x.Settings.MariaDB = true
	require.Empty(t, x.Begins(), "of the open one it has said it")

	raw.status = 0 // autocommit = 0
	require.True(t, x.implies() && x.InTransaction())
	x.Ended()
	require.Equal(t, sqltext.RepeatableRead, x.Level())
	x.Unbegun = &Deferred{}
	raw.status = statusAutocommit
	require.True(t, x.InTransaction())
}

// TestLostWire proves that nothing is sent on the connection that a deputy has.
func TestLostWire(t *testing.T) {
	require.True(t, lostWire.Lost())
	require.False(t, lostWire.Usable() || lostWire.Begun())
	require.ErrorIs(t, lostWire.Try(context.Background(), "SELECT 1"), driver.ErrBadConn)
}
