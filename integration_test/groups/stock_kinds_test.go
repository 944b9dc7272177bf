package groups

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

type (
	pieces uint16
	amount struct{ n int }
)

// Value is text, as that of decimal types is.
func (a amount) Value() (driver.Value, error) { return strconv.Itoa(a.n), nil }

// kinds are the Go types in which applications bring whole numbers, and those which are more.
var kinds = map[string]func(n int) any{
	"uint":     func(n int) any { return uint(n) },
	"pieces":   func(n int) any { return pieces(n) },
	"text":     func(n int) any { return strconv.Itoa(n) },
	"bytes":    func(n int) any { return []byte(strconv.Itoa(n)) },
	"float":    func(n int) any { return float64(n) },
	"decimal":  func(n int) any { return amount{n} },
	"null":     func(n int) any { return sql.NullInt64{Int64: int64(n), Valid: true} },
	"JSON":     func(n int) any { return json.Number(strconv.Itoa(n)) },
	"fraction": func(n int) any { return float64(n) + 0.25 },
	"point":    func(n int) any { return fmt.Sprint(n, ".0") },
}

// TestStockKinds proves that guarded updates whose amounts and bounds are whole numbers of any
// Go type go together, and that all answer as on plain MySQL in an order of theirs: in the
// text and beside it, signed and UNSIGNED, of few bits and of 64.
func TestStockKinds(t *testing.T) {
	const whole, numbers = "uint pieces text bytes float decimal null JSON", "uint pieces null"
	forms := []struct {
		text   string
		shared [2]string // the kinds that go together: in the text, beside it
	}{
		{"UPDATE item SET stock = stock - ? WHERE id = # AND stock >= ?", [2]string{whole, whole}},
		{"UPDATE item SET spare = spare - ? WHERE id = # AND spare > 0", [2]string{whole, whole}},
		{"UPDATE item SET used = used - ? WHERE id = # AND used >= ?", [2]string{whole, whole}},
		{"UPDATE item SET used = used - ? WHERE id = #", [2]string{whole, whole}},
		{"UPDATE item SET used = used + ? WHERE id = # AND used + ? <= seats", [2]string{whole, whole}},
		{"UPDATE item SET tiny = tiny + ? WHERE id = # AND tiny <= ?", [2]string{whole, whole}},
		{"UPDATE item SET stock = stock - ? WHERE id = # AND stock - ? >= 0", [2]string{whole, "null text bytes float decimal JSON"}},
		{"UPDATE item SET spare = spare - ? WHERE id = # AND spare - ? >= 0", [2]string{whole, whole}},
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for i, param := range []string{"interpolateParams=true", found} {
			tw := harness.NewTwin(t, srv, shelves, harness.Counters("item", "stock", "spare", "used", "tiny"), param)
			tw.Ours.SetMaxIdleConns(8)
			for _, form := range forms {
				for what, kind := range kinds {
					shared := false
					for _, id := range []int{2, 6} {
						var args [][]any
						for _, n := range []int{1, 2, 3, 1, 2} {
							args = append(args, []any{kind(n), kind(n)}[:strings.Count(form.text, "?")])
						}
						fillShelf(t, tw, id, "UPDATE item SET tiny = tiny - 1, stock = stock + 1 WHERE id = #")
						shared = inSomeOrder(t, tw, shelf, onShelf(id, form.text, args...)) || shared
					}
					require.Equal(t, strings.Contains(" "+form.shared[i]+" ", " "+what+" "), shared, "%s %s %s", param, what, form.text)
				}
			}
		}
	})
}

