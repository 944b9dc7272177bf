package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/countermysql/countermysql/internal/testserver"
)

// tiny is every workload, as small as it can be. The targets need 32 clients.
func tiny(t *testing.T) settings {
	return settings{
		dsns: strings.Fields(os.Getenv(testserver.EnvDSN)), out: t.TempDir(), budget: time.Second,
		rounds: 1, clients: []int{4}, rows: 300, topRows: 300,
		slots: []int{1, 4}, counters: []int{10, 20}, tables: []int{1, 3}, texts: []int{10, 20},
		ways: []int{4}, kills: 1, unsynced: true,
	}
}

// TestBenchmark runs all workloads on both servers and Redis, and looks at what
// is written. Counts are checked on the way: TestWrongCount shows that they are.
func TestBenchmark(t *testing.T) {
	s := tiny(t)
	var out bytes.Buffer
	if err := benchmark(t.Context(), s, newScreen(&out)); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("escape sequences, though the output is no terminal")
	}
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(s.out, name))
		if err != nil {
			t.Error(err)
		}
		return string(b)
	}
	md, page := read("benchmark/README.md"), read("benchmark.md")
	for _, w := range allWorkloads {
		for what, text := range map[string]string{"report": md, "terminal": out.String()} {
			if !strings.Contains(text, w.title) {
				t.Errorf("the %s does not have %s", what, w.name)
			}
		}
		for _, p := range w.peers {
			if n := strings.Count(below(md, w.title), "| "+p.name+" |"); n < len(w.points(s)) && !(p.noDetection && len(s.dsns) > 0) {
				t.Errorf("%s: %d rows of %s", w.name, n, p.name)
			}
		}
		if w.axis == noAxis {
			continue
		}
		wellFormed(t, read("benchmark/"+w.name+".svg"))
	}
	for row := range strings.Lines(below(md, workloadNamed(t, "hot").title)) {
		alone := strings.HasSuffix(row, "| – | – |\n")
		if ours := strings.Contains(row, "| countermysql |"); strings.Contains(row, " clients |") && alone == ours {
			t.Errorf("what batches hold is to be shown of countermysql alone: %s", row)
		}
	}
	wellFormed(t, read("benchmark/reads.svg"))
	if n := strings.Count(page, "]("+details+"/"); n != len(pageCharts)+1 { // and the link to all figures
		t.Errorf("the page has %d charts:\n%s", n-1, page)
	}
	if list := below(md, "Beside plain"); strings.Count(list, "| MariaDB |") < 30 && len(s.dsns) == 0 {
		t.Errorf("few workloads are compared:\n%s", list)
	}
	if !strings.Contains(page, "\n- **") {
		t.Errorf("the page lacks what was found:\n%s", page)
	}
	if strings.Contains(md+page, "NaN") || strings.Contains(md, "<no value>") {
		t.Error("a figure is missing")
	}
}

func wellFormed(t *testing.T, svg string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Errorf("%v in %.300s", err, svg)
			return
		}
	}
}

// faulty is a store that forgets an increment now and then.
type faulty struct {
	counts map[int]int64
	calls  int
}

func (f *faulty) close() {}

func (f *faulty) increment(_ context.Context, id int) error {
	if f.calls++; f.calls%100 != 0 {
		f.counts[id]++
	}
	return nil
}

func (f *faulty) read(_ context.Context, id int) (int64, error) { return f.counts[id], nil }

func (f *faulty) values(context.Context, []int) (map[int]int64, error) { return f.counts, nil }

func TestWrongCount(t *testing.T) {
	hot := allWorkloads[0]
	c := &contestant{peer: redisAlways, workload: &hot, point: point{clients: 1, counters: 1}}
	c.prepare()
	c.store = &faulty{counts: map[int]int64{}}
	if _, err := c.play(t.Context(), 20*time.Millisecond); !errors.Is(err, errWrongCount) || !strings.Contains(err.Error(), "hot") {
		t.Errorf("error: %v", err)
	}
}

func TestMixedSeesLostIncrements(t *testing.T) {
	w := workloadNamed(t, "mixed")
	c := &contestant{peer: redisAlways, workload: w, point: point{clients: 1, counters: 1}}
	c.prepare()
	c.expected[1].Store(5)
	c.store = &faulty{counts: map[int]int64{1: 4}}
	for range 1000 {
		if err := c.clients[0].workload.do(t.Context(), c.clients[0]); err != nil {
			if !errors.Is(err, errTooLow) {
				t.Error(err)
			}
			return
		}
		c.expected[1].Store(5)
		c.store.(*faulty).counts[1] = 4
	}
	t.Error("nobody noticed")
}

func workloadNamed(t *testing.T, name string) *workload {
	t.Helper()
	w := workloadOf(name)
	if w == nil {
		t.Fatal(name)
	}
	return w
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	args := []string{"-out", t.TempDir(), "-only", "^lone$"}
	for _, dsn := range strings.Fields(os.Getenv(testserver.EnvDSN)) {
		args = append(args, "-dsn", dsn)
	}
	if code := run(ctx, args, &out, &out); code != exitInterrupted {
		t.Errorf("exit code %d: %s", code, &out)
	}
}

