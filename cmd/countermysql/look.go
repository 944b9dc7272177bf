package main

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countermysql/countermysql"
)

// look is what the slots tables hold at one moment.
type look struct {
	at     time.Time
	tables []seenTable
	kept   []keptView
	status serverStatus
}

// table is what a look has seen of a table; one that it has not seen has nothing.
func (l *look) table(name string) seenTable {
	for _, t := range l.tables {
		if t.name() == name {
			return t
		}
	}
	return seenTable{}
}

type seenTable struct {
	countermysql.TableInfo
	rows     int64               // of its slots table
	keys     map[string]*seenKey // that have slots
	fullest  *seenKey            // the one with the most; nil: there are none
	buffered *bufferedView
	reserved map[string]*reservedView // by counter: its reserved rows, which are no others'
}

// seenKey is a key that has slots. There may be hundreds of thousands of them: numbers stay texts.
type seenKey struct {
	values []any // of the key columns
	slots  []seenSlot
	sums   []string // what the counters come to, with the base row; nil: that can't be read
}

// seenSlot is a row of a slots table, with what it has of each counter.
type seenSlot struct {
	slot    string
	amounts []string
}

// in is what a slot of the key holds of a counter; nil: nothing, or what is no number.
func (k *seenKey) in(slot string, counter int) *big.Rat {
	if k != nil {
		for _, s := range k.slots {
			if s.slot == slot {
				return amount(s.amounts[counter])
			}
		}
	}
	return nil
}

// sum is what a counter of the key comes to, which no rollup changes; nil: it is not known.
func (k *seenKey) sum(counter int) *big.Rat {
	if k == nil || k.sums == nil {
		return nil
	}
	return amount(k.sums[counter])
}

// amount is that of a text; nil: it is none.
func amount(text string) *big.Rat {
	n, _ := new(big.Rat).SetString(text)
	return n
}

func (t seenTable) name() string { return t.Database + "." + t.Table }

func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

func (s *session) look() (*look, error) {
	tables, err := countermysql.Tables(s.ctx, s.db)
	if err != nil {
		return nil, err
	}
	l := &look{at: time.Now()}
	for _, t := range tables {
		if !t.Ready {
			continue
		}
		seen := seenTable{TableInfo: t, keys: map[string]*seenKey{}}
		if err := s.lookAt(&seen); err != nil {
			return nil, err
		}
		seen.buffered = s.flushes(t)
		l.tables = append(l.tables, seen)
	}
	if l.kept, err = s.kept(); err != nil {
		return nil, err
	}
	l.status, err = s.status()
	return l, err
}

// flushes is what processes have left of the flushes of a table; nil if it is not buffered, or
// nothing is to be seen of that.
func (s *session) flushes(t countermysql.TableInfo) *bufferedView {
	if t.Buffered.Every == 0 {
		return nil
	}
	v := &bufferedView{Every: t.Buffered.Every.Seconds()}
	err := s.db.QueryRowContext(s.ctx, "SELECT COUNT(*), COALESCE(TIMESTAMPDIFF(SECOND, MAX(stored_at), NOW()), 0), COALESCE(TIMESTAMPDIFF(SECOND, MIN(stored_at), NOW()), 0) FROM "+
		quote(t.Database)+".countermysql_flushes WHERE of_table = ?", t.Table).Scan(&v.Processes, &v.Newest, &v.Oldest)
	if err != nil { // check says why
		return nil
	}
	return v
}

