package increment

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/session"
)

// TestOutlive proves that a batch goes on for a while when its leader's context
// has ended, and not for ever.
func TestOutlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		leader, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
		shared, done := outlive(leader, session.Linger)
		require.Equal(t, "value", shared.Value(key{}))
		cancel()
		time.Sleep(session.Linger - time.Millisecond)
		require.NoError(t, shared.Err())
		time.Sleep(2 * time.Millisecond)
		require.Error(t, shared.Err())
		done()

		for range 20 { // the context ends while the batch does
			leader, cancel = context.WithCancel(t.Context())
			shared, done = outlive(leader, session.Linger)
			go cancel()
			done()
			require.Error(t, shared.Err())
		}
	})
}
