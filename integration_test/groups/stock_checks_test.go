package groups

import (
	"database/sql"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestStockChecks proves that updates of one row whose counters CHECK constraints keep between
// constants go together, with a condition or without one, in both directions, and that those go
// by themselves whose constraints say anything else, or nothing. All answer as on plain MySQL
// in an order of theirs: where there is enough, in slots, and of NULL.
func TestStockChecks(t *testing.T) {
	const (
		take   = "UPDATE item SET stock = stock - ? WHERE id = #"
		refill = "UPDATE item SET stock = stock + ?, title = 'new' WHERE id = # AND state = 'open'"
		sell   = "UPDATE item SET stock = stock - ? WHERE id = # AND stock >= ?"
	)
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, c := range []struct {
			check, param string
			together     bool
			texts        []string
		}{
			{"(stock >= 0)", "interpolateParams=true", true, []string{take, refill, sell, "UPDATE item SET stock = stock - ? WHERE id = # AND stock > 0", "UPDATE item SET used = used + ? WHERE id = #"}},
			{"(stock >= 0)", found, true, []string{take, sell}},
			{"(stock BETWEEN -2 AND 12)", found, true, []string{take, refill, sell}},
			{"(stock < 12 AND 1 < spare AND kept > 0)", "interpolateParams=true", true, []string{take, refill, "UPDATE item SET spare = spare - ? WHERE id = #", "UPDATE item SET spare = spare - ? WHERE id = # AND spare >= ?"}},
			{"(tiny <= 125), ADD CHECK (used <= 9)", found, true, []string{"UPDATE item SET tiny = tiny + ? WHERE id = #", "UPDATE item SET used = used + ? WHERE id = # AND used + ? <= seats", "UPDATE item SET used = used - ? WHERE id = #"}},
			{"(stock % 5 <> 4)", "interpolateParams=true", false, []string{take, sell}},
			{"(stock >= kept)", found, false, []string{take, sell}},
			{"(stock >= 0 OR spare > 3), ADD CHECK (stock >= 0)", found, false, []string{take, "UPDATE item SET used = used - ? WHERE id = #"}},
			{"(stock >= 2) NOT ENFORCED", found, false, []string{take}},
			{"(stock >= 2)", found + "&check_constraint_checks=0", true, []string{take, sell}},
		} {
			if maria := harness.MariaDB(srv); maria && strings.Contains(c.check, "ENFORCED") || !maria && strings.Contains(c.param, "check_constraint") {
				continue // only the other one knows it
			}
			tw := harness.NewTwin(t, srv, shelves[:strings.Index(shelves, "INSERT")], harness.Counters("item", "stock", "spare", "used", "tiny"), strings.Split(c.param, "&")...)
			tw.Ours.SetMaxIdleConns(8)
			for _, db := range []*sql.DB{tw.Plain, tw.Direct} {
				harness.ExecAll(t, db, "ALTER TABLE item ADD CHECK "+c.check)
			}
			tw.LearnAnew(t)
			for _, text := range c.texts {
				shared := false
				for n, args := range [][][]any{{{1}, {2}, {3}, {1}, {2}}, {{uint(2)}, {1}, {uint(4)}, {3}, {"2"}}, {{3}, {-2}, {4}, {-9}, {5}}} {
					for i := range args {
						args[i] = []any{args[i][0], args[i][0]}[:strings.Count(text, "?")]
					}
					for _, id := range []int{2, 6, 4} {
						if id == 4 && n > 0 {
							continue
						}
						for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
							harness.ExecAll(t, db, "DELETE FROM item WHERE id > 0;\nINSERT INTO item (id, sku, tiny, stock, spare, used) VALUES (2, 'b', 121, 7, 7, 6), (4, 'd', NULL, NULL, 2, 8), (6, 'f', 120, 2, 2, 3)")
						}
						harness.Affected(t, tw.Plain, "UPDATE item SET stock = stock + 5, spare = spare + 3 WHERE id = 6")
						harness.Affected(t, tw.Direct, "INSERT INTO item_slots (id, slot, stock, spare) VALUES (6, 3, 5, 3)") // from before the constraint
						shared = inSomeOrder(t, tw, shelf, onShelf(id, text, args...)) || shared
					}
				}
				require.Equal(t, c.together, shared, "%s %s", c.check, text)
			}
		}
	})
}

