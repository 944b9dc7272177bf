package groups

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// fillShelf begins anew, with what is more; # is the row.
func fillShelf(t *testing.T, tw *harness.Twin, id int, more ...string) {
	t.Helper()
	for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
		harness.ExecAll(t, db, "DELETE FROM item;\n"+shelves[strings.Index(shelves, "INSERT"):])
		for _, stmt := range append([]string{"UPDATE item SET stock = stock + 7, spare = spare + 7 WHERE id = 6"}, more...) { // into slots
			require.EqualValues(t, 1, harness.Affected(t, db, strings.ReplaceAll(stmt, "#", fmt.Sprint(id))), stmt)
		}
	}
}

func onShelf(id int, text string, args ...[]any) (buys []buy) {
	for _, a := range args {
		buys = append(buys, buy{strings.ReplaceAll(text, "#", fmt.Sprint(id)), a})
	}
	return buys
}

// TestStockMixed proves that updates of one row which differ in thresholds, amounts, texts and
// values, or can't be computed together, get answers of an order of theirs while they wait
// together: where there is enough, for some, and in slots.
func TestStockMixed(t *testing.T) {
	const sell = "UPDATE item SET stock = stock - ? WHERE id = # AND stock >= ?"
	mixes := map[string]struct {
		before   []string
		together bool
		buys     func(id int) []buy
	}{
		"thresholds": {nil, true, func(id int) []buy {
			return onShelf(id, sell, []any{1, 1}, []any{1, 3}, []any{1, 7}, []any{1, 5}, []any{3, 6})
		}},
		"owed in slots": {[]string{"UPDATE item SET stock = stock - 97 WHERE id = #"}, true, func(id int) []buy {
			nothing := onShelf(id, "UPDATE item SET stock = stock - ? WHERE id = # AND state = 'shut' AND stock >= ?", []any{1, 1}) // and folds nothing
			return append(nothing, onShelf(id, sell, []any{1, 1}, []any{2, 2}, []any{1, 1}, []any{2, 2})...)
		}},
		"less than it takes": {nil, true, func(id int) []buy {
			return onShelf(id, sell, []any{3, 1}, []any{4, 0}, []any{5, -6}, []any{2, 0}, []any{90, 9})
		}},
		"odd amounts": {nil, true, func(id int) []buy {
			return onShelf(id, sell, []any{1, 1}, []any{0, 0}, []any{-2, 0}, []any{1.5, 1}, []any{2, 7}, []any{3, 3})
		}},
		"odd kinds": {nil, true, func(id int) []buy {
			return onShelf(id, sell, []any{2, 2}, []any{"2", "2"}, []any{1, nil}, []any{nil, 1}, []any{4, 4}, []any{uint8(1), 2}, []any{1, 3})
		}},
		"up to a limit": {nil, true, func(id int) []buy {
			return onShelf(id, "UPDATE item SET used = used + ? WHERE id = # AND used <= ?", []any{3, 6}, []any{1, 8}, []any{2, 3}, []any{4, 100}, []any{1, 0})
		}},
		"below the column": {nil, true, func(id int) []buy {
			return onShelf(id, "UPDATE item SET tiny = tiny - ? WHERE id = # AND tiny >= ?", []any{100, -128}, []any{100, -100}, []any{90, -128}, []any{1, 127}, []any{9, -128})
		}},
		"beyond 64 bits": {[]string{"UPDATE item SET used = 18446744073709551000 WHERE id = #", "UPDATE item SET used = used + 15 WHERE id = #"}, true, func(id int) []buy {
			return onShelf(id, "UPDATE item SET used = used - ? WHERE id = # AND used >= ?", []any{1, 5}, []any{2, int64(1) << 62}, []any{1, 1}, []any{int64(1) << 40, 2}, []any{3, 4})
		}},
		"values": {nil, true, func(id int) []buy {
			return onShelf(id, "UPDATE item SET spare = spare - ?, title = ? WHERE id = # AND spare >= 2", []any{1, "x"}, []any{2, "y"}, []any{1, "x"}, []any{1, "y"}, []any{3, "x"})
		}},
		"conditions": {nil, true, func(id int) []buy {
			return onShelf(id, "UPDATE item SET spare = spare - ? WHERE id = # AND spare >= 3 AND state = ?", []any{1, "open"}, []any{2, "shut"}, []any{1, "OPEN"}, []any{4, "open"}, []any{1, "open"})
		}},
		"times": {nil, true, func(id int) []buy {
			now := time.Now().Add(time.Second).UTC().Truncate(time.Millisecond) // up to two seconds from now
			return onShelf(id, "UPDATE item SET spare = spare - ?, moved = ? WHERE id = # AND spare >= 2", []any{1, now}, []any{2, now.Add(-2 * time.Second)}, []any{1, now.Add(-time.Second)}, []any{1, now.Add(-2 * time.Hour)}, []any{3, now})
		}},
		"increments": {nil, true, func(id int) []buy {
			return append(onShelf(id, sell, []any{1, 1}), onShelf(id, "UPDATE item SET stock = stock + ? WHERE id = #", []any{2}, []any{3}, []any{-1}, []any{2})...)
		}},
		"decrements": {nil, true, func(id int) []buy {
			now := time.Now().Add(time.Second).UTC().Truncate(time.Second)
			return append(onShelf(id, sell, []any{1, 1}), onShelf(id, "UPDATE item SET stock = stock - ?, moved = ? WHERE id = #", []any{2, now}, []any{30, now}, []any{1, now})...)
		}},
		"increments of another column": {nil, true, func(id int) []buy {
			return append(onShelf(id, sell, []any{1, 1}), onShelf(id, "UPDATE item SET used = used + ? WHERE id = #", []any{2}, []any{5}, []any{1}, []any{3})...)
		}},
		"clamped": {nil, true, func(id int) []buy {
			return onShelf(id, "UPDATE item SET stock = GREATEST(stock - ?, ?) WHERE id = #", []any{1, 0}, []any{2, 0}, []any{3, 0}, []any{-1, 0}, []any{2, 3}, []any{3, 0})
		}},
		"clamped below": {[]string{"UPDATE item SET stock = stock - 97 WHERE id = #"}, true, func(id int) []buy {
			return onShelf(id, "UPDATE item SET stock = GREATEST(stock - ?, 1) WHERE id = #", []any{1}, []any{1}, []any{1}, []any{2}, []any{2})
		}},
		"clamped, and increments": {nil, true, func(id int) []buy {
			return append(onShelf(id, "UPDATE item SET spare = GREATEST(spare - ?, 0) WHERE id = #", []any{1}), append(onShelf(id, "UPDATE item SET spare = spare + ? WHERE id = #", []any{2}, []any{3}),
				onShelf(id, "UPDATE item SET spare = GREATEST(spare - ?, 0) WHERE id = #", []any{2}, []any{90})...)...)
		}},
		"one statement each": {nil, false, func(id int) []buy {
			return append(onShelf(id, "UPDATE item SET stock = ? WHERE id = #", []any{3}), append(onShelf(id, "UPDATE item SET tiny = tiny * ? WHERE id = #", []any{2}, []any{3}),
				onShelf(id, "UPDATE item SET stock = stock * ? WHERE id = # AND stock > 0", []any{2}, []any{-1}, []any{int64(1) << 40})...)...)
		}},
		"one statement each, behind one that finds no row": {[]string{"UPDATE item SET stock = stock + 3 WHERE id = #"}, false, func(id int) []buy {
			never := "UPDATE item SET stock = ? WHERE id = # AND NOW() < '2020-01-01'"
			return append(onShelf(id, never, []any{1}, []any{1}), onShelf(id, "UPDATE item SET stock = stock - ? WHERE id = # AND NOT stock < ?", []any{2, 2}, []any{8, 8}, []any{1, 1})...)
		}},
		"of other rows": {[]string{"UPDATE item SET stock = stock + 3 WHERE id = #"}, false, func(id int) []buy {
			return append(onShelf(-id, "UPDATE item SET stock = ? WHERE id = #", []any{1}, []any{1}), onShelf(id, "UPDATE item SET stock = stock - ? WHERE id = # AND NOT stock < ?", []any{2, 2}, []any{8, 8}, []any{1, 1})...)
		}},
		"one statement each, and sales": {nil, true, func(id int) (all []buy) {
			const each = "UPDATE item SET stock = stock * ? WHERE id = #"
			all = append(onShelf(id, each, []any{2}), onShelf(id, sell, []any{1, 1}, []any{2, 2}, []any{3, 3})...)
			all = append(all, onShelf(id, each, []any{3}, []any{1})...)
			return all
		}},
		"texts": {nil, false, func(id int) (all []buy) {
			for _, text := range []string{"spare >= 1", "1 <= spare", "spare > 0", "state = 'open'", "kept < spare"} {
				all = append(all, onShelf(id, "UPDATE item SET spare = spare - ? WHERE id = # AND "+text, []any{2})...)
			}
			return all
		}},
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := harness.Counters("item", "stock", "spare", "used", "tiny")
		config.Tables[0].Touch = []string{"moved"}
		for _, params := range []string{"interpolateParams=true", found} {
			tw := harness.NewTwin(t, srv, shelves, config, params)
			tw.Ours.SetMaxIdleConns(8)
			for what, mix := range mixes {
				shared := false
				for _, id := range []int{1, 2, 6} {
					fillShelf(t, tw, id, mix.before...)
					shared = inSomeOrder(t, tw, "SELECT * FROM item ORDER BY id", mix.buys(id)) || shared
				}
				if what != "one statement each, and sales" { // by chance
					require.Equal(t, mix.together, shared, what)
				}
			}
		}
	})
}

