package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/countermysql/countermysql"
)

// contestant is a peer on a server, with a database of its own, at one point
// of a workload.
type contestant struct {
	peer     peer
	server   *server      // nil: Redis
	redis    *redisServer // nil: SQL
	workload *workload
	point    point

	database string
	store    store
	clients  []*client
	rounds   []round

	expected []atomic.Int64 // by counter: what was acknowledged
	checked  []int64        // as of the last check
	logged   atomic.Int64   // rows that have to be in log

	votes, views, points atomic.Int64 // of the forum
}

// contestants are all that take part at a point, in the order of their turns.
func contestants(all *servers, w *workload, p point) (list []*contestant, left []string) {
	for _, srv := range all.sql {
		var here []*contestant
		for _, peer := range w.peers {
			switch {
			case peer.redis():
			case peer.noDetection && srv.own == nil:
				left = append(left, srv.name+": "+peer.name)
			default:
				here = append(here, &contestant{peer: peer, server: srv, workload: w, point: p})
			}
		}
		if srv.conns < len(here)*(p.clients+lookups)+lookups {
			left = append(left, fmt.Sprintf("%s at %d clients: max_connections is %d", srv.name, p.clients, srv.conns))
			continue
		}
		list = append(list, here...)
	}
	for _, r := range all.redis {
		if slices.Contains(w.peers, r.peer) {
			list = append(list, &contestant{peer: r.peer, redis: r, workload: w, point: p})
		}
	}
	return list, left
}

// lookups is how many connections a peer may have beside its clients'.
const lookups = 10

func (c *contestant) where() string {
	if c.server == nil {
		return ""
	}
	return c.server.name
}

func (c *contestant) String() string {
	if c.server == nil {
		return c.peer.name
	}
	return c.server.name + ": " + c.peer.name
}

// sql is the store of a workload without Redis.
func (c *contestant) sql() *sqlStore {
	if b, ok := c.store.(*buffer); ok {
		return b.sqlStore
	}
	return c.store.(*sqlStore)
}

// counters is how many there are; they are numbered from 1.
func (c *contestant) counters() int {
	if c.point.tables > 0 {
		return c.point.tables * rowsPerTable
	}
	return c.point.counters
}

// prepare makes the clients.
func (c *contestant) prepare() {
	c.expected, c.checked = make([]atomic.Int64, c.counters()+1), make([]int64, c.counters()+1)
	for range c.point.clients {
		c.clients = append(c.clients, newClient(c))
	}
}

// setUp makes the database, opens the pool, and fills what is needed.
func (c *contestant) setUp(ctx context.Context) error {
	c.prepare()
	if err := c.open(ctx); err != nil || c.workload.fill == nil {
		return err
	}
	if err := c.workload.fill(ctx, c); err != nil {
		return err
	}
	for id := range c.expected { // of the fill
		c.checked[id] = c.expected[id].Load()
	}
	return nil
}

func (c *contestant) open(ctx context.Context) (err error) {
	if c.redis != nil {
		store, err := c.redis.open(ctx, c.point.clients)
		if err == nil {
			c.store = store
		}
		return err
	}
	c.database = databaseName(os.Getpid(), c.peer)
	if err := c.createDatabase(ctx); err != nil {
		return err
	}
	if c.workload.ways {
		return c.openWay(ctx)
	}
	s := &sqlStore{tables: c.point.tables}
	var params []string
	if c.peer.params != "" {
		params = append(params, c.peer.params)
	}
	switch {
	case c.peer.handWritten:
		s.slots = c.point.slots
	case c.peer == unwaiting, c.peer == looking && c.workload.forum:
		s.noWait = c.server.name
	case c.peer.ours():
		params = append(params, c.ourParams()...)
	}
	if s.db, err = c.server.open(ctx, c.peer.driver, c.database, c.point.clients, params...); err != nil {
		return err
	}
	c.store = s
	if c.peer.ours() { // it makes the slots tables now
		if _, err := s.values(ctx, []int{1}); err != nil {
			return err
		}
		if c.workload.forum {
			if err := readAll(ctx, s.db, "SELECT q.score, m.points, a.score FROM question q JOIN member m JOIN answer a LIMIT 1"); err != nil {
				return err
			}
		}
	}
	return nil
}

