// Package testserver starts private, throwaway MariaDB and MySQL servers for
// the tests and the demo.
//
// Every server has its own temporary folder, loopback port and socket, and
// ends with the process that started it, even if that is killed. A server
// that cannot be had is an error, never a reason to skip: tests that did not
// run must not look as if they had passed.
//
//	srv, err := testserver.Start(ctx, testserver.MariaDB)
//	if err != nil { … }
//	defer srv.Stop()
//	db, err := sql.Open("mysql", srv.DSN("", "parseTime=true"))
package testserver

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
)

const (
	readyTimeout = 4 * time.Minute  // a loaded two-core machine took more than one, after a crash
	stopTimeout  = 10 * time.Second // then SIGKILL
	portAttempts = 5                // someone may take the port before the server does
)

// Option changes how a server is started.
type Option func(*options)

type options struct {
	args     []string
	env      []string // of the server, beside this process's
	durable  bool
	progress func(string)
	disk     string
	node     bool // of a cluster
	tls      bool
}

// WithArgs adds flags for the server; they win over the defaults.
func WithArgs(args ...string) Option {
	return func(o *options) { o.args = append(o.args, args...) }
}

// WithDisk gives the server a small disk of its own, a tmpfs of the size, say "500m",
// which only root can mount. See Server.Dir.
func WithDisk(size string) Option {
	return func(o *options) { o.disk = size }
}

// Durable has the server wait for the disk as it does by itself, for a
// benchmark: one on a server that doesn't flush says nothing. Without it what
// the server has written survives its own death, not that of the machine.
func Durable() Option {
	return func(o *options) { o.durable = true }
}

// WithProgress has f told what takes time: installing, starting. FromEnv may
// call it from several goroutines at once.
func WithProgress(f func(string)) Option {
	return func(o *options) { o.progress = f }
}

// Server is a running server: one of ours, or one named by
// COUNTERMYSQL_TEST_DSN, which is never stopped.
type Server struct {
	flavor  Flavor
	version string
	cfg     *mysql.Config
	opts    options

	// The rest is for our own servers only.
	inst installation
	dir  *workDir

	mu   sync.Mutex
	proc *process
}

// Start installs what is missing and starts a server with an empty data
// directory. ctx bounds the start, not the server's life: that ends with Stop
// or with this process.
func Start(ctx context.Context, f Flavor, opts ...Option) (*Server, error) {
	s := &Server{flavor: f, opts: options{progress: func(string) {}}}
	for _, o := range opts {
		o(&s.opts)
	}
	if err := s.create(ctx); err != nil {
		s.Stop()
		return nil, fmt.Errorf("testserver: %s: %w", f, err)
	}
	return s, nil
}

func (s *Server) create(ctx context.Context) (err error) {
	if s.inst, err = install(ctx, s.flavor, s.opts.progress); err != nil {
		return err
	}
	if s.dir, err = newWorkDir(s.inst.chroot, s.opts.disk, s.opts.durable); err != nil {
		return err
	}
	if s.opts.tls {
		if err := s.dir.certify(); err != nil {
			return err
		}
		s.opts.args = append(s.dir.tlsArgs(), s.opts.args...)
	}
	s.opts.progress(fmt.Sprintf("starting %s", s.flavor))
	if err := s.initialize(ctx); err != nil {
		return err
	}
	for range portAttempts {
		addr, err := freeAddr()
		if err != nil {
			return err
		}
		s.cfg = mysql.NewConfig()
		s.cfg.User, s.cfg.Net, s.cfg.Addr = "root", "tcp", addr
		err = s.run(ctx)
		if err == nil || !strings.Contains(s.dir.logTail(), "Address already in use") {
			return err
		}
	}
	return fmt.Errorf("no free port found: %s", s.dir.logTail())
}

