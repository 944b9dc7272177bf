package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// losses is what became of increments when something was killed, of all kills together.
type losses struct {
	acknowledged int64
	unknown      int64 // sent, and nobody was told what became of it
	lost         int64 // acknowledged, and not there
	doubled      int64 // there, and neither acknowledged nor unknown
}

func (l *losses) add(b *book, value int64) {
	acknowledged := b.of(acknowledged)
	unknown := b.of(tried) - acknowledged - b.of(undone)
	l.acknowledged += acknowledged
	l.unknown += unknown
	l.lost += max(0, acknowledged-value)
	l.doubled += max(0, value-acknowledged-unknown)
}

func (l losses) String() string {
	text := numbers.Sprintf("%d of %d", l.lost, l.acknowledged)
	if l.doubled > 0 {
		text += numbers.Sprintf(", %d twice", l.doubled)
	}
	return text + numbers.Sprintf(" (%d unknown)", l.unknown)
}

// crashed is what a way lost on a server; nil: not measured.
type crashed struct {
	peer            peer
	server          string
	process, killed *losses // the process was killed, or the server
}

// event is what a client says of an increment: before, and what it was told.
type event byte

const (
	tried event = iota
	acknowledged
	undone
	events
)

// book has the events of a way under one load.
type book [events]atomic.Int64

func (b *book) say(e event)          { b[e].Add(1) }
func (b *book) of(event event) int64 { return b[event].Load() }

const (
	crashClients = 8
	crashPause   = time.Millisecond      // from one increment of a client to its next
	rollupPause  = 20 * time.Millisecond // from one rollup to the next
)

// work is the load that ends in a crash: on one post, with rollups, until it is over. A client
// that was not told what became of an increment works no more.
func (c *contestant) work(ctx context.Context, post int, over *atomic.Bool, say func(event)) {
	var all sync.WaitGroup
	for range crashClients {
		all.Go(func() {
			for !over.Load() {
				say(tried)
				switch err := c.store.increment(ctx, post); {
				case err == nil:
					say(acknowledged)
				case refused(err):
					say(undone)
				default:
					return
				}
				time.Sleep(crashPause)
			}
		})
	}
	if wayOf(c.peer).rollsUp() {
		all.Go(func() {
			for !over.Load() {
				_ = c.store.(wayStore).rollUp(ctx, post) // the next one goes on
				time.Sleep(rollupPause)
			}
		})
	}
	all.Wait()
}

// mendTries is how often a connection pool may find a connection dead, or a server busy.
const mendTries = 20

