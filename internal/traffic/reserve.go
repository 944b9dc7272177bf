package traffic

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
)

// Reserve is what a process knows of the reserved rows of a table's keys: how many units each
// holds, as far as it has seen, and which of them its own transactions have locked. The server
// has the last word: what is believed of a row only chooses which one is asked. The zero value
// knows none.
type Reserve struct {
	some atomic.Int32 // keys that have rows
	mu   sync.Mutex
	keys map[string]*reservedKey
}

// reservedKey is a key that transactions take units from.
type reservedKey struct {
	rows    []reservedRow // nil: it has had none
	seen    time.Duration // by clock: when somebody was last concerned with it
	takers  int           // open transactions that have taken some, or wanted to
	share   int64         // of each row, when they were filled; 0: not by this process
	filled  time.Duration // by clock: when a row of it was last seen
	filling bool
	rest    time.Time // until then it is not filled again
}

type reservedRow struct {
	units int64
	taken bool // a transaction of this process has locked it
}

// Unknown is how many units a row has that somebody else has locked.
const Unknown = -1

const (
	fillRest  = 50 * time.Millisecond // between two fillings of a key
	emptyRest = time.Second           // behind one that has found too little
	idle      = 25 * time.Second      // from then on they may go
	stale     = 15 * time.Second      // what rows hold that were not seen for so long, another process may have taken, or a rollup

	// Tries is how many rows a transaction asks for before it goes the exact way.
	Tries = 3

	manyReserved = 64 // keys: from there on those that nobody uses are forgotten
)

// Takes is whether a plan's guarded update is to take from reserved rows. The zero value says
// that it is.
type Takes struct{ not atomic.Int64 } // by clock: until then

// May reports it.
func (t *Takes) May() bool { return int64(catalog.Clock()) >= t.not.Load() }

// Taking is what one transaction has to do with a key's reserved rows, until it ends.
type Taking struct {
	of   *Reserve
	id   string
	key  *reservedKey
	by   *Takes
	held []int // rows that nobody else of this process asks for
	lone bool  // no other transaction was there when it came
	took bool
}

// Some reports whether any key is known to have reserved rows.
func (r *Reserve) Some() bool { return r.some.Load() > 0 }

// Idle reports whether nobody of this process was concerned with a key's reserved rows of late.
func (r *Reserve) Idle(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.keys[id]
	return k == nil || k.takers == 0 && catalog.Clock()-k.seen > idle
}

// Has reports whether a key is known to have some.
func (r *Reserve) Has(id string) bool {
	if !r.Some() {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.keys[id]
	return k != nil && k.rows != nil
}

// Enter notes a transaction that wants units of a key.
func (r *Reserve) Enter(key catalog.Key, by *Takes) *Taking {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.known(key.ID())
	k.takers++
	return &Taking{of: r, id: key.ID(), key: k, by: by, lone: k.takers == 1}
}

// known is what is known of a key. Those that nobody uses are forgotten if there are many.
func (r *Reserve) known(id string) *reservedKey {
	now := catalog.Clock()
	if k := r.keys[id]; k != nil {
		k.seen = now
		return k
	}
	if r.keys == nil {
		r.keys = map[string]*reservedKey{}
	}
	if len(r.keys) >= manyReserved {
		for id, k := range r.keys {
			if k.takers == 0 && !k.filling && (k.rows == nil || now-k.seen > otherFor) {
				r.set(k, nil)
				delete(r.keys, id)
			}
		}
	}
	k := &reservedKey{seen: now}
	r.keys[id] = k
	return k
}

// Of reports whether it is of a key.
func (x *Taking) Of(r *Reserve, id string) bool { return x.of == r && x.id == id }

// In reports whether it is of some key of a table.
func (x *Taking) In(r *Reserve) bool { return x.of == r }

// Choose is a row that may have so many units, for the transaction alone among those of this
// process; false if none is known.
func (x *Taking) Choose(units int64) (row int, ok bool) {
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	rows := x.key.rows
	if len(rows) == 0 || catalog.Clock()-x.key.filled > stale {
		return 0, false
	}
	for i, at := 0, rand.IntN(len(rows)); i < len(rows); i++ {
		row = (at + i) % len(rows)
		if of := &rows[row]; !of.taken && of.units >= units {
			of.taken = true
			x.held = append(x.held, row)
			return row, true
		}
	}
	return 0, false
}

// Left notes how many units a row has for others; none if it was not to be had.
func (x *Taking) Left(row int, units int64) {
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	if row < len(x.key.rows) {
		x.key.rows[row].units, x.key.filled = units, catalog.Clock()
	}
}

// Took notes that the transaction has taken units, of a row that had so many left for others.
func (x *Taking) Took(row int, left int64) {
	x.took = true
	x.Left(row, left)
}

// Upset notes that the transaction needs the key's row itself. If it has taken units, others of
// its plan will, and need the row as well: all of them would wait for each other.
func (x *Taking) Upset() {
	if x.took {
		x.by.not.Store(int64(catalog.Clock() + otherFor))
	}
}

// Leave ends what Enter has begun.
func (x *Taking) Leave() {
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	x.key.takers--
	for _, row := range x.held {
		if row < len(x.key.rows) {
			x.key.rows[row].taken = false
		}
	}
}

// Fill reports whether the key's rows should be filled, and that its caller does so: several
// transactions want units of it at once, and the rows hold less than half of what they got.
func (x *Taking) Fill() bool {
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	k, left := x.key, int64(0)
	if catalog.Clock()-k.filled <= stale {
		for _, of := range k.rows {
			left += of.units
		}
	}
	if k.filling || time.Now().Before(k.rest) || x.lone && left == 0 {
		return false
	}
	k.filling = k.share == 0 || left < k.share*int64(len(k.rows))/2
	return k.filling
}

// Filled notes what the rows of a key hold now, behind Fill, and how much each was to get; 0 if
// there was too little.
func (r *Reserve) Filled(id string, units []int64, share int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.known(id)
	k.filling = false
	if share == 0 {
		k.rest = time.Now().Add(emptyRest)
		return
	}
	k.rest, k.share, k.filled = time.Now().Add(fillRest), share, catalog.Clock()
	rows := make([]reservedRow, len(units))
	for i, n := range units {
		if i < len(k.rows) {
			rows[i] = k.rows[i]
		}
		if n != Unknown {
			rows[i].units = n
		}
	}
	r.set(k, rows)
}

// Met notes that a key has reserved rows, which another process may have filled.
func (r *Reserve) Met(id string, rows int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k := r.known(id); len(k.rows) < rows {
		r.set(k, append(k.rows, make([]reservedRow, rows-len(k.rows))...))
	}
}

// Emptied notes that a key's reserved rows hold nothing any more.
func (r *Reserve) Emptied(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k := r.keys[id]; k != nil && k.rows != nil {
		k.share = 0
		for i := range k.rows {
			k.rows[i].units = 0
		}
	}
}

func (r *Reserve) set(k *reservedKey, rows []reservedRow) {
	switch {
	case k.rows == nil && rows != nil:
		r.some.Add(1)
	case k.rows != nil && rows == nil:
		r.some.Add(-1)
	}
	k.rows = rows
}
