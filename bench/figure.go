package main

import (
	"math"
	"slices"
	"time"
)

// charts are those of a workload.
func (m measured) charts(servers []*server) (list []chart) {
	if len(m.points) == 0 || m.axis == noAxis {
		return nil
	}
	list = append(list, m.chart(servers, "", m.title, "operations per second", func(r result) float64 { return r.perSecond() }))
	if m.axis != clientsAxis {
		return list
	}
	c := m.chart(servers, "-latency", m.title+": latency (full line: median, dashed: 99 %)", "milliseconds", func(r result) float64 { return milliseconds(r.p50()) })
	p99 := m.chart(servers, "", "", "", func(r result) float64 { return milliseconds(r.p99()) })
	for i := range c.panels {
		for j := range c.panels[i].lines {
			c.panels[i].lines[j].look.dashed = false
		}
		for _, l := range p99.panels[i].lines {
			l.look.dashed, l.look.thick = true, false
			c.panels[i].lines = append(c.panels[i].lines, l) // the legend has the name already
		}
	}
	list = append(list, c)
	if m.deadlocked() {
		list = append(list, m.deadlockChart(servers))
	}
	return list
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// chart has a panel for each server, with Redis in all.
func (m measured) chart(servers []*server, suffix, title, unit string, value func(result) float64) chart {
	c := chart{name: m.name + suffix, title: title}
	for _, srv := range servers {
		p := panel{title: srv.name + " " + srv.version, xLabel: m.axis + " (logarithmic)", yLabel: unit + " (logarithmic)"}
		for _, mp := range m.points {
			p.ticks = append(p.ticks, float64(mp.point.x))
		}
		p.lines = m.lines(srv, value)
		c.panels = append(c.panels, p)
	}
	return c
}

func (m measured) lines(srv *server, value func(result) float64) (list []line) {
	for _, who := range m.everybody() {
		if who.server != srv.name && who.server != "" {
			continue
		}
		l := line{name: who.peer.name, look: looks[who.peer]}
		for _, mp := range m.points {
			y := math.NaN()
			if r, ok := m.find(mp.point.x, srv.name, who.peer); ok {
				y = value(r)
			}
			l.xs, l.ys = append(l.xs, float64(mp.point.x)), append(l.ys, y)
		}
		list = append(list, l)
	}
	return list
}

func (m measured) deadlocked() bool {
	return slices.ContainsFunc(m.points, func(mp measuredPoint) bool {
		return slices.ContainsFunc(mp.results, result.anyDeadlock)
	})
}

// deadlockChart is bars: 0 is what matters, and has no logarithm.
func (m measured) deadlockChart(servers []*server) chart {
	c := m.chart(servers, "-deadlocks", m.title+": deadlocks", "", func(r result) float64 { return r.deadlocks() })
	c.bars = true
	for i := range c.panels {
		p := &c.panels[i]
		p.linear, p.xLabel, p.yLabel = true, m.axis, "deadlocks per transaction"
		for _, x := range p.ticks {
			p.groups = append(p.groups, short(x))
		}
	}
	return c
}

// readChart shows what reads cost, beside plain.
func readChart(list []measured, servers []*server) (chart, bool) {
	c := chart{name: "reads", title: "Reads by a lone client, median latency", bars: true, apart: true}
	for _, m := range list {
		if !slices.ContainsFunc(reading, func(w workload) bool { return w.name == m.name }) || len(m.points) == 0 {
			continue
		}
		unit, per := "microseconds", time.Microsecond
		if m.name == "top" {
			unit, per = "milliseconds", time.Millisecond
		}
		p := panel{title: m.title, yLabel: unit, linear: true}
		for _, srv := range servers {
			p.groups = append(p.groups, srv.name)
		}
		for _, who := range m.everybody() {
			if who.server != servers[0].name {
				continue
			}
			l := line{name: who.peer.name, look: looks[who.peer]}
			for _, srv := range servers {
				y := math.NaN()
				if r, ok := m.find(m.points[0].point.x, srv.name, who.peer); ok {
					y = float64(r.p50()) / float64(per)
				}
				l.ys = append(l.ys, y)
			}
			p.lines = append(p.lines, l)
		}
		c.panels = append(c.panels, p)
	}
	return c, len(c.panels) > 0
}
