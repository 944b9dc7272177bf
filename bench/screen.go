package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// screen is where the benchmark shows itself: on a terminal with one line that
// changes, elsewhere in plain lines.
type screen struct {
	out      io.Writer
	terminal bool

	mu     sync.Mutex // servers start at once
	played int
	turns  int
	began  time.Time
}

var numbers = message.NewPrinter(language.English)

func newScreen(out io.Writer) *screen {
	f, isFile := out.(*os.File)
	s := &screen{out: out}
	s.terminal = isFile && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
	return s
}

func (s *screen) print(text string) {
	_, _ = io.WriteString(s.out, text) // the exit code tells all the same
}

const clearLine = "\r\x1b[K"

// line ends the line that changes.
func (s *screen) line(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.terminal {
		s.print(clearLine)
	}
	s.print(numbers.Sprintf(format, args...) + "\n")
}

// now replaces the line that changes.
func (s *screen) now(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	width, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		width = 80
	}
	s.print(clearLine + text.Trim(numbers.Sprintf(format, args...), width-1))
}

func (s *screen) color(c text.Color, what string) string {
	if !s.terminal {
		return what
	}
	return c.Sprint(what) // unless NO_COLOR is set
}

// note is a line on something that takes time.
func (s *screen) note(what string) { s.line("%s", s.color(text.Faint, what+" …")) }

func (s *screen) begin(all *servers, sched schedule) {
	s.turns, s.began = sched.rounds, time.Now()
	for _, srv := range all.sql {
		s.line("%s %s: %v", srv.name, srv.version, srv.settings)
	}
	for _, r := range all.redis {
		s.line("Redis %s, appendfsync %s", r.version, r.peer.appendfsync)
	}
	s.line("%d rounds of %v, %v where something must be shown, all peers in turn; the counts are checked after each", sched.rounds, sched.usual, sched.goal)
}

func (s *screen) status() string {
	left := ""
	if s.played > 0 {
		estimate := time.Since(s.began) / time.Duration(s.played) * time.Duration(s.turns-s.played)
		left = fmt.Sprintf(", about %v left", estimate.Round(time.Second))
	}
	return numbers.Sprintf("%d of %d%s", s.played, s.turns, left)
}

func (s *screen) setUp(w *workload, p point) {
	if s.terminal {
		s.now("[%s] %s, %s: setting up", s.status(), w.name, w.at(p))
	}
}

func (s *screen) round(c *contestant, round, rounds int, r round) {
	s.played++
	if s.terminal {
		s.now("[%s] %s, %s: %v, round %d of %d: %.0f/s", s.status(), c.workload.name, c.workload.at(c.point), c, round, rounds, r.perSecond)
	}
}

// at names a point of the workload.
func (w *workload) at(p point) string {
	switch w.axis {
	case noAxis:
		return "1 client"
	case clientsAxis:
		if p.x == 1 {
			return "1 client"
		}
	}
	return numbers.Sprintf("%d %s", p.x, w.axis)
}

func newTable(header table.Row, firstNumber int) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleRounded)
	t.Style().Format.Header = text.FormatDefault
	var columns []table.ColumnConfig
	for n := firstNumber; n <= len(header); n++ {
		columns = append(columns, table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
	t.AppendHeader(header)
	return t
}

// workload prints what a workload has come to.
func (s *screen) workload(m measured) {
	header := table.Row{m.name, ""}
	for _, mp := range m.points {
		header = append(header, m.at(mp.point))
	}
	t := newTable(header, 3)
	for _, c := range m.everybody() {
		row := table.Row{c.server, c.peer.name}
		for _, mp := range m.points {
			cell := "–"
			if r, ok := m.find(mp.point.x, c.server, c.peer); ok {
				cell = perSecond(r.perSecond())
				if m.axis == noAxis {
					cell = duration(r.p50())
				}
			}
			row = append(row, cell)
		}
		t.AppendRow(row)
	}
	what := "operations per second"
	if m.axis == noAxis {
		what = "median latency"
	}
	s.line("\n%s: %s\n%s", s.color(text.Bold, m.title), what, t.Render())
	for _, left := range m.left {
		s.line("left out: %s", left)
	}
}

// everybody lists all who took part, in their order.
func (m measured) everybody() (list []result) {
	seen := map[[2]string]bool{}
	for _, mp := range m.points {
		for _, r := range mp.results {
			if key := [2]string{r.server, r.peer.name}; !seen[key] {
				seen[key] = true
				list = append(list, r)
			}
		}
	}
	return list
}

func (s *screen) targets(list []target) {
	t := newTable(table.Row{"workload", "server", "against", "target", "measured", "by hand", ""}, 4)
	for _, x := range list {
		verdict := x.verdict()
		switch verdict {
		case "reached":
			verdict = s.color(text.FgGreen, verdict)
		case "not reached":
			verdict = s.color(text.FgRed, verdict)
		}
		t.AppendRow(table.Row{x.workload, x.server, x.against, x.goal(), x.value(), cmp.Or(x.byHand, "–"), verdict})
	}
	s.line("\n%s\n%s", s.color(text.Bold, "What must be shown"), t.Render())
}

// The units of all tables.

func perSecond(n float64) string {
	if n < 100 {
		return numbers.Sprintf("%.1f", n)
	}
	return numbers.Sprintf("%.0f", n)
}

func duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return numbers.Sprintf("%.1f µs", float64(d)/float64(time.Microsecond))
	case d < 10*time.Millisecond:
		return numbers.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
	}
	return numbers.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond))
}

// ratio is a fraction where it is small: 0.00 tells nothing.
func ratio(r float64) string {
	switch {
	case math.IsNaN(r) || math.IsInf(r, 0):
		return "–"
	case r == 0:
		return "0"
	case r > 0 && r < 0.1:
		return "1/" + strconv.FormatFloat(twoDigits(1/r), 'f', 0, 64)
	case r < 10:
		return numbers.Sprintf("%.2f", r)
	}
	return numbers.Sprintf("%.1f", r)
}

// twoDigits leaves two digits of a number from 10 on, and rounds others to whole ones.
func twoDigits(n float64) float64 {
	unit := math.Pow(10, max(0, math.Floor(math.Log10(n))-1))
	return math.Round(n/unit) * unit
}
