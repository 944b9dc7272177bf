package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// has looks for a part of a page.
func has(t *testing.T, page, part string) {
	t.Helper()
	if !strings.Contains(page, part) {
		t.Errorf("%q is not in\n%s", part, page)
	}
}

// equal compares pages, line by line.
func equal(t *testing.T, name, want, got string) {
	t.Helper()
	lines := strings.Split(got, "\n")
	for i, line := range strings.Split(want, "\n") {
		if i >= len(lines) || lines[i] != line {
			t.Fatalf("line %d of %s is\n%s\nnot\n%s", i+1, name, strings.Join(lines[min(i, len(lines)):min(i+1, len(lines))], ""), line)
		}
	}
	if want != got {
		t.Errorf("%s is longer", name)
	}
}

// copied is a temporary folder with some of the files of this project.
func copied(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join("..", name))
		must(t, err)
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, name), text, 0o644))
	}
	return dir
}

func contentOf(t *testing.T, elem ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(elem...))
	must(t, err)
	return string(text)
}

// TestReadme proves that the README and the pages have the figures of the benchmark that is
// committed with them, as a run would write them.
func TestReadme(t *testing.T) {
	pages := []string{"README.md", "docs/benchmark.md", "docs/benchmark/README.md", "docs/ways-of-counting.md"}
	dir := copied(t, pages...)
	marks := []*regexp.Regexp{readmeTable, readmeCosts}
	for _, f := range readmeFigures {
		marks = append(marks, f.mark())
	}
	readme := contentOf(t, dir, "README.md")
	for _, mark := range marks {
		if !mark.MatchString(readme) {
			t.Errorf("the README lacks the mark %s", mark)
		}
		readme = mark.ReplaceAllString(readme, "${1}${2}")
	}
	must(t, os.WriteFile(filepath.Join(dir, "README.md"), []byte(readme), 0o644))
	must(t, render(settings{out: filepath.Join(dir, "docs")}, newScreen(t.Output())))
	for _, page := range pages {
		equal(t, page+", which is not what make bench ARGS=-render writes,", contentOf(t, dir, page), contentOf(t, "..", page))
	}
}

// speeds are per second by workload, of ours on MariaDB and on MySQL. Plain's are 1,000.
type speeds map[string][2]float64

// invented is the report of a run that nobody has made: of some workloads, each at its usual points.
func invented(t *testing.T, out string, ours speeds) report {
	t.Helper()
	s := settings{out: out, budget: time.Minute, clients: []int{1, 32}, rows: 100, topRows: 1000}
	all := &servers{sql: []*server{{name: "MariaDB", version: "1", settings: []string{"log_bin=OFF"}}, {name: "MySQL", version: "2", settings: []string{"log_bin=ON", "sync_binlog=1"}}}}
	r := report{settings: s, schedule: schedule{usual: time.Second, goal: time.Second}, machine: []fact{{"CPU", "a: b"}, {"load before", "0"}}, servers: all}
	for i := range allWorkloads {
		w := &allWorkloads[i]
		fast, ok := ours[w.name]
		if !ok {
			continue
		}
		m := measured{workload: w, left: []string{"somebody"}}
		for _, p := range w.points(s) {
			mp := measuredPoint{point: p}
			for j, srv := range all.sql {
				for _, peer := range w.peers {
					perSecond := 1000.0
					if peer.ours() {
						perSecond = fast[j]
					}
					d := time.Duration(float64(time.Second) / perSecond)
					mp.results = append(mp.results, result{peer, srv.name, []round{{perSecond: perSecond, p50: d, p99: 2 * d, deadlocks: 0.5}}})
				}
			}
			m.points = append(m.points, mp)
		}
		r.measured = append(r.measured, m)
	}
	r.targets = judge(all, r.measured)
	return r
}

