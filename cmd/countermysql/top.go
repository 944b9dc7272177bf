package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
)

type topCommand struct {
	Every time.Duration `default:"2s" help:"How often to look."`
	Count int           `help:"End after so many looks; 0 means never." placeholder:"N"`
	Keys  int           `default:"10" help:"How many of the hottest keys to show."`
}

func (topCommand) Help() string {
	return `Looks at the slots tables every so often and shows, for each counter, what arrived since the last look, and for all
of it the hottest keys, the slots in use, what reading costs, and the server's lock waits and deadlocks. Seen are the
keys that have slots at a look: of one that had some at the look before, all that its value has changed by; of any
other, what is in slots. It reads the whole of every slots table, and the counters of its keys, half a million slots
in five seconds and 500 MB: roll up in the background.

Slots in use are the rows of the slots table, per key: they wait for a rollup. Read cost is the median of 5 point reads
of the counter as it is, base row and slots, and its ratio to the same read of the base row alone; both are prepared
statements on one connection, with the network's time in it.

Of buffered tables, what waits in other processes' memory is not seen, but when they have stored it last, each in a row
of countermysql_flushes; one that has nothing to store does not. Of derived counters and histories it tells whether their
triggers are in place, as far as the user may see them.

Example:

  countermysql top --dsn "$DSN" --every 1s`
}

// rate is one counter's line.
type rate struct {
	Table        string      `json:"table"`
	Counter      string      `json:"counter"`
	PerSecond    float64     `json:"per_second"`    // the sum of what arrived
	SlotsWritten int         `json:"slots_written"` // the most of one key since the last look
	Pending      json.Number `json:"pending"`       // the sum of what is in slots
}

// hot is one key's line.
type hot struct {
	Table        string   `json:"table"`
	Counter      string   `json:"counter"`
	Key          string   `json:"key"`
	PerSecond    float64  `json:"per_second"`
	Slots        int      `json:"slots"`         // in use
	SlotsWritten int      `json:"slots_written"` // since the last look
	Read         readCost `json:"read"`
}

// view is what is shown, and written as JSON.
type view struct {
	Time     time.Time   `json:"time"`
	Counters []rate      `json:"counters"`
	Hottest  []hot       `json:"hottest"`
	Tables   []tableView `json:"tables"`
	Kept     []keptView  `json:"kept,omitempty"`
	Server   serverView  `json:"server"`
}

// serverView is of all tables, per second.
type serverView struct {
	LockWaits       float64 `json:"lock_waits_per_second"`
	LockWaitSeconds float64 `json:"lock_wait_seconds_per_second"`
	Deadlocks       float64 `json:"deadlocks_per_second"`
	Statements      float64 `json:"statements_per_second"`
}

type tableView struct {
	Table          string   `json:"table"`
	Rows           int64    `json:"rows"` // of the slots table: they wait for a rollup
	Keys           int64    `json:"keys"`
	SlotsPerKey    float64  `json:"slots_per_key"`
	SlotsMost      int      `json:"slots_most"` // of one key
	SlotsAvailable int      `json:"slots_available"`
	FullestRead    readCost `json:"fullest_read"` // of the key with the most slots

	Buffered *bufferedView   `json:"buffered,omitempty"`
	Reserved []*reservedView `json:"reserved,omitempty"`
}

// reservedView is what reserved rows of a table hold of one counter.
type reservedView struct {
	Counter string      `json:"counter"`
	Rows    int64       `json:"rows"`
	Filled  int64       `json:"filled"` // that hold something
	Units   json.Number `json:"units"`

	of    int // rows of a key
	units *big.Rat
}

// bufferedView is what processes have left of the flushes of a buffered table.
type bufferedView struct {
	Every     float64 `json:"every_seconds"`
	Processes int64   `json:"processes"`                // that have flushed, or are to
	Newest    float64 `json:"newest_flush_age_seconds"` // of a process that has nothing to flush it grows
	Oldest    float64 `json:"oldest_flush_age_seconds"`
}

// Validate is for kong.
func (c *topCommand) Validate() error {
	if c.Every <= 0 || c.Count < 0 || c.Keys < 0 {
		return errors.New("--every must be positive, --count and --keys can't be negative")
	}
	return nil
}

func (c *topCommand) run(s *session) error {
	var last *look
	for n := 0; ; n++ {
		now, err := s.look()
		if err != nil {
			return err
		}
		if last != nil {
			v := compare(last, now, c.Keys)
			if err := s.measureReads(&v, now); err != nil {
				return err
			}
			if err := s.result(v, func() { s.show(v) }); err != nil {
				return err
			}
			if c.Count > 0 && n >= c.Count {
				return nil
			}
		}
		last = now
		select {
		case <-s.ctx.Done():
			return nil
		case <-time.After(c.Every):
		}
	}
}

