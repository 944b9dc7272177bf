package buffer

import (
	"hash/maphash"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
)

// knownFor is for how long a row counts as there since a statement, or a flush, has met it.
const knownFor = time.Minute

// mostUnits bounds a sum: two of them, one being sent and one that waits, stay within 64 bits.
const mostUnits = 1 << 61

// parts is how many parts a generation has, so that callers seldom meet.
const parts = 64

// fewKnown is of how many rows a part knows at least: where few keys may wait, chance would decide which rows
// are known, by the parts that they fall into.
const fewKnown = 64

var seed = maphash.MakeSeed()

// generation is what waits of a table, as one reading of the schema has it.
type generation struct {
	table *catalog.Table
	parts [parts]part
}

// part is some of the keys.
type part struct {
	mu           sync.Mutex
	cells        map[string]*cell
	dirty        []*cell       // those of which something waits
	first        time.Duration // when the first increment of them came
	acknowledged int64         // increments, in all
	waiting      int64         // of them, not stored yet
	closed       bool          // it takes no more
	_            [40]byte      // its neighbour is in another cache line
}

// cell is what is known of a key, and what waits of it.
type cell struct {
	id      string
	deltas  []int64
	count   int64           // increments in deltas
	since   uint64          // how many flushes had begun when the first of them came
	came    time.Duration   // when it came
	known   []time.Duration // until when the row counts as there, with a number in each counter
	waits   bool
	flights int // how many flushes have something of it under way
}

// entry is what a flush has taken out of a cell.
type entry struct {
	cell    *cell
	part    *part
	deltas  []int64
	count   int64
	since   uint64
	came    time.Duration
	decided bool // it is stored, lost, or waits again
}

// outcome is what becomes of an increment.
type outcome uint8

const (
	added   outcome = iota
	unknown         // nobody knows of the row, or the sum would get too large: the statement runs as usual
	full            // too many keys wait
	closed          // the generation takes no more
)

func newGeneration(t *catalog.Table) *generation {
	g := &generation{table: t}
	for i := range g.parts {
		g.parts[i].cells = map[string]*cell{}
	}
	return g
}

func (g *generation) part(id []byte) *part {
	return &g.parts[maphash.Bytes(seed, id)%parts]
}

// add adds to a key whose row is known.
func (b *Table) add(g *generation, id []byte, deltas []int64) outcome {
	p, now := g.part(id), catalog.Clock()
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.cells[string(id)]
	switch {
	case p.closed:
		return closed
	case c == nil:
		return unknown
	}
	for i, d := range deltas {
		if d != 0 && c.known[i] < now || d > mostUnits || d < -mostUnits || c.deltas[i]+d > mostUnits || c.deltas[i]+d < -mostUnits {
			return unknown
		}
	}
	if !c.waits {
		if c.flights == 0 && b.keys.Add(1) > int64(b.spec.Buffered.Keys) {
			b.keys.Add(-1)
			return full
		}
		p.wait(c, b.begun.Load(), now)
	}
	for i, d := range deltas {
		c.deltas[i] += d
	}
	c.count++
	p.acknowledged++
	p.waiting++
	return added
}

// wait has something of a cell wait that came then.
func (p *part) wait(c *cell, since uint64, came time.Duration) {
	if !c.waits {
		c.waits, c.since, c.came = true, since, came
		if len(p.dirty) == 0 {
			p.first = came
		}
		p.dirty = append(p.dirty, c)
	}
	c.since, c.came, p.first = min(c.since, since), min(c.came, came), min(p.first, came)
}

// learn notes that a key's row is there, and has numbers in some counters.
func (g *generation) learn(id []byte, deltas []int64, most int) {
	p, now := g.part(id), catalog.Clock()
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.cells[string(id)]
	if c == nil {
		if len(p.cells) > most {
			p.forget(now, most-most/4)
		}
		c = &cell{id: string(id), deltas: make([]int64, len(deltas)), known: make([]time.Duration, len(deltas))}
		p.cells[c.id] = c
	}
	c.know(deltas, now)
}

