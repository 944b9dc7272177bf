package groups

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestStockSeveralRows proves that updates which go together right behind DDL by which their
// key is not unique any more are applied once, to every row, and answer as on plain MySQL in an
// order of theirs: where all rows have enough, where all are short, or none is left of one, and
// in slots. Where one is short and another has enough for all, each is still told what it took.
func TestStockSeveralRows(t *testing.T) {
	const (
		schema = "CREATE TABLE item (id INT PRIMARY KEY, sku INT NOT NULL, stock INT NOT NULL, UNIQUE KEY sku (sku));\nINSERT INTO item VALUES (1, 5, 101), (2, 6, 100)"
		sell   = "UPDATE item SET stock = stock - ? WHERE sku = 5 AND stock >= ?"
		list   = "SELECT * FROM item ORDER BY id"
		drop   = "ALTER TABLE item DROP INDEX sku;\n"
		slot   = "INSERT INTO item_slots (id, slot, stock) VALUES (3, 3, 5)"
	)
	buys := onShelf(0, sell, []any{1, 1}, []any{1, 1}, []any{2, 2}, []any{1, 1}, []any{2, 2})
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		shared := false
		for what, c := range map[string]struct {
			ddl    string
			partly bool // some rows have enough for all, and some not
		}{
			"no index":     {drop + "INSERT INTO item VALUES (3, 5, 50)", false},
			"another type": {"ALTER TABLE item MODIFY sku VARCHAR(9) NOT NULL;\nINSERT INTO item VALUES (3, '05', 50)", false},
			"short":        {drop + "UPDATE item SET stock = 4 WHERE id = 1;\nINSERT INTO item VALUES (3, 5, 4)", false},
			"sold out":     {drop + "UPDATE item SET stock = 0 WHERE id = 1;\nINSERT INTO item VALUES (3, 5, 4)", false},
			"slots":        {drop + "INSERT INTO item VALUES (3, 5, 50);\n" + slot, false},
			"partly":       {drop + "INSERT INTO item VALUES (3, 5, 2)", true},
		} {
			tw := harness.NewTwin(t, srv, schema, harness.Counters("item", "stock"), "interpolateParams=true")
			tw.Ours.SetMaxIdleConns(8)
			reached, opened, served := make(chan struct{}), make(chan struct{}), make(chan struct{})
			var sent atomic.Int64
			var once sync.Once
			tw.Sent.Meddle(t, func(query string) error {
				switch {
				case !strings.HasPrefix(query, "UPDATE item"):
				case sent.Add(1) == 1:
					close(reached)
					<-opened
				default: // planned, and not sent
					<-served
					once.Do(func() { harness.ExecAll(t, tw.Direct, c.ddl) })
				}
				return nil
			})
			all := []<-chan string{harness.Later(t, tw.Ours, buys[0].text, buys[0].args...)}
			<-reached
			for _, b := range buys[1:] {
				all = append(all, harness.Later(t, tw.Ours, b.text, b.args...))
				time.Sleep(20 * time.Millisecond)
			}
			close(opened)
			require.Equal(t, "affected 1", harness.Soon(t, all[0]), what)
			close(served)
			var answers []string
			for _, a := range all[1:] {
				answers = append(answers, harness.Soon(t, a))
			}
			guards := harness.Stats(t, tw.Ours).Guards
			shared = shared || guards.Sum > sumOf(guards.Counts)
			if c.partly {
				left := int64(100 + 2)
				for i, b := range buys[1:] {
					var rows int64
					_, err := fmt.Sscanf(answers[i], "affected %d", &rows)
					require.NoError(t, err, answers[i])
					left -= rows * int64(b.args[0].(int))
				}
				require.Equal(t, left, stockOf(t, tw, 1)+stockOf(t, tw, 3))
				require.GreaterOrEqual(t, stockOf(t, tw, 3), int64(0))
				continue
			}
			harness.Affected(t, tw.Plain, buys[0].text, buys[0].args...)
			harness.ExecAll(t, tw.Plain, strings.ReplaceAll(c.ddl, slot, "UPDATE item SET stock = stock + 5 WHERE id = 3"))
			requireOrder(t, tw, list, buys[1:], answers, what)
		}
		require.True(t, shared, "nobody went with others")
	})
}