func compare(last, now *look, keys int) view {
	v := view{Time: now.at, Counters: []rate{}, Hottest: []hot{}, Tables: []tableView{}, Kept: now.kept}
	seconds := now.at.Sub(last.at).Seconds()
	for _, t := range now.tables {
		name, before := t.name(), last.table(t.name())
		tv := tableView{Table: name, Rows: t.rows, Keys: int64(len(t.keys)), SlotsAvailable: t.Slots, Buffered: t.buffered}
		if t.fullest != nil {
			tv.SlotsMost, tv.SlotsPerKey = len(t.fullest.slots), float64(t.rows)/float64(len(t.keys))
		}
		for i, counter := range t.Counters {
			if v := t.reserved[counter]; v != nil {
				v.Units = decimal(v.units)
				tv.Reserved = append(tv.Reserved, v)
			}
			r := rate{Table: name, Counter: counter}
			all, pending := new(big.Rat), new(big.Rat)
			for key, k := range t.keys {
				arrived, written := k.since(before.keys[key], i, pending)
				all.Add(all, arrived)
				r.SlotsWritten = max(r.SlotsWritten, written)
				if n, _ := arrived.Float64(); n != 0 {
					v.Hottest = append(v.Hottest, hot{Table: name, Counter: counter, Key: key, PerSecond: n / seconds, Slots: len(k.slots), SlotsWritten: written})
				}
			}
			n, _ := all.Float64()
			r.PerSecond, r.Pending = n/seconds, decimal(pending)
			v.Counters = append(v.Counters, r)
		}
		v.Tables = append(v.Tables, tv)
	}
	slices.SortFunc(v.Hottest, func(a, b hot) int {
		return cmp.Or(-cmp.Compare(a.PerSecond, b.PerSecond), cmp.Compare(a.Table+a.Key+a.Counter, b.Table+b.Key+b.Counter))
	})
	v.Hottest = v.Hottest[:min(keys, len(v.Hottest))]
	perSecond := func(now, last int64) float64 { return float64(now-last) / seconds }
	a, b := now.status, last.status
	v.Server = serverView{perSecond(a.lockWaits, b.lockWaits), perSecond(a.lockWaitMS, b.lockWaitMS) / 1000, perSecond(a.deadlocks, b.deadlocks), perSecond(a.statements, b.statements)}
	return v
}

// since is what has arrived for a counter of the key since a look before, and in how many slots; what
// is in all of them is pending.
func (k *seenKey) since(before *seenKey, counter int, pending *big.Rat) (arrived *big.Rat, written int) {
	arrived = new(big.Rat)
	for _, s := range k.slots {
		n, was := amount(s.amounts[counter]), before.in(s.slot, counter)
		if n == nil {
			continue
		}
		pending.Add(pending, n)
		if was == nil && n.Sign() != 0 || was != nil && was.Cmp(n) != 0 {
			written++
		}
		if was != nil {
			// or it was rolled up meanwhile, and all of it is new
			if more := new(big.Rat).Sub(n, was); new(big.Rat).Abs(more).Cmp(new(big.Rat).Abs(n)) < 0 {
				n = more
			}
		}
		arrived.Add(arrived, n)
	}
	if sum, was := k.sum(counter), before.sum(counter); sum != nil && was != nil {
		arrived.Sub(sum, was) // also if it was rolled up meanwhile
	}
	return arrived, written
}

// decimal is an amount of slots, with all its digits.
func decimal(n *big.Rat) json.Number {
	const most = 30 // a DECIMAL's, behind the point
	text := n.FloatString(most)
	return json.Number(strings.TrimSuffix(strings.TrimRight(text, "0"), "."))
}

func (s *session) show(v view) {
	if s.screen.terminal {
		s.screen.line("\x1b[H\x1b[2J\x1b[3J%s", v.Time.Format(time.TimeOnly))
	} else {
		s.screen.line("%s", v.Time.Format(time.TimeOnly))
	}
	var rows []table.Row
	for _, r := range v.Counters {
		rows = append(rows, table.Row{r.Table, r.Counter, fmt.Sprintf("%.1f", r.PerSecond), r.Pending})
	}
	s.screen.table(table.Row{"table", "counter", "per second", "pending rollup"}, rows)
	rows = nil
	for _, t := range v.Tables {
		rows = append(rows, table.Row{t.Table, t.Keys, t.Rows, fmt.Sprintf("%.1f", t.SlotsPerKey), fmt.Sprintf("%d of %d", t.SlotsMost, t.SlotsAvailable), t.FullestRead})
	}
	s.screen.table(table.Row{"slots in use", "keys", "slots", "average", "most of a key", "reading the fullest, × base row alone"}, rows)
	rows = nil
	for _, t := range v.Tables {
		for _, r := range t.Reserved {
			rows = append(rows, table.Row{t.Table, r.Counter, r.Units, fmt.Sprintf("%d, %d a key", r.Rows, r.of), r.Filled})
		}
	}
	if rows != nil {
		s.screen.table(table.Row{"reserved", "counter", "units", "rows", "that hold some"}, rows)
	}
	rows = nil
	for _, t := range v.Tables {
		if b := t.Buffered; b != nil {
			newest, oldest := "–", "–"
			if b.Processes > 0 {
				newest, oldest = fmt.Sprintf("%.0fs", b.Newest), fmt.Sprintf("%.0fs", b.Oldest)
			}
			rows = append(rows, table.Row{t.Table, fmt.Sprintf("%gs", b.Every), b.Processes, newest, oldest})
		}
	}
	if rows != nil {
		s.screen.table(table.Row{"buffered", "every", "processes", "last flush of any", "of the one that waits longest"}, rows)
	}
	s.showKept(v.Kept)
	rows = nil
	for _, h := range v.Hottest {
		rows = append(rows, table.Row{h.Table, h.Key, h.Counter, fmt.Sprintf("%.1f", h.PerSecond), h.Slots, h.Read})
	}
	if rows != nil {
		s.screen.table(table.Row{"hottest keys", "key", "counter", "per second", "slots in use", "read cost, × base row alone"}, rows)
	}
	s.screen.line("server, per second: %.1f lock waits of %.1f ms in sum, %.1f deadlocks, %.0f statements",
		v.Server.LockWaits, 1000*v.Server.LockWaitSeconds, v.Server.Deadlocks, v.Server.Statements)
}
