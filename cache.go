package countermysql

import (
	"container/list"
	"strings"
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

func (c *conn) planIn(s *schema, text string) planUse {
	return c.planBy(s, planKey{text, c.session.mode, c.session.db})
}

func (c *conn) planBy(s *schema, k planKey) planUse {
	if use := s.plans.get(k); use.plan != nil {
		return use
	}
	use := c.planShared(s, k)
	if use.plan == nil {
		use.plan = c.planText(s, k)
		c.noteFallback(use.plan, k.text)
	}
	s.plans.put(k, use)
	return use
}

// noteFallback counts and logs a text that is not understood.
func (c *conn) noteFallback(p *plan, text string) {
	if !p.fallback {
		return
	}
	if d := digest(text); c.connector.stats.fallback(d, p.reason) {
		c.connector.log.Warn("countermysql: statement runs the exact way", "reason", p.reason, "statement", d)
	}
}

// planShared returns the plan that a text shares with all that differ from it
// in literals only; none where that can't be.
func (c *conn) planShared(s *schema, k planKey) planUse {
	if !s.mentions(k.text) {
		return planUse{}
	}
	text, lits := skeleton(k.text, k.mode)
	if lits == nil {
		return planUse{}
	}
	k.text = text
	use := s.plans.get(k)
	if use.plan == nil {
		use.plan = c.planText(s, k)
		s.plans.put(k, use)
	}
	if use.fallback || use.query != nil && use.query.converted.written(lits) {
		return planUse{} // perhaps it is a parameter that can't be parsed there, or needs another view
	}
	use.lits = lits
	return use
}

// namesNoTable reports whether a statement uses a table that an earlier one has named.
func namesNoTable(toks []token) bool {
	return len(toks) > 0 && (toks[0].is("EXECUTE") || toks[0].is("HANDLER"))
}

func (c *conn) planText(s *schema, k planKey) *plan {
	var p *plan
	toks := tokenize(k.text, k.mode)
	if s.mentions(k.text) || namesNoTable(toks) {
		p = s.plan(k.text, k.mode, k.db)
		p.named = true
	} else {
		p = &plan{}
		p.kind, p.arg = kindOf(toks)
		p.split = apart(k.text, toks, k.mode)
	}
	p.rowCount = strings.Contains(strings.ToUpper(k.text), "ROW_COUNT")
	p.locking, p.fixes = lockingRead(toks), consistentRead(toks)
	p.typedByArgs = typedByArgs(toks)
	p.keepsTypes = p.typedByArgs && !s.server.mariaDB
	p.simple = p.kind == kindOther && p.class == verbatim && p.increment == nil && p.writes == nil && p.cleaning == nil && p.split == nil && p.touches == nil && p.shows == nil && p.encounter == nil && !p.rowCount
	return p
}
