package mysqlerr

import (
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
)

// TestGroupReplication proves what the errors of a COMMIT in Group Replication are taken for.
func TestGroupReplication(t *testing.T) {
	for _, c := range []struct {
		err               mysql.MySQLError
		deadlock, settled bool
	}{
		{mysql.MySQLError{Number: 3101, Message: "Plugin instructed the server to rollback the current transaction."}, true, false},
		{mysql.MySQLError{Number: 1180, Message: "Got error 149 - 'Lock deadlock; Retry transaction' during COMMIT"}, true, true},
		{mysql.MySQLError{Number: 1180, Message: "Got error 28 - 'No space left on device' during COMMIT"}, false, false},
		{mysql.MySQLError{Number: 3100, Message: "Error on observer while running replication hook 'before_commit'."}, false, false},
		{mysql.MySQLError{Number: 1213}, true, true},
		{mysql.MySQLError{Number: 1290}, false, true},
	} {
		n := Number(&c.err)
		require.Equal(t, c.deadlock, n == ErrDeadlock, c.err)
		require.Equal(t, c.settled, Settled(&c.err), c.err)
		require.Equal(t, c.deadlock || c.settled, !Uncertain(n), c.err)
	}
	require.False(t, Settled(nil))
}
