package traffic

import (
	"math/rand/v2"
	"sync"
)

// Leases hands out slot numbers of one table so that transactions of this
// process which are sending at the same time do not meet in a slot: its row is
// locked until COMMIT is on disk. Other processes are avoided by chance.
type Leases struct {
	mu    sync.Mutex
	inUse []int // by slot
}

// acquire returns the slot least in use, from a random place on.
func (l *Leases) acquire(slots int) int {
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

func (l *Leases) release(slot int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inUse[slot]--
}

// Held are the slots that a connection writes until its transaction ends, one of each
// table, and the rows that it has claimed. The zero value holds none.
type Held struct {
	all    []lease
	claims []*claim
}

type lease struct {
	of   *Leases
	slot int
	from int // where the range of slots begins
}

// Slot is the slot of a table that has so many, on a server.
func (h *Held) Slot(of *Leases, r SlotRange, server string, slots int) int {
	for _, held := range h.all {
		if held.of == of {
			return held.from + held.slot
		}
	}
	r = r.of(server)
	held := lease{of, of.acquire(r.slots(slots)), r.from}
	h.all = append(h.all, held)
	return held.from + held.slot
}

// Release gives all of them back.
func (h *Held) Release() {
	for _, held := range h.all {
		held.of.release(held.slot)
	}
	h.all = h.all[:0]
	for _, c := range h.claims {
		c.end()
	}
	h.claims = h.claims[:0]
}
