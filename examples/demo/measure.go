package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
)

// outcome is what one driver did.
type outcome struct {
	driver string
	runs   []measurement // as in workloads
	counts []count
}

type measurement struct {
	acknowledged int64
	deadlocks    int64
	took         time.Duration
	p99          time.Duration
}

func (m measurement) perSecond() float64 { return float64(m.acknowledged) / m.took.Seconds() }

// measureDriver runs the workloads in a new database, and drops it.
func measureDriver(ctx context.Context, s settings, server *mysql.Config, d setup, screen *screen) (o outcome, err error) {
	admin, err := openServer(server)
	if err != nil {
		return o, err
	}
	defer admin.Close()
	for _, statement := range []string{"DROP DATABASE IF EXISTS " + database, "CREATE DATABASE " + database} {
		if _, err := admin.ExecContext(ctx, statement); err != nil {
			return o, err
		}
	}
	defer func() {
		// Also after Ctrl-C.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if _, err := admin.ExecContext(ctx, "DROP DATABASE "+database); err != nil {
			screen.line("the database %s is left behind: %v", database, err)
		}
	}()

	db, err := open(server, d)
	if err != nil {
		return o, err
	}
	defer db.Close()
	db.SetMaxOpenConns(s.clients)
	db.SetMaxIdleConns(s.clients)
	if err := fill(ctx, db); err != nil {
		return o, err
	}
	if err := connect(ctx, db, s.clients); err != nil {
		return o, err
	}
	o.driver = d.driver
	for i, w := range workloads {
		phase := s.phase
		if i == reportRun {
			phase /= 4 // reading gets no faster, and needs no long look
		}
		m, err := measure(ctx, db, s.clients, phase, w, screen.progress(d.driver, w.name, phase))
		if err != nil {
			return o, fmt.Errorf("%s: %w", w.name, err)
		}
		o.runs = append(o.runs, m)
	}
	o.counts, err = readCounts(ctx, db, o.runs)
	return o, err
}

func openServer(server *mysql.Config) (*sql.DB, error) {
	cfg := server.Clone()
	cfg.DBName = ""
	c, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(c), nil
}

// open does what an application does: sql.Open with a name and a DSN.
func open(server *mysql.Config, d setup) (*sql.DB, error) {
	cfg := server.Clone()
	cfg.DBName = database
	cfg.InterpolateParams = true // one round trip a statement
	dsn := cfg.FormatDSN()
	if d.params != "" {
		sep := "?"
		if strings.Contains(dsn[strings.LastIndexByte(dsn, '/'):], "?") {
			sep = "&"
		}
		dsn += sep + d.params
	}
	return sql.Open(d.driver, dsn)
}

// connect opens all connections, so that no measurement does.
func connect(ctx context.Context, db *sql.DB, clients int) error {
	errs := make([]error, clients)
	conns := make([]*sql.Conn, clients)
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() { conns[i], errs[i] = db.Conn(ctx) })
	}
	wg.Wait()
	for _, c := range conns {
		if c != nil {
			c.Close()
		}
	}
	return errors.Join(errs...)
}

// measure lets all clients work for the time of a phase, and ends when what
// they have begun then is done: every acknowledged operation counts, and every
// one that had to wait.
func measure(ctx context.Context, db *sql.DB, clients int, phase time.Duration, w workload, show *progressLine) (m measurement, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var acknowledged, deadlocks atomic.Int64
	latencies := make([][]time.Duration, clients)
	begin := time.Now()
	end := begin.Add(phase)

	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			for now := time.Now(); now.Before(end) && ctx.Err() == nil; now = time.Now() {
				err := w.do(ctx, db, i, &deadlocks)
				if errors.Is(err, errSoldOut) {
					return
				}
				if err != nil {
					cancel(err) // the others stop too
					return
				}
				acknowledged.Add(1)
				latencies[i] = append(latencies[i], time.Since(now))
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for running := true; running; {
		select {
		case <-tick.C:
		case <-done:
			running = false
		}
		m = measurement{acknowledged: acknowledged.Load(), deadlocks: deadlocks.Load(), took: time.Since(begin)}
		if running {
			show.update(m)
		}
	}
	if err := context.Cause(ctx); err != nil {
		show.end(m, false)
		return m, err
	}
	show.end(m, true)
	m.p99 = percentile(slices.Concat(latencies...), 0.99)
	return m, nil
}

func percentile(d []time.Duration, p float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[min(int(float64(len(d))*p), len(d)-1)]
}

// count is a counter, and what it has to be.
type count struct {
	name         string
	acknowledged int64
	logged       bool
	log          int64 // rows of the like log, if logged
	counted      int64 // as an application reads it
}

func (c count) right() bool {
	return c.counted == c.acknowledged && (!c.logged || c.log == c.acknowledged)
}

// readCounts reads everything as an application does.
func readCounts(ctx context.Context, db *sql.DB, runs []measurement) ([]count, error) {
	likes := count{name: "post 1: likes", acknowledged: runs[likeRun].acknowledged, logged: true}
	likesFK := count{name: "post 2: likes, FK", acknowledged: runs[likeFKRun].acknowledged, logged: true}
	views := count{name: "post 1: views", acknowledged: runs[viewRun].acknowledged}
	pages := count{name: "page_view: views", acknowledged: runs[viewRun].acknowledged}
	sold := count{name: "item 1: sold", acknowledged: runs[buyRun].acknowledged}
	for _, read := range []struct {
		query string
		args  []any
		dest  []any
	}{
		{"SELECT COUNT(*) FROM like_log WHERE post_id = ?", []any{hotPost}, []any{&likes.log}},
		{"SELECT COUNT(*) FROM like_log_fk WHERE post_id = ?", []any{hotPostFK}, []any{&likesFK.log}},
		{"SELECT likes, views FROM post WHERE id = ?", []any{hotPost}, []any{&likes.counted, &views.counted}},
		{"SELECT likes FROM post WHERE id = ?", []any{hotPostFK}, []any{&likesFK.counted}},
		{"SELECT views FROM page_view WHERE day = ? AND page = ?", []any{today, hotPage}, []any{&pages.counted}},
		{"SELECT ? - stock FROM item WHERE id = ?", []any{inStock, item}, []any{&sold.counted}},
	} {
		if err := db.QueryRowContext(ctx, read.query, read.args...).Scan(read.dest...); err != nil {
			return nil, fmt.Errorf("%s: %w", read.query, err)
		}
	}
	allLikes := count{name: "report: likes", acknowledged: likes.acknowledged + likesFK.acknowledged, log: likes.log + likesFK.log, logged: true}
	allViews := count{name: "report: views", acknowledged: views.acknowledged}
	var err error
	allLikes.counted, allViews.counted, err = readReport(ctx, db)
	return []count{likes, likesFK, views, pages, sold, allLikes, allViews}, err
}
