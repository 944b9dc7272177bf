package session

import (
	"context"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
)

// Outside runs a query on a look-up connection. Where none of the session's kin answers
// (no connection is to be had, it leads to another server, it is stuck behind an ALTER
// TABLE that waits for this transaction), the session reads.
func (s *Session) Outside(ctx context.Context, query string) ([][]string, error) {
	if s.Unbegun != nil || s.Locks { // all others wait
		return s.Read(ctx, query)
	}
	inside := s.InTransaction()
	if !inside || !s.Transaction().Inside {
		rows, err := s.Lookups.QueryAs(ctx, s.Initial.Kin, s.inZone(query))
		if err == nil || ctx.Err() != nil {
			return rows, err
		}
		if !inside {
			return s.Read(ctx, query)
		}
		s.Transaction().Inside = true
	}
	return s.Read(ctx, query+" "+catalog.ShareMode)
}

// inZone makes a query on a look-up connection read TIMESTAMPs as this session
// writes them: keys and times of touch columns.
func (s *Session) inZone(query string) string {
	if s.Settings.Zone == s.Initial.Zone {
		return query
	}
	if known := s.Watcher.Current(); known != nil && known.Server.MariaDB {
		return "SET STATEMENT time_zone = " + catalog.Text(s.Settings.Zone) + " FOR " + query
	}
	return "SELECT /*+ SET_VAR(time_zone = '" + s.Settings.Zone + "') */" + strings.TrimPrefix(query, "SELECT")
}