// TestStockChecksChanged proves that updates which wait together answer as on plain MySQL in an
// order of theirs right behind a change of the constraint by another client.
func TestStockChecksChanged(t *testing.T) {
	const take = "UPDATE item SET stock = stock - ? WHERE id = #"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, shelves, harness.Counters("item", "stock", "spare", "used", "tiny"), "interpolateParams=true")
		tw.Ours.SetMaxIdleConns(8)
		for _, db := range []*sql.DB{tw.Plain, tw.Direct} {
			harness.ExecAll(t, db, "ALTER TABLE item ADD CONSTRAINT enough CHECK (stock >= 0)")
		}
		tw.LearnAnew(t)
		for _, change := range []string{"", "DROP CONSTRAINT enough", "ADD CONSTRAINT enough CHECK (stock >= -5)", "ADD CONSTRAINT more CHECK (stock >= 4)", "DROP CONSTRAINT more", "ADD CONSTRAINT fewer CHECK (stock < 9)"} {
			for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
				harness.ExecAll(t, db, "DELETE FROM item;\nINSERT INTO item (id, sku, stock, spare, used) VALUES (1, 'a', 7, 0, 0)")
			}
			if change != "" {
				for _, db := range []*sql.DB{tw.Plain, tw.Direct} {
					harness.ExecAll(t, db, "ALTER TABLE item "+change)
				}
			}
			inSomeOrder(t, tw, shelf, onShelf(1, take, []any{1}, []any{2}, []any{3}, []any{4}, []any{-3}))
		}
	})
}

// TestStockSellsOutByCheck proves that where a CHECK constraint is all that keeps a stock from
// going below zero, several processes sell exactly what is there while some comes back, and
// that nobody is refused who could have been served at every moment of his call.
func TestStockSellsOutByCheck(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newStorage(t, srv, "interpolateParams=true")
		tw.Sent.Off.Store(true)
		const start, brought = 90, 15
		harness.Affected(t, tw.Direct, "UPDATE item SET stock = ? WHERE id = 1", start)
		harness.ExecAll(t, tw.Direct, "ALTER TABLE item ADD CONSTRAINT enough CHECK (stock >= 0)")
		tw.LearnAnew(t)
		other, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
		violated := map[bool]int{true: 4025, false: 3819}[harness.MariaDB(srv)]
		var c harness.Crowd
		var mu sync.Mutex
		var all []purchase
		begun := time.Now()
		c.Run(14, func(client int) {
			for k := range 30 {
				p := purchase{n: int64(1 + rand.IntN(2)), begun: time.Since(begun)}
				if client < 2 && k%5 == 4 {
					p.n = -brought
				}
				res, err := []*sql.DB{tw.Ours, other}[client%2].ExecContext(t.Context(), "UPDATE item SET stock = stock - ? WHERE id = 1", p.n)
				if p.end = time.Since(begun); harness.ErrorNumber(err) != violated {
					if !c.Check(err) {
						continue
					}
					p.rows, _ = res.RowsAffected()
				}
				mu.Lock()
				all = append(all, p)
				mu.Unlock()
			}
		})
		c.NoDeadlocks(t)
		sum, refused := int64(start), 0
		for _, p := range all {
			sum -= p.n * p.rows
			if p.rows == 0 {
				refused++
				require.True(t, p.couldRefuse(start, all), "%+v", p)
			}
		}
		require.Equal(t, sum, stockOf(t, tw, 1))
		require.GreaterOrEqual(t, sum, int64(0))
		require.NotZero(t, refused)
		guards := harness.Stats(t, tw.Ours).Guards
		require.Greater(t, guards.Sum, sumOf(guards.Counts), "nobody went with others")
	})
}
