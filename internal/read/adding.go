package read

import (
	"database/sql/driver"
	"slices"
	"strconv"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/traffic"
)

// mostText bounds the texts of all rows of an answer together, in bytes.
const mostText = 64 << 10

// rowSlots are the slots of one row.
type rowSlots struct {
	sums []int64
	base int64 // what its base row has of the counter that first rows are ordered by
}

// tableSlots are the slots of a table.
type tableSlots struct {
	rows []*rowSlots          // of each row of the answer; nil: it has none
	all  map[string]*rowSlots // of a few look: of all rows, by key
}

// slots reads the hidden columns; ok is false where the server has given one up, or has cut it, or a
// key is of another type by now.
func (a *lookedRows) slots(kind lookKind, of *plan.RowLook, by traffic.ByTable[traffic.Table]) (all []tableSlots, ok bool) {
	at := len(a.ahead[0]) - a.hidden
	for i := range of.Slots {
		t := &of.Slots[i]
		s := tableSlots{rows: make([]*rowSlots, len(a.ahead))}
		if kind == fewLook {
			text, keys := digits(a.ahead[0][at]), len(t.Table.Key)
			if s.all, ok = allSlots(text, keys, t.Sums(), of.First.Orders(i)); !ok || len(text)*len(a.ahead) > mostText {
				by.Of(t.Table).Slots.SeeMany(catalog.Clock())
			}
			if !ok {
				return nil, false
			}
			var key []byte
			for i, row := range a.ahead {
				if key, ok = appendKey(key[:0], row[at+1:][:keys]); !ok {
					return nil, false
				}
				s.rows[i] = s.all[string(key)]
			}
			at += 1 + keys
		} else {
			for i, row := range a.ahead {
				cells := strings.Split(digits(row[at]), ",")
				if cells[0] == "0" {
					continue
				}
				r := &rowSlots{}
				if r.sums, ok = numbers(cells[1:], t.Sums()); !ok || cells[0] == "" {
					return nil, false
				}
				s.rows[i] = r
			}
			at++
		}
		all = append(all, s)
	}
	return all, true
}

// allSlots reads what slotsql.AllSlots has written, "2;7,41,0,;9,-3,1,;" or "2;["7,41,0,;", "9,-3,1,;"]",
// of keys of so many columns and so many counters.
func allSlots(text string, keys, counters int, based bool) (all map[string]*rowSlots, ok bool) {
	count, list, _ := strings.Cut(text, ";")
	left, err := strconv.Atoi(count)
	if err != nil {
		return nil, false
	}
	n := counters
	if based {
		n++
	}
	all = map[string]*rowSlots{}
	const array = `[", ]`
	list = strings.TrimLeft(list, array)
	for ; list != ""; left-- {
		slot, rest, whole := strings.Cut(list, ",;")
		list = strings.TrimLeft(rest, array)
		cells := strings.Split(slot, ",")
		if !whole || len(cells) < keys {
			return nil, false
		}
		sums, ok := numbers(cells[keys:], n)
		if !ok {
			return nil, false
		}
		of := &rowSlots{sums: sums[:counters]}
		if based {
			of.base = sums[counters]
		}
		key := strings.Join(cells[:keys], ",")
		if known := all[key]; known != nil {
			for i := range of.sums {
				if of.sums[i], ok = sum(of.sums[i], known.sums[i]); !ok {
					return nil, false
				}
			}
		}
		all[key] = of
	}
	return all, left == 0
}

// numbers reads cells, if they are so many.
func numbers(cells []string, n int) (all []int64, ok bool) {
	all = make([]int64, len(cells))
	for i, cell := range cells {
		v, err := strconv.ParseInt(cell, 10, 64)
		if err != nil {
			return nil, false
		}
		all[i] = v
	}
	return all, len(cells) == n
}

// appendKey appends a key of integers as slotsql.AllSlots writes it; ok is false where it has anything
// else. An outer join has NULL.
func appendKey(to []byte, key []driver.Value) (_ []byte, ok bool) {
	for i, v := range key {
		if i > 0 {
			to = append(to, ',')
		}
		text := digits(v)
		if _, isText := v.([]byte); isText {
			if _, err := strconv.ParseUint(text, 10, 64); err != nil {
				return to, false
			}
		} else if text == "" && v != nil {
			return to, false
		}
		to = append(to, text...)
	}
	return to, true
}

