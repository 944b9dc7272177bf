package watch

import (
	"math/rand/v2"
	"time"

	"github.com/countermysql/countermysql/internal/mysqlerr"
)

// refusals are the DDL of slots tables that the server has refused.
type refusals map[string]refusal

// refusal is what the server said of a statement, which is not tried again before a time.
type refusal struct {
	err   error
	pause time.Duration
	until time.Time
}

// Pauses between tries of refused DDL: each is twice as long as the one before.
const (
	shortestPause = 30 * time.Second
	longestPause  = 5 * time.Minute
)

// unless runs DDL of a slots table, unless the server has refused it lately:
// while it waits for its table all statements on that wait behind it, and each process
// would have them do so with every reading of the schema.
func (r refusals) unless(ddl string, run func() error) error {
	last := r[ddl]
	if time.Now().Before(last.until) {
		return last.err
	}
	err := run()
	if n := mysqlerr.Number(err); n == 0 || outrun[n] {
		delete(r, ddl)
		return err
	}
	pause := min(max(2*last.pause, shortestPause), longestPause)
	r[ddl] = refusal{err, pause, time.Now().Add(pause + rand.N(pause/4))} // or many processes try at once
	return err
}
