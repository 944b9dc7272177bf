package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// render makes the pages again, of the figures in the page of all figures: for another text,
// or another choice of figures, nothing has to be measured.
func render(s settings, screen *screen) error {
	name := filepath.Join(s.out, details, "README.md")
	md, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	c, err := parseContent(string(md))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := c.write(s.out); err != nil {
		return err
	}
	screen.line("written again: benchmark.md and benchmark/README.md, in %s", s.out)
	return nil
}

var (
	commandLine = regexp.MustCompile("(?m)^Made by `([^`]+)`")
	roundLine   = regexp.MustCompile(`in rounds of (\S+) \((\S+) where`)
	imageLine   = regexp.MustCompile(`(?m)^!\[(.*)\]\((.*)\)$`)
	nameLine    = regexp.MustCompile("(?m)^`(\\w+)`: (.*)$")
	leftLine    = regexp.MustCompile(`(?m)^Left out: (.*)$`)
)

// parseContent reads what report.md.tmpl has written.
func parseContent(md string) (c content, err error) {
	command, rounds := commandLine.FindStringSubmatch(md), roundLine.FindStringSubmatch(md)
	if command == nil || rounds == nil {
		return c, fmt.Errorf("this is no page of a benchmark's figures")
	}
	c.Command, c.Round, c.GoalRound = command[1], rounds[1], rounds[2]
	for _, t := range tableRows(below(md, "What must be shown"), 7) {
		c.Targets = append(c.Targets, targetRow{t[0], t[1], t[2], t[3], t[4], t[5], t[6]})
	}
	c.Machine, c.Servers = parseFacts(below(md, "How it was measured"))
	if figures := parseFigures(below(md, "Reads")); len(figures) > 0 {
		c.Reads = &figures[0]
	}
	if _, table, ok := strings.Cut(below(md, "Ways of counting, side by side"), "\n| | server |"); ok {
		c.Ways = "| | server |" + strings.TrimRight(table, "\n") + "\n"
	}
	for _, text := range strings.Split(md, "\n## ")[1:] {
		if named := nameLine.FindStringSubmatch(text); named != nil {
			c.Sections = append(c.Sections, parseSection(text, named[1], named[2]))
		}
	}
	return c, nil
}

func parseSection(text, name, about string) section {
	title, _, _ := strings.Cut(text, "\n")
	s := section{Name: name, Title: title, About: about, Figures: parseFigures(text)}
	for _, left := range leftLine.FindAllStringSubmatch(text, -1) {
		s.Left = append(s.Left, left[1])
	}
	for _, r := range tableRows(text, 15) {
		s.Rows = append(s.Rows, row{r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10], r[11], r[12], r[13], r[14]})
	}
	return s
}

// parseFacts reads the two lists of how it was measured that a run makes.
func parseFacts(text string) (machine, servers []fact) {
	lists := []*[]fact{&machine, &servers}
	for line := range strings.Lines(strings.TrimSpace(text)) {
		item, ok := strings.CutPrefix(strings.TrimSpace(line), "- ")
		if !ok {
			if lists = lists[1:]; len(lists) == 0 {
				break
			}
			continue
		}
		name, value, _ := strings.Cut(item, ": ")
		*lists[0] = append(*lists[0], fact{name, value})
	}
	return machine, servers
}

func parseFigures(text string) (figures []figure) {
	for _, m := range imageLine.FindAllStringSubmatch(text, -1) {
		figures = append(figures, figure{File: m[2], Title: m[1]})
	}
	return figures
}

// tableRows are the cells of a table's rows, below its heading.
func tableRows(text string, columns int) (rows [][]string) {
	under := false
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != columns+2 {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if under {
			rows = append(rows, cells[1:columns+1])
		}
		under = under || strings.HasPrefix(cells[1], "---")
	}
	return rows
}

// below is what stands below a heading.
func below(md, title string) string {
	_, rest, _ := strings.Cut(md, "\n## "+title+"\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	return rest
}
