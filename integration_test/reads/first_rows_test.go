package reads

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

const firstTables = `
CREATE TABLE item (id BIGINT PRIMARY KEY, kind INT NOT NULL, n INT NOT NULL, m BIGINT UNSIGNED NOT NULL DEFAULT 100, KEY (n, id), KEY (m), KEY (n));
CREATE TABLE owner (id INT PRIMARY KEY, points INT NOT NULL DEFAULT 0);
CREATE TABLE tag (item_id BIGINT NOT NULL, name VARCHAR(9) NOT NULL);
`

// firstForms are queries for the first rows by a counter, the last column, and how many: those whose order
// says which come first of one value, and others.
var firstForms = []struct {
	query string
	whole bool
}{
	{"SELECT id, n FROM item ORDER BY n DESC LIMIT %d", false},
	{"SELECT id, n FROM item ORDER BY n LIMIT %d", false},
	{"SELECT id, m FROM item ORDER BY m DESC LIMIT %d", false},
	{"SELECT id, kind, n FROM item i ORDER BY i.n DESC, i.id DESC LIMIT %d", true},
	{"SELECT i.m, i.n AS score FROM item AS i ORDER BY i.n, i.id LIMIT 0, %d", true},
	{"SELECT *, m, n FROM item WHERE kind <> 1 ORDER BY n DESC, id DESC LIMIT %d", true},
	{"SELECT o.points, i.id, i.n FROM item i JOIN owner o ON o.id = i.kind ORDER BY i.n DESC LIMIT %d", false},
	{"SELECT i.id, t.name, i.n FROM item i JOIN tag t ON t.item_id = i.id ORDER BY i.n DESC LIMIT %d", false},
	{"SELECT i.id, i.n FROM item i LEFT JOIN tag t ON t.item_id = i.id ORDER BY i.n LIMIT %d", false},
	{"SELECT n + 0, n FROM item ORDER BY n DESC LIMIT %d", false},
}

// TestFirstRows proves that the first rows by a counter are those of plain MySQL, whichever rows have
// slots, and whatever they add: as text and prepared, and with a list of slots that the server cuts.
func TestFirstRows(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for seed, params := range []string{"interpolateParams=true", "group_concat_max_len=40", "interpolateParams=true&columnsWithAlias=true"} {
			config := harness.Counters("item", "n", "m")
			config.Tables = append(config.Tables, harness.Counters("owner", "points").Tables[0])
			tw := harness.NewTwin(t, srv, firstTables, config, strings.Split(params, "&")...)
			r := rand.New(rand.NewPCG(uint64(seed), 5))
			for i := range 80 {
				tw.Play(t, fmt.Sprintf("A: INSERT INTO item (id, kind, n) VALUES (%d, %d, %d)", i, i%3, r.IntN(60)-10))
				for n := range r.IntN(3) {
					tw.Play(t, fmt.Sprintf("A: INSERT INTO tag VALUES (%d, 't%d')", i, n))
				}
			}
			tw.Play(t, "A: INSERT INTO owner VALUES (0, 1), (1, 2), (2, 3)")
			told, sums := 0, 0
			for range 14 {
				for range r.IntN(3) {
					by := r.IntN(24) - 8
					tw.Play(t, fmt.Sprintf("A: UPDATE item SET n = n + %d, m = m + %d WHERE id = %d", by, by, r.IntN(80)),
						fmt.Sprintf("A: UPDATE owner SET points = points + 1 WHERE id = %d", r.IntN(3)))
				}
				harness.Number(t, tw.Ours, "SELECT n FROM item WHERE id = 1") // learns that there are slots
				for _, form := range firstForms {
					n := 1 + r.IntN(30)
					query := fmt.Sprintf(form.query, n)
					if r.IntN(2) == 0 {
						query = strings.Replace(form.query, "%d", "?", 1)
					}
					for _, s := range tw.Sent.During(func() { sameFirst(t, tw, form.whole, query, []any{n}[:strings.Count(query, "?")]...) }) {
						switch {
						case strings.Contains(s.Text, "countermysql_value") && !strings.HasPrefix(s.Text, "PREPARE"):
							told++
						case strings.Contains(s.Text, "_slots"):
							sums++
						}
					}
					tw.SameTypes(t, false, query, []any{n}[:strings.Count(query, "?")]...)
				}
				if r.IntN(4) == 0 {
					harness.RollUp(t, tw.Ours)
				}
			}
			require.Greater(t, told, 20)
			require.Greater(t, sums, 20)
		}
	})
}

// sameFirst requires the same rows in the same order, as far as the query tells it: of the rows with
// the last value some may be there, and those with one value in any order.
func sameFirst(t *testing.T, tw *harness.Twin, whole bool, query string, args ...any) {
	t.Helper()
	if whole {
		tw.Same(t, query, args...)
		return
	}
	var all [2][][]string
	for i, db := range []*sql.DB{tw.Plain, tw.Ours} {
		rows, err := db.QueryContext(t.Context(), query, args...)
		require.NoError(t, err)
		columns, err := rows.Columns()
		require.NoError(t, err)
		for rows.Next() {
			row, into := make([]string, len(columns)), make([]any, len(columns))
			for c := range row {
				into[c] = &row[c]
			}
			require.NoError(t, rows.Scan(into...))
			all[i] = append(all[i], row)
		}
		require.NoError(t, rows.Err())
	}
	values := func(rows [][]string) (last []string) {
		for _, row := range rows {
			last = append(last, row[len(row)-1])
		}
		return last
	}
	require.Equal(t, values(all[0]), values(all[1]), "%s %v", query, args)
	before := func(rows [][]string) (some []string) {
		for _, row := range rows {
			if row[len(row)-1] != rows[len(rows)-1][len(row)-1] {
				some = append(some, fmt.Sprint(row))
			}
		}
		slices.Sort(some)
		return some
	}
	require.Equal(t, before(all[0]), before(all[1]), "%s %v", query, args)
}
