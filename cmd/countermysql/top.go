package main

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/countermysql/countermysql"
)

type topCommand struct {
	Every time.Duration `default:"2s" help:"How often to look."`
	Count int           `help:"End after so many looks; 0 means never." placeholder:"N"`
	Keys  int           `default:"10" help:"How many of the hottest keys to show."`
}

func (topCommand) Help() string {
	return `Looks at the slots tables every so often and shows, for each counter, what arrived since the last look, and for all
of it the hottest keys, the rows that wait for a rollup, and the server's lock waits and deadlocks. What arrives and is
rolled up between two looks is not seen. It reads the whole of every slots table: roll up in the background.

Example:

  countermysql top --dsn "$DSN" --every 1s`
}

// look is what top sees at one moment.
type look struct {
	at     time.Time
	slots  map[string]*big.Rat // by table, counter, key and slot
	tables []seenTable
	status map[string]int64
}

type seenTable struct {
	countermysql.TableInfo
	rows, keys int64
	read       time.Duration // of one counter of the key with the most slots, through the driver
}

// rate is one counter's line.
type rate struct {
	Table, Counter string
	PerSecond      float64 // the sum of what arrived
	Pending        string  // the sum of what is in slots
}

// hot is one key's line.
type hot struct {
	Table, Counter, Key string
	PerSecond           float64
	Slots               int
}

// view is what is shown, and written as JSON.
type view struct {
	Time     time.Time
	Counters []rate
	Hottest  []hot
	Tables   []tableView
	Server   map[string]float64 // per second
}

type tableView struct {
	Table          string
	Rows, Keys     int64 // of the slots table: they wait for a rollup
	SlotsPerKey    float64
	ReadMicros     int64
	SlotsAvailable int
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

func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// slotKey tells the slots of all tables apart.
type slotKey struct{ table, counter, key, slot string }

func (k slotKey) String() string {
	return strings.Join([]string{k.table, k.counter, k.key, k.slot}, "\x00")
}

func parseSlotKey(s string) slotKey {
	p := strings.SplitN(s, "\x00", 4)
	return slotKey{p[0], p[1], p[2], p[3]}
}

func (s *session) look() (*look, error) {
	tables, err := countermysql.Tables(s.ctx, s.db)
	if err != nil {
		return nil, err
	}
	l := &look{at: time.Now(), slots: map[string]*big.Rat{}}
	for _, t := range tables {
		if !t.Ready {
			continue
		}
		seen, err := s.lookAt(l, t)
		if err != nil {
			return nil, err
		}
		l.tables = append(l.tables, seen)
	}
	l.status, err = s.status()
	return l, err
}

// lookAt reads a slots table, which the driver leaves alone.
func (s *session) lookAt(l *look, t countermysql.TableInfo) (seenTable, error) {
	seen := seenTable{TableInfo: t}
	var cols []string
	for _, name := range slices.Concat(t.Key, []string{t.SlotColumn}, t.Counters) {
		cols = append(cols, quote(name))
	}
	rows, err := s.db.QueryContext(s.ctx, "SELECT "+strings.Join(cols, ", ")+" FROM "+quote(t.Database)+"."+quote(t.SlotsTable))
	if err != nil {
		return seen, err
	}
	defer rows.Close()
	perKey := map[string]int{}
	cells := make([]sql.NullString, len(cols))
	dest := make([]any, len(cols))
	for i := range cells {
		dest[i] = &cells[i]
	}
	most, mostCells := 0, []sql.NullString{}
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return seen, err
		}
		seen.rows++
		var key []string
		for i, name := range t.Key {
			key = append(key, name+"="+printable(cells[i].String))
		}
		id := strings.Join(key, " ")
		if perKey[id]++; perKey[id] > most {
			most, mostCells = perKey[id], slices.Clone(cells[:len(t.Key)])
		}
		for i, counter := range t.Counters {
			amount, ok := new(big.Rat).SetString(cells[len(t.Key)+1+i].String)
			if ok {
				l.slots[slotKey{t.Database + "." + t.Table, counter, id, cells[len(t.Key)].String}.String()] = amount
			}
		}
	}
	seen.keys = int64(len(perKey))
	if err := rows.Err(); err != nil || most == 0 {
		return seen, err
	}
	var conds []string
	var args []any
	for i, name := range t.Key {
		conds = append(conds, quote(name)+" = ?")
		args = append(args, mostCells[i].String)
	}
	start := time.Now()
	err = s.db.QueryRowContext(s.ctx, "SELECT "+quote(t.Counters[0])+" FROM "+quote(t.Database)+"."+quote(t.Table)+
		" WHERE "+strings.Join(append(conds, "TRUE"), " AND "), args...).Scan(new(sql.NullString))
	if seen.read = time.Since(start); errors.Is(err, sql.ErrNoRows) { // an orphan
		err = nil
	}
	return seen, err
}

