package traffic

import (
	"math/rand/v2"
	"slices"
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
	some  atomic.Int32 // keys that have rows
	mu    sync.Mutex
	keys  map[string]*reservedKey
	swept time.Duration // by clock
}

// reservedKey is a key that transactions take units from.
type reservedKey struct {
	taken  []bool            // by row: a transaction of this process has locked it; nil: it has had none
	seen   time.Duration     // by clock: when somebody was last concerned with it
	takers int               // open transactions that have taken some, or wanted to
	early  int               // those of them that came when it was not known to have rows
	stocks map[string]*stock // by counter
}

// stock is what rows hold of one counter.
type stock struct {
	units   []int64       // by row
	share   int64         // of each row, when they were filled; 0: not by this process
	looked  time.Duration // by clock: when a row of it was last seen
	filling bool
	rest    time.Duration // by clock: until then it is not filled again
	shared  time.Duration // by clock: until then another process is believed to take from the rows, too
}

// Unknown is how many units a row has that somebody else has locked.
const Unknown = -1

const (
	fillRest  = 50 * time.Millisecond // between two fillings of a key
	emptyRest = time.Second           // behind one that has found too little, or has failed
	lookRest  = 50 * time.Millisecond // between two looks at rows that have nothing
	idle      = 25 * time.Second      // from then on they may go
	sharedFor = 10 * time.Second      // behind something that another process must have done
	stale     = 15 * time.Second      // what rows hold that were not seen for so long, another process may have taken, or a rollup

	// Tries is how many rows a transaction asks for before it goes the exact way.
	Tries = 3

	manyReserved = 64 // keys: from there on those that nobody uses are forgotten, now and then
)

// Takes is whether a plan's guarded update is to take from reserved rows. The zero value says
// that it is.
type Takes struct{ not atomic.Int64 } // by clock: until then

// May reports it.
func (t *Takes) May() bool { return int64(catalog.Clock()) >= t.not.Load() }

// Taking is what one transaction has to do with a key's reserved rows, until it ends.
type Taking struct {
	of      *Reserve
	id      string
	key     *reservedKey
	counter string
	stock   *stock
	by      *Takes
	held    []int // rows that nobody else of this process asks for
	lone    bool  // no other transaction was there when it came
	early   bool  // nor was the key known to have rows
	took    bool
	again   bool // the transaction has another one of the key
}

// Some reports whether any key is known to have reserved rows.
func (r *Reserve) Some() bool { return r.some.Load() > 0 }

// Idle reports whether nobody of this process was concerned with a key's reserved rows of late. Of
// a key that it meets for the first time it does not know.
func (r *Reserve) Idle(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k := r.keys[id]; k != nil {
		return k.takers == 0 && catalog.Clock()-k.seen > idle
	}
	r.known(id)
	return false
}