// TestStockByItself proves that updates which are more, or less, than an error for who does
// not fit go each by itself, and answer as on plain MySQL in an order of theirs: with IGNORE,
// in sessions that are not strict or subtract otherwise, with triggers, and with a CHECK of other columns.
func TestStockByItself(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for what, c := range map[string]struct{ param, ddl, text string }{
			"not strict": {"sql_mode=''", "", "UPDATE item SET spare = spare - ? WHERE id = # AND spare > 0"},
			"signed":     {"sql_mode='STRICT_TRANS_TABLES,NO_UNSIGNED_SUBTRACTION'", "", "UPDATE item SET spare = spare - ? WHERE id = # AND spare - 2 >= kept - 4"},
			"safe":       {"sql_safe_updates=1", "", "UPDATE item SET spare = spare - ? WHERE id = # AND spare > 0"},
			"IGNORE":     {"", "", "UPDATE IGNORE item SET tiny = tiny + ? WHERE id = # AND tiny < 200"},
			"trigger":    {"", "CREATE TRIGGER told BEFORE UPDATE ON item FOR EACH ROW SET NEW.title = CONCAT(OLD.title, OLD.stock)", "UPDATE item SET stock = stock - ? WHERE id = # AND stock > 0"},
			"CHECK":      {"", "ALTER TABLE item ADD CONSTRAINT enough CHECK (stock >= kept)", "UPDATE item SET stock = stock - ? WHERE id = # AND stock > 0"},
		} {
			params := []string{"interpolateParams=true"}
			if c.param != "" {
				params = append(params, c.param)
			}
			tw := harness.NewTwin(t, srv, shelves[:strings.Index(shelves, "INSERT")], harness.Counters("item", "stock", "spare", "used", "tiny"), params...)
			if c.ddl != "" {
				harness.ExecAll(t, tw.Plain, c.ddl)
				harness.ExecAll(t, tw.Direct, c.ddl)
				tw.LearnAnew(t)
			}
			for _, id := range []int{2, 6} {
				for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
					harness.ExecAll(t, db, "DELETE FROM item WHERE id > 0;\nINSERT INTO item (id, sku, tiny, stock, spare, used) VALUES (2, 'b', 121, 7, 7, 6), (6, 'f', 120, 2, 0, 3)")
					harness.Affected(t, db, "UPDATE item SET stock = stock + 5, spare = spare + 7 WHERE id = 6")
				}
				require.False(t, inSomeOrder(t, tw, shelf, onShelf(id, c.text, []any{1}, []any{3}, []any{2}, []any{3}, []any{2})), what)
			}
		}
	})
}

