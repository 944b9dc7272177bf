package testserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Redis is a running Redis server that appends every write to a file, for
// comparison with ours.
type Redis struct {
	addr        string
	appendfsync string
	opts        options
	dir         *workDir
	proc        *process
}

// StartRedis installs Redis if it is missing and starts an empty one. It
// appends, without snapshots and without rewriting the file, which would cost
// it time; appendfsync is "always" or "everysec". WithArgs adds settings as
// redis-server takes them: "--name", "value". As with Start, ctx bounds the
// start only.
func StartRedis(ctx context.Context, appendfsync string, opts ...Option) (*Redis, error) {
	r := &Redis{appendfsync: appendfsync, opts: options{progress: func(string) {}}}
	for _, o := range opts {
		o(&r.opts)
	}
	if err := r.start(ctx); err != nil {
		r.Stop()
		return nil, fmt.Errorf("testserver: redis: %w", err)
	}
	return r, nil
}

func (r *Redis) start(ctx context.Context) (err error) {
	installed := func() bool { return find("redis-server") != "" }
	if !installed() {
		if err := apt(ctx, r.opts.progress, "Redis", installed, "redis-server"); err != nil {
			return fmt.Errorf("install redis-server so that it is on PATH: %w", err)
		}
	}
	if r.dir, err = newWorkDir("", "", true); err != nil {
		return err
	}
	r.opts.progress("starting redis, appendfsync " + r.appendfsync)
	for range portAttempts {
		if r.addr, err = freeAddr(); err != nil {
			return err
		}
		if err = r.run(ctx); err == nil || !strings.Contains(r.dir.logTail(), "Address already in use") {
			return err
		}
	}
	return fmt.Errorf("no free port found: %s", r.dir.logTail())
}

func (r *Redis) run(ctx context.Context) error {
	host, port, err := net.SplitHostPort(r.addr)
	if err != nil {
		return err
	}
	args := append([]string{
		"--bind", host, "--port", port, "--dir", r.dir.host("data"), "--save", "",
		"--appendonly", "yes", "--appendfsync", r.appendfsync, "--auto-aof-rewrite-percentage", "0",
	}, r.opts.args...)
	cmd := exec.Command(find("redis-server"), args...)
	cmd.Stdout, cmd.Stderr = r.dir.log, r.dir.log
	if r.proc, err = spawn(cmd, ""); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for r.ping(ctx) != nil {
		select {
		case <-r.proc.done:
			state := r.proc.cmd.ProcessState
			r.proc = nil
			return fmt.Errorf("the server did not start (%s): %s", state, r.dir.logTail())
		case <-ctx.Done():
			return fmt.Errorf("the server does not answer: %w: %s", ctx.Err(), r.dir.logTail())
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

// ping sends an inline command (https://redis.io/docs/latest/develop/reference/protocol-spec/).
func (r *Redis) ping(ctx context.Context) error {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", r.addr)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // on the way out
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, err := fmt.Fprint(conn, "PING\r\n"); err != nil {
		return err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && answer != "+PONG\r\n" {
		err = errors.New(answer)
	}
	return err
}

// Addr is the server's host:port.
func (r *Redis) Addr() string { return r.addr }

// Kill ends the server as a crash would, and returns nil. The file stays, for Restart.
func (r *Redis) Kill() error {
	if r.proc != nil {
		r.proc.end(syscall.SIGKILL)
		r.proc = nil
	}
	return nil
}

// Restart starts a server that was killed, with its file and on its port, and returns when it
// has read the file.
func (r *Redis) Restart(ctx context.Context) error {
	if err := r.run(ctx); err != nil {
		return fmt.Errorf("testserver: redis: restart: %w", err)
	}
	return nil
}

// Stop ends the server and removes its folder. It may be called twice.
func (r *Redis) Stop() {
	if r.proc != nil {
		r.proc.end(syscall.SIGTERM)
		r.proc = nil
	}
	if r.dir != nil {
		if err := r.dir.remove(); err != nil {
			r.opts.progress(fmt.Sprintf("%s is left behind: %v", r.dir.path, err))
		}
	}
}
