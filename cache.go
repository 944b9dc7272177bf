package countermysql

import (
	"container/list"
	"sync"
)

const (
	maxPlans     = 4096
	maxPlanText  = 1 << 16 // longer texts are planned anew each time
	maxPlanBytes = 1 << 23 // of all texts
)

// planKey is all that a plan depends on beside the schema.
type planKey struct {
	text string
	mode lexMode
	db   string
}

// planCache keeps the plans used last.
type planCache struct {
	mu    sync.Mutex
	plans map[planKey]*list.Element
	order *list.List // of *cachedPlan, the latest first
	bytes int        // of the keys' texts
}

type cachedPlan struct {
	key planKey
	use planUse
}

// planUse is the plan of a text, and the literals that the text brings to it.
type planUse struct {
	*plan
	lits *inlined
}

func newPlanCache() *planCache {
	return &planCache{plans: map[planKey]*list.Element{}, order: list.New()}
}

func (c *planCache) get(k planKey) planUse {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.plans[k]
	if e == nil {
		return planUse{}
	}
	c.order.MoveToFront(e)
	return e.Value.(*cachedPlan).use
}

func (c *planCache) put(k planKey, use planUse) {
	if len(k.text) > maxPlanText {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plans[k] != nil {
		return
	}
	c.plans[k] = c.order.PushFront(&cachedPlan{k, use})
	c.bytes += len(k.text)
	for c.order.Len() > maxPlans || c.bytes > maxPlanBytes {
		last := c.order.Back()
		c.order.Remove(last)
		key := last.Value.(*cachedPlan).key
		delete(c.plans, key)
		c.bytes -= len(key.text)
	}
}
