package fold

import (
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/session"
)

// Folder folds slots in one session.
type Folder struct {
	*session.Session
	RollsUp    bool             // in transactions of its own, which end with an error; and reserved rows that hold nothing are to go
	discarding *plan.Discarding // a statement that discards counters runs; nil: another
}

// New returns the Folder of a session.
func New(s *session.Session) *Folder { return &Folder{Session: s} }
