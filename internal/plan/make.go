package plan

import (
	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

func Make(s *catalog.Schema, text string, mode sqltext.Mode, db string) *Plan {
	var p *Plan
	toks := sqltext.Tokenize(text, mode)
	if s.Mentions(text) || sqltext.NamesNoTable(toks) {
		p = NewPlan(s, text, mode, db)
		p.Named = true
	} else {
		p = &Plan{Effect: sqltext.EffectOf(toks), Work: splitInto(sqltext.OneByOne(text, toks, mode))}
	}
	p.Locking, p.Fixes = sqltext.LockingRead(toks), sqltext.ConsistentRead(toks)
	p.Simple = p.Effect == nil && p.Work == nil && p.Writes == nil && p.Sweep == nil && p.Encounter == nil
	return p
}

// NewPlan decides what becomes of a statement. It does no I/O.
func NewPlan(s *catalog.Schema, text string, mode sqltext.Mode, db string) *Plan {
	a := newAnalyzer(s, text, mode, db)
	effect := sqltext.EffectOf(a.toks)
	p, e := a.plan(effect), a.encounter(effect)
	_, split := p.Work.(*Split)
	if _, calls := effect.(sqltext.Call); e != nil && !split && !calls {
		if parts := sqltext.Statements(text, a.toks); len(parts) > 1 {
			p, split = &Plan{Work: &Split{parts}}, true
		}
	}
	if !split {
		p.Encounter = e
	}
	_, loads := effect.(sqltext.Load)
	p.Once = sqltext.AssignsAny(a.toks) || loads && sqltext.HasWord(a.toks, "LOCAL")
	p.Effect, p.Params = effect, len(a.params)
	return p
}
