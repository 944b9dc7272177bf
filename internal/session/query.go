package session

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"strings"

	"github.com/countermysql/countermysql/internal/sqltext"
)

// Read runs a query of ours on this connection, without the application's
// sql_select_limit, and returns its rows as text; NULL is "".
func (s *Session) Read(ctx context.Context, query string) (_ [][]string, err error) {
	if s.Stale { // it may be another now
		rows, err := s.ask(ctx, "SELECT CAST(@@sql_select_limit AS CHAR) LIMIT 1")
		if err != nil {
			return nil, err
		}
		s.Settings.SelectLimit = strings.TrimPrefix(rows[0][0], sqltext.NoLimit)
	}
	if s.Settings.SelectLimit != "" {
		if _, err := s.Do(ctx, "SET sql_select_limit = "+sqltext.NoLimit); err != nil {
			return nil, err
		}
		defer func() {
			if _, serr := s.Do(context.WithoutCancel(ctx), "SET sql_select_limit = "+s.Settings.SelectLimit); serr != nil {
				s.Lose(serr) // the session is not what the application has made it
				err = cmp.Or(err, serr)
			}
		}()
	}
	if !s.Locking { // of the application's, which ends as well
		query = s.untimed(query)
	}
	return s.ask(ctx, query)
}

func (s *Session) ask(ctx context.Context, query string) ([][]string, error) {
	rows, err := s.Queryer.QueryContext(ctx, query, nil)
	if err != nil {
		return nil, s.Failed(err)
	}
	return s.drained(rows)
}

// drained reads and closes rows.
func (s *Session) drained(rows driver.Rows) ([][]string, error) {
	all, err := drain(rows)
	if cerr := rows.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, s.Failed(err)
	}
	return all, nil
}

// drain reads rows as text; NULL is "".
func drain(rows driver.Rows) (all [][]string, err error) {
	dest := make([]driver.Value, len(rows.Columns()))
	for {
		err := rows.Next(dest)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, sqltext.Texts(dest))
	}
}

// Do runs a statement of ours on this connection.
func (s *Session) Do(ctx context.Context, stmt string) (int64, error) {
	res, err := s.Execer.ExecContext(ctx, stmt, nil)
	if err != nil {
		return 0, s.Failed(err)
	}
	return res.RowsAffected()
}