func TestFlags(t *testing.T) {
	for args, want := range map[string]int{
		"-h":            exitOK,
		"-budget x":     exitUsage,
		"-budget -1s":   exitUsage,
		"something":     exitUsage,
		"-only (":       exitUsage,
		"-only nothing": exitUsage,
	} {
		var out bytes.Buffer
		if code := run(t.Context(), strings.Fields(args), &out, &out); code != want || out.Len() == 0 {
			t.Errorf("%s: exit code %d: %s", args, code, &out)
		}
	}
}

func TestNoPassword(t *testing.T) {
	for _, dsn := range []string{"root:s3cret@tcp(127.0.0.1:1)/", "root:s3cret/x@tcp(127.0.0.1:1)", "root:s3cret@tcp(127.0.0.1:1"} {
		var out bytes.Buffer
		if code := run(t.Context(), []string{"-dsn", dsn, "-out", t.TempDir()}, &out, &out); code != exitFailed {
			t.Errorf("exit code %d", code)
		}
		if strings.Contains(out.String(), "s3cret") || !strings.Contains(out.String(), "bench: ") {
			t.Error(out.String())
		}
	}
	s := settings{dsns: []string{"root:s3cret@tcp(127.0.0.1:1)/"}, budget: time.Minute}
	if strings.Contains(s.command(), "s3cret") {
		t.Error(s.command())
	}
}

func TestTargets(t *testing.T) {
	all := &servers{sql: []*server{{name: "MariaDB"}, {name: "MySQL"}}}
	with := func(p peer, server string, perSecond, deadlocks float64) result {
		return result{p, server, []round{{perSecond: perSecond, deadlocks: deadlocks}, {perSecond: perSecond}}}
	}
	measured := []measured{
		{workload: workloadNamed(t, "hot"), points: []measuredPoint{{point: point{x: 32, clients: 32}, results: []result{
			with(plain, "MariaDB", 100, 0), with(counterMySQL, "MariaDB", 500, 0),
			with(plain, "MySQL", 100, 0), with(counterMySQL, "MySQL", 500, 0)}}}},
		{workload: workloadNamed(t, "four"), points: []measuredPoint{{point: point{x: 32, clients: 32}, results: []result{
			with(plain, "MariaDB", 1, 1), with(counterMySQL, "MariaDB", 21, 0),
			with(plain, "MySQL", 1, 1), with(counterMySQL, "MySQL", 21, 0.001)}}}},
	}
	verdicts := map[[3]string]string{}
	for _, x := range judge(all, measured) {
		verdicts[[3]string{x.workload, x.server, x.against}] = x.verdict()
	}
	for key, want := range map[[3]string]string{
		{"one hot counter, autocommit, 32 clients", "MariaDB", "plain"}:                "reached",      // 5 of 4
		{"one hot counter, autocommit, 32 clients", "MySQL", "plain"}:                  "not reached",  // 5 of 8
		{"one hot counter, autocommit, 32 clients", "MySQL", "hand-written slots"}:     "not measured", // nobody there
		{"4 of 8 counters, 32 clients", "MariaDB", "deadlocks"}:                        "reached",
		{"4 of 8 counters, 32 clients", "MySQL", "deadlocks"}:                          "not reached", // one in one round
		{"4 of 8 counters, 32 clients", "MySQL", "plain"}:                              "reached",
		{"statements without counters", "MySQL", "allocations added"}:                  "not measured",
		{"one hot counter, autocommit, 256 clients", "MariaDB", "Redis, fsync always"}: "not measured",
	} {
		if got := verdicts[key]; got != want {
			t.Errorf("%v: %q, not %q", key, got, want)
		}
	}
}

func TestStatistics(t *testing.T) {
	var d []time.Duration
	for i := range 100 {
		d = append(d, time.Duration(100-i))
	}
	if p50, p99 := percentile(d, 0.5), percentile(d, 0.99); p50 != 51 || p99 != 100 {
		t.Error(p50, p99)
	}
	rounds := []round{{perSecond: 9}, {perSecond: 1}, {perSecond: 4}, {perSecond: 5}}
	if m := median(rounds, func(r round) float64 { return r.perSecond }); m != 4.5 {
		t.Error(m)
	}
}

func TestNumbers(t *testing.T) {
	for got, want := range map[string]string{
		short(25_000): "25k", short(1_000_000): "1M", short(0.5): "0.5",
		brief(0): "0", brief(0.001): "<.01", brief(0.0971): "0.1", brief(216.4): "216", brief(11.52): "11.5",
		duration(1500 * time.Nanosecond): "1.5 µs", duration(1500 * time.Microsecond): "1.50 ms", duration(1500 * time.Millisecond): "1,500 ms",
		ratio(0.934): "0.93", ratio(15.04): "15.0", ratio(0.0999): "1/10", ratio(1 / 13.4): "1/13", ratio(11.1 / 14544): "1/1300", ratio(0): "0",
		perThousand(0, true): "< 0.1", perThousand(0, false): "0", perThousand(0.5, true): "500.0",
	} {
		if got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
