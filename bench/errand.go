package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

// errandVariable makes this program the process that is killed.
const errandVariable = "COUNTERMYSQL_BENCH_ERRAND"

// errand is what that process works on.
type errand struct {
	Owner int // whose databases
	Post  int
	SQL   []string // DSNs
	Redis []string // addresses
}

// runErrand works for all ways until it is killed, or nobody holds its standard input.
func runErrand(text string) error {
	var e errand
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return err
	}
	ctx := context.Background()
	all := &servers{}
	if err := all.startSQL(ctx, e.SQL); err != nil {
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
	everybody, _ := contestants(all, workloadOf(waysName), crashPoint(1))
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

// patience is how long to wait until all ways are at work.
const patience = time.Minute

// killProcess has a process work, and kills it.
func killProcess(ctx context.Context, all *servers, list []*crashed, post int) error {
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
	process.Env, process.Stderr = append(os.Environ(), errandVariable+"="+string(text)), os.Stderr
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
	for _, c := range list {
		c.book = &book{}
	}
	kill := time.AfterFunc(patience, func() { _ = process.Process.Kill() })
	defer kill.Stop()
	idle := len(list)
	for said := bufio.NewReader(out); ; {
		b, err := said.ReadByte()
		if err != nil {
			break
		}
		book, event := list[b/byte(events)].book, event(b%byte(events))
		book.say(event)
		if event != acknowledged || book.of(event) > 1 {
			continue
		}
		if idle--; idle == 0 {
			kill.Reset(life())
		}
	}
	if err := process.Wait(); process.ProcessState.Exited() {
		return fmt.Errorf("the process ended before it was killed: %w", err)
	}
	for _, c := range list {
		if err := c.waitAlone(ctx); err != nil {
			return err
		}
		if err := c.connectWay(ctx, 3); err != nil {
			return err
		}
		err := c.settle(ctx, post, &c.process)
		c.hangUp()
		if err != nil {
			return err
		}
	}
	return nil
}

// waitAlone waits until the server has ended what a killed process had sent: two rollups at
// once are too many for some.
func (c *contestant) waitAlone(ctx context.Context) error {
	if c.server == nil {
		return nil
	}
	for n := -1; n != 0; {
		if err := c.server.admin.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = ?", c.database).Scan(&n); err != nil {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}
