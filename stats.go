package countermysql

import (
	"context"
	"database/sql"
	"time"

	"github.com/countermysql/countermysql/internal/stats"
)

// Statistics are totals of a sql.DB since it was opened, but Pending, Slotted, Waiting,
// Schema.Age, Degraded and Unfit, which are of now: what has become of statements, how increments went
// together, what rollups have done, and which texts are not understood.
type Statistics = stats.Statistics

// Fallback is a text that is not understood.
type Fallback = stats.Fallback

// Histogram counts values by upper bounds.
type Histogram = stats.Histogram

// RollupStatistics are totals of rollups, those of Rollup and those in the background alike.
type RollupStatistics = stats.RollupStatistics

// SlottedStatistics are, of now, the keys whose slots this process has written and not
// folded since: the hot ones.
type SlottedStatistics = stats.SlottedStatistics

// SchemaStatistics are of what the driver knows of the server's tables.
type SchemaStatistics = stats.SchemaStatistics

// Stats returns what the driver has done for db, which has to be countermysql's.
// It asks the server nothing. A db of a wrapper such as otelsql's is found
// through a connection the first time.
func Stats(db *sql.DB) (Statistics, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second) // for the connection, if one is needed
	defer cancel()
	c, err := connectorOf(ctx, db)
	if err != nil {
		return Statistics{}, err
	}
	out := c.stats.Snapshot()
	out.Slotted, out.Waiting, out.Schema.Errors = c.background.Slots(), c.background.Waiting(), c.watcher.Errors()
	if s := c.watcher.Current(); s != nil {
		out.Degraded, out.Unfit, out.Schema.Age = s.Degraded(), s.Unfit(), c.watcher.Age()
	}
	return out, nil
}
