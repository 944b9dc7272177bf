package main

import (
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/countermysql/countermysql"
)

// settings say how much is measured. The command line chooses between two
// extents; the tests have a smaller one.
type settings struct {
	dsns   []string // of servers that are there; none: our own
	only   *regexp.Regexp
	out    string
	budget time.Duration
	quick  bool
	render bool // write the pages again, measure nothing

	unsynced bool // our servers do not wait for the disk: what is measured says nothing

	rounds  int   // of each peer at each point
	clients []int // the points of most workloads
	rows    int   // counters of the workloads with many
	topRows int   // rows of the table that TOP 10 reads

	// The points of the workloads that grow.
	slots, counters, tables, texts []int

	ways  []int // clients of the ways of counting
	kills int   // of each way's process, and of each server
}

// defaultSlots is for ours and for hand-written slots alike.
const defaultSlots = countermysql.DefaultSlots

func parseFlags(args []string, stderr io.Writer) (settings, error) {
	s := settings{rounds: 3, rows: 10_000, topRows: 100_000}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Func("dsn", "use this server, MariaDB or MySQL, instead of starting ours: `user:password@tcp(host:3306)/`; may be\n"+
		"given again. Databases named countermysql_bench_… are created there, and dropped. The peer with\n"+
		"innodb_deadlock_detect=OFF, a setting of the whole server, is left out", func(dsn string) error {
		s.dsns = append(s.dsns, dsn)
		return nil
	})
	only := f.String("only", "", "measure only the workloads whose names match this `regexp`: "+strings.Join(workloadNames(), ", "))
	f.StringVar(&s.out, "out", "../docs", "write the report into this `directory`")
	f.BoolVar(&s.quick, "quick", false, "a few minutes: fewer points, shorter rounds")
	f.BoolVar(&s.render, "render", false, "measure nothing: write the pages again, of the figures in benchmark/README.md")
	f.DurationVar(&s.budget, "budget", 0, "`time` for all of it, which sets the length of a round (default 30m, with -quick 6m)")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	s.extend()
	var err error
	if s.only, err = regexp.Compile(*only); err == nil {
		switch {
		case f.NArg() > 0:
			err = fmt.Errorf("there are flags only, no other arguments")
		case s.budget < 0:
			err = fmt.Errorf("-budget must be positive")
		default:
			_, err = chooseWorkloads(s)
		}
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "bench:", err)
	}
	return s, err
}

// extend fills in the extent of a full or a quick run.
func (s *settings) extend() {
	s.clients = []int{1, 8, 32, 128, 256}
	s.slots = []int{1, 4, 16, 64, 256, 1024}
	s.counters = []int{1_000, 10_000, 100_000, 1_000_000}
	s.tables = []int{1, 10, 100, 1_000}
	s.texts = []int{10, 100, 1_000, 10_000, 100_000}
	s.ways, s.kills = []int{1, 32, 256}, 10
	if s.quick {
		s.clients = []int{1, 32, 256}
		s.slots = []int{1, 16, 256}
		s.counters = []int{1_000, 100_000}
		s.tables = []int{1, 100}
		s.texts = []int{10, 100_000}
		s.kills = 2
	}
	if s.budget == 0 {
		s.budget = 30 * time.Minute
		if s.quick {
			s.budget = 6 * time.Minute
		}
	}
}

// upTo are numbers of clients, but for those above the most of the settings, if these name any.
func (s settings) upTo(clients ...int) (few []int) {
	for _, n := range clients {
		if len(s.clients) > 0 {
			n = min(n, slices.Max(s.clients))
		}
		few = append(few, n)
	}
	return slices.Compact(few)
}

// command is how to run it again, without what a DSN may hold.
func (s settings) command() string {
	args := ""
	if s.quick {
		args += " -quick"
	}
	if s.only != nil && s.only.String() != "" {
		args += ` -only "` + s.only.String() + `"`
	}
	for range s.dsns {
		args += " -dsn …"
	}
	args = strings.TrimSpace(args + " -budget " + s.budget.String())
	return "make bench ARGS='" + args + "'"
}
