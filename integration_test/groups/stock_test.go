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

const shelves = `
CREATE TABLE item (id INT PRIMARY KEY, sku VARCHAR(9) NOT NULL UNIQUE, state VARCHAR(9) NOT NULL DEFAULT 'open', kept INT NOT NULL DEFAULT 2,
 seats INT UNSIGNED NOT NULL DEFAULT 9, moved DATETIME(3) NULL, title VARCHAR(9) NOT NULL DEFAULT '', tiny TINYINT NULL, stock INT NULL, spare INT UNSIGNED NOT NULL, used BIGINT UNSIGNED NOT NULL);
INSERT INTO item (id, sku, tiny, stock, spare, used) VALUES (1, 'a', 100, 100, 100, 0), (2, 'b', 121, 7, 7, 6), (3, 'c', 127, 0, 0, 9), (4, 'd', NULL, NULL, 2, 8), (5, 'e', 127, 1, 1, 8), (6, 'f', 120, 0, 0, 3)`

// taken are guarded updates of one row, #, by ?, which wait together, and whether they go so.
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
	{"UPDATE item SET used = used + ? WHERE id = # AND used >= 3", false},
	{"UPDATE item SET stock = stock - ? WHERE id = # AND stock <> 0", false},
	{"UPDATE item SET stock = stock - ?, kept = kept + 1 WHERE id = # AND stock >= ?", false},
	{"UPDATE item SET stock = stock - ?, used = used + 1 WHERE id = # AND stock >= ?", false},
	{"UPDATE item SET stock = stock - ?, kept = 2 WHERE id = # AND stock >= ? AND kept = 2", false},
	{"UPDATE item SET stock = stock - ? WHERE id = # AND stock >= ? + 0.5", false},
	{"UPDATE item SET stock = stock - ? * 1 WHERE id = # AND stock >= ?", false},
	{"UPDATE item SET stock = GREATEST(stock - ?, 0) WHERE id = #", false},
}

// orders are those in which so many can come.
func orders(n int) (all [][]int) {
	if n == 0 {
		return [][]int{{}}
	}
	for _, o := range orders(n - 1) {
		for at := n - 1; at >= 0; at-- {
			p := append(append(append([]int{}, o[:at]...), n-1), o[at:]...)
			all = append(all, p)
		}
	}
	return all
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
				for id := 1; id <= 7; id++ {
					if id != 2 && (!form.together || params[0] == found) {
						continue
					}
					amounts := []int{1, 2, 3, 1, 2}
					text := strings.NewReplacer("#", fmt.Sprint(id), "@", string(rune('a'+id-1))).Replace(form.text)
					args := func(n int) []any {
						return []any{n, n}[:strings.Count(text, "?")]
					}
					fill(tw.Ours)
					before := harness.Stats(t, tw.Ours).Guards
					answers := waitTogether(t, tw, text, args, amounts)
					after := harness.Stats(t, tw.Ours).Guards
					shared = shared || after.Sum-before.Sum > sumOf(after.Counts)-sumOf(before.Counts)
					got := strings.Join(append(answers, harness.Queried(t.Context(), tw.Ours, shelf)), "\n")
					serial := false
					for _, order := range orders(len(amounts)) { // as they have come, mostly
						fill(tw.Plain)
						want := make([]string, len(amounts))
						for _, i := range order {
							want[i] = answered(t, tw.Plain, text, args(amounts[i]))
						}
						if serial = got == strings.Join(append(want, harness.Queried(t.Context(), tw.Plain, shelf)), "\n"); serial {
							break
						}
					}
					require.True(t, serial, "%s %v: no order gives\n%s", text, params, got)
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

func answered(t *testing.T, on harness.Execer, text string, args []any) string {
	t.Helper()
	return harness.Soon(t, harness.Later(t, on, text, args...))
}

// waitTogether runs an update by the first amount, and while it is held up those by the
// others.
func waitTogether(t *testing.T, tw *harness.Twin, text string, args func(int) []any, amounts []int) (answers []string) {
	t.Helper()
	g := harness.NewGateOn(t, tw.Sent, func(query string) bool {
		return strings.HasPrefix(query, "UPDATE item") || strings.HasPrefix(query, "START")
	})
	all := []<-chan string{harness.Later(t, tw.Ours, text, args(amounts[0])...)}
	<-g.Reached
	for _, n := range amounts[1:] {
		all = append(all, harness.Later(t, tw.Ours, text, args(n)...))
		time.Sleep(4 * time.Millisecond)
	}
	g.Open()
	for _, a := range all {
		answers = append(answers, harness.Soon(t, a))
	}
	return answers
}
