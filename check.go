package countermysql

import (
	"context"
	"database/sql"

	"github.com/countermysql/countermysql/internal/maintain"
)

// Severity says how bad a Finding is.
type Severity string

const (
	Failure Severity = "failure" // statements on the counter fail, or counts would be lost
	Warning Severity = "warning" // something is slower, or seen later, than it could be
)

// Finding is something that Check has to say about a counter or the server.
type Finding struct {
	Severity Severity
	Table    string // database.table; "" for the server
	Problem  string // for people
	Remedy   string // for people
	SQL      string // a statement that mends it; "" if none is known
}

// Check looks whether each listed table can have counters, as its sql.DB's user
// and server see it. An empty list means that all is well. It changes nothing, but what
// every reading of the schema does: with Config.CreateSlots, missing slots tables are made.
func Check(ctx context.Context, db *sql.DB) ([]Finding, error) {
	c, err := connectorOf(ctx, db)
	if err != nil {
		return nil, err
	}
	s, err := c.watcher.Refresh(ctx)
	if err != nil {
		return nil, err
	}
	found, err := maintain.Check(ctx, maintain.Inspected{Lookups: c.lookups, Schema: s, Wanted: c.watcher.WantedOf, Overridden: c.background.Overridden, AllSlots: c.shared.SlotRange.Whole()})
	findings := make([]Finding, len(found))
	for i, f := range found {
		findings[i] = Finding{Warning, f.Table, f.Problem, f.Remedy, f.SQL}
		if f.Failure {
			findings[i].Severity = Failure
		}
	}
	return findings, err
}