// TestStockOddKinds proves that updates which wait together answer as on plain MySQL in an
// order of theirs where the server computes otherwise than with signed numbers: an amount
// that is more than its bound, a stock below zero, numbers that DOUBLE does not have.
func TestStockOddKinds(t *testing.T) {
	const sell = "UPDATE item SET stock = stock - ? WHERE id = # AND stock >= ?"
	const fill = "UPDATE item SET used = used + ? WHERE id = # AND used <= ?"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, param := range []string{"interpolateParams=true", found} {
			tw := harness.NewTwin(t, srv, shelves, harness.Counters("item", "stock", "spare", "used", "tiny"), param)
			tw.Ours.SetMaxIdleConns(8)
			for _, c := range []struct {
				before, text string
				args         [][]any
			}{
				{"stock = 7", sell, [][]any{{uint(3), 1}, {uint(2), 1}, {uint(4), 0}, {uint(1), -5}, {uint(9), uint(2)}}},
				{"stock = -4", sell, [][]any{{uint(1), -9}, {uint(2), -4}, {uint(1), uint(0)}, {uint(3), -20}, {uint(1), -9}}},
				{"stock = -4", "UPDATE item SET stock = stock + ? WHERE id = # AND stock <= ?", [][]any{{uint(3), 9}, {uint(2), 5}, {uint(5), 5}, {uint(7), 3}, {uint(1), 9}}},
				{"stock = 7", "UPDATE item SET stock = stock - ? WHERE id = # AND stock - kept >= ?", [][]any{{uint(1), uint(1)}, {uint(3), uint(2)}, {uint(2), uint(3)}, {uint(2), uint(0)}, {uint(1), uint(0)}}},
				{"stock = 7", "UPDATE item SET stock = stock + -? WHERE id = # AND stock >= ?", [][]any{{uint(1), 1}, {uint(9), 2}, {"3", 2}, {"2", 2}, {4.0, 2}}},
				{"used = 9007199254740993", fill, [][]any{{"1", int64(1) << 60}, {"2", int64(1) << 60}, {"1", int64(1) << 60}, {"4", int64(1) << 60}, {"1", int64(1) << 60}}},
				{"used = 1125899906842620", fill, [][]any{{"1", "1125899906842623"}, {"2", "1125899906842624"}, {"1", "1125899906842622"}, {"4", "9007199254740993"}, {"1", "1125899906842621"}}},
				{"used = 1125899906842620", "UPDATE item SET used = used - ? WHERE id = # AND used > ?", [][]any{{1.0, 1125899906842615.0}, {2.0, 8.0}, {3e6, 3e6}, {1.0, 1e15}, {1.0, 1125899906842619.0}}},
				{"used = 18446744073709551610", fill, [][]any{{uint(2), uint64(1) << 63}, {uint(1), uint64(18446744073709551613)}, {uint(3), uint64(18446744073709551612)}, {uint(3), 5}, {uint(1), 7}}},
				{"spare = 5", "UPDATE item SET spare = spare - ? WHERE id = #", [][]any{{"3"}, {"4"}, {"1"}, {"1"}, {"2"}}},
				{"spare = 5", "UPDATE item SET spare = spare - ? WHERE id = # AND spare - ? >= 0", [][]any{{"3", "3"}, {3.0, 3.0}, {"1", uint(9)}, {uint(1), "8"}, {uint(2), "1"}}},
				{"spare = 5", "UPDATE item SET spare = spare - ? WHERE id = # AND spare >= ?", [][]any{{true, true}, {"-1", "1"}, {"0", "0"}, {nil, uint(1)}, {[]byte(nil), "1"}}},
			} {
				for _, id := range []int{2, 6} {
					fillShelf(t, tw, id, "UPDATE item SET moved = NOW(), "+c.before+" WHERE id = #")
					inSomeOrder(t, tw, shelf, onShelf(id, c.text, c.args...))
				}
			}
		}
	})
}

// TestStockShortOfUnsigned proves that nobody is served, and nobody refused, who would have an
// error on plain MySQL, while updates of a row that is short keep coming: what UNSIGNED
// arguments take away goes below zero (1690) though the bound holds.
func TestStockShortOfUnsigned(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newStorage(t, srv)
		for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
			harness.Affected(t, db, "UPDATE item SET stock = 2 WHERE id = 1")
		}
		const sell = "UPDATE item SET stock = stock - ? WHERE id = 1 AND stock >= ?"
		for _, args := range [][]any{{uint(3), uint(1)}, {uint(3), uint(3)}} {
			want := harness.Told2(tw.Plain.Exec(sell, args...))
			before := harness.Stats(t, tw.Ours).Guards
			var c harness.Crowd
			c.Run(8, func(int) {
				for range 12 {
					if got := harness.Told2(tw.Ours.ExecContext(t.Context(), sell, args...)); got != want {
						c.Check(fmt.Errorf("%s, not %s", got, want))
					}
				}
			})
			c.NoDeadlocks(t)
			after := harness.Stats(t, tw.Ours).Guards
			require.Greater(t, after.Sum-before.Sum, sumOf(after.Counts)-sumOf(before.Counts), "nobody went with others")
			require.EqualValues(t, 2, stockOf(t, tw, 1))
		}
	})
}
