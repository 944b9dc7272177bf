package main

import (
	"fmt"
	"strings"
)

// waysTable has a line for each way on each server: what was measured of the ways of counting.
// "" if nothing was. What depends on the number of clients, but throughput, is of the point in the middle.
func waysTable(list []measured, crashes []*crashed) string {
	for _, m := range list {
		if !m.ways || len(m.points) == 0 {
			continue
		}
		var b strings.Builder
		middle := m.points[len(m.points)/2].point
		b.WriteString("| | server |")
		for _, mp := range m.points {
			fmt.Fprintf(&b, " per second, %s |", m.at(mp.point))
		}
		b.WriteString(" a read | rows it adds up | × while rolled up | p99 | p99 then | lost: process killed | lost: server killed |\n|---|---|")
		b.WriteString(strings.Repeat("---:|", len(m.points)+5) + "---|---|\n")
		for _, r := range m.everybody() {
			server := r.server
			if r.peer.redis() {
				server = "Redis"
			}
			fmt.Fprintf(&b, "| %s | %s |", r.peer.name, server)
			for _, mp := range m.points {
				cell := "–"
				if r, ok := m.find(mp.point.x, r.server, r.peer); ok {
					cell = perSecond(r.perSecond())
				}
				b.WriteString(" " + cell + " |")
			}
			b.WriteString(m.wayCells(middle.x, r) + lostCells(crashes, r) + "\n")
		}
		return b.String()
	}
	return ""
}

func (m measured) wayCells(x int, who result) string {
	r, ok := m.find(x, who.server, who.peer)
	if !ok {
		return strings.Repeat(" – |", 5)
	}
	rolling, then := "–", "–"
	if wayOf(r.peer).rollsUp() {
		rolling, then = ratio(r.rolling()/r.perSecond()), duration(r.rollingP99())
	}
	return numbers.Sprintf(" %s | %.0f | %s | %s | %s |", duration(r.read()), r.rows(), rolling, duration(r.p99()), then)
}

func lostCells(crashes []*crashed, who result) string {
	for _, c := range crashes {
		if c.peer == who.peer && c.where() == who.server {
			killed := "–"
			if c.killed != nil {
				killed = c.killed.String()
			}
			return " " + c.process.String() + " | " + killed + " |"
		}
	}
	return " – | – |"
}
