package countermysql

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBatchesAreBounded proves that texts which give a table ever new names do not
// make it keep a batch for each.
func TestBatchesAreBounded(t *testing.T) {
	post := &table{}
	first := post.batch("post", nil)
	for i := range 3 * maxBatches {
		require.NotNil(t, post.batch("p"+strconv.Itoa(i), nil))
	}
	kept := 0
	post.batches.Range(func(any, any) bool {
		kept++
		return true
	})
	require.Equal(t, maxBatches, kept)
	require.Same(t, first, post.batch("post", nil))
	require.Equal(t, "new", post.batch("new", nil).name)
}
