package traffic

import (
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
)

// Auto derives the range of slots from the server's host name and port.
const Auto = "auto"

// MaxSlots keeps sums cheap: a read adds up every slot of its key.
const MaxSlots = 1024

// maxSlot is the largest number that a slot can have: SMALLINT UNSIGNED.
const maxSlot = 1<<16 - 1

// SlotRange is where a process's slots lie.
type SlotRange struct {
	from, size int // size 0: as many as the table has
	auto       bool
}

// ParseSlotRange reads "16-31", "auto" or "".
func ParseSlotRange(s string) (r SlotRange, ok bool) {
	switch s {
	case "":
		return r, true
	case Auto:
		return SlotRange{auto: true}, true
	}
	lo, hi, found := strings.Cut(s, "-")
	from, err := strconv.Atoi(lo)
	to, err2 := strconv.Atoi(hi)
	if !found || err != nil || err2 != nil || from < 0 || to < from || to > maxSlot || to-from >= MaxSlots {
		return r, false
	}
	return SlotRange{from: from, size: to - from + 1}, true
}

// of is the range for a server: with auto one of 63 that do not overlap, nor with what
// triggers write.
func (r SlotRange) of(server string) SlotRange {
	if r.auto {
		h := fnv.New32a()
		h.Write([]byte(server))
		r.from = int(h.Sum32()%(catalog.FirstReserved/MaxSlots)) * MaxSlots
	}
	return r
}

// Whole reports whether it leaves the slots to the table's configuration: other processes
// may write the same.
func (r SlotRange) Whole() bool { return !r.auto && r.size == 0 }

// slots is how many slots a table has that is configured to have n.
func (r SlotRange) slots(n int) int {
	if r.size > 0 {
		return min(n, r.size)
	}
	return n
}
