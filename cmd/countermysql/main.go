// Countermysql is the operator's tool: it adopts tables with counters, shows and
// maintains them, and leaves them again. The driver works without it.
//
//	countermysql check --dsn 'app:secret@tcp(127.0.0.1:3306)/forum?counters=post.likes'
//
// `countermysql --help` lists the commands, and `countermysql check --help` what
// one does, with an example.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/go-sql-driver/mysql"

	"github.com/countermysql/countermysql"
)

// The exit codes. They are in the help as well.
const (
	exitOK          = 0
	exitFailed      = 1   // an error
	exitUsage       = 2   // the command line or the configuration is wrong
	exitFound       = 3   // check found a failure, recount a difference, rollup a row that it could not do, advise nothing to recommend
	exitAsks        = 4   // nothing was changed: --yes is missing
	exitInterrupted = 130 // as shells have it
)

const description = `Adopt, see, maintain and leave counters of countermysql.

Every command needs to know the server and the counters: from --dsn, which is
the application's (parameters of the driver included), and --config, its file.

Commands that change something say what, and go on with --yes.

Exit codes: 0 done; 1 error; 2 wrong command line or configuration; 3 something
was found (check: a failure, recount: a difference, rollup: a row left, advise:
nothing to recommend); 4 nothing was changed because --yes is missing; 130
interrupted.`

