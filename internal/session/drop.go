package session

import (
	"context"
	"strings"

	"github.com/countermysql/countermysql/internal/mysqlerr"
)

// DropEmpty drops a table, if it is empty, while nobody can write to it or to others that are
// locked beside it. On a Galera cluster it sends shut instead, which keeps rows out and fails if
// there are any: LOCK TABLES keeps out only those of its node, and, if another one writes the
// tables meanwhile, makes the cluster stand still, as the DROP waits for that write and that for
// the lock.
func (s *Session) DropEmpty(ctx context.Context, table, shut string, beside ...string) (dropped bool, err error) {
	if shut != "" {
		if _, err := s.Do(ctx, shut); err != nil {
			if mysqlerr.Constraint[mysqlerr.Number(err)] {
				err = nil
			}
			return false, err
		}
		_, err = s.Do(ctx, "DROP TABLE "+table)
		return err == nil, err
	}
	if _, err := s.Do(ctx, "LOCK TABLES "+strings.Join(append(beside, table), " WRITE, ")+" WRITE"); err != nil {
		return false, err
	}
	rows, err := s.Read(ctx, "SELECT 1 FROM "+table+" LIMIT 1")
	if err == nil && len(rows) == 0 {
		_, err = s.Do(ctx, "DROP TABLE "+table)
		dropped = err == nil
	}
	if _, uerr := s.Do(context.WithoutCancel(ctx), "UNLOCK TABLES"); err == nil {
		err = uerr
	}
	return dropped, err
}
