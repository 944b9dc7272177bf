package main

import (
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
)

// The slots tables are read whole, and so seldom; who waits is told cheaply, but
// MariaDB answers from a cache of 0.1 s.
const (
	waitsEvery = 200 * time.Millisecond
	slotsEvery = time.Second
)

// watched is what a live server has shown.
type watched struct {
	Seconds      float64         `json:"seconds"`
	Looks        int             `json:"looks"`                   // for lock waits
	LockWaits    int64           `json:"lock_waits"`              // of all tables, as the server counts them
	WaitsUnknown string          `json:"waits_unknown,omitempty"` // why it can't be told who waits
	Counters     []counterAdvice `json:"counters"`
}

// counterAdvice is for one counter. The counters of a table share its slots.
type counterAdvice struct {
	Table        string  `json:"table"`
	Counter      string  `json:"counter"`
	PerSecond    float64 `json:"per_second"`    // the sum of what arrived
	SlotsInUse   int     `json:"slots_in_use"`  // the most of a key
	SlotsWritten int     `json:"slots_written"` // the most of a key from one reading of the slots to the next
	Waiting      float64 `json:"waiting"`       // transactions that wait for a slot, on average; 0 with WaitsUnknown
	WaitingBase  float64 `json:"waiting_base"`  // for a base row: more slots don't help there
	Slots        int     `json:"slots"`         // configured
	Recommended  int     `json:"recommended"`
	Why          string  `json:"why"`
}

// tableWatch is what was seen of one table.
type tableWatch struct {
	inUse, written   int
	waiting, forBase int
}

// maxSlots and maxReserve are the configuration's.
const (
	maxSlots   = 1024
	maxReserve = 512
)

// recommend gives the number of slots of a table and the reason.
func (t *tableWatch) recommend(slots int, unknown bool) (int, string) {
	enough := 2 // twice what was written, for slots are chosen by chance
	for enough < 2*t.written {
		enough *= 2
	}
	switch {
	case t.waiting > 0 && slots < maxSlots:
		return min(2*slots, maxSlots), "waits for slots: widen, watch again"
	case t.waiting > 0:
		return slots, "waits for slots, but there can't be more"
	case t.written == 0:
		return slots, "nothing was seen to arrive"
	case unknown:
		return slots, "waits can't be told"
	case enough <= slots/2:
		return enough, "no waits, few slots written: cheaper reads"
	}
	return slots, "no waits"
}

func (c *adviseCommand) watch(s *session) error {
	waits, err := s.lockWaits()
	if err != nil {
		return err
	}
	first, err := s.look()
	if err != nil {
		return err
	}
	out := watched{Counters: []counterAdvice{}}
	if waits.unknown != nil {
		out.WaitsUnknown = waits.unknown.Error()
	}
	arrived := map[[2]string]float64{}
	tables := map[string]*tableWatch{}
	for _, t := range first.tables {
		tables[t.name()] = &tableWatch{}
	}
	b := s.screen.bars()
	defer b.stop()
	last, end := first, first.at.Add(c.Watch)
	for last.at.Before(end) {
		select {
		case <-s.ctx.Done():
			return s.ctx.Err()
		case <-time.After(min(waitsEvery, time.Until(end))):
		}
		b.update("watching", time.Since(first.at).Milliseconds(), c.Watch.Milliseconds())
		if waits.unknown == nil {
			waiting, err := waits.now(s)
			if err != nil {
				return err
			}
			out.Looks++
			for _, t := range last.tables {
				tables[t.name()].waiting += waitsOn(waiting, t.Database, t.SlotsTable)
				tables[t.name()].forBase += waitsOn(waiting, t.Database, t.Table)
			}
		}
		if time.Since(last.at) < slotsEvery && time.Now().Before(end) {
			continue
		}
		now, err := s.look()
		if err != nil {
			return err
		}
		v := compare(last, now, 0)
		for _, t := range now.tables {
			if tables[t.name()] == nil { // made meanwhile
				tables[t.name()] = &tableWatch{}
			}
			if t.fullest != nil {
				tables[t.name()].inUse = max(tables[t.name()].inUse, len(t.fullest.slots))
			}
		}
		for _, r := range v.Counters {
			tables[r.Table].written = max(tables[r.Table].written, r.SlotsWritten)
			arrived[[2]string{r.Table, r.Counter}] += r.PerSecond * now.at.Sub(last.at).Seconds()
		}
		last = now
	}
	b.stop()
	out.Seconds = last.at.Sub(first.at).Seconds()
	out.LockWaits = last.status.lockWaits - first.status.lockWaits
	for _, t := range last.tables {
		seen := tables[t.name()]
		for _, counter := range t.Counters {
			a := counterAdvice{
				Table: t.name(), Counter: counter, PerSecond: arrived[[2]string{t.name(), counter}] / out.Seconds,
				SlotsInUse: seen.inUse, SlotsWritten: seen.written, Slots: t.Slots,
			}
			if out.Looks > 0 {
				a.Waiting, a.WaitingBase = float64(seen.waiting)/float64(out.Looks), float64(seen.forBase)/float64(out.Looks)
			}
			a.Recommended, a.Why = seen.recommend(t.Slots, waits.unknown != nil)
			out.Counters = append(out.Counters, a)
		}
	}
	return s.result(out, func() { s.showWatched(out) })
}

func (s *session) showWatched(out watched) {
	var rows []table.Row
	var rates, slots []chartBar
	base := false
	for _, a := range out.Counters {
		waiting := fmt.Sprintf("%.1f, %.1f", a.Waiting, a.WaitingBase)
		if out.WaitsUnknown != "" {
			waiting = "unknown"
		}
		base = base || a.WaitingBase > 0
		rows = append(rows, table.Row{a.Table, a.Counter, fmt.Sprintf("%.1f", a.PerSecond), a.SlotsInUse, a.SlotsWritten, waiting, a.Slots, a.Recommended, a.Why})
		name := a.Table + "." + a.Counter
		rates = append(rates, chartBar{name, a.PerSecond})
		slots = append(slots, chartBar{name + " now", float64(a.Slots)}, chartBar{"recommended", float64(a.Recommended)})
	}
	s.screen.table(table.Row{"table", "counter", "per second", "slots in use", "written at a time", "waiting for slots, base", "slots now", "recommended", "because"}, rows)
	s.screen.chart("per second", rates)
	s.screen.chart("slots", slots)
	s.screen.line("watched for %.0f s, with %d looks for who waits; lock waits of all tables of the server: %d", out.Seconds, out.Looks, out.LockWaits)
	if out.WaitsUnknown != "" {
		s.screen.line("who waits can't be told: %s", out.WaitsUnknown)
	}
	if base {
		s.screen.line("Some wait for base rows, behind exact statements, edits and rollups: more slots don't help there (countermysql explain).")
	}
	s.screen.line("The counters of a table share its slots. What load there is at other times, and waits between two looks, are not known.")
}