func printable(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == '\uFFFD' }) >= 0 {
		return fmt.Sprintf("%q", s)
	}
	return s
}

// status reads the server's own counts of what goes wrong with locks.
func (s *session) status() (map[string]int64, error) {
	rows, err := s.db.QueryContext(s.ctx, `SHOW GLOBAL STATUS WHERE Variable_name IN ('Innodb_row_lock_waits', 'Innodb_row_lock_time', 'Innodb_deadlocks', 'Questions')`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	status := map[string]int64{}
	for rows.Next() {
		var name string
		var n int64
		if err := rows.Scan(&name, &n); err != nil {
			return nil, err
		}
		status[name] = n
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if _, ok := status["Innodb_deadlocks"]; !ok { // MySQL has it elsewhere
		var n int64
		if err := s.db.QueryRowContext(s.ctx, "SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'lock_deadlocks'").Scan(&n); err == nil {
			status["Innodb_deadlocks"] = n // it takes the PROCESS privilege
		}
	}
	return status, nil
}

func compare(last, now *look, keys int) view {
	v := view{Time: now.at, Server: map[string]float64{}, Counters: []rate{}, Hottest: []hot{}, Tables: []tableView{}}
	seconds := now.at.Sub(last.at).Seconds()
	type sums struct{ arrived, pending *big.Rat }
	counters := map[[2]string]*sums{}
	hottest := map[[3]string]*hot{}
	for id, amount := range now.slots {
		k := parseSlotKey(id)
		c := counters[[2]string{k.table, k.counter}]
		if c == nil {
			c = &sums{new(big.Rat), new(big.Rat)}
			counters[[2]string{k.table, k.counter}] = c
		}
		c.pending.Add(c.pending, amount)
		arrived := new(big.Rat).Set(amount)
		if before := last.slots[id]; before != nil && before.Cmp(amount) <= 0 {
			arrived.Sub(arrived, before) // else it was rolled up meanwhile
		}
		c.arrived.Add(c.arrived, arrived)
		h := hottest[[3]string{k.table, k.counter, k.key}]
		if h == nil {
			h = &hot{Table: k.table, Counter: k.counter, Key: k.key}
			hottest[[3]string{k.table, k.counter, k.key}] = h
		}
		h.Slots++
		n, _ := arrived.Float64()
		h.PerSecond += n / seconds
	}
	for _, t := range now.tables {
		name := t.Database + "." + t.Table
		tv := tableView{Table: name, Rows: t.rows, Keys: t.keys, ReadMicros: t.read.Microseconds(), SlotsAvailable: t.Slots}
		if t.keys > 0 {
			tv.SlotsPerKey = float64(t.rows) / float64(t.keys)
		}
		v.Tables = append(v.Tables, tv)
		for _, counter := range t.Counters {
			r := rate{Table: name, Counter: counter, Pending: "0"}
			if c := counters[[2]string{name, counter}]; c != nil {
				n, _ := c.arrived.Float64()
				r.PerSecond = n / seconds
				r.Pending = strings.TrimSuffix(strings.TrimRight(c.pending.FloatString(6), "0"), ".")
			}
			v.Counters = append(v.Counters, r)
		}
	}
	for _, h := range hottest {
		if h.PerSecond != 0 {
			v.Hottest = append(v.Hottest, *h)
		}
	}
	slices.SortFunc(v.Hottest, func(a, b hot) int {
		return cmp.Or(-cmp.Compare(a.PerSecond, b.PerSecond), cmp.Compare(a.Table+a.Key+a.Counter, b.Table+b.Key+b.Counter))
	})
	v.Hottest = v.Hottest[:min(keys, len(v.Hottest))]
	for name, n := range now.status {
		v.Server[name] = float64(n-last.status[name]) / seconds
	}
	return v
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
		rows = append(rows, table.Row{t.Table, t.Keys, t.Rows, fmt.Sprintf("%.1f of %d", t.SlotsPerKey, t.SlotsAvailable), fmt.Sprintf("%d µs", t.ReadMicros)})
	}
	s.screen.table(table.Row{"table", "keys with slots", "slots", "slots per key", "reading the fullest"}, rows)
	rows = nil
	for _, h := range v.Hottest {
		rows = append(rows, table.Row{h.Table, h.Key, h.Counter, fmt.Sprintf("%.1f", h.PerSecond), h.Slots})
	}
	if rows != nil {
		s.screen.table(table.Row{"hottest keys", "key", "counter", "per second", "slots"}, rows)
	}
	s.screen.line("server, per second: %.1f lock waits of %.1f ms in sum, %.1f deadlocks, %.0f statements",
		v.Server["Innodb_row_lock_waits"], v.Server["Innodb_row_lock_time"], v.Server["Innodb_deadlocks"], v.Server["Questions"])
}