// commandLine is what kong reads.
type commandLine struct {
	DSN    string `name:"dsn" env:"COUNTERMYSQL_DSN" help:"The application's DSN, as for sql.Open(\"countermysql\", …). It may hold a password: better in the environment." placeholder:"USER:PASSWORD@tcp(HOST:3306)/DB?counters=…"`
	Config string `env:"COUNTERMYSQL_CONFIG" help:"The YAML file that lists the counters." placeholder:"FILE"`
	JSON   bool   `name:"json" help:"Write JSON: one value, or for rollup --every and top one a line. Times are in seconds."`

	Version kong.VersionFlag `help:"Print the version."`

	Check   checkCommand   `cmd:"" help:"Is each listed counter fit? One line per finding, with its remedy."`
	Init    initCommand    `cmd:"" help:"Make the slots tables, add the columns of new counters and touch columns, make histories. May be repeated."`
	Explain explainCommand `cmd:"" help:"What becomes of a statement, why, and what is sent."`
	Rollup  rollupCommand  `cmd:"" help:"Add the slots to the base rows, beside any load."`
	Recount recountCommand `cmd:"" help:"Compare counters with the queries that define them, and correct them."`
	Advise  adviseCommand  `cmd:"" help:"How many slots does this server need? Runs a short load on a scratch database, or watches."`
	Top     topCommand     `cmd:"" help:"Watch the counters live."`
	History historyCommand `cmd:"" help:"What a counter of a row has changed by, interval by interval."`
	Drop    dropCommand    `cmd:"" help:"Leave: roll everything up, verify, drop the slots tables."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C doesn't wait
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// session is what a command works with.
type session struct {
	ctx    context.Context
	db     *sql.DB // countermysql's
	cfg    *mysql.Config
	config *countermysql.Config
	screen *screen
	json   bool
	makes  bool // the application makes its slots tables itself: create_slots
}

// command is one of the commands.
type command interface {
	run(s *session) error
}

// exit is an error with an exit code. Its message, if any, is for people.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var line commandLine
	ended := -1
	parser, err := kong.New(&line, kong.Name("countermysql"), kong.Description(description), kong.Writers(stdout, stderr), kong.Vars{"version": version()},
		kong.Exit(func(code int) { ended = code }), kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 100}))
	if err != nil {
		return tell(stderr, err)
	}
	kctx, err := parser.Parse(args)
	if ended >= 0 {
		return ended // --help, --version
	}
	if err != nil { // it quotes what is out of place, perhaps the DSN
		return tell(stderr, &exit{exitUsage, errors.New(withoutPassword(err.Error()))})
	}
	s, err := open(ctx, &line, stdin, stdout, stderr)
	if err != nil {
		return tell(stderr, err)
	}
	defer s.db.Close()
	err = kctx.Selected().Target.Addr().Interface().(command).run(s)
	if ctx.Err() != nil {
		_, _ = fmt.Fprintln(stderr, "countermysql: interrupted")
		return exitInterrupted
	}
	return tell(stderr, err)
}

// version is the tool's, and those of what it is made of.
func version() string {
	const driver = "github.com/go-sql-driver/mysql"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "countermysql, of an unknown version"
	}
	text := "countermysql " + info.Main.Version
	for _, dep := range info.Deps {
		if dep.Path == driver {
			text += ", " + driver + " " + dep.Version
		}
	}
	return text + ", " + info.GoVersion
}

// A password in a DSN, which may hold anything, and in one that lacks its @.
var (
	password       = regexp.MustCompile(`(?s):.*@`)
	passwordNoHost = regexp.MustCompile(`(?s):.*/`)
)

func withoutPassword(s string) string {
	if password.MatchString(s) {
		return password.ReplaceAllString(s, ":…@")
	}
	return passwordNoHost.ReplaceAllString(s, ":…/")
}

// tell writes an error and returns its exit code.
func tell(stderr io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	code := exitFailed
	var e *exit
	if errors.As(err, &e) {
		code = e.code
	}
	if text := err.Error(); text != "" {
		_, _ = fmt.Fprintln(stderr, "countermysql:", trimPrefix(text))
	}
	return code
}

func trimPrefix(s string) string {
	const prefix = "countermysql: "
	for len(s) >= len(prefix) && s[:len(prefix)] == prefix {
		s = s[len(prefix):]
	}
	return s
}

// registered is what a network of mysql.RegisterDialContext may be called; anything else
// in its place is a mistaken DSN.
var registered = regexp.MustCompile(`^[\w+-]+$`)

// configIn is the file that a DSN names.
var configIn = regexp.MustCompile(`[?&]counterConfig=([^&]+)`)

// sameFile reports whether a value of a DSN is the name of a file.
func sameFile(value, file string) bool {
	name, err := url.QueryUnescape(value)
	if err != nil || name == file {
		return err == nil
	}
	one, oneErr := os.Stat(name)
	other, otherErr := os.Stat(file)
	return oneErr == nil && otherErr == nil && os.SameFile(one, other)
}

// dialed reports whether the tool can dial a network.
func dialed(network string) bool {
	return slices.Contains([]string{"tcp", "tcp4", "tcp6", "unix"}, network)
}

// open reads the configuration and opens the database. The tool itself makes no
// slots tables and rolls nothing up but when it is asked to.
func open(ctx context.Context, line *commandLine, stdin io.Reader, stdout, stderr io.Writer) (*session, error) {
	if line.DSN == "" {
		return nil, &exit{exitUsage, errors.New("give the application's DSN: --dsn, or COUNTERMYSQL_DSN in the environment")}
	}
	if line.Config != "" {
		if m := configIn.FindStringSubmatch(line.DSN); m != nil && os.Getenv("COUNTERMYSQL_CONFIG") != line.Config && !sameFile(m[1], line.Config) {
			return nil, &exit{exitUsage, errors.New("--config and counterConfig of the DSN name two files; give one of them")}
		}
		if err := os.Setenv("COUNTERMYSQL_CONFIG", line.Config); err != nil {
			return nil, err
		}
	}
	cfg, config, err := countermysql.ParseDSN(line.DSN)
	var mistake *countermysql.ConfigError
	switch {
	case errors.As(err, &mistake):
		return nil, &exit{exitUsage, err}
	case err != nil && strings.Contains(err.Error(), "unknown config name"): // it names the one, which a mistaken DSN may have its password in
		return nil, &exit{exitUsage, errors.New("the tls of the DSN is none that the tool knows: what an application has registered is known to itself alone; use true, skip-verify or preferred")}
	case err == nil && !dialed(cfg.Net) && registered.MatchString(cfg.Net):
		return nil, &exit{exitUsage, errors.New("the network of the DSN is none that the tool knows: what an application has registered is known to itself alone; use tcp(host:port) or unix(/path)")}
	case err != nil, !dialed(cfg.Net): // its text could quote a part of the DSN that is a password
		return nil, &exit{exitUsage, errors.New("the DSN can't be read; it looks like user:password@tcp(127.0.0.1:3306)/db?counters=post.likes")}
	case len(config.Tables) == 0:
		return nil, &exit{exitUsage, errors.New("no counters are listed: give them in the DSN (counters=post.likes) or in a file (--config)")}
	}
	makes := config.CreateSlots
	config.CreateSlots, config.Rollup = false, countermysql.RollupNever
	config.Logger = slog.New(slog.DiscardHandler) // the commands tell
	connector, err := countermysql.NewConnector(cfg, config)
	if err != nil {
		return nil, &exit{exitUsage, err}
	}
	db := sql.OpenDB(connector)
	if err := db.PingContext(ctx); err != nil {
		db.Close()
		return nil, fmt.Errorf("no answer from %s(%s): %w", cfg.Net, cfg.Addr, err)
	}
	return &session{ctx: ctx, db: db, cfg: cfg, config: config, screen: newScreen(stdin, stdout, stderr), json: line.JSON, makes: makes}, nil
}

// result writes v as JSON, or calls text.
func (s *session) result(v any, text func()) error {
	if !s.json {
		text()
		return nil
	}
	e := json.NewEncoder(s.screen.out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// confirmed says what is about to be done. Without --yes a person at a terminal
// is asked, and nobody else goes on.
func (s *session) confirmed(yes bool, what string) error {
	if yes {
		s.screen.note(what)
		return nil
	}
	s.screen.note("This would happen: " + what)
	if s.screen.asks("Go on?") {
		return nil
	}
	return &exit{exitAsks, errors.New("nothing was changed; add --yes to go on")}
}
