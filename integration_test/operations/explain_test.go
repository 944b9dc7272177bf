package operations

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestExplainArguments proves that a statement is explained only with all its arguments:
// without them an increment was explained as verbatim.
func TestExplainArguments(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Shop, harness.Counters("item", "stock"))
		const like = "UPDATE item SET stock = stock + ? WHERE id = ? /* ? */ AND name <> '?'"
		for _, args := range [][]any{nil, {1}, {1, 2, 3}} {
			_, err := countermysql.Explain(t.Context(), tw.Ours, like, args...)
			require.ErrorContains(t, err, fmt.Sprintf("expected 2 arguments, got %d", len(args)))
		}
		e, err := countermysql.Explain(t.Context(), tw.Ours, like, 1, 2)
		require.NoError(t, err)
		require.EqualValues(t, "increment", e.Class)
	})
}

// TestExplainReasons proves that the value is told that keeps an increment from a slot,
// and the locks of a query.
func TestExplainReasons(t *testing.T) {
	const schema = "CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(9), stock INT UNSIGNED NOT NULL DEFAULT 0, sold DECIMAL(10,2) NOT NULL DEFAULT 0, moved DATETIME NULL)"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := harness.Counters("item", "stock", "sold")
		config.Tables[0].Touch = []string{"moved"}
		tw := harness.NewTwin(t, srv, schema, config)
		for _, c := range []struct {
			stmt, class, want string
			args              []any
		}{
			{"UPDATE item SET stock = stock - 1 WHERE id = 1", "exact", "it takes from UNSIGNED counter stock", nil},
			{"UPDATE item SET stock = stock + ? WHERE id = 1", "exact", "it takes from UNSIGNED counter stock", []any{-1}},
			{"UPDATE item SET stock = stock + ? WHERE id = 1", "exact", "what it adds to counter stock is none of its numbers", []any{"x"}},
			{"UPDATE item SET sold = sold + 1, stock = stock + ? WHERE id = 1", "exact", "what it adds to counter stock is none of its numbers", []any{nil}},
			{"INSERT INTO item (id, stock) VALUES (1, 1), (2, 1) ON DUPLICATE KEY UPDATE stock = stock - 1", "exact", "it takes from UNSIGNED counter stock", nil},
			{"UPDATE item SET stock = stock + 1, moved = ? WHERE id = 1", "exact", "it sets touch column moved to another time than now", []any{"2026-01-02 03:04:05"}},
			{"UPDATE item SET moved = '2026-01-02 03:04:05' WHERE id = 1", "exact", "it sets touch column moved to another time than now", nil},
			{"UPDATE item SET stock = stock + 1 WHERE id = 1 LIMIT 1", "verbatim", "it has ORDER BY or LIMIT", nil},
			{"UPDATE item SET stock = stock + 1, name = 'x' WHERE id = 1", "verbatim", "it sets other columns than counters and touch columns", nil},
			{"UPDATE item SET stock = stock + 1 WHERE name = 'x'", "verbatim", "its condition does not give a primary or unique key", nil},
			{"UPDATE item SET stock = stock + ? WHERE id = 1", "verbatim", "it adds nothing", []any{0}},
			{"SELECT stock FROM item WHERE id = 1 FOR UPDATE", "sum", "inside a transaction: the base rows are locked before", nil},
		} {
			e, err := countermysql.Explain(t.Context(), tw.Ours, c.stmt, c.args...)
			require.NoError(t, err)
			require.EqualValues(t, c.class, e.Class, c.stmt)
			require.Contains(t, e.String(), c.want, c.stmt)
		}
	})
}