// TestPage proves that the page tells gains and losses by what was measured, whichever they are.
func TestPage(t *testing.T) {
	dir := copied(t, "README.md")
	r := invented(t, filepath.Join(dir, "docs"), speeds{
		"hot": {5621, 16_100}, "four": {2000, 3000}, "work": {900, 30_000}, "forum": {1500, 2000},
		"mixed": {1000 / 13.3, 700}, "top": {1.4, 2.2}, "fewtopindex": {100, 2000}, "orders": {980, 4321},
	})
	must(t, r.write(newScreen(t.Output())))
	page, md, readme := contentOf(t, dir, "docs/benchmark.md"), contentOf(t, dir, "docs/benchmark/README.md"), contentOf(t, dir, "README.md")
	gains, losses := below(page, "What is gained"), below(page, "What is lost")
	for list, sentences := range map[string][]string{
		gains: {
			"32 clients do 5,621 increments a second on MariaDB, 5.6 times plain's 1,000, and 16,100 on MySQL, 16 times plain's 1,000.\n",
			"they meet 500.0 deadlocks on MariaDB, with plain 500.0, and 500.0 on MySQL",
			"12 clients do 1,500 lists",
		},
		losses: { // also what is worse on one server only
			"commit do 900 transactions a second on MariaDB, 0.90 of plain's 1,000, and 30,000 on MySQL, 30 times plain's 1,000.",
			"do 75.2 statements a second on MariaDB, 1/13 of plain's 1,000",
			"take 714 ms on MariaDB, 710 times plain's 1.00 ms, and 455 ms on MySQL, 460 times plain's 1.00 ms.",
			"the first 20 take 10 ms on MariaDB, 10 times plain's 1.00 ms, and 500.0 µs on MySQL, 0.50 of plain's 1.00 ms.",
		},
	} {
		for _, sentence := range sentences {
			has(t, list, sentence)
		}
	}
	if g, l := strings.Count(gains, "- **"), strings.Count(losses, "- **"); g != 3 || l != 5 {
		t.Errorf("%d gains, %d losses:\n%s", g, l, page)
	}
	if n := strings.Count(page, "]("+details+"/"); n != len(pageCharts)+1 {
		t.Errorf("%d charts:\n%s", n-1, page)
	}
	has(t, md, "| 90 % reads, 10 % increments, autocommit | 32 clients | MariaDB | 1,000 | 75.2 | 1/13 |")
	if strings.Contains(page+md, "NaN") {
		t.Error("a figure is missing")
	}
	has(t, readme, "<!-- mixed, made by the benchmark -->1/13 and 0.70<!-- end -->")
	has(t, readme, "<!-- fewtopindex, made by the benchmark -->10 and 0.50<!-- end -->")
	was := contentOf(t, "..", "README.md")
	has(t, readme, regexp.MustCompile("<!-- readback,.*?<!-- end -->").FindString(was)) // it was not measured

	must(t, render(r.settings, newScreen(t.Output())))
	equal(t, "docs/benchmark.md", page, contentOf(t, dir, "docs/benchmark.md"))
	equal(t, "docs/benchmark/README.md", md, contentOf(t, dir, "docs/benchmark/README.md"))
	equal(t, "README.md", readme, contentOf(t, dir, "README.md"))
}

// TestPageOfFew proves that a run of few workloads makes a page.
func TestPageOfFew(t *testing.T) {
	for _, ours := range []speeds{{"slots": {1, 2}}, {"hot": {2000, 3000}}, {"mixed": {500, 600}}} {
		dir := copied(t, "README.md")
		r := invented(t, filepath.Join(dir, "docs"), ours)
		must(t, r.write(newScreen(t.Output())))
		page := contentOf(t, dir, "docs/benchmark.md")
		_, hot := ours["hot"]
		_, mixed := ours["mixed"]
		if strings.Contains(page, "## What is gained\n\n- ") != hot || strings.Contains(page, "## What is lost\n\n- ") != mixed {
			t.Errorf("%v:\n%s", ours, page)
		}
		if regexp.MustCompile(`<no value>|NaN|\n\n\n`).MatchString(page) {
			t.Error(page)
		}
		has(t, page, "(benchmark/README.md)")
	}
}

// TestRenderNothing proves that what is no page of figures is left alone.
func TestRenderNothing(t *testing.T) {
	dir := t.TempDir()
	s := settings{out: dir}
	if err := render(s, newScreen(t.Output())); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	must(t, os.Mkdir(filepath.Join(dir, details), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, details, "README.md"), []byte("# Something\n"), 0o644))
	if err := render(s, newScreen(t.Output())); err == nil || !strings.Contains(err.Error(), "no page of a benchmark's figures") {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "benchmark.md")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a page was written", err)
	}
}
