package catalog

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTallySame proves that a server that was started anew, or another, is not taken for
// the same, nor one that does not tell.
func TestTallySame(t *testing.T) {
	now := Tally{Counts: "Com_create_view=1 ", Since: time.Hour}
	require.True(t, now.Same(Tally{Counts: now.Counts, Since: now.Since + time.Second}))
	for _, other := range []Tally{{}, {Counts: now.Counts, Since: 2 * time.Hour}, {Counts: now.Counts, Since: 0}, {Counts: "Com_create_view=2 ", Since: time.Hour}} {
		require.False(t, now.Same(other), fmt.Sprint(other))
	}
	require.False(t, Tally{}.Same(Tally{}))
}
