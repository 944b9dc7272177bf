package main

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
)

// store is what keeps a peer's counters, used as an application would.
type store interface {
	increment(ctx context.Context, id int) error
	read(ctx context.Context, id int) (int64, error)

	// values reads at most valuesAtOnce counters. Those that are 0 may be missing.
	values(ctx context.Context, ids []int) (map[int]int64, error)

	close()
}

const valuesAtOnce = 500

// session is a connection pool or a transaction.
type session interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

var (
	_ session = (*sql.DB)(nil)
	_ session = (*sql.Tx)(nil)
	_ store   = (*sqlStore)(nil)
	_ store   = (*redisStore)(nil)
)

// sqlStore is a pool, and the statements that the application writes for it.
type sqlStore struct {
	db     *sql.DB
	slots  int // of hand-written slots; 0: a counter is a column
	tables int // the counters are in as many tables; 0: in post
	way    *way

	noWait string // the server's name: increments do not wait for their rows; "": they do
}

// rowsPerTable is where the counters are in many tables.
const rowsPerTable = 100

func (s *sqlStore) table(id int) (name string, row int) {
	if s.tables == 0 {
		return "post", id
	}
	return tableName((id - 1) / rowsPerTable), (id-1)%rowsPerTable + 1
}

func tableName(i int) string { return fmt.Sprintf("post_%d", i) }

func (s *sqlStore) increment(ctx context.Context, id int) error {
	if s.way != nil {
		return s.incrementWay(ctx, id)
	}
	return s.incrementIn(ctx, s.db, id)
}

func (s *sqlStore) incrementIn(ctx context.Context, q session, id int) error {
	if s.slots > 0 {
		_, err := q.ExecContext(ctx, "INSERT INTO hand_slots (id, slot, likes) VALUES (?, ?, 1) ON DUPLICATE KEY UPDATE likes = likes + 1",
			id, rand.IntN(s.slots))
		return err
	}
	if s.tables == 0 {
		return one(s.addIn(ctx, q, "UPDATE post SET likes = likes + 1 WHERE id = ?", "post", id))
	}
	table, row := s.table(id)
	return one(q.ExecContext(ctx, "UPDATE "+table+" SET likes = likes + 1 WHERE id = ?", row))
}

// waiting is the store, whose increments wait for their rows.
func (s *sqlStore) waiting() *sqlStore {
	waits := *s
	waits.noWait = ""
	return &waits
}

// addIn runs the UPDATE of a row, whose one parameter is its id. Who does not wait for the row has
// the server refuse its lock instead.
func (s *sqlStore) addIn(ctx context.Context, q session, update, table string, id int) (sql.Result, error) {
	switch s.noWait {
	case "":
		return q.ExecContext(ctx, update, id)
	case "MariaDB":
		return q.ExecContext(ctx, "SET STATEMENT innodb_lock_wait_timeout=0 FOR "+update, id)
	}
	return q.ExecContext(ctx, update+" AND (SELECT 1 FROM (SELECT 1 FROM "+table+" WHERE id = ? LIMIT 1 FOR UPDATE NOWAIT) AS locked) IS NOT NULL", id, id)
}

// one checks what an application may rely on.
func one(result sql.Result, err error) error {
	if err != nil {
		return err
	}
	switch n, err := result.RowsAffected(); {
	case err != nil:
		return err
	case n != 1:
		return fmt.Errorf("RowsAffected is %d, not 1", n)
	}
	return nil
}

func (s *sqlStore) read(ctx context.Context, id int) (likes int64, err error) {
	if s.way != nil {
		err = s.db.QueryRowContext(ctx, s.way.read, id).Scan(&likes)
		return likes, err
	}
	return s.readIn(ctx, s.db, id)
}

func (s *sqlStore) readIn(ctx context.Context, q session, id int) (likes int64, err error) {
	err = q.QueryRowContext(ctx, "SELECT "+s.likes()+" FROM post p WHERE p.id = ?", id).Scan(&likes)
	return likes, err
}

// likes is a counter's value in the SQL of the application.
func (s *sqlStore) likes() string {
	if s.slots > 0 {
		return "p.likes + COALESCE((SELECT SUM(s.likes) FROM hand_slots s WHERE s.id = p.id), 0)"
	}
	return "p.likes"
}

func (s *sqlStore) values(ctx context.Context, ids []int) (map[int]int64, error) {
	values := make(map[int]int64, len(ids))
	if s.way != nil {
		for _, id := range ids {
			value, err := s.read(ctx, id)
			if err != nil {
				return nil, err
			}
			values[id] = value
		}
		return values, nil
	}
	byTable := map[string][]int{}
	first := map[string]int{} // id of a table's row 0
	for _, id := range ids {
		table, row := s.table(id)
		byTable[table] = append(byTable[table], row)
		first[table] = id - row
	}
	for table, rows := range byTable {
		// Always as many, so that it is one text.
		args := make([]any, valuesAtOnce)
		for i := range args {
			args[i] = rows[min(i, len(rows)-1)]
		}
		err := each(ctx, s.db, "SELECT p.id, "+s.likes()+" FROM "+table+" p WHERE p.id IN (?"+strings.Repeat(", ?", valuesAtOnce-1)+")", args,
			func(row int, likes int64) { values[first[table]+row] = likes })
		if err != nil {
			return nil, err
		}
	}
	return values, nil
}

// each reads rows of an id and a value.
func each(ctx context.Context, q session, query string, args []any, f func(id int, value int64)) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int
		var value int64
		if err := rows.Scan(&id, &value); err != nil {
			return err
		}
		f(id, value)
	}
	return rows.Err()
}

func (s *sqlStore) close() { s.db.Close() }
