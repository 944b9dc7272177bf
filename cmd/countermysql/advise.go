package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/countermysql/countermysql"
)

type adviseCommand struct {
	Watch   time.Duration `help:"Watch the live server for so long, instead of the load." placeholder:"DURATION"`
	Clients int           `default:"32" help:"How many clients of one counter there are at the same time."`
	Work    time.Duration `default:"2ms" help:"How long their transactions do other work."`
	Seconds float64       `default:"1" help:"How long each number of slots is tried."`
	Yes     bool          `short:"y" help:"Create and drop the scratch database without asking."`
}

func (adviseCommand) Help() string {
	return `Tries 1, 2, 4 … slots with transactions that increment one counter, on a scratch database of this server, and
recommends the smallest number that is as fast as the fastest, within 5 %. Widen the window until the waits go. Each
process chooses slots for itself: with several, divide the clients among them (--clients is for one process).

With --watch it loads nothing and changes nothing, but watches the listed counters at work, and recommends for each:
twice the slots if transactions were seen to wait for slots, fewer if only few slots of a key were written at a time,
else what there is. "Now" is the number in this tool's configuration. Watch when there is most to do, and again after a
change. What it can't know: the load of other times; waits that begin and end between two looks, which are 0.2 s apart;
how many slots were locked at once (it sees which were written from one second to the next, which may be more, and none
that was rolled up meanwhile); how many increments make up an amount. Who waits takes the PROCESS privilege on MariaDB,
and SELECT on performance_schema on MySQL; without it nothing but the rates is told. It reads every slots table each
second.

Examples:

  countermysql advise --dsn "$DSN" --clients 64 --work 5ms --yes
  countermysql advise --dsn "$DSN" --watch 1m`
}

// trial is what one number of slots gave.
type trial struct {
	Slots     int
	PerSecond float64 // transactions
	LockWaits int64
	Read      time.Duration // of the counter, with all slots filled
}

type advice struct {
	Recommended int
	Clients     int
	Trials      []trial
}

func (c *adviseCommand) run(s *session) error {
	if c.Watch < 0 {
		return &exit{exitUsage, errors.New("--watch must be positive")}
	}
	if c.Watch > 0 {
		return c.watch(s)
	}
	if c.Clients < 1 || c.Seconds <= 0 {
		return &exit{exitUsage, errors.New("--clients and --seconds must be positive")}
	}
	name := fmt.Sprintf("countermysql_advise_%d", os.Getpid())
	if err := s.confirmed(c.Yes, fmt.Sprintf("the database %s is created on %s, loaded by %d clients for some seconds, and dropped", name, s.cfg.Addr, c.Clients)); err != nil {
		return err
	}
	if _, err := s.db.ExecContext(s.ctx, "CREATE DATABASE "+quote(name)); err != nil {
		if refused := new(mysql.MySQLError); errors.As(err, &refused) && refused.Number == 1044 {
			return fmt.Errorf("%w; GRANT ALL ON `countermysql\\_advise\\_%%`.* to the tool's user, or use --watch, which needs no database", err)
		}
		return err
	}
	defer func() {
		if _, err := s.db.ExecContext(context.WithoutCancel(s.ctx), "DROP DATABASE "+quote(name)); err != nil {
			s.screen.note(fmt.Sprintf("the database %s is left behind: %v", name, err))
		}
	}()
	out := advice{Clients: c.Clients}
	b := s.screen.bars()
	last := max(8, 2*c.Clients)
	steps := int64(math.Ceil(math.Log2(float64(last)))) + 1
	for slots := 1; slots <= min(last, 1024); slots *= 2 {
		t, err := c.try(s, name, slots)
		if err != nil {
			b.stop()
			return err
		}
		out.Trials = append(out.Trials, t)
		b.update("trying", int64(len(out.Trials)), steps)
	}
	b.stop()
	best := 0.0
	for _, t := range out.Trials {
		best = max(best, t.PerSecond)
	}
	for _, t := range out.Trials {
		if t.PerSecond >= 0.95*best {
			out.Recommended = t.Slots
			break
		}
	}
	return s.result(out, func() {
		var rows []table.Row
		var bars []chartBar
		for _, t := range out.Trials {
			rows = append(rows, table.Row{t.Slots, fmt.Sprintf("%.0f", t.PerSecond), t.LockWaits, t.Read.Round(time.Microsecond)})
			bars = append(bars, chartBar{fmt.Sprintf("%d slots", t.Slots), t.PerSecond})
		}
		s.screen.table(table.Row{"slots", "transactions per second", "lock waits", "reading it"}, rows)
		s.screen.chart("transactions per second", bars)
		s.screen.line("recommended for %d clients of one counter in one process: counterSlots=%d", out.Clients, out.Recommended)
	})
}

// try loads one counter with a number of slots.
func (c *adviseCommand) try(s *session, database string, slots int) (trial, error) {
	out := trial{Slots: slots}
	cfg := s.cfg.Clone()
	cfg.DBName = database
	connector, err := countermysql.NewConnector(cfg, &countermysql.Config{
		Slots: slots, CreateSlots: true, Rollup: countermysql.RollupNever, Logger: slog.New(slog.DiscardHandler), Tables: []countermysql.TableConfig{{Table: "counted", Counters: []string{"n"}}},
	})
	if err != nil {
		return out, err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	db.SetMaxOpenConns(c.Clients)
	db.SetMaxIdleConns(c.Clients)
	for _, stmt := range []string{
		"DROP TABLE IF EXISTS counted", "DROP TABLE IF EXISTS counted_slots", "DROP TABLE IF EXISTS log",
		"CREATE TABLE counted (id INT PRIMARY KEY, n BIGINT NOT NULL)", "CREATE TABLE log (id BIGINT PRIMARY KEY AUTO_INCREMENT, at INT NOT NULL)",
		"INSERT INTO counted VALUES (1, 0)",
	} {
		if _, err := db.ExecContext(s.ctx, stmt); err != nil {
			return out, err
		}
	}
	before, err := s.status()
	if err != nil {
		return out, err
	}
	ctx, cancel := context.WithTimeout(s.ctx, time.Duration(c.Seconds*float64(time.Second)))
	defer cancel()
	var done atomic.Int64
	var failed atomic.Pointer[error]
	var clients sync.WaitGroup
	start := time.Now()
	for range c.Clients {
		clients.Go(func() {
			for ctx.Err() == nil {
				if err := c.transaction(s.ctx, db); err != nil {
					failed.Store(&err)
					return
				}
				done.Add(1)
			}
		})
	}
	clients.Wait()
	out.PerSecond = float64(done.Load()) / time.Since(start).Seconds()
	if err := failed.Load(); err != nil {
		return out, *err
	}
	after, err := s.status()
	if err != nil {
		return out, err
	}
	out.LockWaits = after["Innodb_row_lock_waits"] - before["Innodb_row_lock_waits"]
	var n int64
	const reads = 20
	start = time.Now()
	for range reads {
		if err := db.QueryRowContext(s.ctx, "SELECT n FROM counted WHERE id = 1").Scan(&n); err != nil {
			return out, err
		}
	}
	out.Read = time.Since(start) / reads
	if n != done.Load() {
		return out, errors.New("the count is wrong: " + strconv.FormatInt(n, 10) + " instead of " + strconv.FormatInt(done.Load(), 10))
	}
	return out, nil
}

func (c *adviseCommand) transaction(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "UPDATE counted SET n = n + 1 WHERE id = 1"); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO log (at) VALUES (?)", time.Now().Unix()); err != nil {
		return err
	}
	time.Sleep(c.Work)
	return tx.Commit()
}
