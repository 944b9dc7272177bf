package countermysql

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// TestLiteralsShareAPlan proves that endless ids in the text cost one plan.
func TestLiteralsShareAPlan(t *testing.T) {
	c := benchConn(t)
	s := c.connector.watcher.Current()
	var first *plan.Plan
	for i := range 10 * maxPlans {
		use := c.planIn(s, fmt.Sprintf("UPDATE post SET likes = likes + %d WHERE id = %d AND slug = 'it''s %d'", i, i, i))
		if first == nil {
			first = use.Plan
		}
		require.Same(t, first, use.Plan)
	}
	require.LessOrEqual(t, len(c.connector.plans.plans), maxPlans)
	require.LessOrEqual(t, c.connector.plans.bytes, maxPlanBytes)
}

// TestLiteralsThatCannotBeShared proves that a text whose literals can't be
// parameters is planned by itself.
func TestLiteralsThatCannotBeShared(t *testing.T) {
	c := benchConn(t)
	s := c.connector.watcher.Current()
	for _, text := range []string{
		"SELECT likes FROM post WHERE (title->'$.a')",
		"SELECT likes FROM post WHERE deleted_at > NOW() - INTERVAL 1 DAY ORDER BY 1 LIMIT 3",
		"SELECT likes FROM post WHERE title = 'a' 'b'",
	} {
		use := c.planIn(s, text)
		require.False(t, use.Fallback, text)
		require.Equal(t, plan.NewPlan(s, text, sqltext.Mode{}, "forum").Sum().SQL, use.Sum().SQL, text)
	}
}
