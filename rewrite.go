package countermysql

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"

	"github.com/countermysql/countermysql/internal/buffer"
	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/increment"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/read"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/traffic"
)

const (
	maxPlans     = 4096
	maxPlanText  = 1 << 16 // longer texts are planned anew each time
	maxPlanBytes = 1 << 23 // of all texts
)

// planKey is all that a plan depends on.
type planKey struct {
	schema *catalog.Schema
	mode   sqltext.Mode // beside the pointer, so that one hash takes both
	text   string
	db     string
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

// planUse is the plan of a text, the literals that the text brings to it, and what is
// remembered from one execution to the next.
type planUse struct {
	*plan.Plan
	lits  *sqltext.Literals
	state *planState
}

// planState is what the executions of one plan have in common.
type planState struct {
	batch  *increment.Batch // of the increment; nil: it goes by itself
	buffer *buffer.Table    // of its table; nil: it has none
	behind traffic.Behind   // the increment
	takes  traffic.Takes    // the guarded update
	query  read.State
	noted  atomic.Bool  // as a fallback
	parsed atomic.Int32 // by the server, what the driver can't parse: see garbled
}

// clear forgets all plans: they were made by a schema that no longer holds.
func (c *planCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.plans)
	c.order.Init()
	c.bytes = 0
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

func (c *conn) planIn(s *catalog.Schema, text string) planUse {
	return c.connector.planBy(planKey{s, c.Settings.Mode, text, c.Settings.DB})
}

func (c *Connector) planBy(k planKey) planUse { return c.planWith(c.plans, k) }

func (c *Connector) planWith(plans *planCache, k planKey) planUse {
	if use := plans.get(k); use.Plan != nil {
		return use
	}
	use := c.planShared(plans, k)
	if use.Plan == nil {
		use = c.planAnew(k)
	}
	plans.put(k, use)
	return use
}

// planAnew plans a text, and remembers nothing.
func (c *Connector) planAnew(k planKey) planUse {
	use := planUse{Plan: plan.Make(k.schema, k.text, k.mode, k.db), state: &planState{}}
	if inc := use.Increment(); inc != nil {
		use.state.buffer = c.buffers.Of(inc.Table)
		if inc.Joins {
			use.state.batch = c.increments.Batch(inc.Table, inc.Name, inc.Keys[0].Columns)
		}
	}
	return use
}

// understood is the plan of a text that the driver can't parse. Where the server can't either,
// it goes to the server, which says so: no row is locked for it.
func (c *conn) understood(ctx context.Context, use planUse, text string) planUse {
	if c.garbled(ctx, use.state, text) {
		use.Plan = &plan.Plan{Named: true, Reason: "the server can't parse it"}
	} else if use.Fallback && use.state.noted.CompareAndSwap(false, true) {
		c.connector.noteFallback(use.Plan, text)
	}
	return use
}

// What garbled has found out.
const (
	unasked int32 = iota
	isParsed
	isGarbled
)

// garbled reports whether the server can't parse a text. It is asked once for each plan.
func (c *conn) garbled(ctx context.Context, state *planState, text string) bool {
	toks := sqltext.Tokenize(text, c.Settings.Mode)
	switch {
	case state.parsed.Load() != unasked:
	case toks[0].Is("CALL"), len(sqltext.Statements(text, toks)) > 1, c.connector.cfg.MultiStatements && sqltext.HasInner(toks), sqltext.Parameters(toks) > 0 && c.connector.cfg.InterpolateParams:
		return false // it is not prepared as it is sent
	case (&call{conn: c, text: text}).parses(ctx) != nil:
		state.parsed.Store(isGarbled)
	case ctx.Err() == nil && c.Usable():
		state.parsed.Store(isParsed)
	}
	return state.parsed.Load() == isGarbled
}

// noteFallback counts and logs a text that is not understood.
func (c *Connector) noteFallback(p *plan.Plan, text string) {
	if d := sqltext.Digest(text); c.stats.Fallback(d, p.Reason) {
		c.log.Warn("countermysql: statement runs the exact way", "reason", p.Reason, "statement", d)
	}
}

// planShared returns the plan that a text shares with all that differ from it
// in literals only; none where that can't be.
func (c *Connector) planShared(plans *planCache, k planKey) planUse {
	if !k.schema.Mentions(k.text) {
		return planUse{}
	}
	text, lits := sqltext.Normalize(k.text, k.mode)
	if lits == nil {
		return planUse{}
	}
	k.text = text
	use := plans.get(k)
	if use.Plan == nil {
		use = c.planAnew(k)
		plans.put(k, use)
	}
	if q := use.Sum(); use.Fallback || q != nil && q.Converted.Written(lits) {
		return planUse{} // perhaps it is a parameter that can't be parsed there, or needs another view
	}
	use.lits = lits
	return use
}
