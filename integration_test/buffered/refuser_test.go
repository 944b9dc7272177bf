package buffered

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
	"sync/atomic"

	"github.com/ngrok/sqlmw"
)

// refuser lets no flush through any more.
type refuser struct {
	sqlmw.NullInterceptor
	refuses atomic.Bool
}

func (r *refuser) ConnExecContext(ctx context.Context, c driver.ExecerContext, query string, args []driver.NamedValue) (driver.Result, error) {
	if r.refuses.Load() && strings.Contains(query, "countermysql_flushes") {
		return nil, errRefused
	}
	return c.ExecContext(ctx, query, args)
}

func openDB(c driver.Connector) *sql.DB { return sql.OpenDB(c) }
