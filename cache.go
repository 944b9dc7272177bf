package countermysql

import (
	"container/list"
	"sync"
)

const (
	maxPlans    = 4096
	maxPlanText = 1 << 16 // longer texts are planned anew each time
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
}

type cachedPlan struct {
	key  planKey
	plan *plan
}

func newPlanCache() *planCache {
	return &planCache{plans: map[planKey]*list.Element{}, order: list.New()}
}

func (c *planCache) get(k planKey) *plan {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.plans[k]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*cachedPlan).plan
}

func (c *planCache) put(k planKey, p *plan) {
	if len(k.text) > maxPlanText {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plans[k] != nil {
		return
	}
	c.plans[k] = c.order.PushFront(&cachedPlan{k, p})
	if c.order.Len() > maxPlans {
		last := c.order.Back()
		c.order.Remove(last)
		delete(c.plans, last.Value.(*cachedPlan).key)
	}
}
