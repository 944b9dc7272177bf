package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/countermysql/countermysql"
)

// wayStore is the store of a way.
type wayStore interface {
	store
	rollUp(ctx context.Context, id int) error
	flush(ctx context.Context) error         // returns when all is stored that was acknowledged
	rows(ctx context.Context) (int64, error) // that a read adds up
}

var (
	_ wayStore = (*sqlStore)(nil)
	_ wayStore = (*redisStore)(nil)
	_ wayStore = (*buffer)(nil)
)

func (r *redisStore) rollUp(context.Context, int) error          { return nil }
func (r *redisStore) flush(context.Context) error                { return nil }
func (r *redisStore) rows(context.Context) (rows int64, _ error) { return 1, nil }

// connectWay opens a store of a way on what is there.
func (c *contestant) connectWay(ctx context.Context, clients int) (err error) {
	if c.redis != nil {
		c.store = &redisStore{c.redis.client(clients)}
		return nil
	}
	w := wayOf(c.peer)
	s := &sqlStore{way: w}
	if w.config == nil {
		s.db, err = c.server.open(ctx, c.peer.driver, c.database, clients)
	} else {
		s.db, err = c.connect(ctx, clients, &countermysql.Config{Slots: c.point.slots, Tables: []countermysql.TableConfig{*w.config}})
	}
	if err != nil {
		return err
	}
	c.store = s
	if w.flush > 0 {
		c.store = newBuffer(s)
	}
	return nil
}

// openWay makes what a way needs in a database that is new.
func (c *contestant) openWay(ctx context.Context) error {
	if err := c.connectWay(ctx, c.point.clients+2); err != nil { // of which rollups have two
		return err
	}
	db := c.sql().db
	for _, table := range wayOf(c.peer).tables {
		if _, err := db.ExecContext(ctx, table); err != nil {
			return fmt.Errorf("%s: %w", table, err)
		}
	}
	if !c.peer.ours() {
		return nil
	}
	_, err := countermysql.Init(ctx, db, nil)
	return err
}

func (s *sqlStore) incrementWay(ctx context.Context, id int) error {
	args := []any{id}
	if s.way.slots > 0 {
		args = append(args, rand.IntN(s.way.slots))
	}
	result, err := s.db.ExecContext(ctx, s.way.increment, args...)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return fmt.Errorf("RowsAffected is %d (%w)", n, err)
	}
	return nil
}

// rollUp adds what waits of a post to its row, or a batch of it.
func (s *sqlStore) rollUp(ctx context.Context, id int) error {
	if s.way.config != nil {
		_, err := countermysql.Rollup(ctx, s.db, nil)
		return err
	}
	if s.way.rollUp == nil {
		return nil
	}
	session, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	for _, statement := range s.way.rollUp {
		if _, err := session.ExecContext(ctx, statement, []any{id}[:strings.Count(statement, "?")]...); err != nil {
			_, undone := session.ExecContext(ctx, "ROLLBACK")
			return errors.Join(fmt.Errorf("%s: %w", statement, err), undone)
		}
	}
	return nil
}

func (s *sqlStore) flush(ctx context.Context) error {
	if s.way.config == nil {
		return nil
	}
	return countermysql.Flush(ctx, s.db)
}

func (s *sqlStore) rows(ctx context.Context) (n int64, err error) {
	if s.way.rows == "" {
		return 1, nil
	}
	err = s.db.QueryRowContext(ctx, s.way.rows).Scan(&n)
	return n, err
}

// refused reports whether the server has undone a statement or a transaction, which may be tried
// again.
func refused(err error) bool {
	var refusal *mysql.MySQLError
	return errors.As(err, &refusal) && slices.Contains([]uint16{errDeadlock, errLockWaitTimeout, errRecordChanged}, refusal.Number)
}
