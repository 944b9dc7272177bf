package watch

import (
	"errors"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/mysqlerr"
)

// TestUnlessRefused proves that refused DDL is tried again after pauses that grow, and
// after a success at once.
func TestUnlessRefused(t *testing.T) {
	refused := refusals{}
	tries := 0
	answer := error(&mysql.MySQLError{Number: mysqlerr.ErrLockWait})
	try := func() error {
		return refused.unless("ALTER", func() error {
			tries++
			return answer
		})
	}
	pass := func() time.Duration {
		r := refused["ALTER"]
		pause := time.Until(r.until)
		r.until = time.Now()
		refused["ALTER"] = r
		return pause
	}
	last := time.Duration(0)
	for i := range 8 {
		require.EqualValues(t, mysqlerr.ErrLockWait, mysqlerr.Number(try()))
		require.EqualValues(t, mysqlerr.ErrLockWait, mysqlerr.Number(try()))
		require.Equal(t, i+1, tries)
		pause := pass()
		require.Greater(t, pause, shortestPause-time.Second)
		require.True(t, pause > last || pause > longestPause-time.Second, "%v after %v", pause, last)
		last = pause
	}
	answer = nil
	require.NoError(t, try())
	answer = errors.New("another")
	require.ErrorIs(t, try(), answer)
	require.ErrorIs(t, try(), answer)
	require.Equal(t, 11, tries)
}
