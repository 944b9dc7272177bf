package stock

import "sync/atomic"

// Supply says of the rows of a table whether most of late had enough for who took from them. The
// zero value says so.
type Supply struct{ wanting atomic.Int32 }

const (
	fewWanting  = 4 // from there on the next is not expected to have enough
	mostWanting = 8
)

// Suffices reports whether the next one may be expected to have enough.
func (s *Supply) Suffices() bool { return s.wanting.Load() < fewWanting }

// Note says whether one had. One that had not counts as much as two that had: it is asked twice.
func (s *Supply) Note(had bool) {
	switch n := s.wanting.Load(); { // others may note something between: it is an estimate
	case !had && n < mostWanting:
		s.wanting.Add(2)
	case had && n > 0:
		s.wanting.Add(-1)
	}
}