// TestStockArguments proves that who brings too many arguments, or too few, has the error of
// plain MySQL whoever waits with him, and that the others are served.
func TestStockArguments(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, param := range []string{"interpolateParams=true", found} {
			tw := newStorage(t, srv, param)
			for _, text := range []string{"UPDATE item SET stock = stock - ? WHERE id = ? AND stock >= ?", "UPDATE item SET stock = stock - 1 WHERE id = ? AND stock >= ? AND spare = 3"} {
				right := []any{1, 1, 1}[:strings.Count(text, "?")]
				more, fewer := append(right[:len(right):len(right)], 99), right[:len(right)-1]
				buys := onShelf(1, text, right, more, right, fewer, more, right, fewer)
				if param == found { // what is prepared is not met in the text
					buys[0] = buy{text: buyOne}
				}
				before := stockOf(t, tw, 1)
				for i, answer := range waitTogether(t, tw, buys, 0, nil) {
					tx, err := tw.Plain.Begin()
					require.NoError(t, err)
					require.Equal(t, harness.Told2(tx.Exec(buys[i].text, buys[i].args...)), answer, "%s %v", text, buys[i].args)
					require.NoError(t, tx.Rollback())
				}
				require.EqualValues(t, before-3, stockOf(t, tw, 1))
			}
		}
	})
}

// TestStockWaitsOnce proves that those who wait together for a locked row have the error of
// plain MySQL, 1205, when they have waited as long as there, and that nothing is sold: whether
// there is enough, and where somebody was refused before. The same goes for a lock on slots.
func TestStockWaitsOnce(t *testing.T) {
	const wait = 2 * time.Second
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for what, lock := range map[string]string{"row": "SELECT * FROM item WHERE id = 2 FOR UPDATE", "slots": "SELECT * FROM item_slots WHERE id = 2 FOR UPDATE"} {
			for _, short := range []bool{false, true} {
				t.Run(what+map[bool]string{true: " short"}[short], func(t *testing.T) {
					t.Parallel()
					tw := harness.NewTwin(t, srv, storage, harness.Counters("item", "stock", "spare"), "innodb_lock_wait_timeout=2")
					tw.Ours.SetMaxIdleConns(8)
					text, left := "UPDATE item SET stock = stock - 1 WHERE id = 2 AND stock >= 1", int64(5)
					if short {
						text = "UPDATE item SET stock = stock - 1 WHERE id = 2 AND stock >= 16"
						g := harness.NewGateOn(t, tw.Sent, func(query string) bool { return strings.HasPrefix(query, "UPDATE item") })
						stays := harness.Later(t, tw.Ours, text)
						<-g.Reached
						var refused []<-chan string
						for range 3 { // they go on when the first has stalled
							refused = append(refused, harness.Later(t, tw.Ours, text))
						}
						for _, r := range refused {
							require.Equal(t, "affected 0", harness.Soon(t, r))
						}
						defer func() {
							g.Open()
							require.Equal(t, "affected 0", harness.Soon(t, stays))
						}()
					}
					if what == "slots" {
						harness.Affected(t, tw.Direct, "INSERT INTO item_slots (id, slot, stock) VALUES (2, 3, 5)")
						left += 5
					}
					holder, err := tw.Direct.Begin()
					require.NoError(t, err)
					defer holder.Rollback()
					rows, err := holder.Query(lock)
					require.NoError(t, err)
					require.NoError(t, rows.Close())
					type told struct {
						number int
						took   time.Duration
					}
					answers := make(chan told, 5)
					for range cap(answers) {
						go func() {
							begun := time.Now()
							_, err := tw.Ours.ExecContext(context.WithoutCancel(t.Context()), text)
							answers <- told{harness.ErrorNumber(err), time.Since(begun)}
						}()
						time.Sleep(20 * time.Millisecond)
					}
					for range cap(answers) {
						a := <-answers
						require.Equal(t, 1205, a.number)
						require.Less(t, a.took, 3*wait)
					}
					require.NoError(t, holder.Rollback())
					require.Equal(t, left, stockOf(t, tw, 2))
					guards := harness.Stats(t, tw.Ours).Guards
					require.Greater(t, guards.Sum, sumOf(guards.Counts), "nobody went with others")
				})
			}
		}
	})
}
