package groups

import (
	"database/sql"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

const shelves = `
CREATE TABLE item (id INT PRIMARY KEY, sku VARCHAR(9) NOT NULL UNIQUE, state VARCHAR(9) NOT NULL DEFAULT 'open', kept INT NOT NULL DEFAULT 2,
 seats INT UNSIGNED NOT NULL DEFAULT 9, moved DATETIME(3) NULL, title VARCHAR(9) NOT NULL DEFAULT '', tiny TINYINT NULL, stock INT NULL, spare INT UNSIGNED NOT NULL, used BIGINT UNSIGNED NOT NULL);
INSERT INTO item (id, sku, tiny, stock, spare, used) VALUES (1, 'a', 100, 100, 100, 0), (2, 'b', 121, 7, 7, 6), (3, 'c', 127, 0, 0, 9), (4, 'd', NULL, NULL, 2, 8), (5, 'e', 127, 1, 1, 8), (6, 'f', 120, 0, 0, 3)`

// taken are updates of one row, #, by ?, which wait together, and whether they go as one.
var taken = []struct {
	text     string
	together bool
}{
	{"UPDATE item SET stock = stock - ? WHERE id = # AND stock >= ?", true},
	{"UPDATE item SET spare = spare - ? WHERE id = # AND spare >= ?", true},
	{"UPDATE item i SET i.spare = i.spare - ? WHERE ? <= i.spare AND (i.id = #)", true},
	{"UPDATE item SET spare = spare - ? WHERE id = # AND spare > 0", true}, // with an error for who takes more
	{"UPDATE item SET spare = spare - ? WHERE id = # AND spare >= 3", true},
	{"UPDATE item SET spare = spare - ? WHERE id = # AND spare - ? >= 0", true},
	{"UPDATE item SET spare = spare - ? WHERE id = #", true},
	{"UPDATE item SET stock = stock + -? WHERE id = # AND stock - ? >= 2", true},
	{"UPDATE item SET stock = stock - ? WHERE id = # AND stock - kept >= ?", true},
	{"UPDATE item SET stock = stock - ? WHERE id = # AND stock > kept + ?", true},
	{"UPDATE item SET spare = spare - ?, title = 'sold', moved = NOW(3) WHERE id = # AND spare >= ? AND state = 'open' LIMIT 1", true},
	{"UPDATE item SET spare = spare - ? WHERE id = # AND spare >= ? AND state = 'shut'", true},
	{"UPDATE item SET stock = stock - ? WHERE sku = '@' AND stock >= ?", true},
	{"UPDATE item SET used = used + ? WHERE id = # AND used + ? <= seats", true},
	{"UPDATE item SET used = used + ? WHERE id = # AND seats - used >= ?", true},
	{"UPDATE item SET used = used + ? WHERE id = # AND used < 9", true},
	{"UPDATE item SET used = ? + used WHERE id = # AND used <= 9 - ?", true},
	{"UPDATE item SET tiny = tiny + ? WHERE id = # AND tiny < 200", true}, // more than the column holds
	{"UPDATE item SET stock = GREATEST(stock - ?, 0) WHERE id = #", true},
	{"UPDATE item SET spare = GREATEST(0, spare - ?), title = 'sold' WHERE id = # AND state = 'open'", true},
	{"UPDATE item SET stock = GREATEST(stock - ?, -2) WHERE id = #", true},
	{"UPDATE item SET stock = GREATEST(stock - ?, 0) WHERE id = # AND stock > 2", false},
	{"UPDATE item SET stock = GREATEST(stock + ?, 3) WHERE id = #", false},
	{"UPDATE item SET used = used + ? WHERE id = # AND used >= 3", false},
	{"UPDATE item SET stock = stock - ? WHERE id = # AND stock <> 0", false},
	{"UPDATE item SET stock = stock - ?, kept = kept + 1 WHERE id = # AND stock >= ?", false},
	{"UPDATE item SET stock = stock - ?, used = used + 1 WHERE id = # AND stock >= ?", false},
	{"UPDATE item SET stock = stock - ?, kept = 2 WHERE id = # AND stock >= ? AND kept = 2", false},
	{"UPDATE item SET stock = stock - ? WHERE id = # AND stock >= ? + 0.5", false},
	{"UPDATE item SET stock = stock - ? * 1 WHERE id = # AND stock >= ?", false},
	{"UPDATE item SET stock = ? WHERE id = #", false},
	{"UPDATE item SET tiny = tiny * 20 - ? WHERE id = #", false}, // more than the column holds
	{"UPDATE item SET sku = 'a' WHERE id = # AND stock > ?", false},
	{"UPDATE item SET stock = IF(stock > ?, stock - 1, 0), used = CASE WHEN stock > 3 THEN used + 1 ELSE 0 END WHERE id = #", false},
	{"UPDATE item SET stock = LAST_INSERT_ID(stock - ?) WHERE id = #", false},
	{"UPDATE item SET stock = (SELECT MAX(i.kept) - ? FROM (SELECT kept FROM item) i) WHERE id = #", false},
	{"UPDATE IGNORE item SET tiny = tiny * 20 - ? WHERE id = #", false},
	{"UPDATE item SET id = id + 0 * ? WHERE id = #", false},
	{"DELETE FROM item WHERE id = # AND stock < ?", false},
}

const shelf = "SELECT id, state, kept, seats, title, moved IS NULL, tiny, stock, spare, used FROM item ORDER BY id"

const found = "clientFoundRows=true"

// TestStockForms proves that guarded updates of one row which wait together get answers
// that plain MySQL gives in an order of theirs, and leave the row as that does: where there is
// enough, for some, for none, in slots, of NULL, and where there is no row.
func TestStockForms(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range [][]string{{"interpolateParams=true"}, {found}} {
			tw := harness.NewTwin(t, srv, shelves, harness.Counters("item", "stock", "spare", "used", "tiny"), params...)
			tw.Ours.SetMaxIdleConns(8)
			fill := func(db *sql.DB) {
				harness.ExecAll(t, db, "DELETE FROM item;\n"+shelves[strings.Index(shelves, "INSERT"):])
				for _, stmt := range []string{"UPDATE item SET stock = stock + 7, spare = spare + 7 WHERE id = 6", "UPDATE item SET stock = stock - 1, used = used + 1 WHERE id = 5"} {
					require.EqualValues(t, 1, harness.Affected(t, db, stmt))
				}
			}
			for _, form := range taken {
				shared := false
				for n := 0; n < 7 || form.together && !shared && n < 70; n++ { // on a busy machine they may miss each other
					id := n%7 + 1
					if id != 2 && (!form.together || params[0] == found) {
						continue
					}
					text := strings.NewReplacer("#", fmt.Sprint(id), "@", string(rune('a'+id-1))).Replace(form.text)
					buys := make([]buy, 5)
					for i, n := range []int{1, 2, 3, 1, 2} {
						buys[i] = buy{text, []any{n, n}[:strings.Count(text, "?")]}
					}
					fill(tw.Ours)
					fill(tw.Plain)
					shared = inSomeOrder(t, tw, shelf, buys) || shared
				}
				require.Equal(t, form.together, shared, form.text)
			}
		}
	})
}

