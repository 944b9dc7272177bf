package txn

import (
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
)

// Pending are the increments of one table that a transaction has not sent yet.
type Pending struct {
	Table   *catalog.Table
	Entries map[string]*slotsql.RowIncrement // by id; they stay as they are
	Late    bool                             // some came after the transaction's snapshot
	journal *journal                         // nil: they are no transaction's
}

func (p *Pending) Some() bool { return p != nil && len(p.Entries) > 0 }

// Get returns the entry of an id; nil if there is none.
func (p *Pending) Get(id string) *slotsql.RowIncrement {
	if p == nil {
		return nil
	}
	return p.Entries[id]
}

func (p *Pending) Put(e *slotsql.RowIncrement) {
	if p.Entries == nil {
		p.Entries = map[string]*slotsql.RowIncrement{}
	}
	rememberKey(p.journal, &p.Entries, e.ID)
	p.Entries[e.ID] = e
}

func (p *Pending) Remove(id string) {
	if p.Entries[id] != nil {
		rememberKey(p.journal, &p.Entries, id)
		delete(p.Entries, id)
	}
}

// goOver makes it the increments of the table as it is now.
func (p *Pending) goOver(t *catalog.Table) {
	remember(p.journal, &p.Table)
	p.Table = t
	for _, e := range p.Entries {
		p.Put(e.Widened(t))
	}
}

func (p *Pending) NoteLate(late bool) {
	if late && !p.Late {
		remember(p.journal, &p.Late)
		p.Late = true
	}
}

// Add sums an increment into its entry; false if the sum leaves 64 bits.
func (p *Pending) Add(e slotsql.RowIncrement) bool {
	sum := &e
	if old := p.Entries[e.ID]; old != nil {
		sum = old.Clone() // the journal holds the old one
		if !sum.Add(&e) {
			return false
		}
	}
	p.Put(sum)
	return true
}

// Sorted returns the entries in canonical order.
func (p *Pending) Sorted() []*slotsql.RowIncrement {
	all := make([]*slotsql.RowIncrement, 0, len(p.Entries))
	for _, e := range p.Entries {
		all = append(all, e)
	}
	slices.SortFunc(all, func(x, y *slotsql.RowIncrement) int { return p.Table.Key.Compare(x.Key, y.Key) })
	return all
}
