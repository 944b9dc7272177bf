package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// event is what a client says of an increment: before it, and what it was told.
type event byte

const (
	tried event = iota
	acknowledged
	undone
	events
)

// book has the events of one load.
type book [events]atomic.Int64

func (b *book) say(e event)      { b[e].Add(1) }
func (b *book) of(e event) int64 { return b[e].Load() }

// losses is what became of increments when something was killed, of all kills together.
type losses struct {
	acknowledged int64
	unknown      int64 // sent, and nobody was told what became of it
	lost         int64 // acknowledged, and not there
	doubled      int64 // there, and neither acknowledged nor unknown
}

func (l *losses) add(b *book, value int64) {
	known := b.of(acknowledged)
	unknown := b.of(tried) - known - b.of(undone)
	l.acknowledged += known
	l.unknown += unknown
	l.lost += max(0, known-value)
	l.doubled += max(0, value-known-unknown)
}

func (l *losses) String() string {
	text := numbers.Sprintf("%d of %d", l.lost, l.acknowledged)
	if l.doubled > 0 {
		text += numbers.Sprintf(", %d twice", l.doubled)
	}
	return text + numbers.Sprintf(" (%d unknown)", l.unknown)
}

// crashed is what a way lost.
type crashed struct {
	*contestant
	book    *book   // of the load under way
	process losses  // the process was killed
	killed  *losses // the server was; nil: it is not ours
}

const (
	crashClients = 8
	crashPause   = time.Millisecond      // from one increment of a client to its next
	rollupPause  = 20 * time.Millisecond // from one rollup to the next
	mendTries    = 20                    // of a pool that finds dead connections, on a server that is busy
)

// crashPoint is where all ways work, each in a database of its own, and each kill on a post of its own.
func crashPoint(kills int) point {
	return point{clients: crashClients, slots: defaultSlots, counters: 2 * kills}
}

// work is the load that ends in a crash, with rollups. A client that was not told what became of
// an increment works no more.
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

// settle puts on the list what is there when all is stored and rolled up that can be.
func (c *crashed) settle(ctx context.Context, post int, l *losses) (err error) {
	s := c.store.(wayStore)
	for range mendTries {
		if err = errors.Join(s.flush(ctx), s.rollUp(ctx, post)); err == nil {
			var value int64
			if value, err = s.read(ctx, post); err == nil {
				l.add(c.book, value)
				return nil
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("%s, after a crash: %w", c, err)
}

func (c *contestant) hangUp() {
	c.store.close()
	c.store = nil
}

// measureCrashes kills processes and servers at work.
func measureCrashes(ctx context.Context, s settings, all *servers, screen *screen) (list []*crashed, err error) {
	everybody, _ := contestants(all, workloadOf(waysName), crashPoint(s.kills))
	defer func() {
		for _, c := range everybody {
			err = errors.Join(err, c.tearDown(ctx))
		}
	}()
	hosts := map[killable][]*crashed{}
	for _, c := range everybody {
		if err := c.open(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", c, err)
		}
		c.hangUp()
		one := &crashed{contestant: c}
		if c.redis != nil {
			hosts[c.redis.Redis] = append(hosts[c.redis.Redis], one)
		} else if c.server.own != nil {
			hosts[c.server.own] = append(hosts[c.server.own], one)
		}
		list = append(list, one)
	}
	for i := range s.kills {
		screen.note(fmt.Sprintf("killing a process, %d of %d", i+1, s.kills))
		if err := killProcess(ctx, all, list, i+1); err != nil {
			return nil, err
		}
	}
	var group errgroup.Group
	for srv, served := range hosts {
		group.Go(func() error {
			for i := range s.kills {
				screen.note(fmt.Sprintf("killing the server of %s, %d of %d", served[0], i+1, s.kills))
				if err := killServer(ctx, srv, served, s.kills+i+1); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return list, group.Wait()
}

// killable is a server of ours.
type killable interface {
	Kill() error
	Restart(context.Context) error
}

// killServer kills a server at work and restarts it. The processes live on: what they have in
// memory is stored then.
func killServer(ctx context.Context, srv killable, served []*crashed, post int) error {
	var load sync.WaitGroup
	var over atomic.Bool
	for _, c := range served {
		if err := c.connectWay(ctx, crashClients+2); err != nil {
			return err
		}
		defer c.hangUp()
		c.book = &book{}
		load.Go(func() { c.work(ctx, post, &over, c.book.say) })
	}
	time.Sleep(life())
	err := srv.Kill()
	over.Store(true)
	load.Wait()
	if err := errors.Join(err, srv.Restart(ctx)); err != nil {
		return err
	}
	for _, c := range served {
		if c.killed == nil {
			c.killed = &losses{}
		}
		if err := c.settle(ctx, post, c.killed); err != nil {
			return err
		}
	}
	return nil
}

// life is how long a load goes on before something is killed: the interval of buffers is within.
func life() time.Duration {
	return 700*time.Millisecond + rand.N(time.Second)
}