// TestStockBeside proves that whatever else is done to the row, at whichever statement of a
// batch, comes before, between or behind the updates: none of them, and not the other one,
// is refused by a deadlock, or for what is not so.
func TestStockBeside(t *testing.T) {
	others := map[string]struct {
		direct bool // by a client without the driver
		text   string
	}{
		"increment":      {false, "UPDATE item SET stock = stock + 2 WHERE id = #"},
		"decrement":      {false, "UPDATE item SET stock = stock - 5 WHERE id = #"}, // below zero in a slot
		"other counter":  {false, "UPDATE item SET used = used + 2 WHERE id = #"},
		"their counter":  {true, "UPDATE item SET stock = stock + 2 WHERE id = #"},
		"an edit":        {true, "UPDATE item SET state = 'shut' WHERE id = #"},
		"another key":    {false, "UPDATE item SET id = 60, title = 'new' WHERE id = #"},
		"another amount": {false, "UPDATE item SET stock = 3 WHERE id = #"},
		"a purchase":     {false, "UPDATE item SET stock = stock - 2, kept = kept + 1 WHERE id = # AND stock >= 2"},
		"no row":         {false, "DELETE FROM item WHERE id = #"},
		"a fold":         {false, harness.RollUpStep},
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, shelves, harness.Counters("item", "stock", "spare", "used", "tiny"), "interpolateParams=true", "innodb_lock_wait_timeout=20")
		tw.Ours.SetMaxIdleConns(8)
		const sold, each = "UPDATE item SET stock = stock - ? WHERE id = # AND stock >= ? AND state = 'open'", "UPDATE item SET stock = stock - ? WHERE NOT stock < ? AND id = #"
		for what, other := range others {
			for id, form := range map[int]string{2: sold, 6: sold, 3: each, 5: each} {
				for nth, met := int64(2), true; met; nth++ { // the first is that of who came first
					fillShelf(t, tw, id)
					buys := onShelf(id, form, []any{1, 1}, []any{3, 4}, []any{2, 2}, []any{1, 1})
					beside, done := buy{text: strings.ReplaceAll(other.text, "#", fmt.Sprint(id))}, make(chan string, 1)
					on := tw.Ours
					if other.direct {
						on = tw.Direct
					}
					met = false
					got := waitTogether(t, tw, buys, nth, func() {
						met = true
						go func() {
							if beside.text == harness.RollUpStep {
								harness.RollUp(t, tw.Ours)
								done <- "affected 0"
								return
							}
							done <- harness.Told2(on.Exec(beside.text))
						}()
						select {
						case answer := <-done:
							done <- answer
						case <-time.After(20 * time.Millisecond): // it waits, for the lock
						}
					})
					if !met {
						break
					}
					if got = append(got, harness.Soon(t, done)); beside.text == harness.RollUpStep {
						beside.text = "DO 0"
					}
					requireOrder(t, tw, shelf, append(buys, beside), got, fmt.Sprintf("%s at statement %d", what, nth))
				}
			}
		}
	})
}
