package countermysql

import (
	"hash/fnv"
	"strconv"
	"strings"
)

// SlotRangeAuto derives the range of slots from the server's host name and port.
const SlotRangeAuto = "auto"

// maxSlot is the largest number that a slot can have: SMALLINT UNSIGNED.
const maxSlot = 1<<16 - 1

// slotRange is where a process's slots lie.
type slotRange struct {
	from, size int // size 0: as many as the table has
	auto       bool
}

// parseSlotRange reads "16-31", "auto" or "".
func parseSlotRange(s string) (r slotRange, ok bool) {
	switch s {
	case "":
		return r, true
	case SlotRangeAuto:
		return slotRange{auto: true}, true
	}
	lo, hi, found := strings.Cut(s, "-")
	from, err := strconv.Atoi(lo)
	to, err2 := strconv.Atoi(hi)
	if !found || err != nil || err2 != nil || from < 0 || to < from || to > maxSlot || to-from >= maxSlots {
		return r, false
	}
	return slotRange{from: from, size: to - from + 1}, true
}

// of is the range for a server: with auto one of 64 that do not overlap.
func (r slotRange) of(server string) slotRange {
	if r.auto {
		h := fnv.New32a()
		h.Write([]byte(server))
		r.from = int(h.Sum32()%((maxSlot+1)/maxSlots)) * maxSlots
	}
	return r
}

// slots is how many slots a table has that is configured to have n.
func (r slotRange) slots(n int) int {
	if r.size > 0 {
		return min(n, r.size)
	}
	return n
}
