package main

import (
	"errors"
	"io/fs"
	"os"
	"regexp"
	"strings"
)

// readmeTable is the part of the README that a run of the workload hot makes.
var readmeTable = regexp.MustCompile(`(?s)(<!-- made by the benchmark -->\n).*?(<!-- end -->\n)`)

// writeReadme puts the figures of one hot counter into a README, if there is one,
// and if they were measured.
func writeReadme(path string, hot []row) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	table, ok := hotTable(hot)
	if !ok {
		return nil
	}
	return os.WriteFile(path, readmeTable.ReplaceAll(text, []byte("${1}"+table+"${2}")), 0o644)
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
