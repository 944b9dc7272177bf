package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// finding is what the page says of a thing that a user gains or loses.
type finding struct {
	heading string
	claims  []claim
}

// claim is a sentence with figures of ours and of plain at one point of a workload.
type claim struct {
	workload, at string
	ours         peer   // usually counterMySQL
	text         string // with ours on the first server for %s
	what         quantity
	aside        bool // it does not decide whether this is a gain
}

// quantity is what a claim compares.
type quantity int

const (
	perSecondOf quantity = iota
	medianOf
	deadlocksOf
)

// findings in the order of the page. Each is in one of the two lists by what was measured:
// a gain is better than plain on every server.
var findings = []finding{
	{"One hot counter.", []claim{
		{workload: "hot", at: "32 clients", text: "32 clients do %s increments a second"},
		{workload: "hot", at: "256 clients", text: "256 clients do %s"},
	}},
	{"A transaction with other work.", []claim{
		{workload: "work", at: "32 clients", text: "32 clients that increment one counter, work for 5 ms and commit do %s transactions a second"},
	}},
	{"Several counters in random order.", []claim{
		{workload: "four", at: "32 clients", text: "32 clients that increment 4 of 8 counters do %s transactions a second"},
		{workload: "four", at: "32 clients", text: "In 1,000 transactions they meet %s deadlocks", what: deadlocksOf, aside: true},
	}},
	{"A transaction of only an increment, as GORM makes it.", []claim{
		{workload: "gorm", at: "32 clients", text: "32 clients do %s transactions a second"},
	}},
	{"Stock, with [a reserve](stock.md).", []claim{
		{workload: "orders", at: "32 clients", ours: reserving, text: "32 clients that order one item in transactions with 5 ms of other work do %s a second"},
		{workload: "orders", at: "32 clients", text: "Without a reserve they do %s", aside: true},
	}},
	{"The top of a table with many rows in slots.", []claim{
		{workload: "top", at: "1 client", text: "Of 100,000 rows, 10,000 of them in slots, the first 10 by an indexed counter take %s", what: medianOf},
		{workload: "top", at: "1 client", ours: rolledUp, text: "Rolled up they take %s", what: medianOf, aside: true},
	}},
	{"Lists and numbers of rows by an indexed counter, beside few rows in slots.", []claim{
		{workload: "fewtopindex", at: "1 client", text: "Of 50,000 rows, 500 of them in slots, the first 20 take %s", what: medianOf},
		{workload: "fewcount", at: "1 client", text: "`COUNT(*)` by a condition on one takes %s", what: medianOf},
	}},
	{"Reading back.", []claim{
		{workload: "readback", at: "32 clients", text: "32 clients that read in the same transaction what they have just incremented do %s transactions a second"},
	}},
	{"Many reads.", []claim{
		{workload: "mixed", at: "32 clients", text: "32 clients that read one counter nine times of ten, and increment it else, do %s statements a second"},
	}},
	{"Pages of 20 rows, the first of them in slots.", []claim{
		{workload: "pageone", at: "1 client", text: "With one counter in each row a page takes %s", what: medianOf},
		{workload: "pagenine", at: "1 client", text: "With nine counters it takes %s", what: medianOf},
	}},
	{"A forum on busy cores.", []claim{
		{workload: "forum", at: "12 clients", text: "Where nothing is hot, 12 clients do %s lists, pages, votes and edits a second"},
		{workload: "forumhot", at: "12 clients", text: "Where a quarter of the votes go to one question, they do %s"},
	}},
}

// beside is what a claim has found on a server, as it is printed.
type beside struct {
	server, ours, plain string
	ratio               float64
}

// compare finds the figures, as they are printed: so the page can be made again of the
// printed ones.
func (c claim) compare(sections []section) (found []beside) {
	ours := c.ours.name
	if ours == "" {
		ours = counterMySQL.name
	}
	for _, s := range sections {
		if s.Name != c.workload {
			continue
		}
		for _, r := range s.Rows {
			if r.At != c.at || r.Peer != ours {
				continue
			}
			if p, ok := s.row(r.At, r.Server, plain.name); ok {
				if one := c.what.compare(r, p); !math.IsNaN(one.ratio) && !math.IsInf(one.ratio, 0) {
					found = append(found, one)
				}
			}
		}
	}
	return found
}

func (s section) row(at, server, peer string) (row, bool) {
	for _, r := range s.Rows {
		if r.At == at && r.Server == server && r.Peer == peer {
			return r, true
		}
	}
	return row{}, false
}

func (q quantity) compare(ours, plain row) beside {
	switch q {
	case medianOf:
		return beside{ours.Server, ours.P50, plain.P50, printedDuration(ours.P50) / printedDuration(plain.P50)}
	case deadlocksOf:
		return beside{ours.Server, ours.Deadlocks, plain.Deadlocks, 0}
	}
	return beside{ours.Server, ours.PerSecond, plain.PerSecond, printedRatio(ours.Ratio)}
}

// sentence is "" if nothing was measured.
func (c claim) sentence(found []beside) string {
	var parts []string
	for _, f := range found {
		against := ""
		switch {
		case c.what == deadlocksOf:
			against = "with plain " + f.plain
		case f.ratio < 1:
			against = ratio(f.ratio) + " of plain's " + f.plain
		default:
			against = times(f.ratio) + " times plain's " + f.plain
		}
		what := f.ours
		if len(parts) == 0 {
			what = fmt.Sprintf(c.text, f.ours)
		}
		parts = append(parts, what+" on "+f.server+", "+against)
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", and ") + "."
}

func (c claim) better(f beside) bool {
	if c.what == medianOf {
		return f.ratio < 1
	}
	return f.ratio > 1
}

// gainsAndLosses are the findings' sentences.
func gainsAndLosses(sections []section) (gains, losses []string) {
	for _, f := range findings {
		text, better, judged := "- **"+f.heading+"**", true, false
		for _, c := range f.claims {
			found := c.compare(sections)
			if s := c.sentence(found); s != "" {
				text += " " + s
			}
			for _, one := range found {
				judged = judged || !c.aside
				better = better && (c.aside || c.better(one))
			}
		}
		switch {
		case !judged:
		case better:
			gains = append(gains, text)
		default:
			losses = append(losses, text)
		}
	}
	return gains, losses
}

// times is a ratio from 1 on in a sentence: with two digits.
func times(r float64) string {
	if r < 9.95 {
		return numbers.Sprintf("%.1f", r)
	}
	return numbers.Sprintf("%.0f", twoDigits(r))
}

// printedRatio reads what ratio has printed. NaN: nothing.
func printedRatio(text string) float64 {
	if below, ok := strings.CutPrefix(text, "1/"); ok {
		return 1 / printedRatio(below)
	}
	r, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	if err != nil {
		return math.NaN()
	}
	return r
}

// printedDuration reads what duration has printed.
func printedDuration(text string) float64 {
	d, err := time.ParseDuration(strings.NewReplacer(",", "", " ", "").Replace(text))
	if err != nil {
		return math.NaN()
	}
	return d.Seconds()
}
