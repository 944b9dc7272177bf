package main

import (
	"errors"
	"io/fs"
	"os"
	"regexp"
	"strings"
)

// The parts of pages that a run makes: in the README of one hot counter, and of what costs
// where nothing is hot, and the figures at marks of their own; and the table of
// docs/ways-of-counting.md.
var (
	readmeTable = regexp.MustCompile(`(?s)(<!-- made by the benchmark -->\n).*?(<!-- end -->\n)`)
	readmeCosts = regexp.MustCompile(`(?s)(<!-- costs, made by the benchmark -->\n).*?(<!-- end -->\n)`)
	pageWays    = regexp.MustCompile(`(?s)(<!-- ways, made by the benchmark -->\n).*?(<!-- end -->\n)`)
)

// readmeFigures stand in the README's table of whom it is not for, each behind a mark with
// the workload's name.
var readmeFigures = []claim{
	{workload: "coldtwo", at: "16 clients"},
	{workload: "fewtopindex", at: "1 client", what: medianOf},
	{workload: "fewcount", at: "1 client", what: medianOf},
	{workload: "mixed", at: "32 clients"},
	{workload: "pageone", at: "1 client", what: medianOf},
	{workload: "readback", at: "32 clients"},
	{workload: "orders", at: "32 clients"},
}

func (c claim) mark() *regexp.Regexp {
	return regexp.MustCompile(`(<!-- ` + c.workload + `, made by the benchmark -->).*?(<!-- end -->)`)
}

// figures are the ratios on both servers, if both were measured.
func (c claim) figures(sections []section) (text string, ok bool) {
	found := c.compare(sections)
	if len(found) != 2 || found[0].server != "MariaDB" || found[1].server != "MySQL" {
		return "", false
	}
	for i, f := range found {
		if i > 0 {
			text += " and "
		}
		if f.ratio < 1 {
			text += ratio(f.ratio)
		} else {
			text += times(f.ratio)
		}
	}
	return text, true
}

// readmeParts are the parts of the README of which all was measured.
func readmeParts(c content) map[*regexp.Regexp]string {
	parts := map[*regexp.Regexp]string{}
	for _, s := range c.Sections {
		if table, ok := hotTable(s.Rows); ok && s.Name == "hot" {
			parts[readmeTable] = table
		}
	}
	if table, ok := costsTable(c.Targets); ok {
		parts[readmeCosts] = table
	}
	for _, f := range readmeFigures {
		if text, ok := f.figures(c.Sections); ok {
			parts[f.mark()] = text
		}
	}
	return parts
}

// writeParts replaces parts of a page, if there is one.
func writeParts(path string, parts map[*regexp.Regexp]string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for part, table := range parts {
		text = part.ReplaceAll(text, []byte("${1}"+table+"${2}"))
	}
	return os.WriteFile(path, text, 0o644)
}

// costs are what the README tells of a load in which nothing is hot, by the goals' titles.
var costs = []struct{ goal, told string }{
	{"nothing hot: lone autocommit increment", "an increment in autocommit, 1 client"},
	{"nothing hot: a row and an increment, 16 clients", "a row and an increment in a transaction, 16 clients"},
	{"nothing hot: the same, RowsAffected asked, 16 clients", "the same, RowsAffected asked"},
	{"nothing hot: two counters of two tables, 16 clients", "a row and two counters of two tables, RowsAffected asked, 16 clients"},
	{"nothing hot: guarded decrement, 16 clients", "`… SET stock = stock - 1 WHERE id = ? AND stock >= 1`, 16 clients"},
	{"nothing hot: edit of a row, 16 clients", "an edit of a row with counters, 16 clients"},
	{"forum, nothing hot, 12 clients", "a forum: lists by score, pages, votes, edits; 12 clients"},
	{"forum, one hot question, 12 clients", "the same; a quarter of the votes go to one question"},
}

// costsTable is a line for each of them: our throughput, of plain's.
func costsTable(targets []targetRow) (table string, ok bool) {
	figures := map[[2]string]string{}
	for _, t := range targets {
		figures[[2]string{t.Workload, t.Server}] = t.Value
	}
	var b strings.Builder
	b.WriteString("And what it costs where nothing is hot, as parts of plain's throughput. With both cores busy, each round trip more tells: the look-up behind RowsAffected in a transaction, and what a counter's sum adds to a query while some row of its table is in slots.\n\n")
	b.WriteString("| nothing hot, 2,000 rows and more | MariaDB | MySQL |\n|---|---:|---:|\n")
	ok = true
	for _, c := range costs {
		maria, my := figures[[2]string{c.goal, "MariaDB"}], figures[[2]string{c.goal, "MySQL"}]
		ok = ok && maria != "" && my != "" && maria != target{}.value() && my != target{}.value()
		b.WriteString("| " + c.told + " | " + maria + " | " + my + " |\n")
	}
	return b.String(), ok
}

// hotTable is a line for each peer that the README names.
func hotTable(hot []row) (table string, ok bool) {
	figures := map[[3]string]string{}
	for _, r := range hot {
		figures[[3]string{r.At, r.Server, r.Peer}] = r.PerSecond
	}
	var b strings.Builder
	b.WriteString("| | 32 clients, MariaDB | MySQL | 256 clients, MariaDB | MySQL |\n|---|---:|---:|---:|---:|\n")
	ok = true
	for _, p := range []peer{plain, handWritten, counterMySQL, redisAlways} {
		mark := ""
		if p.ours() {
			mark = "**"
		}
		b.WriteString("| " + mark + p.name + mark + " |")
		for _, at := range []string{"32 clients", "256 clients"} {
			for _, server := range []string{"MariaDB", "MySQL"} {
				if p.redis() {
					if server == "MySQL" { // Redis has one figure for both
						b.WriteString(" |")
						continue
					}
					server = ""
				}
				figure := figures[[3]string{at, server, p.name}]
				ok = ok && figure != ""
				b.WriteString(" " + mark + figure + mark + " |")
			}
		}
		b.WriteString("\n")
	}
	return b.String(), ok
}
