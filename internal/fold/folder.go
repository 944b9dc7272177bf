package fold

import (
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/session"
)

// Folder folds slots in one session.
type Folder struct {
	*session.Session
	RollsUp    bool             // in transactions of its own, which end with an error; and reserved rows that hold nothing are to go
	HasRow     bool             // the statement's row is locked already: what is reserved of it is locked behind it
	discarding *plan.Discarding // a statement that discards counters runs; nil: another
}

// New returns the Folder of a session.
func New(s *session.Session) *Folder { return &Folder{Session: s} }
