package read

import (
	"cmp"
	"database/sql/driver"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/plan"
)

// modelRow is a row of a table that a query reads, in the order of its base rows.
type modelRow struct {
	id, base, value int64
	slots           []int64
	times           int // that a join gives it
}

// TestSortFirst proves, on random tables, that first rows which are told by their base rows and the slots
// that there are are those that sums give.
func TestSortFirst(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 9))
	told := map[plan.FirstRows]int{}
	for range 200_000 {
		f := plan.FirstRows{Desc: r.IntN(2) == 0, Ties: r.IntN(2) == 0, Joined: r.IntN(2) == 0}
		rows, limit := make([]modelRow, 1+r.IntN(9)), 1+r.IntN(8)
		list, slots := "", 0
		for i := range rows {
			m := &rows[i]
			*m = modelRow{id: int64(i), base: r.Int64N(6), times: 1}
			if f.Joined {
				m.times = r.IntN(3)
			}
			m.value = m.base
			for r.IntN(4) == 0 {
				n := r.Int64N(7) - 2
				m.slots, m.value = append(m.slots, n), m.value+n
				list += fmt.Sprintf("%d,%d,%d,;", m.id, n, m.base)
				slots++
			}
		}
		first := func(by func(modelRow) int64) (ids []int64) {
			all := slices.Clone(rows)
			slices.SortStableFunc(all, func(x, y modelRow) int {
				if f.Desc {
					x, y = y, x
				}
				return cmp.Or(cmp.Compare(by(x), by(y)), cmp.Compare(x.id, y.id))
			})
			for _, m := range all {
				for range m.times {
					ids = append(ids, m.id)
				}
			}
			return ids[:min(limit, len(ids))]
		}
		a := &lookedRows{}
		for _, id := range first(func(m modelRow) int64 { return m.base }) {
			a.ahead = append(a.ahead, []driver.Value{id, rows[id].base})
		}
		if len(a.ahead) == 0 {
			continue
		}
		all, ok := allSlots(fmt.Sprint(slots, ";", list), 1, 1, true)
		require.True(t, ok, list)
		s := tableSlots{all: all}
		for _, row := range a.ahead {
			s.rows = append(s.rows, all[fmt.Sprint(row[0])])
		}
		if !a.sort(&f, s, limit) {
			continue
		}
		told[f]++
		var got []int64
		for _, row := range a.ahead {
			got = append(got, row[0].(int64))
		}
		want := first(func(m modelRow) int64 { return m.value })
		if !f.Ties { // those with one value in any order, and of those with the last any
			same := func(ids []int64) (values, before []int64) {
				for _, id := range ids {
					values = append(values, rows[id].value)
				}
				for _, id := range ids {
					if rows[id].value != values[len(values)-1] {
						before = append(before, id)
					}
				}
				slices.Sort(before)
				return values, before
			}
			wantValues, wantBefore := same(want)
			gotValues, gotBefore := same(got)
			require.Equal(t, wantValues, gotValues, "%+v of %+v, %d", f, rows, limit)
			require.Equal(t, wantBefore, gotBefore, "%+v of %+v, %d", f, rows, limit)
			continue
		}
		require.Equal(t, want, got, "%+v of %+v, %d", f, rows, limit)
	}
	require.Len(t, told, 8)
	for f, n := range told {
		require.Greater(t, n, 8_000, "%+v", f)
	}
}

// TestAllSlots proves that a list of slots is read as it was written, and that one which the server has
// cut, or has not made, is not.
func TestAllSlots(t *testing.T) {
	const whole = "3;7,1,41,0,;7,2,-3,1,;7,1,2,2,;"
	all, ok := allSlots(whole, 2, 2, false)
	require.True(t, ok)
	require.Len(t, all, 2)
	require.Equal(t, []int64{43, 2}, all["7,1"].sums)
	key, ok := appendKey(nil, []driver.Value{int64(7), uint64(2)})
	require.True(t, ok)
	require.Equal(t, []int64{-3, 1}, all[string(key)].sums)
	key, ok = appendKey(nil, []driver.Value{nil, []byte("18446744073709551615"), int64(-1)})
	require.True(t, ok)
	require.Equal(t, ",18446744073709551615,-1", string(key))
	for _, other := range []driver.Value{[]byte("7.00"), []byte(""), 7.5, time.Now(), []byte("a")} {
		_, ok = appendKey(nil, []driver.Value{other})
		require.False(t, ok, other)
	}
	for n := range len(whole) {
		_, ok := allSlots(whole[:n], 2, 2, false)
		require.False(t, ok, whole[:n])
	}
	array, ok := allSlots(`3;["7,1,41,0,;", "7,2,-3,1,;", "7,1,2,2,;"]`, 2, 2, false)
	require.True(t, ok)
	require.Equal(t, all, array)
	array, ok = allSlots(`1;["-7,-3,;"]`, 1, 1, false)
	require.True(t, ok)
	require.Equal(t, map[string]*rowSlots{"-7": {sums: []int64{-3}}}, array)
	all, ok = allSlots("1;5,;", 1, 0, false)
	require.True(t, ok)
	require.Contains(t, all, "5")
	for _, text := range []string{"", "1;5,99999999999999999999,;", "2;5,1,;", "1;5,1,;6,1,;", "1;5,;", "2;5," + strconv.Itoa(math.MaxInt64) + ",;5,1,;"} {
		_, ok := allSlots(text, 1, 1, false)
		require.False(t, ok, text)
	}
	all, ok = allSlots("0", 1, 1, false)
	require.True(t, ok)
	require.Empty(t, all)
}

// TestPlus proves that nothing is added beyond what a type holds, and that what may be UNSIGNED does not
// fall below zero.
func TestPlus(t *testing.T) {
	for _, c := range []struct {
		v    driver.Value
		n    int64
		want driver.Value
		ok   bool

		unsigned bool
	}{
		{nil, 3, nil, true, false},
		{int64(3), -3, int64(0), true, false},
		{int64(3), 0, int64(3), true, false},
		{int64(3), -4, int64(-1), true, false},
		{int64(3), -4, nil, false, true},
		{int64(3), -3, int64(0), true, true},
		{int64(-3), -4, int64(-7), true, false},
		{int64(-3), 4, int64(1), true, false},
		{int64(math.MaxInt64), 1, nil, false, false},
		{int64(math.MinInt64), -1, nil, false, false},
		{uint64(math.MaxUint64), 0, uint64(math.MaxUint64), true, false},
		{uint64(math.MaxUint64), 1, nil, false, false},
		{uint64(5), -5, uint64(0), true, false},
		{uint64(5), -6, nil, false, false},
		{[]byte("5"), 1, nil, false, false},
		{"5", 1, nil, false, false},
	} {
		got, ok := plus(c.v, c.n, c.unsigned)
		require.Equal(t, c.ok, ok, "%v + %d", c.v, c.n)
		if ok {
			require.Equal(t, c.want, got, "%v + %d", c.v, c.n)
		}
	}
}
