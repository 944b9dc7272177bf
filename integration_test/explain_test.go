package integration_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestExplainArguments proves that a statement is explained only with all its arguments:
// without them an increment was explained as verbatim.
func TestExplainArguments(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, shop, counters("item", "stock"))
		const like = "UPDATE item SET stock = stock + ? WHERE id = ? /* ? */ AND name <> '?'"
		for _, args := range [][]any{nil, {1}, {1, 2, 3}} {
			_, err := countermysql.Explain(t.Context(), tw.ours, like, args...)
			require.ErrorContains(t, err, fmt.Sprintf("expected 2 arguments, got %d", len(args)))
		}
		e, err := countermysql.Explain(t.Context(), tw.ours, like, 1, 2)
		require.NoError(t, err)
		require.Equal(t, "increment", e.Class)
	})
}
