package countermysql

import (
	"math/rand/v2"
	"sync"

	"github.com/countermysql/countermysql/internal/catalog"
)

// leases hands out slot numbers of one table so that transactions of this
// process which are sending at the same time do not meet in a slot: its row is
// locked until COMMIT is on disk. Other processes are avoided by chance.
type leases struct {
	mu    sync.Mutex
	inUse []int // by slot
}

// acquire returns the slot least in use, from a random place on.
func (l *leases) acquire(slots int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.inUse) < slots {
		l.inUse = append(l.inUse, make([]int, slots-len(l.inUse))...)
	}
	best := rand.IntN(slots)
	for i, at := 0, best; i < slots && l.inUse[best] > 0; i++ {
		if at = (at + 1) % slots; l.inUse[at] < l.inUse[best] {
			best = at
		}
	}
	l.inUse[best]++
	return best
}

func (l *leases) release(slot int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inUse[slot]--
}

// lease is a slot number that a connection uses until its transaction ends.
type lease struct {
	of   *leases
	slot int
	from int // where the range of slots begins
}

// slot returns the slot that the connection writes for a table: one and the
// same until the transaction ends.
func (c *conn) slot(t *catalog.Table) int {
	of := &c.connector.trafficOf(t).leases
	for _, held := range c.leased {
		if held.of == of {
			return held.from + held.slot
		}
	}
	r := c.connector.slotRange.of(c.session.server)
	held := lease{of, of.acquire(r.slots(t.Spec.Slots)), r.from}
	c.leased = append(c.leased, held)
	return held.from + held.slot
}

// unlease gives the connection's slots back.
func (c *conn) unlease() {
	for _, held := range c.leased {
		held.of.release(held.slot)
	}
	c.leased = c.leased[:0]
}
