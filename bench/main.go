// The benchmark measures countermysql beside plain go-sql-driver/mysql,
// hand-written slots and Redis, on private servers, in alternating rounds. It
// checks after every round that every count is right, and writes what it found
// into docs/.
//
//	make bench
//	make bench ARGS=-quick
//	make bench ARGS=-render
//	make bench ARGS='-only "hot|four" -dsn "root@tcp(127.0.0.1:3306)/" -out /tmp/benchmark'
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

func main() {
	if text := os.Getenv(errandVariable); text != "" {
		if err := runErrand(text); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(exitFailed)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C doesn't wait
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// The exit codes.
const (
	exitOK          = 0
	exitFailed      = 1 // also: a count is wrong
	exitUsage       = 2
	exitInterrupted = 130 // as shells have it
)

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parseFlags(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		return exitUsage // it has been told
	}
	if s.render {
		err = render(s, newScreen(stdout))
	} else {
		err = benchmark(ctx, s, newScreen(stdout))
	}
	switch {
	case ctx.Err() != nil:
		_, _ = fmt.Fprintln(stderr, "bench: interrupted")
		return exitInterrupted
	case err != nil:
		_, _ = fmt.Fprintln(stderr, "bench:", err)
		return exitFailed
	}
	return exitOK
}

// benchmark returns an error also when a count is wrong.
func benchmark(ctx context.Context, s settings, screen *screen) error {
	// Of a developer who uses countermysql: its tables are not here.
	if err := os.Unsetenv("COUNTERMYSQL_CONFIG"); err != nil {
		return err
	}
	chosen, err := chooseWorkloads(s)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.out, 0o755); err != nil {
		return err
	}
	machine := describeMachine(ctx)
	servers, err := startServers(ctx, s, screen.note)
	if err != nil {
		return err
	}
	defer servers.stop()

	sched := newSchedule(s, servers, chosen)
	r := report{settings: s, schedule: sched, machine: machine, servers: servers}
	screen.begin(servers, sched)
	if r.measured, err = measureAll(ctx, s, sched, servers, chosen, screen); err != nil {
		return err
	}
	if slices.ContainsFunc(chosen, func(w *workload) bool { return w.ways }) {
		if r.crashed, err = measureCrashes(ctx, s, servers, screen); err != nil {
			return err
		}
	}
	r.targets = judge(servers, r.measured)
	screen.targets(r.targets)
	return r.write(screen)
}
