package increment

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/catalog"
)

// TestBatchesAreBounded proves that texts which give a table ever new names do not
// make it keep a batch for each.
func TestBatchesAreBounded(t *testing.T) {
	post := &catalog.Table{}
	c := NewShared([]catalog.Spec{{}}, false, nil, nil)
	of := c.tables.Of(post)
	first := c.Batch(post, "post", nil)
	for i := range 3 * maxBatches {
		require.NotNil(t, c.Batch(post, "p"+strconv.Itoa(i), nil))
	}
	kept := 0
	of.batches.Range(func(any, any) bool {
		kept++
		return true
	})
	require.Equal(t, maxBatches, kept)
	require.Same(t, first, c.Batch(post, "post", nil))
	require.Equal(t, "new", c.Batch(post, "new", nil).name)
	c.Forget(&catalog.Schema{})
	require.Zero(t, of.known.Load(), "of a definition that no longer holds")
}