// digits is a number, or several, as the server writes it; "" for anything else.
func digits(v driver.Value) string {
	switch v := v.(type) {
	case []byte:
		return string(v)
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case uint64:
		return strconv.FormatUint(v, 10)
	}
	return ""
}

func sum(a, b int64) (n int64, ok bool) {
	n = a + b
	return n, (n > a) == (b > 0)
}

// plus is a counter with what is added to it, in the type that it has.
func plus(v driver.Value, n int64, unsigned bool) (driver.Value, bool) {
	switch v := v.(type) {
	case nil:
		return nil, true
	case int64:
		s, ok := sum(v, n)
		return s, ok && !(unsigned && s < 0)
	case uint64:
		s := v + uint64(n) //nolint:gosec // in two's complement
		return s, (s > v) == (n > 0)
	}
	return nil, false
}

// add adds the sums to the counters; ok is false where something that is no counter would have to
// change, or one leaves its type.
func (a *lookedRows) add(of *plan.RowLook, slots []tableSlots) (ok bool) {
	for t := range slots {
		var places [][]int
		for i, row := range a.ahead {
			s := slots[t].rows[i]
			if s == nil {
				continue
			}
			if !of.Slots[t].Added {
				return false
			}
			if places == nil {
				if places, ok = of.Slots[t].Places(a.Columns()); !ok {
					return false
				}
			}
			for n, columns := range places {
				for _, c := range columns {
					if row[c], ok = plus(row[c], s.sums[n], of.Slots[t].Unsigned(n)); !ok {
						return false
					}
				}
			}
		}
	}
	return true
}

// firstRow is one of the first rows by a counter.
type firstRow struct {
	row   []driver.Value
	based int64 // its base row's value
	value int64
	moved bool // it has slots
}

// sort puts the first rows by a counter in order; ok is false where others may belong to them, or
// what orders those with one value is not known.
func (a *lookedRows) sort(f *plan.FirstRows, slots tableSlots, limit int) (ok bool) {
	rows := make([]firstRow, len(a.ahead))
	before := func(x, y int64) bool { return x != y && (x > y) == f.Desc }
	var last int64 // of the base rows: all others that have no slots have this, or come behind
	for i := len(rows) - 1; i >= 0; i-- {
		row := a.ahead[i]
		value, err := strconv.ParseInt(digits(row[len(row)-1]), 10, 64)
		if err != nil {
			return false
		}
		if i == len(rows)-1 {
			last = value
		} else if next := rows[i+1].based; before(next, value) { // another client has given it another type
			return false
		}
		rows[i] = firstRow{row: row, based: value, value: value}
		if s := slots.rows[i]; s != nil {
			rows[i].moved = true
			if rows[i].value, ok = sum(value, s.sums[f.Sum]); !ok || f.Joined && value == last { // it may be there once more, but for the limit
				return false
			}
		}
	}
	behind := rows[0].value // the last of these, as they are now
	for _, r := range rows {
		if before(behind, r.value) {
			behind = r.value
		}
	}
	if len(rows) >= limit {
		if before(last, behind) {
			return false
		}
		for _, s := range slots.all {
			value, ok := sum(s.base, s.sums[f.Sum])
			if !ok || !slices.Contains(slots.rows, s) && !before(behind, value) {
				return false
			}
		}
	}
	if f.Ties && tied(rows, last) {
		return false
	}
	slices.SortStableFunc(rows, func(x, y firstRow) int {
		switch {
		case before(x.value, y.value):
			return -1
		case before(y.value, x.value):
			return 1
		}
		return 0
	})
	for i, r := range rows {
		a.ahead[i] = r.row
	}
	return true
}

// tied reports whether a row that has slots has the same value as another one.
func tied(rows []firstRow, last int64) bool {
	for i, r := range rows {
		if r.moved && (r.value == last || slices.ContainsFunc(rows[:i], func(o firstRow) bool { return o.value == r.value }) ||
			slices.ContainsFunc(rows[i+1:], func(o firstRow) bool { return o.value == r.value })) {
			return true
		}
	}
	return false
}
