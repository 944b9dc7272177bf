package session

import (
	"context"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/lookups"
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
	return s.Read(ctx, s.Settings.Unsnapshot()+query+" "+catalog.ShareMode)
}

// Elsewhere is Outside for a query that is to see the session's own locks; ok is false where no
// other connection answers.
func (s *Session) Elsewhere(ctx context.Context, query string) (rows [][]string, ok bool) {
	if s.Unbegun != nil || s.Locks || s.InTransaction() && s.Transaction().Inside {
		return nil, false
	}
	rows, err := s.Lookups.QueryAs(ctx, s.Initial.Kin, s.inZone(query))
	return rows, err == nil
}

// Uncommitted is Outside for what is not committed as well, whoever has written it. Where
// none of the session's kin answers it is nothing, and the session reads from then on.
func (s *Session) Uncommitted(ctx context.Context, query string) ([][]string, error) {
	rows, err := s.Lookups.QueryAs(lookups.Uncommitted(ctx), s.Initial.Kin, s.inZone(query))
	if err == nil || ctx.Err() != nil {
		return rows, err
	}
	s.Transaction().Inside = true
	return nil, nil
}