// connect opens the contestant's database with a configuration.
func (c *contestant) connect(ctx context.Context, clients int, config *countermysql.Config) (*sql.DB, error) {
	cfg := c.server.cfg.Clone()
	cfg.DBName = c.database
	config.CreateSlots, config.Logger = true, slog.New(slog.DiscardHandler)
	connector, err := countermysql.NewConnector(cfg, config)
	if err != nil {
		return nil, err
	}
	return pool(ctx, sql.OpenDB(connector), clients)
}

// configure opens the store anew with a configuration.
func (c *contestant) configure(ctx context.Context, tables ...countermysql.TableConfig) error {
	c.store.close()
	db, err := c.connect(ctx, c.point.clients, &countermysql.Config{Slots: c.point.slots, Tables: tables})
	if err != nil {
		return err
	}
	c.store = &sqlStore{db: db}
	_, err = countermysql.Init(ctx, db, nil)
	return err
}

// ourParams is all that an application changes, beside the driver's name.
func (c *contestant) ourParams() []string {
	names := []string{"post.likes"}
	if c.point.tables > 0 {
		names = nil
		for i := range c.point.tables {
			names = append(names, tableName(i)+".likes")
		}
	}
	if c.workload.forum {
		names = append(names, forumCounters()...)
	}
	params := []string{"counters=" + strings.Join(names, ","), "counterCreateSlots=true", fmt.Sprintf("counterSlots=%d", c.point.slots)}
	if c.workload.kept {
		params = append(params, "counterRollup=never")
	}
	return params
}

// tearDown may be called after a setUp that failed.
func (c *contestant) tearDown(ctx context.Context) error {
	if c.store != nil {
		c.store.close()
	}
	c.store, c.clients, c.expected, c.checked = nil, nil, nil, nil
	if c.database == "" {
		return nil
	}
	ctx, cancel := cleanup(ctx)
	defer cancel()
	return c.server.exec(ctx, "DROP DATABASE IF EXISTS "+c.database)
}

var errWrongCount = errors.New("wrong count")

// check compares every counter that was incremented since the last check with
// what was acknowledged.
func (c *contestant) check(ctx context.Context) error {
	var ids []int
	for id := range c.expected {
		if n := c.expected[id].Load(); n != c.checked[id] {
			c.checked[id] = n
			ids = append(ids, id)
		}
	}
	for some := range slices.Chunk(ids, valuesAtOnce) {
		values, err := c.store.values(ctx, some)
		if err != nil {
			return fmt.Errorf("checking the counts: %w", err)
		}
		for _, id := range some {
			if values[id] != c.checked[id] {
				return fmt.Errorf("%w: counter %d is %d, but %d increments were acknowledged", errWrongCount, id, values[id], c.checked[id])
			}
		}
	}
	switch {
	case c.workload.forum && !c.workload.kept:
		return checkForum(ctx, c)
	case !c.workload.logs:
		return nil
	}
	var rows int64
	if err := c.sql().db.QueryRowContext(ctx, "SELECT COUNT(*) FROM log").Scan(&rows); err != nil {
		return err
	}
	if n := c.logged.Load(); rows != n {
		return fmt.Errorf("%w: the log has %d rows, but %d transactions were acknowledged", errWrongCount, rows, n)
	}
	return nil
}

// turn is one round, with what has to be set for it on the server.
func (c *contestant) turn(ctx context.Context, run func() error) (err error) {
	if c.peer.noDetection {
		if err := c.server.exec(ctx, "SET GLOBAL innodb_deadlock_detect = OFF"); err != nil {
			return err
		}
		defer func() {
			ctx, cancel := cleanup(ctx)
			defer cancel()
			err = errors.Join(err, c.server.exec(ctx, "SET GLOBAL innodb_deadlock_detect = ON"))
		}()
	}
	if c.workload.beside != nil {
		stop, err := c.workload.beside(ctx, c)
		if err != nil {
			return err
		}
		if stop != nil {
			defer func() { err = errors.Join(err, stop()) }()
		}
	}
	return run()
}
