package main

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/countermysql/countermysql"
)

// outcome is what one number of slots, or reserved rows, gave in one round.
type outcome struct {
	perSecond float64 // transactions
	lockWaits int64
	read      time.Duration // of the counter, with its slots as they are then
}

var trialTables = []string{
	"DROP TABLE IF EXISTS counted", "DROP TABLE IF EXISTS counted_slots", "DROP TABLE IF EXISTS log",
	"CREATE TABLE counted (id INT PRIMARY KEY, n BIGINT NOT NULL)", "CREATE TABLE log (id BIGINT PRIMARY KEY AUTO_INCREMENT, at INT NOT NULL)",
	"INSERT INTO counted VALUES (1, 0)",
}

// inStock is what a stock has at first.
const inStock = 1_000_000_000

var stockTables = append(trialTables[:len(trialTables):len(trialTables)],
	"ALTER TABLE counted MODIFY n BIGINT UNSIGNED NOT NULL", fmt.Sprintf("UPDATE counted SET n = %d", inStock))

// try loads one counter with a number of slots, or of reserved rows.
func (c *adviseCommand) try(s *session, database string, slots int) (out outcome, err error) {
	cfg := s.cfg.Clone()
	cfg.DBName = database
	config := &countermysql.Config{CreateSlots: true, Logger: slog.New(slog.DiscardHandler), Tables: []countermysql.TableConfig{{Table: "counted", Counters: []string{"n"}}}}
	tables := trialTables
	if c.Stock {
		config.Reserve, tables = slots, stockTables
	} else {
		config.Slots, config.Rollup = slots, countermysql.RollupNever
	}
	connector, err := countermysql.NewConnector(cfg, config)
	if err != nil {
		return out, err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	db.SetMaxOpenConns(c.Clients)
	db.SetMaxIdleConns(c.Clients)
	for _, stmt := range tables {
		if _, err := db.ExecContext(s.ctx, stmt); err != nil {
			return out, err
		}
	}
	var done atomic.Int64
	count := func() error {
		if err := c.transaction(s.ctx, db); err != nil {
			return err
		}
		done.Add(1)
		return nil
	}
	if err := c.crowd(count); err != nil { // opens the connections
		return out, err
	}
	before, err := s.status()
	if err != nil {
		return out, err
	}
	first, start := done.Load(), time.Now()
	end := start.Add(time.Duration(c.Seconds * float64(time.Second)))
	err = c.crowd(func() error {
		for time.Now().Before(end) {
			if err := count(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	out.perSecond = float64(done.Load()-first) / time.Since(start).Seconds()
	after, err := s.status()
	if err != nil {
		return out, err
	}
	out.lockWaits = after.lockWaits - before.lockWaits
	var n int64
	const reads = 20
	start = time.Now()
	for range reads {
		if err := db.QueryRowContext(s.ctx, "SELECT n FROM counted WHERE id = 1").Scan(&n); err != nil {
			return out, err
		}
	}
	out.read = time.Since(start) / reads
	if c.Stock {
		n = inStock - n
	}
	if n != done.Load() {
		return out, fmt.Errorf("the count is wrong: %d instead of %d", n, done.Load())
	}
	return out, nil
}

// crowd runs a client as often as there are clients, at the same time.
func (c *adviseCommand) crowd(client func() error) error {
	var failed atomic.Pointer[error]
	var clients sync.WaitGroup
	for range c.Clients {
		clients.Go(func() {
			if err := client(); err != nil {
				failed.Store(&err)
			}
		})
	}
	clients.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

func (c *adviseCommand) transaction(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	statement := "UPDATE counted SET n = n + 1 WHERE id = 1"
	if c.Stock {
		statement = "UPDATE counted SET n = n - 1 WHERE id = 1 AND n >= 1"
	}
	if _, err := tx.ExecContext(ctx, statement); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO log (at) VALUES (?)", time.Now().Unix()); err != nil {
		return err
	}
	time.Sleep(c.Work)
	return tx.Commit()
}
