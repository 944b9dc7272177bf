package countermysql

import (
	"context"
	"database/sql/driver"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/plan"
)

// TestNoAllocations proves that looking up a statement seen before allocates
// nothing, whether it names a counter table or not.
func TestNoAllocations(t *testing.T) {
	c := benchConn(t)
	s := c.connector.watcher.Current()
	for _, text := range []string{"SELECT name FROM user WHERE id = ?", "UPDATE post SET likes = likes + ? WHERE id = ?"} {
		first := c.planIn(s, text)
		require.Zero(t, testing.AllocsPerRun(100, func() {
			if c.planIn(s, text) != first {
				t.Error("the plan was made anew")
			}
		}), text)
	}
}

// TestFewAllocations proves that what a statement costs beside that stays as it is:
// nothing where it was seen before, and the text that an increment is sent as.
func TestFewAllocations(t *testing.T) {
	c, ctx := benchConn(t), context.Background()
	const text = "UPDATE post SET likes = likes + ? WHERE id = ?"
	for _, text := range []string{"SELECT name FROM user WHERE id = ?", text} {
		require.Zero(t, testing.AllocsPerRun(100, func() {
			if _, err := c.planOf(ctx, text, nil); err != nil {
				t.Error(err)
			}
		}), text)
	}
	p, err := c.planOf(ctx, text, nil)
	require.NoError(t, err)
	args := named([]driver.Value{int64(1), int64(123456)})
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		bound := c.Filler.Bind(p.Increment(), plan.Binder{Encoder: c.Literals, Args: args})
		if _, ok := c.Filler.Statement("", catalog.ShareMode, 3); !ok || !bound {
			t.Error("not bound")
		}
	}), 2.0)
}

// TestPlanCacheIsBounded proves that endless new texts do not fill the memory,
// and that those in use stay.
func TestPlanCacheIsBounded(t *testing.T) {
	cache := newPlanCache()
	used := planKey{text: "in use"}
	kept := &plan.Plan{}
	cache.put(used, planUse{Plan: kept})
	for i := range 3 * maxPlans {
		cache.put(planKey{text: fmt.Sprint(i)}, planUse{Plan: &plan.Plan{}})
		require.Same(t, kept, cache.get(used).Plan)
	}
	require.Len(t, cache.plans, maxPlans)
	require.Equal(t, maxPlans, cache.order.Len())
}
