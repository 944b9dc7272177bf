// The demo runs a forum in which everybody likes the same post: first on
// go-sql-driver/mysql, then, with the same code, on countermysql. It shows what
// that changes, and that every count is right.
//
//	make demo
//	make demo ARGS='-seconds 3 -mysql'
//	make demo ARGS='-dsn "root@tcp(127.0.0.1:3306)/"'
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/internal/testserver"
)

func main() {
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

const logPrefix = "demo: "

type settings struct {
	dsn     string
	mysql   bool
	clients int
	phase   time.Duration
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	log := log.New(stderr, logPrefix, 0)
	s, err := parseFlags(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		return exitUsage // it has been told
	}
	err = demo(ctx, s, newScreen(stdout))
	switch {
	case ctx.Err() != nil:
		log.Print("interrupted")
		return exitInterrupted
	case err != nil:
		log.Print(err)
		return exitFailed
	}
	return exitOK
}

func parseFlags(args []string, stderr io.Writer) (settings, error) {
	var s settings
	f := flag.NewFlagSet("demo", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&s.dsn, "dsn", "", "use this server, MariaDB or MySQL, instead of starting one: `user:password@tcp(host:3306)/`;\n"+
		"the database "+database+" is created there, and dropped")
	f.BoolVar(&s.mysql, "mysql", false, "start a MySQL instead of a MariaDB")
	f.IntVar(&s.clients, "clients", 32, "how many `clients` work at once")
	seconds := f.Float64("seconds", 8, "how many `seconds` each workload runs on each driver, but the report a quarter")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	s.phase = time.Duration(*seconds * float64(time.Second))
	problem := ""
	switch {
	case f.NArg() > 0:
		problem = "there are flags only, no other arguments"
	case s.clients < 1 || s.phase <= 0:
		problem = "-clients and -seconds must be positive"
	case s.dsn != "" && s.mysql:
		problem = "-mysql is for a server the demo starts, -dsn for one that is there: give one of them"
	default:
		return s, nil
	}
	log.New(stderr, logPrefix, 0).Print(problem)
	return s, errors.New(problem)
}

// demo returns an error also when a count is wrong.
func demo(ctx context.Context, s settings, screen *screen) error {
	// Of a developer who uses countermysql: its tables are not here.
	if err := os.Unsetenv("COUNTERMYSQL_CONFIG"); err != nil {
		return err
	}
	server, stop, err := server(ctx, s, screen)
	if err != nil {
		return err
	}
	defer stop()
	if err := screen.explain(ctx, s, server); err != nil {
		return err
	}
	var outcomes []outcome
	for _, d := range setups {
		o, err := measureDriver(ctx, s, server, d, screen)
		if err != nil {
			return fmt.Errorf("driver %s: %w", d.driver, err)
		}
		outcomes = append(outcomes, o)
	}
	screen.results(outcomes)
	return screen.counts(outcomes)
}

// server returns the server to work on; stop removes what was started.
func server(ctx context.Context, s settings, screen *screen) (cfg *mysql.Config, stop func(), err error) {
	if s.dsn != "" {
		// Counters in it would reach the plain driver too. And its error could
		// quote a password: a DSN that can't be read may have it anywhere.
		if cfg, _, err = countermysql.ParseDSN(s.dsn); err != nil {
			return nil, nil, errors.New("-dsn can't be read; it looks like user:password@tcp(127.0.0.1:3306)/")
		}
		return cfg, func() {}, nil
	}
	flavor := testserver.MariaDB
	if s.mysql {
		flavor = testserver.MySQL
	}
	srv, err := testserver.Start(ctx, flavor, testserver.WithProgress(screen.note), testserver.Durable())
	if err != nil {
		return nil, nil, err
	}
	cfg, err = mysql.ParseDSN(srv.DSN(""))
	if err != nil {
		srv.Stop()
		return nil, nil, err
	}
	return cfg, srv.Stop, nil
}
