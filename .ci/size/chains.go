package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// linked are the linker's own reasons to keep what is in a program: for each symbol those that
// it needs.
func linked(dir string, p program) (map[string][]string, error) {
	_, told, err := build(dir, p, "-ldflags=-dumpdep")
	links := map[string][]string{}
	for line := range strings.Lines(told) {
		if from, to, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " -> "); ok {
			from, to = strings.TrimSuffix(from, " <UsedInIface>"), strings.TrimSuffix(to, " <UsedInIface>")
			links[from] = append(links[from], to)
		}
	}
	return links, err
}

// chain is the shortest way from one symbol to another; nil: there is none.
func chain(links map[string][]string, from, to string) (way []string) {
	before := map[string]string{from: ""}
	for next := []string{from}; len(next) > 0; next = next[1:] {
		if next[0] == to {
			for s := to; s != ""; s = before[s] {
				way = append(way, s)
			}
			slices.Reverse(way)
			return way
		}
		for _, s := range links[next[0]] {
			if _, ok := before[s]; !ok {
				before[s] = next[0]
				next = append(next, s)
			}
		}
	}
	return nil
}

const (
	atMain  = "main.main"
	atStart = "go:main.inittasks" // of all packages, whoever needs them
)

// kept are large symbols that the parser brings.
var kept = []struct{ from, symbol string }{
	{atMain, parserPath + ".yyParseTab"},
	{atMain, parserPath + "/ast.(*AlterTableSpec).Accept"},
	{atStart, "golang.org/x/text/encoding/traditionalchinese.encode0"},
	{atStart, "go.uber.org/zap.New"},
	{atStart, "go.uber.org/zap.AtomicLevel.ServeHTTP"},
	{atStart, "net/http.(*Server).Serve"},
}

var folders = regexp.MustCompile(`[\w.%-]+/`)

func reportChains(b *strings.Builder, links map[string][]string) error {
	b.WriteString("\nWhy the linker keeps them: the shortest chains of `-ldflags=-dumpdep` of the parser alone, without the packages' paths.\n\n```\n")
	for _, k := range kept {
		way := chain(links, k.from, k.symbol)
		if way == nil {
			return fmt.Errorf("the linker no longer keeps %s by %s: see what docs/size.md says of it, and change kept in .ci/size/chains.go", k.symbol, k.from)
		}
		line := ""
		for i, s := range way {
			if s != atStart {
				s = folders.ReplaceAllString(strings.ReplaceAll(s, "go:itab.", "itab:"), "")
			}
			if i > 0 {
				s = " → " + s
			}
			if len(line)+len(s) > 120 {
				b.WriteString(line + "\n")
				line = "   "
			}
			line += s
		}
		b.WriteString(line + "\n")
	}
	b.WriteString("```\n")
	return nil
}
