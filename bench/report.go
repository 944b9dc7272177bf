package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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
var pageCharts = []struct{ chart, about, sentence string }{
	{"hot", "Increments of one hot counter go together", "Those that arrive while others are under way share one statement and one COMMIT; on plain they wait in line for the row."},
	{"work", "A transaction holds no counter while it does other work", "On plain the row is locked from the increment until COMMIT; with countermysql the increment is sent right before COMMIT, so that transactions do their other work at the same time."},
	{"four-deadlocks", "Counters in random order do not deadlock", "The increments of a transaction are sent together before COMMIT, in the order of their keys, so that none waits for one that waits for it."},
	{"mixed", "Beside many reads", "A read of a table where some row has slots looks into the slots table too, which takes the server longer."},
	{"reads", "A read adds up slots", "The more rows in slots a query concerns, the longer it takes; *rolled up* says what is left of that when no row is in slots."},
}

// content is what the templates show. What stands in the page of all figures makes the rest.
type content struct {
	Command   string
	Machine   []fact
	Servers   []fact
	Round     string
	GoalRound string
	Targets   []targetRow
	Reads     *figure
	Sections  []section
	Ways      string // a table, of the ways of counting

	Gains, Losses []string     // for the page
	Compared      []comparison // with plain, at one point
	Shown         []shownFigure
}

// comparison is ours beside plain at one point.
type comparison struct {
	Title, At, Server string
	Plain, Ours       row
}

type shownFigure struct {
	figure
	About, Sentence string
}

type targetRow struct{ Workload, Server, Against, Goal, Value, ByHand, Verdict string }

type section struct {
	Name, Title, About string
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
	c, charts, err := r.content()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(r.settings.out, details), 0o755); err != nil {
		return err
	}
	for name, data := range charts {
		if err := os.WriteFile(filepath.Join(r.settings.out, details, name), data, 0o644); err != nil {
			return err
		}
	}
	if err := c.write(r.settings.out); err != nil {
		return err
	}
	screen.line("written: benchmark.md, benchmark/README.md and %d charts, in %s", len(charts), r.settings.out)
	return nil
}

// write makes the pages, and parts of others.
func (c content) write(out string) error {
	c.Gains, c.Losses = gainsAndLosses(c.Sections)
	c.Compared, c.Shown = compared(c.Sections), c.shown()
	for name, template := range map[string]string{"benchmark.md": page, filepath.Join(details, "README.md"): markdown} {
		var md bytes.Buffer
		if err := text.Must(text.New("").Parse(template)).Execute(&md, c); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(out, name), md.Bytes(), 0o644); err != nil {
			return err
		}
	}
	if err := writeParts(filepath.Join(out, "..", "README.md"), readmeParts(c)); err != nil {
		return err
	}
	if c.Ways == "" {
		return nil
	}
	return writeParts(filepath.Join(out, "ways-of-counting.md"), map[*regexp.Regexp]string{pageWays: c.Ways})
}

// shown are the charts of the page that there are.
func (c content) shown() (list []shownFigure) {
	var all []figure
	if c.Reads != nil {
		all = append(all, *c.Reads)
	}
	for _, s := range c.Sections {
		all = append(all, s.Figures...)
	}
	for _, p := range pageCharts {
		for _, f := range all {
			if f.File == p.chart+".svg" {
				list = append(list, shownFigure{figure{details + "/" + f.File, f.Title}, p.about, p.sentence})
			}
		}
	}
	return list
}

func (r report) content() (c content, charts map[string][]byte, err error) {
	c = content{Command: r.settings.command(), Machine: r.machine, Round: r.schedule.usual.String(), GoalRound: r.schedule.goal.String()}
	for _, srv := range r.servers.sql {
		c.Servers = append(c.Servers, fact{srv.name + " " + srv.version, strings.Join(srv.settings, ", ")})
	}
	for _, s := range r.servers.redis {
		c.Servers = append(c.Servers, fact{"Redis " + s.version, "appendonly=yes, appendfsync=" + s.peer.appendfsync + ", no snapshots, the file is not rewritten"})
	}
	for _, t := range r.targets {
		c.Targets = append(c.Targets, targetRow{t.workload, t.server, t.against, t.goal(), t.value(), cmp.Or(t.byHand, "–"), t.verdict()})
	}
	charts = map[string][]byte{}
	draw := func(ch chart) (figure, error) {
		svg, err := ch.svg()
		if err != nil {
			return figure{}, fmt.Errorf("chart %s: %w", ch.name, err)
		}
		f := figure{File: ch.name + ".svg", Title: ch.title}
		charts[f.File] = svg
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
		s := section{Name: m.name, Title: m.title, About: m.about, Left: m.left, Rows: m.rows()}
		for _, ch := range m.charts(r.servers.sql) {
			f, err := draw(ch)
			if err != nil {
				return c, nil, err
			}
			s.Figures = append(s.Figures, f)
		}
		c.Sections = append(c.Sections, s)
	}
	c.Ways = waysTable(r.measured, r.crashed)
	return c, charts, nil
}

// compared is a line for each workload and server: at 32 clients, or at the last point.
func compared(sections []section) (list []comparison) {
	const usual = "32 clients"
	for _, s := range sections {
		at := ""
		for _, r := range s.Rows {
			if at != usual {
				at = r.At
			}
		}
		for _, r := range s.Rows {
			if r.Peer != counterMySQL.name || r.At != at {
				continue
			}
			if p, ok := s.row(r.At, r.Server, plain.name); ok {
				list = append(list, comparison{s.Title, r.At, r.Server, p, r})
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
