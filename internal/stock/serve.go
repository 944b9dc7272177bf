package stock

import "math"

// Bounds of what is computed here, so that sums of many stay within 64 bits.
const (
	MostDelta = 1 << 31 // of one statement
	MostLimit = 1 << 61 // of a limit, and of a value
)

// Unlimited is the limit of an update that has no condition: what the column can hold is all
// that bounds it.
const Unlimited = math.MaxInt64

// Want is one guarded update: it adds Delta, which is never 0, if the value is not below
// Limit, or not above it where Delta is positive. All that go together add in one direction.
type Want struct{ Delta, Limit int64 }

// Row is what the row is like under its lock.
type Row struct {
	Value       int64
	Base        int64 // what limits are relative to: another column, or 0
	Least, Most int64 // what the column can hold
}

// Answer is what becomes of one update.
type Answer uint8

const (
	Served  Answer = iota // it changes the row
	Refused               // its condition does not hold
	Failing               // the server has something to say to it
)

// meets reports whether the update's condition holds.
func (w Want) meets(value, base int64) bool {
	switch {
	case w.Limit == Unlimited:
		return true
	case w.Delta < 0:
		return value >= base+w.Limit
	}
	return value <= base+w.Limit
}

// Serve serves updates one after the other, and returns by how much the value changes.
func Serve(r Row, wants []Want) (answers []Answer, sum int64) {
	answers = make([]Answer, len(wants))
	for i, w := range wants {
		next := r.Value + sum + w.Delta
		switch {
		case !w.meets(r.Value+sum, r.Base):
			answers[i] = Refused
		case next < r.Least || next > r.Most:
			answers[i] = Failing
		default:
			sum += w.Delta
		}
	}
	return answers, sum
}

// Enough is the limit of all the updates together, one after the other: their conditions
// hold if that of Want{sum, limit} does. Whether the column can hold the value then is for
// the server to say.
func Enough(wants []Want) Want {
	all := Want{Limit: Unlimited}
	for _, w := range wants {
		if limit := w.Limit - all.Delta; w.Limit != Unlimited && (all.Limit == Unlimited || (w.Delta < 0) == (limit > all.Limit)) {
			all.Limit = limit
		}
		all.Delta += w.Delta
	}
	return all
}

// Modest is the update whose condition holds wherever that of any of them does.
func Modest(wants []Want) int {
	least := 0
	for i, w := range wants {
		switch {
		case w.Limit == Unlimited:
			return i
		case (w.Delta < 0) == (w.Limit < wants[least].Limit) && w.Limit != wants[least].Limit:
			least = i
		}
	}
	return least
}

// InRange reports whether a value can be computed with.
func InRange(n int64) bool { return -MostLimit <= n && n <= MostLimit }
