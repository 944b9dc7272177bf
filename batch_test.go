package countermysql

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/traffic"
)

// TestBatchesAreBounded proves that texts which give a table ever new names do not
// make it keep a batch for each.
func TestBatchesAreBounded(t *testing.T) {
	post := &catalog.Table{}
	c := &Connector{traffic: traffic.ForTables[tableTraffic]([]catalog.Spec{{}})}
	of := c.traffic.Of(post)
	first := c.batch(post, "post", nil)
	for i := range 3 * maxBatches {
		require.NotNil(t, c.batch(post, "p"+strconv.Itoa(i), nil))
	}
	kept := 0
	of.batches.Range(func(any, any) bool {
		kept++
		return true
	})
	require.Equal(t, maxBatches, kept)
	require.Same(t, first, c.batch(post, "post", nil))
	require.Equal(t, "new", c.batch(post, "new", nil).name)
	c.forgetBatches(&catalog.Schema{})
	require.Zero(t, of.known.Load(), "of a definition that no longer holds")
}