// settled is the value of a post when all is stored and rolled up that can be.
func (c *contestant) settled(ctx context.Context, post int) (value int64, err error) {
	s := c.store.(wayStore)
	for range mendTries {
		if err = errors.Join(s.flush(ctx), s.rollUp(ctx, post)); err == nil {
			if value, err = s.read(ctx, post); err == nil {
				return value, nil
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	return 0, fmt.Errorf("%s, after a crash: %w", c, err)
}

// measureCrashes kills processes and servers, with all ways at work, each in a database of its
// own. Every kill has a post of its own.
func measureCrashes(ctx context.Context, s settings, all *servers, screen *screen) (list []crashed, err error) {
	everybody, _ := contestants(all, workloadOf(waysName), point{clients: crashClients, slots: defaultSlots, counters: 2 * s.kills})
	defer func() {
		for _, c := range everybody {
			err = errors.Join(err, c.tearDown(ctx))
		}
	}()
	for _, c := range everybody {
		if err := c.open(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", c, err)
		}
		c.hangUp()
		list = append(list, crashed{peer: c.peer, server: c.where(), process: &losses{}})
	}
	for i := range s.kills {
		screen.note(fmt.Sprintf("killing a process, %d of %d", i+1, s.kills))
		if err := killProcess(ctx, all, everybody, list, i+1); err != nil {
			return nil, err
		}
	}
	var group errgroup.Group
	for _, m := range machines(all) {
		group.Go(func() error {
			for i := range s.kills {
				screen.note(fmt.Sprintf("killing %s, %d of %d", m.name, i+1, s.kills))
				if err := m.crash(ctx, everybody, list, s.kills+i+1); err != nil {
					return fmt.Errorf("%s: %w", m.name, err)
				}
			}
			return nil
		})
	}
	return list, group.Wait()
}

func (c *contestant) hangUp() {
	c.store.close()
	c.store = nil
}

// machine is a server that may be killed.
type machine struct {
	name    string
	kill    func() error
	restart func(context.Context) error
	serves  func(*contestant) bool
}

func machines(all *servers) (list []machine) {
	for _, s := range all.sql {
		if s.own != nil {
			list = append(list, machine{s.name, s.own.Kill, s.own.Restart, func(c *contestant) bool { return c.server == s }})
		}
	}
	for _, r := range all.redis {
		list = append(list, machine{r.peer.name, func() error { r.Kill(); return nil }, r.Restart, func(c *contestant) bool { return c.redis == r }})
	}
	return list
}

// crash kills a server at work, restarts it, and puts what is there then on the list. The
// processes live on: what they have in memory is stored.
func (m machine) crash(ctx context.Context, everybody []*contestant, list []crashed, post int) error {
	var load sync.WaitGroup
	var over atomic.Bool
	books := make([]book, len(everybody))
	for i, c := range everybody {
		if !m.serves(c) {
			continue
		}
		if err := c.connectWay(ctx, crashClients+2); err != nil {
			return err
		}
		defer c.hangUp()
		load.Go(func() { c.work(ctx, post, &over, books[i].say) })
	}
	time.Sleep(life())
	err := m.kill()
	over.Store(true)
	load.Wait()
	if err = errors.Join(err, m.restart(ctx)); err != nil {
		return err
	}
	for i, c := range everybody {
		if !m.serves(c) {
			continue
		}
		value, err := c.settled(ctx, post)
		if err != nil {
			return err
		}
		if list[i].killed == nil {
			list[i].killed = &losses{}
		}
		list[i].killed.add(&books[i], value)
	}
	return nil
}

// patience is how long to wait until all ways are at work.
const patience = time.Minute

// life is how long a load goes on before something is killed: the interval of buffers is within.
func life() time.Duration {
	return 700*time.Millisecond + rand.N(time.Second)
}

// errandVariable makes this program the process that is killed.
const errandVariable = "COUNTERMYSQL_BENCH_ERRAND"

// errand is what that process works on.
type errand struct {
	Owner int // whose databases
	Post  int
	SQL   []string // DSNs
	Redis []string // addresses
}

// runErrand works until it is killed, or nobody holds its standard input.
func runErrand(text string) error {
	var e errand
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return err
	}
	ctx := context.Background()
	all := &servers{}
	if err := all.startSQL(ctx, e.SQL, nil); err != nil {
		return err
	}
	for _, s := range all.sql {
		if err := s.describe(ctx); err != nil {
			return err
		}
	}
	for i, p := range redisPeers {
		all.redis = append(all.redis, &redisServer{addr: e.Redis[i], peer: p})
	}
	everybody, _ := contestants(all, workloadOf(waysName), point{clients: crashClients, slots: defaultSlots, counters: 1})
	for _, c := range everybody {
		c.database = databaseName(e.Owner, c.peer)
		if err := c.connectWay(ctx, crashClients+2); err != nil {
			return err
		}
	}
	var over atomic.Bool
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		over.Store(true)
	}()
	var load sync.WaitGroup
	for i, c := range everybody {
		load.Go(func() {
			c.work(ctx, e.Post, &over, func(said event) {
				_, _ = os.Stdout.Write([]byte{byte(i)*byte(events) + byte(said)}) // is in the pipe now: a kill loses nothing
			})
		})
	}
	load.Wait()
	return nil
}

// killProcess has a process work for all ways, kills it, and puts what is there then on the list.
func killProcess(ctx context.Context, all *servers, everybody []*contestant, list []crashed, post int) error {
	e := errand{Owner: os.Getpid(), Post: post}
	for _, s := range all.sql {
		e.SQL = append(e.SQL, s.cfg.FormatDSN())
	}
	for _, r := range all.redis {
		e.Redis = append(e.Redis, r.addr)
	}
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	process := exec.CommandContext(ctx, program)
	process.Env = append(os.Environ(), errandVariable+"="+string(text))
	process.Stderr = os.Stderr
	in, err := process.StdinPipe()
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // it is dead
	out, err := process.StdoutPipe()
	if err != nil {
		return err
	}
	if err := process.Start(); err != nil {
		return err
	}
	kill := time.AfterFunc(patience, func() { _ = process.Process.Kill() })
	defer kill.Stop()
	books := make([]book, len(everybody))
	idle := len(books)
	for said := bufio.NewReader(out); ; {
		b, err := said.ReadByte()
		if err != nil {
			break
		}
		book, event := &books[b/byte(events)], event(b%byte(events))
		book.say(event)
		if event != acknowledged || book.of(event) > 1 {
			continue
		}
		if idle--; idle == 0 { // all are at work
			kill.Reset(life())
		}
	}
	if err := process.Wait(); process.ProcessState.Exited() {
		return fmt.Errorf("the process ended before it was killed: %w", err)
	}
	for i, c := range everybody {
		if err := c.waitAlone(ctx); err != nil {
			return err
		}
		if err := c.connectWay(ctx, 3); err != nil {
			return err
		}
		value, err := c.settled(ctx, post)
		c.hangUp()
		if err != nil {
			return err
		}
		list[i].process.add(&books[i], value)
	}
	return nil
}

// waitAlone waits until the server has ended what a killed process had sent.
func (c *contestant) waitAlone(ctx context.Context) error {
	for range 100 {
		var n int
		if c.redis != nil {
			client := c.redis.client(1)
			clients, err := client.ClientList(ctx).Result()
			if err := errors.Join(err, client.Close()); err != nil {
				return err
			}
			n = strings.Count(clients, "\n") - 1
		} else if err := c.server.admin.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = ?", c.database).Scan(&n); err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("%s: a killed process is still connected", c)
}
