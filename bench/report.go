package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	text "text/template"
)

// report is all that is written.
type report struct {
	settings settings
	schedule schedule
	machine  []fact
	servers  *servers
	measured []measured
	targets  []target
	crashed  []*crashed // of the ways of counting
}

//go:embed report.md.tmpl
var markdown string

//go:embed page.md.tmpl
var page string

// details is the folder of all that is generated but the page.
const details = "benchmark"

// pageCharts are the charts of the page, by name, and what they show.
var pageCharts = []struct{ chart, about string }{
	{"hot", "Increments of one hot counter go together"},
	{"work", "A transaction holds no counter while it does other work"},
	{"four-deadlocks", "Counters in random order do not deadlock"},
	{"mixed", "Beside many reads"},
	{"reads", "What is lost: a read adds up slots"},
}

// content is what the templates show.
type content struct {
	Command   string
	Machine   []fact
	Servers   []fact
	Round     string
	GoalRound string
	Targets   []targetRow
	Reads     *figure
	Sections  []section
	Compared  []comparison // for the page
	Shown     []shownFigure
	Ways      string // a table, of the ways of counting
}

// comparison is ours beside plain at one point.
type comparison struct {
	Title, At, Server string
	Plain, Ours       row
}

type shownFigure struct {
	figure
	About string
}

type targetRow struct{ Workload, Server, Against, Goal, Value, Verdict string }

type section struct {
	Name, Title, About string
	Axis               string
	Left               []string
	Figures            []figure
	Rows               []row
}

type figure struct{ File, Title string }

// row of a table: what a peer did at a point.
type row struct {
	At, Server, Peer, PerSecond, Ratio, P50, P99, Deadlocks, Refusals, Allocations, ClientCPU, ServerCPU, Idle, Batch, Between string
}

// write makes the files, and tells where they are.
func (r report) write(screen *screen) error {
	c, files, err := r.content()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(r.settings.out, details), 0o755); err != nil {
		return err
	}
	for name, template := range map[string]string{"benchmark.md": page, filepath.Join(details, "README.md"): markdown} {
		var md bytes.Buffer
		if err := text.Must(text.New("").Parse(template)).Execute(&md, c); err != nil {
			return err
		}
		files[name] = md.Bytes()
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(r.settings.out, name), data, 0o644); err != nil {
			return err
		}
	}
	var hot []row
	for _, s := range c.Sections {
		if s.Name == "hot" {
			hot = s.Rows
		}
	}
	if err := writeReadme(filepath.Join(r.settings.out, "..", "README.md"), hot, c.Targets); err != nil {
		return err
	}
	if c.Ways != "" {
		if err := writeParts(filepath.Join(r.settings.out, "ways-of-counting.md"), map[*regexp.Regexp]string{pageWays: c.Ways}); err != nil {
			return err
		}
	}
	screen.line("written: benchmark.md, benchmark/README.md and %d charts, in %s", len(files)-2, r.settings.out)
	return nil
}

func (r report) content() (c content, files map[string][]byte, err error) {
	c = content{Command: r.settings.command(), Machine: r.machine, Round: r.schedule.usual.String(), GoalRound: r.schedule.goal.String()}
	for _, srv := range r.servers.sql {
		c.Servers = append(c.Servers, fact{srv.name + " " + srv.version, strings.Join(srv.settings, ", ")})
	}
	for _, s := range r.servers.redis {
		c.Servers = append(c.Servers, fact{"Redis " + s.version, "appendonly=yes, appendfsync=" + s.peer.appendfsync + ", no snapshots, the file is not rewritten"})
	}
	for _, t := range r.targets {
		c.Targets = append(c.Targets, targetRow{t.workload, t.server, t.against, t.goal(), t.value(), t.verdict()})
	}
	files = map[string][]byte{}
	draw := func(ch chart) (figure, error) {
		svg, err := ch.svg()
		if err != nil {
			return figure{}, fmt.Errorf("chart %s: %w", ch.name, err)
		}
		f := figure{File: ch.name + ".svg", Title: ch.title}
		files[filepath.Join(details, f.File)] = svg
		for _, s := range pageCharts {
			if s.chart == ch.name {
				c.Shown = append(c.Shown, shownFigure{figure{details + "/" + f.File, f.Title}, s.about})
			}
		}
		return f, nil
	}
	if ch, ok := readChart(r.measured, r.servers.sql); ok {
		f, err := draw(ch)
		if err != nil {
			return c, nil, err
		}
		c.Reads = &f
	}
	for _, m := range r.measured {
		s := section{Name: m.name, Title: m.title, About: m.about, Axis: m.axis, Left: m.left, Rows: m.rows()}
		for _, ch := range m.charts(r.servers.sql) {
			f, err := draw(ch)
			if err != nil {
				return c, nil, err
			}
			s.Figures = append(s.Figures, f)
		}
		c.Sections = append(c.Sections, s)
	}
	slices.SortStableFunc(c.Shown, func(a, b shownFigure) int { return rank(a) - rank(b) })
	c.Compared = compared(c.Sections)
	c.Ways = waysTable(r.measured, r.crashed)
	return c, files, nil
}

// rank is the place of a chart on the page.
func rank(f shownFigure) int {
	for i, s := range pageCharts {
		if s.about == f.About {
			return i
		}
	}
	return len(pageCharts)
}

// compared is a line for each workload and server: at 32 clients, or where there is but one
// point.
func compared(sections []section) (list []comparison) {
	const usual = "32 clients"
	for _, s := range sections {
		points := map[string]bool{}
		for _, r := range s.Rows {
			points[r.At] = true
		}
		for _, r := range s.Rows {
			if r.Peer != counterMySQL.name || r.At != usual && len(points) > 1 {
				continue
			}
			for _, p := range s.Rows {
				if p.Peer == plain.name && p.At == r.At && p.Server == r.Server {
					list = append(list, comparison{s.Title, r.At, r.Server, p, r})
				}
			}
		}
	}
	return list
}

// rows compares everybody with plain on the same server.
func (m measured) rows() (list []row) {
	for _, mp := range m.points {
		for _, r := range mp.results {
			out := row{
				At: m.at(mp.point), Server: r.server, Peer: r.peer.name, PerSecond: perSecond(r.perSecond()), Ratio: "–",
				P50: duration(r.p50()), P99: duration(r.p99()), Deadlocks: "–", Refusals: "–",
				Allocations: numbers.Sprintf("%.1f", r.mallocs()),
				ClientCPU:   duration(r.clientCPU()), ServerCPU: duration(r.serverCPU()), Idle: numbers.Sprintf("%.0f %%", 100*r.idle()),
				Batch: "–", Between: "–",
			}
			if b := r.batch(); b > 0 {
				out.Batch, out.Between = numbers.Sprintf("%.1f", b), duration(r.between())
			}
			if base, ok := m.find(mp.point.x, r.server, plain); ok && r.server != "" {
				out.Ratio = ratio(r.perSecond() / base.perSecond())
			}
			if r.server != "" {
				out.Deadlocks, out.Refusals = perThousand(r.deadlocks(), r.anyDeadlock()), perThousand(r.refusals(), false)
			}
			list = append(list, out)
		}
	}
	return list
}

// perThousand is 0 only where there was none at all.
func perThousand(perOperation float64, some bool) string {
	switch n := perOperation * 1000; {
	case n >= 0.05:
		return numbers.Sprintf("%.1f", n)
	case n > 0 || some:
		return "< 0.1"
	}
	return "0"
}
