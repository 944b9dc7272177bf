package main

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// screen is where a command shows itself: results on out, notes and progress on
// err, with bars and colors only on a terminal.
type screen struct {
	in       *bufio.Reader
	out, err io.Writer
	person   bool // somebody sits at the terminal
	terminal bool // out is one
}

func newScreen(in io.Reader, out, err io.Writer) *screen {
	s := &screen{in: bufio.NewReader(in), out: out, err: err}
	s.terminal = isTerminal(out)
	s.person = isTerminal(err) && isTerminal(in)
	return s
}

func isTerminal(f any) bool {
	file, ok := f.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb"
}

func (s *screen) line(format string, args ...any) {
	_, _ = fmt.Fprintf(s.out, format+"\n", args...) // the exit code tells all the same
}

func (s *screen) note(what string) { _, _ = fmt.Fprintln(s.err, what) }

// asks puts a question to a person; nobody there means no.
func (s *screen) asks(question string) bool {
	if !s.person {
		return false
	}
	_, _ = fmt.Fprint(s.err, question+" [y/N] ")
	answer, _ := s.in.ReadString('\n')
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y")
}

func (s *screen) table(header table.Row, rows []table.Row) {
	w := table.NewWriter()
	w.SetOutputMirror(s.out)
	w.AppendHeader(header)
	w.AppendRows(rows)
	style := table.StyleLight
	style.Format.Header = text.FormatDefault
	w.SetStyle(style)
	w.Render()
}

type chartBar struct {
	label string
	value float64
}

// chart draws bars, of which the longest is the largest value.
func (s *screen) chart(title string, bars []chartBar) {
	width, most := 0, 0.0
	for _, b := range bars {
		width, most = max(width, text.StringWidth(b.label)), max(most, b.value)
	}
	s.line("%s", title)
	for _, b := range bars {
		length := 0
		if most > 0 {
			length = max(0, int(math.Round(40*b.value/most)))
		}
		s.line("  %s │%s %.0f", text.AlignRight.Apply(b.label, width), strings.Repeat("█", length), b.value)
	}
	s.line("")
}

func (s *screen) color(c text.Color, what string) string {
	if !s.terminal {
		return what
	}
	return c.Sprint(what) // unless NO_COLOR is set
}

// bars shows the progress of several tables; nil where nobody looks.
type bars struct {
	writer   progress.Writer
	trackers map[string]*progress.Tracker
}

func (s *screen) bars() *bars {
	if !isTerminal(s.err) {
		return nil
	}
	w := progress.NewWriter()
	w.SetOutputWriter(s.err)
	w.SetUpdateFrequency(100 * time.Millisecond)
	w.SetStyle(progress.StyleBlocks)
	w.Style().Visibility.ETA, w.Style().Visibility.Speed = true, true
	w.SetTrackerPosition(progress.PositionRight)
	go w.Render()
	return &bars{w, map[string]*progress.Tracker{}}
}

func (b *bars) update(name string, done, total int64) {
	if b == nil {
		return
	}
	t := b.trackers[name]
	if t == nil {
		t = &progress.Tracker{Message: name, Total: max(total, 1)}
		b.trackers[name] = t
		b.writer.AppendTracker(t)
	}
	t.SetValue(min(done, total))
}

func (b *bars) stop() {
	if b == nil {
		return
	}
	for _, t := range b.trackers {
		t.MarkAsDone()
	}
	for b.writer.IsRenderInProgress() {
		b.writer.Stop()
		time.Sleep(10 * time.Millisecond)
	}
}