// forget lets go of keys of which nothing waits, until so many are left, and of all whose rows
// have not been met for long.
func (p *part) forget(now time.Duration, most int) {
	for id, c := range p.cells {
		if !c.waits && c.flights == 0 && (len(p.cells) > most || slices.Max(c.known) < now) {
			delete(p.cells, id)
		}
	}
}

// know notes that counters which have been added to have numbers.
func (c *cell) know(deltas []int64, now time.Duration) {
	for i, d := range deltas {
		if d != 0 {
			c.known[i] = now + knownFor
		}
	}
}

// never is when something came that has not: later than all that has.
const never = time.Duration(math.MaxInt64)

// take takes out all that waits, and tells when the first of it came.
func (g *generation) take() (all []*entry, first time.Duration) {
	first = never
	for i := range g.parts {
		p := &g.parts[i]
		p.mu.Lock()
		if len(p.dirty) > 0 {
			first = min(first, p.first)
		}
		for _, c := range p.dirty {
			all = append(all, &entry{cell: c, part: p, deltas: c.deltas, count: c.count, since: c.since, came: c.came})
			c.deltas, c.count, c.waits = make([]int64, len(c.deltas)), 0, false
			c.flights++
		}
		p.dirty = p.dirty[:0]
		p.mu.Unlock()
	}
	return all, first
}

// stored ends an entry that is stored.
func (b *Table) stored(e *entry) {
	b.end(e, func(c *cell) { c.know(e.deltas, catalog.Clock()) })
}

// end ends an entry of which nothing waits any more.
func (b *Table) end(e *entry, note func(c *cell)) {
	e.part.mu.Lock()
	defer e.part.mu.Unlock()
	c := e.cell
	e.decided = true
	e.part.waiting -= e.count
	c.flights--
	note(c)
	if !c.waits && c.flights == 0 {
		b.keys.Add(-1)
	}
}

// back has an entry wait for the next flush.
func (e *entry) back() {
	e.part.mu.Lock()
	defer e.part.mu.Unlock()
	c := e.cell
	e.decided = true
	c.flights--
	for i, d := range e.deltas {
		c.deltas[i] += d
	}
	c.count += e.count
	e.part.wait(c, e.since, e.came)
}

// apart are the increments of an entry, each of one counter.
func (e *entry) apart() (all []*entry) {
	for i, d := range e.deltas {
		if d != 0 {
			one := &entry{cell: e.cell, part: e.part, deltas: make([]int64, len(e.deltas)), since: e.since, came: e.came}
			one.deltas[i] = d
			all = append(all, one)
		}
	}
	if len(all) < 2 {
		return nil
	}
	all[0].count = e.count
	e.part.mu.Lock()
	defer e.part.mu.Unlock()
	e.cell.flights += len(all) - 1
	e.decided = true
	return all
}

// close lets a generation take no more; with empty only if nothing waits in it.
func (g *generation) close(empty bool) bool {
	for i := range g.parts {
		g.parts[i].mu.Lock()
		defer g.parts[i].mu.Unlock()
	}
	for i := range g.parts {
		if empty && g.parts[i].waiting != 0 {
			return false
		}
	}
	for i := range g.parts {
		g.parts[i].closed = true
	}
	return true
}

// sums are the increments of a generation, in all and not stored yet, and when the first of
// those came that no flush has taken.
func (g *generation) sums() (acknowledged, waiting int64, first time.Duration) {
	first = never
	for i := range g.parts {
		p := &g.parts[i]
		p.mu.Lock()
		acknowledged, waiting = acknowledged+p.acknowledged, waiting+p.waiting
		if len(p.dirty) > 0 {
			first = min(first, p.first)
		}
		p.mu.Unlock()
	}
	return acknowledged, waiting, first
}