// run starts the server on its data directory and waits until it answers.
func (s *Server) run(ctx context.Context) error {
	for _, stale := range []string{"s", "s.lock"} { // of a killed one; its pid may live again as somebody else's
		if err := os.Remove(s.dir.host(stale)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	args := append(s.flavor.runArgs(s.dir, s.cfg.Addr), s.flavor.syncArgs(s.opts.durable)...)
	args = append(args, s.opts.args...)
	proc, err := s.spawn(s.inst.server, args)
	if err != nil {
		return err
	}
	s.proc = proc

	// Only the socket is sure to be ours. The server opens it after the port.
	cfg := s.cfg.Clone()
	cfg.Net, cfg.Addr = "unix", s.dir.host("s")
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	ask := anyVersion
	if s.opts.node {
		ask = nodeVersion
	}
	for {
		if s.version, err = askVersion(ctx, cfg, ask); err == nil {
			if _, err = askVersion(ctx, s.cfg, ask); err == nil { // a node that joins a cluster closes connections once more
				return nil
			}
			err = fmt.Errorf("on its socket it does, but not on %s: %w", s.cfg.Addr, err)
		}
		select {
		case <-proc.done:
			s.proc = nil
			return fmt.Errorf("the server did not start (%s): %s", proc.cmd.ProcessState, s.dir.logTail())
		case <-ctx.Done():
			s.end(syscall.SIGKILL)
			return fmt.Errorf("the server does not answer: %w: %w: %s", ctx.Err(), err, s.dir.logTail())
		case <-time.After(30 * time.Millisecond):
		}
	}
}

// spawn starts a program of the installation with its output in the log.
func (s *Server) spawn(program string, args []string) (*process, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir = "/" // the caller's folder need not exist in the chroot
	cmd.Stdout, cmd.Stderr = s.dir.log, s.dir.log
	if s.opts.env != nil {
		cmd.Env = append(os.Environ(), s.opts.env...)
	}
	if s.inst.chroot != "" {
		cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	}
	p, err := spawn(cmd, s.inst.chroot)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	return p, nil
}

// DSN is a go-sql-driver DSN for the database; db may be empty. Each of params
// is "name=value", already escaped.
func (s *Server) DSN(db string, params ...string) string {
	cfg := s.cfg.Clone()
	cfg.DBName = db
	dsn := cfg.FormatDSN()
	for _, p := range params {
		sep := "?"
		if strings.Contains(dsn[strings.LastIndexByte(dsn, '/'):], "?") {
			sep = "&"
		}
		dsn += sep + p
	}
	return dsn
}

// Addr is the server's host:port.
func (s *Server) Addr() string { return s.cfg.Addr }

// Dir is the server's folder, as this process sees it.
func (s *Server) Dir() string { return s.dir.path }

// Flavor tells MariaDB from MySQL.
func (s *Server) Flavor() Flavor { return s.flavor }

// Version is what SELECT VERSION() answers.
func (s *Server) Version() string { return s.version }

// Own reports whether the server is ours to kill and restart, and not one
// named by COUNTERMYSQL_TEST_DSN.
func (s *Server) Own() bool { return s.dir != nil }

// LogTail is the end of the log of a server of ours, and the first errors before.
func (s *Server) LogTail() string { return s.dir.logTail() }

// Stop ends the server and removes its folder. It may be called twice.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == nil {
		return
	}
	s.end(syscall.SIGKILL) // what it would still write goes too
	if err := s.dir.remove(); err != nil {
		s.opts.progress(fmt.Sprintf("%s is left behind: %v", s.dir.path, err))
	}
}

// Kill ends the server as a crash would. The data stay, for Restart.
func (s *Server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.mayFail(); err != nil {
		return err
	}
	s.end(syscall.SIGKILL)
	return nil
}

// Restart stops the server, if it runs, and starts it again with its data and
// on its port.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.mayFail(); err != nil {
		return err
	}
	s.end(syscall.SIGTERM)
	if err := s.run(ctx); err != nil {
		return fmt.Errorf("testserver: %s: restart: %w", s.flavor, err)
	}
	return nil
}

func (s *Server) mayFail() error {
	switch {
	case s.dir == nil:
		return fmt.Errorf("testserver: the server at %s is not ours: unset %s for tests that kill one", s.Addr(), EnvDSN)
	case s.dir.gone:
		return errors.New("testserver: the server was stopped")
	}
	return nil
}

// end returns when the process is gone.
func (s *Server) end(sig syscall.Signal) {
	if s.proc == nil {
		return
	}
	s.proc.end(sig)
	s.proc = nil
}

// What a server answers, and what a node of a cluster answers that has joined: a query of a
// table.
const (
	anyVersion  = "SELECT VERSION()"
	nodeVersion = "SELECT VERSION() FROM mysql.db RIGHT JOIN (SELECT 1) one ON FALSE"
)

// askVersion is also the sign of life.
func askVersion(ctx context.Context, cfg *mysql.Config, query string) (string, error) {
	cfg = cfg.Clone()
	cfg.Logger = &mysql.NopLogger{} // a starting server is no news
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return "", err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	var v string
	err = db.QueryRowContext(ctx, query).Scan(&v)
	return v, err
}

// tail is the end of a text, for error messages, behind the servers' own errors
// among what is cut off: a crash report can push the cause out of the end.
func tail(b []byte) string {
	const limit, most = 2000, 5
	var errs []string
	if cut := len(b) - limit; cut > 0 {
		cut += bytes.IndexByte(b[cut:], '\n') + 1
		for line := range strings.Lines(string(b[:cut])) {
			if strings.Contains(line, "[ERROR]") && len(errs) < most {
				errs = append(errs, line)
			}
		}
		b = b[cut:]
	}
	return strings.TrimSpace(strings.Join(errs, "") + string(b))
}