// lookAt reads a slots table, which the driver leaves alone, and the values of its keys.
func (s *session) lookAt(t *seenTable) error {
	var cols []string
	for _, name := range slices.Concat(t.Key, []string{t.SlotColumn}, t.Counters) {
		cols = append(cols, quote(name))
	}
	rows, err := s.db.QueryContext(s.ctx, "SELECT "+strings.Join(cols, ", ")+" FROM "+quote(t.Database)+"."+quote(t.SlotsTable))
	if err != nil {
		return err
	}
	defer rows.Close()
	cells := make([]any, len(cols))
	dest := make([]any, len(cols))
	for i := range cells {
		dest[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		slot := cellText(cells[len(t.Key)])
		if n, err := strconv.Atoi(slot); err == nil && n >= firstReserved && len(t.Reserve) > 0 {
			t.reserve(cells[len(t.Key)+1:])
			continue
		}
		t.rows++
		values, key := t.keyOf(cells)
		k := t.keys[key]
		if k == nil {
			k = &seenKey{values: values}
			t.keys[key] = k
		}
		k.slots = append(k.slots, seenSlot{slot, cellTexts(cells[len(t.Key)+1:])})
		if t.fullest == nil || len(k.slots) > len(t.fullest.slots) {
			t.fullest = k
		}
	}
	if err := rows.Err(); err != nil || t.rows == 0 {
		return err
	}
	s.sums(t)
	return nil
}

// keyOf is the values of a row's key columns, which come first, and how people are told of them.
func (t *seenTable) keyOf(cells []any) (values []any, key string) {
	var parts []string
	values = make([]any, len(t.Key)) // times stay times, to be sent back as they came
	for i, name := range t.Key {
		values[i] = cells[i]
		if b, ok := cells[i].([]byte); ok {
			values[i] = string(b)
		}
		parts = append(parts, name+"="+printable(values[i]))
	}
	return values, strings.Join(parts, " ")
}

// sums notes what the counters of the keys that have slots come to. Where that can't be read, as a
// sum is out of range, say, it is not known.
func (s *session) sums(t *seenTable) {
	var cols, same []string
	for _, name := range t.Key {
		cols = append(cols, "base."+quote(name))
		same = append(same, "slotted."+quote(name)+" = base."+quote(name))
	}
	for _, name := range t.Counters {
		cols = append(cols, "base."+quote(name))
	}
	from := func(table string) string { return " FROM " + quote(t.Database) + "." + quote(table) }
	rows, err := s.db.QueryContext(s.ctx, "SELECT "+strings.Join(cols, ", ")+from(t.Table)+" AS base WHERE EXISTS (SELECT 1"+
		from(t.SlotsTable)+" AS slotted WHERE "+strings.Join(append(same, "TRUE"), " AND ")+")")
	if err != nil {
		return
	}
	defer rows.Close()
	cells, dest := make([]any, len(cols)), make([]any, len(cols))
	for i := range cells {
		dest[i] = &cells[i]
	}
	for rows.Next() {
		if rows.Scan(dest...) != nil {
			return
		}
		if _, key := t.keyOf(cells); t.keys[key] != nil { // else it has got slots since
			t.keys[key].sums = cellTexts(cells[len(t.Key):])
		}
	}
}

// firstReserved is the least number of a reserved slot.
const firstReserved = 63 * 1024

// reserve notes what a reserved row has of each counter.
func (t *seenTable) reserve(amounts []any) {
	for i, counter := range t.Counters {
		n := amount(cellText(amounts[i]))
		if t.Reserve[counter] == 0 || n == nil {
			continue
		}
		if t.reserved == nil {
			t.reserved = map[string]*reservedView{}
		}
		v := t.reserved[counter]
		if v == nil {
			v = &reservedView{Counter: counter, of: t.Reserve[counter], units: new(big.Rat)}
			t.reserved[counter] = v
		}
		v.Rows++
		if n.Sign() > 0 {
			v.Filled++
		}
		v.units.Add(v.units, n)
	}
}

// cellText is a cell as text: integers and times may come as such.
func cellText(cell any) string {
	switch cell := cell.(type) {
	case []byte:
		return string(cell)
	case time.Time:
		return strings.TrimSuffix(cell.Format("2006-01-02 15:04:05.999999"), " 00:00:00")
	}
	return fmt.Sprint(cell)
}

func cellTexts(cells []any) []string {
	texts := make([]string, len(cells))
	for i, cell := range cells {
		texts[i] = cellText(cell)
	}
	return texts
}

func printable(cell any) string {
	s := cellText(cell)
	if strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == '\uFFFD' }) >= 0 {
		return fmt.Sprintf("%q", s)
	}
	return s
}

// serverStatus are the server's own counts of what goes wrong with locks.
type serverStatus struct{ lockWaits, lockWaitMS, deadlocks, statements int64 }

func (s *session) status() (status serverStatus, err error) {
	rows, err := s.db.QueryContext(s.ctx, `SHOW GLOBAL STATUS WHERE Variable_name IN ('Innodb_row_lock_waits', 'Innodb_row_lock_time', 'Innodb_deadlocks', 'Questions')`)
	if err != nil {
		return status, err
	}
	defer rows.Close()
	deadlocks := false
	for rows.Next() {
		var name string
		var n int64
		if err := rows.Scan(&name, &n); err != nil {
			return status, err
		}
		switch strings.ToLower(name) {
		case "innodb_row_lock_waits":
			status.lockWaits = n
		case "innodb_row_lock_time":
			status.lockWaitMS = n
		case "innodb_deadlocks":
			status.deadlocks, deadlocks = n, true
		case "questions":
			status.statements = n
		}
	}
	if err := rows.Err(); err != nil {
		return status, err
	}
	if !deadlocks { // MySQL has it elsewhere, for those with the PROCESS privilege
		_ = s.db.QueryRowContext(s.ctx, "SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'lock_deadlocks'").Scan(&status.deadlocks)
	}
	return status, nil
}