func sumOf(counts []int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// buy is a guarded update with its arguments.
type buy struct {
	text string
	args []any
}

// inSomeOrder runs updates that wait together, and requires of answers and rows that plain
// MySQL gives them in an order of theirs. It reports whether several went as one statement.
func inSomeOrder(t *testing.T, tw *harness.Twin, rows string, buys []buy) (shared bool) {
	t.Helper()
	before := harness.Stats(t, tw.Ours).Guards
	answers := waitTogether(t, tw, buys, 0, nil)
	after := harness.Stats(t, tw.Ours).Guards
	requireOrder(t, tw, rows, buys, answers, "")
	return after.Sum-before.Sum > sumOf(after.Counts)-sumOf(before.Counts)
}

// requireOrder requires that plain MySQL gives the answers, and our rows, in some order.
func requireOrder(t *testing.T, tw *harness.Twin, rows string, buys []buy, answers []string, when string) {
	t.Helper()
	tx, err := tw.Plain.Begin()
	require.NoError(t, err)
	defer tx.Rollback()
	got := harness.Queried(t.Context(), tw.Ours, rows)
	var fits func(served map[int]bool) bool
	fits = func(served map[int]bool) bool {
		if len(served) == len(buys) {
			return got == harness.Queried(t.Context(), tx, rows)
		}
		before := fmt.Sprint("before", len(served))
		for i, b := range buys { // as they have come, mostly
			if served[i] {
				continue
			}
			harness.Affected(t, tx, "SAVEPOINT "+before)
			served[i] = true
			if harness.Told2(tx.Exec(b.text, b.args...)) == answers[i] && fits(served) {
				return true
			}
			delete(served, i)
			harness.Affected(t, tx, "ROLLBACK TO "+before)
		}
		return false
	}
	require.True(t, fits(map[int]bool{}), "no order gives that: %s %v %q\n%s", when, buys, answers, got)
}

// waitTogether runs the first update, and while it is held up the others. At statement nth
// it calls meet.
func waitTogether(t *testing.T, tw *harness.Twin, buys []buy, nth int64, meet func()) (answers []string) {
	t.Helper()
	reached, opened := make(chan struct{}), make(chan struct{})
	var sent atomic.Int64
	tw.Sent.Meddle(t, func(query string) error {
		switch sent.Add(1) {
		case 1:
			close(reached)
			<-opened
		case nth:
			meet()
		}
		return nil
	})
	defer tw.Sent.Before.Store(nil)
	all := []<-chan string{harness.Later(t, tw.Ours, buys[0].text, buys[0].args...)}
	<-reached
	for _, b := range buys[1:] {
		all = append(all, harness.Later(t, tw.Ours, b.text, b.args...))
		time.Sleep(4 * time.Millisecond)
	}
	close(opened)
	for _, a := range all {
		answers = append(answers, harness.Soon(t, a))
	}
	return answers
}
