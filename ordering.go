package countermysql

import (
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
)

// pending are the increments of one table that a transaction has not sent yet.
type pending struct {
	t       *catalog.Table
	entries map[string]*slotsql.RowIncrement // by id; they stay as they are
	late    bool                             // some came after the transaction's snapshot
	journal *journal                         // nil: they are no transaction's
}

func (p *pending) some() bool { return p != nil && len(p.entries) > 0 }

// get returns the entry of an id; nil if there is none.
func (p *pending) get(id string) *slotsql.RowIncrement {
	if p == nil {
		return nil
	}
	return p.entries[id]
}

func (p *pending) put(e *slotsql.RowIncrement) {
	if p.entries == nil {
		p.entries = map[string]*slotsql.RowIncrement{}
	}
	rememberKey(p.journal, &p.entries, e.ID)
	p.entries[e.ID] = e
}

func (p *pending) remove(id string) {
	if p.entries[id] != nil {
		rememberKey(p.journal, &p.entries, id)
		delete(p.entries, id)
	}
}

// goOver makes it the increments of the table as it is now.
func (p *pending) goOver(t *catalog.Table) {
	remember(p.journal, &p.t)
	p.t = t
	for _, e := range p.entries {
		p.put(e.Widened(t))
	}
}

func (p *pending) noteLate(late bool) {
	if late && !p.late {
		remember(p.journal, &p.late)
		p.late = true
	}
}

// add sums an increment into its entry; false if the sum leaves 64 bits.
func (p *pending) add(e slotsql.RowIncrement) bool {
	sum := &e
	if old := p.entries[e.ID]; old != nil {
		sum = old.Clone() // the journal holds the old one
		if !sum.Add(&e) {
			return false
		}
	}
	p.put(sum)
	return true
}

// sorted returns the entries in canonical order.
func (p *pending) sorted() []*slotsql.RowIncrement {
	all := make([]*slotsql.RowIncrement, 0, len(p.entries))
	for _, e := range p.entries {
		all = append(all, e)
	}
	slices.SortFunc(all, func(x, y *slotsql.RowIncrement) int { return p.t.Compare(x.Key, y.Key) })
	return all
}