// Has reports whether a key is known to have some.
func (r *Reserve) Has(id string) bool {
	if !r.Some() {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.keys[id]
	return k != nil && k.taken != nil
}

// Early reports whether transactions are open that wanted units of a key before it was known to have
// reserved rows: they have the base row, or wait for it, without these.
func (r *Reserve) Early(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.keys[id]
	return k != nil && k.early > 0
}

// Enter notes a transaction that wants units of a key's counter; again says that it has entered
// for another one of the key.
func (r *Reserve) Enter(key catalog.Key, counter string, by *Takes, again bool) *Taking {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.known(key.ID())
	if !again {
		k.takers++
	}
	x := &Taking{of: r, id: key.ID(), key: k, counter: counter, stock: k.stock(counter), by: by, again: again, lone: k.takers == 1, early: k.taken == nil}
	if x.early {
		k.early++
	}
	return x
}

// known is what is known of a key.
func (r *Reserve) known(id string) *reservedKey {
	now := catalog.Clock()
	if k := r.keys[id]; k != nil {
		k.seen = now
		return k
	}
	if r.keys == nil {
		r.keys = map[string]*reservedKey{}
	}
	if len(r.keys) >= manyReserved && now-r.swept > time.Second {
		r.swept = now
		for id, k := range r.keys {
			if k.takers == 0 && !k.filling() && (k.taken == nil && now-k.seen > 2*idle || now-k.seen > otherFor) {
				if k.taken != nil {
					r.some.Add(-1)
				}
				delete(r.keys, id)
			}
		}
	}
	k := &reservedKey{seen: now, stocks: map[string]*stock{}}
	r.keys[id] = k
	return k
}

func (k *reservedKey) stock(counter string) *stock {
	if k.stocks[counter] == nil {
		k.stocks[counter] = &stock{}
	}
	return k.stocks[counter]
}

func (k *reservedKey) filling() bool {
	for _, s := range k.stocks {
		if s.filling {
			return true
		}
	}
	return false
}

// Of reports whether it is of a key.
func (x *Taking) Of(r *Reserve, id string) bool { return x.of == r && x.id == id }

// From reports whether it is of a counter of a key.
func (x *Taking) From(r *Reserve, id, counter string) bool {
	return x.Of(r, id) && x.counter == counter
}

// In reports whether it is of some key of a table.
func (x *Taking) In(r *Reserve) bool { return x.of == r }

// Choose is a row that may have so many units, for the transaction alone among those of this
// process; false if none is known.
func (x *Taking) Choose(units int64) (row int, ok bool) {
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	s := x.stock
	if len(s.units) == 0 || catalog.Clock()-s.looked > stale {
		return 0, false
	}
	for i, at := 0, rand.IntN(len(s.units)); i < len(s.units); i++ {
		row = (at + i) % len(s.units)
		if !x.key.taken[row] && s.units[row] >= units {
			x.key.taken[row] = true
			x.held = append(x.held, row)
			return row, true
		}
	}
	return 0, false
}

// Looks reports whether what the rows have is to be looked at: another process takes from them, and
// who locks one that has too little may keep others from all of them; or none is known to have any,
// or was of late, and another process may have filled them. Of these one looks for all.
func (x *Taking) Looks() bool {
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	s, now, after := x.stock, catalog.Clock(), stale
	if !slices.ContainsFunc(s.units, func(n int64) bool { return n > 0 }) {
		after = lookRest
	}
	switch {
	case now < s.shared:
		return true
	case x.key.taken == nil || s.looked != 0 && now-s.looked <= after:
		return false
	}
	s.looked = now
	return true
}

// Saw notes what a row has, as committed, if it is nobody's here.
func (x *Taking) Saw(row int, units int64) {
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	if s := x.stock; row < len(x.key.taken) && !x.key.taken[row] {
		s.units = append(s.units, make([]int64, max(0, row+1-len(s.units)))...)
		s.units[row] = units
	}
}

// Found notes what a row has that was chosen; Unknown: it was not to be had.
func (x *Taking) Found(row int, units int64) {
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	if s := x.stock; row < len(s.units) && units < s.units[row] {
		s.shared = catalog.Clock() + sharedFor
		s.units[row] = max(units, 0)
	}
}

// Took notes that the transaction has taken units, of a row that has so many left.
func (x *Taking) Took(row int, left int64) {
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	x.took = true
	if row < len(x.stock.units) {
		x.stock.units[row], x.stock.looked = left, catalog.Clock()
	}
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
	if !x.again {
		x.key.takers--
	}
	if x.early {
		x.key.early--
	}
	x.key.seen = catalog.Clock()
	for _, row := range x.held {
		x.key.taken[row] = false
	}
}

// Fill reports whether the key's rows should be filled, and that its caller does so: several
// transactions want units of it at once, and the rows hold less than half of what they got.
func (x *Taking) Fill() bool {
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	s, now, left := x.stock, catalog.Clock(), int64(0)
	if now-s.looked <= stale {
		for _, n := range s.units {
			left += n
		}
	}
	if s.filling || now < s.rest || x.lone && left == 0 {
		return false
	}
	s.filling = s.share == 0 || left < s.share*int64(len(s.units))/2
	return s.filling
}

// Filled notes what the rows of a key hold of a counter now, behind Fill, and how much each was to
// get; 0 if there was too little.
func (r *Reserve) Filled(key catalog.Key, counter string, units []int64, share int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.known(key.ID())
	s, now := k.stock(counter), catalog.Clock()
	s.filling = false
	if share == 0 {
		s.rest = now + emptyRest
		return
	}
	s.rest, s.share, s.looked = now+fillRest, share, now
	r.grow(k, len(units))
	held := s.units
	s.units = make([]int64, len(units))
	for i, n := range units {
		switch {
		case n != Unknown:
			s.units[i] = n
		case i < len(held):
			s.units[i] = held[i]
		}
	}
}

// Met notes that a key has reserved rows, which another process may have filled.
func (r *Reserve) Met(id string, rows int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.grow(r.known(id), rows)
}

func (r *Reserve) grow(k *reservedKey, rows int) {
	if k.taken == nil {
		r.some.Add(1)
	}
	k.taken = append(k.taken, make([]bool, max(0, rows-len(k.taken)))...)
}

// Gone notes that a key has no reserved rows any more.
func (r *Reserve) Gone(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k := r.keys[id]; k != nil && k.taken != nil && k.takers == 0 {
		k.taken, k.stocks = nil, map[string]*stock{}
		r.some.Add(-1)
	}
}

// Emptied notes that a key's reserved rows hold nothing any more.
func (r *Reserve) Emptied(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k := r.keys[id]; k != nil {
		for _, s := range k.stocks {
			s.share = 0
			clear(s.units)
		}
	}
}
