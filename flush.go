package countermysql

import (
	"context"
	"database/sql"
)

// Flush stores the increments of tables that are configured to be Buffered, which are
// acknowledged before they are stored. It returns when all are stored that this process had
// acknowledged before the call, or with an error: what could not be stored is told by Stats,
// and either waits or is lost. Rows that somebody has locked it waits for, until ctx ends: call it
// outside transactions that have locked rows of such a table. The db has to be countermysql's.
func Flush(ctx context.Context, db *sql.DB) error {
	c, err := connectorOf(ctx, db)
	if err != nil {
		return err
	}
	return c.buffers.Flush(ctx)
}
