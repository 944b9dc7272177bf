package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jedib0t/go-pretty/v6/progress"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// screen is where the demo shows itself: with bars and colors on a terminal,
// and elsewhere in plain lines.
type screen struct {
	out      io.Writer
	terminal bool
	numbers  *message.Printer
}

func newScreen(out io.Writer) *screen {
	f, isFile := out.(*os.File)
	s := &screen{out: out, numbers: message.NewPrinter(language.English)}
	s.terminal = isFile && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
	return s
}

func (s *screen) line(format string, args ...any) {
	_, _ = s.numbers.Fprintf(s.out, format+"\n", args...) // the exit code tells all the same
}

// note is a line on something that takes time.
func (s *screen) note(what string) { s.line("%s", s.color(text.Faint, what+" …")) }

func (s *screen) color(c text.Color, what string) string {
	if !s.terminal {
		return what
	}
	return c.Sprint(what) // unless NO_COLOR is set
}

func (s *screen) explain(ctx context.Context, set settings, server *mysql.Config) error {
	db, err := openServer(server)
	if err != nil {
		return err
	}
	defer db.Close()
	var version, flush string
	if err := db.QueryRowContext(ctx, "SELECT VERSION(), @@innodb_flush_log_at_trx_commit").Scan(&version, &flush); err != nil {
		return fmt.Errorf("no answer from %s(%s): %w", server.Net, server.Addr, err)
	}
	number, _, _ := strings.Cut(version, "-")
	product := "MySQL"
	if strings.Contains(version, "MariaDB") {
		product = "MariaDB"
	}
	s.line("")
	s.line("A forum in which everybody likes the same post: %d clients on %s %s", set.clients, product, number)
	s.line("(innodb_flush_log_at_trx_commit=%s), %d cores here. Both drivers run the same", flush, runtime.NumCPU())
	s.line("code, each workload for %v; only sql.Open differs:", set.phase)
	s.line("")
	for _, d := range setups {
		dsn := "…/" + database
		if d.params != "" {
			dsn += "?\n    " + d.params
		}
		s.line(`  sql.Open("%s", "%s")`, s.color(text.Bold, d.driver), dsn)
	}
	s.line("")
	for _, w := range workloads {
		about := strings.ReplaceAll(w.about, "\n", "\n"+strings.Repeat(" ", 13))
		s.line("  %s  %s", s.color(text.Bold, fmt.Sprintf("%-9s", w.name)), about)
	}
	s.line("")
	return nil
}

// progressLine is one measurement under way.
type progressLine struct {
	screen  *screen
	label   string
	phase   time.Duration
	tracker *progress.Tracker
	drawn   chan struct{}
}

func (s *screen) progress(driver, workload string, phase time.Duration) *progressLine {
	p := &progressLine{screen: s, label: fmt.Sprintf("  %-12s  %-9s", driver, workload), phase: phase}
	if !s.terminal {
		return p
	}
	p.tracker = &progress.Tracker{Message: p.label, Total: int64(phase), AutoStopDisabled: true}
	w := progress.NewWriter()
	w.SetOutputWriter(s.out)
	w.SetAutoStop(true)
	w.SetUpdateFrequency(100 * time.Millisecond)
	w.SetTrackerPosition(progress.PositionRight)
	w.SetTrackerLength(20)
	w.SetStyle(progress.StyleBlocks)
	style := w.Style()
	style.Visibility = progress.StyleVisibility{Tracker: true}
	style.Colors.Tracker, style.Colors.Error = text.Colors{text.FgCyan}, text.Colors{text.FgRed}
	style.Options.Separator, style.Options.DoneString, style.Options.ErrorString = "", "  ✓", "  stopped"
	w.AppendTracker(p.tracker)
	p.drawn = make(chan struct{})
	go func() { w.Render(); close(p.drawn) }()
	return p
}

func (p *progressLine) status(m measurement) string {
	return p.screen.numbers.Sprintf("%s  %8.0f/s  %6d deadlocks", p.label, m.perSecond(), m.deadlocks)
}

func (p *progressLine) update(m measurement) {
	if p.tracker != nil {
		p.tracker.UpdateMessage(p.status(m))
		p.tracker.SetValue(int64(min(m.took, p.phase)))
	}
}

func (p *progressLine) end(m measurement, ok bool) {
	switch {
	case p.tracker == nil && ok:
		p.screen.line("%s", p.status(m))
	case p.tracker == nil:
	default:
		p.tracker.UpdateMessage(p.status(m))
		if ok {
			p.tracker.MarkAsDone()
		} else {
			p.tracker.MarkAsErrored()
		}
		<-p.drawn // who prints next begins below
	}
}

func (s *screen) table(header table.Row, right ...int) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleRounded)
	t.Style().Format.Header = text.FormatDefault
	if s.terminal {
		t.Style().Color.Header = text.Colors{text.Bold}
	}
	var columns []table.ColumnConfig
	for _, n := range right {
		columns = append(columns, table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
	t.AppendHeader(header)
	return t
}

// results prints the speed: a ratio is to the first driver.
func (s *screen) results(outcomes []outcome) {
	t := s.table(table.Row{"workload", "driver", "per second", "ratio", "p99 latency", "deadlocks"}, 3, 4, 5, 6)
	for i, w := range workloads {
		t.AppendSeparator()
		for j, o := range outcomes {
			name, m := w.name, o.runs[i]
			if j > 0 {
				name = ""
			}
			ratio := "1"
			if j > 0 {
				ratio = s.ratio(m.perSecond(), outcomes[0].runs[i].perSecond())
			}
			t.AppendRow(table.Row{name, o.driver, s.numbers.Sprintf("%.0f", m.perSecond()), ratio, milliseconds(m.p99), s.numbers.Sprintf("%d", m.deadlocks)})
		}
	}
	s.line("\n%s", t.Render())
	s.line("The price: a report reads each counter as the sum of its row and its slots.")
}

func (s *screen) ratio(speed, base float64) string {
	r, digits, color := speed/base, 1, text.FgGreen
	if r < 10 {
		digits = 2
	}
	if r < 1 {
		color = text.FgYellow
	}
	return s.color(color, s.numbers.Sprintf("%.*f", digits, r))
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

var errWrong = errors.New("a count is wrong: see the table")

// counts prints whether every count is right.
func (s *screen) counts(outcomes []outcome) error {
	var err error
	t := s.table(table.Row{"count", "driver", "acknowledged", "in log", "counted", ""}, 3, 4, 5)
	for i := range outcomes[0].counts {
		for j, o := range outcomes {
			c := o.counts[i]
			name, log, verdict := c.name, "", s.color(text.FgGreen, "right")
			if j > 0 {
				name = ""
			}
			if c.logged {
				log = s.numbers.Sprintf("%d", c.log)
			}
			if !c.right() {
				verdict, err = s.color(text.FgRed, "WRONG"), errWrong
			}
			t.AppendRow(table.Row{name, o.driver, s.numbers.Sprintf("%d", c.acknowledged), log, s.numbers.Sprintf("%d", c.counted), verdict})
		}
	}
	s.line("\n%s", t.Render())
	return err
}
