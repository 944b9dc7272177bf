package reads

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

const fewTables = `
CREATE TABLE post (id INT PRIMARY KEY, title VARCHAR(9) NULL, likes INT NULL, views BIGINT UNSIGNED NOT NULL, score DECIMAL(9,2) NOT NULL, seen DATETIME NULL, KEY (likes), KEY (score, views));
CREATE TABLE page (site TINYINT UNSIGNED, n BIGINT, hits INT NOT NULL, size INT UNSIGNED NOT NULL, PRIMARY KEY (site, n), KEY (hits));
`

func fewCounters() *countermysql.Config {
	return &countermysql.Config{Rollup: countermysql.RollupNever, Tables: []countermysql.TableConfig{
		{Table: "post", Counters: []string{"likes", "views", "score"}, Touch: []string{"seen"}}, {Table: "page", Counters: []string{"hits", "size"}}}}
}

// fewForms are queries of which less is added up than a sum for each counter of each row,
// in whose place ? is a small number.
var fewForms = map[string]string{ // the text that tells it
	"SELECT COUNT(*) FROM post WHERE likes = ?":                                                       "SELECT CAST(COUNT(*) + ",
	"SELECT COUNT(*) FROM post p WHERE p.likes > ? AND views < ?":                                     "SELECT CAST(COUNT(*) + ",
	"SELECT COUNT(*) FROM post AS likes WHERE likes.likes > ? AND likes . views < ?":                  "SELECT CAST(COUNT(*) + ",
	"SELECT COUNT(*) AS n FROM post WHERE likes IS NULL":                                              "SELECT CAST(COUNT(*) + ",
	"SELECT count(*) total FROM post WHERE NOT likes <=> ? OR score IN (?, ?, NULL)":                  "SELECT CAST(COUNT(*) + ",
	"SELECT COUNT(*) FROM post AS p WHERE (`likes` BETWEEN -? AND ?) -- of all\nAND p . score <> 1.5": "SELECT CAST(COUNT(*) + ",
	"SELECT COUNT(*) FROM page WHERE hits <= ? XOR size > ?":                                          "SELECT CAST(COUNT(*) + ",
	"SELECT * FROM post WHERE id = ?":                                                                 "countermysql_4",
	"SELECT views, likes, title, seen FROM post p WHERE p.id IN (?, 3, ?) ORDER BY id":                "countermysql_3",
	"SELECT*FROM post WHERE id BETWEEN ? AND ? + 4 ORDER BY id":                                       "countermysql_4",
	"SELECT likes, seen FROM post WHERE title = 't1' AND id = ? LIMIT ?":                              "countermysql_2",
	"SELECT *, hits AS again FROM page WHERE page.n = ? AND site = 1":                                 "countermysql_3",
	"SELECT n, hits, size FROM page WHERE (site = 1) AND n > ? ORDER BY n":                            "countermysql_3",
	"SELECT size, hits FROM page AS x WHERE site IN (1, 2) AND n = -?":                                "countermysql_3",
}

// TestFewSlots proves that counts by conditions on counters, and several counters of rows
// found by their keys, are those of plain MySQL, however few or many rows have slots: as
// text and prepared, and in transactions.
func TestFewSlots(t *testing.T) {
	t.Parallel()
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"interpolateParams=false", "interpolateParams=true"} {
			tw := harness.NewTwin(t, srv, fewTables, fewCounters(), params, "timestamp=1700000000") // both have the same NOW()
			r := rand.New(rand.NewPCG(1, 3))
			number := func(below int) string {
				if r.IntN(8) == 0 {
					return "NULL"
				}
				return fmt.Sprint(r.IntN(below) - below/3)
			}
			for i := range 60 {
				tw.Play(t, fmt.Sprintf("A: INSERT INTO post VALUES (%d, 't%d', %s, %d, %d.5, NULL)", i-20, i%3, number(12), r.IntN(9), r.IntN(5)),
					fmt.Sprintf("A: INSERT INTO page VALUES (%d, %d, %d, %d)", i%3, i-30, r.IntN(9)-4, r.IntN(4)))
			}
			so, looked := map[string]int{}, map[string]int{}
			for round := range 3 {
				if round == 2 { // no row without slots
					for i := range 60 {
						tw.Play(t, fmt.Sprintf("A: UPDATE post SET views = views + 1 WHERE id = %d", i-20), fmt.Sprintf("A: UPDATE page SET hits = hits + 1 WHERE site = %d AND n = %d", i%3, i-30))
					}
				}
				for range 10 {
					tw.Play(t, fmt.Sprintf("A: UPDATE post SET likes = likes + %d, views = views + 1, seen = NOW() WHERE id = %d", r.IntN(7)-3, r.IntN(60)-20),
						fmt.Sprintf("A: UPDATE post SET score = score + 0.5 WHERE id = %d", r.IntN(60)-20),
						fmt.Sprintf("A: UPDATE page SET hits = hits + %d WHERE site = %d AND n = %d", r.IntN(7)-3, r.IntN(3), r.IntN(60)-30))
				}
				for query, told := range fewForms {
					var args []any
					literal := query
					for strings.Contains(literal, "?") {
						args = append(args, r.IntN(9))
						literal = strings.Replace(literal, "?", fmt.Sprint(args[len(args)-1]), 1)
					}
					sent := tw.Sent.During(func() {
						tw.Same(t, literal)
						tw.Same(t, query, args...)
						tw.SamePrepared(t, "begin RR", query, args...)
						tw.SamePrepared(t, "begin RC", query, args...)
					})
					for _, s := range sent {
						switch {
						case strings.HasPrefix(s.Text, "PREPARE"):
						case strings.Contains(s.Text, told):
							so[query]++
						case looks(s): // the rows may have none
							looked[query]++
						}
					}
					tw.SameTypes(t, false, query, args...)
				}
			}
			gathered := 0
			for query := range fewForms {
				require.Greater(t, so[query]+looked[query], 12, query)
				gathered += so[query]
			}
			require.Greater(t, gathered, 100)
			for _, level := range []string{"RR", "RC", "S"} { // own writes, and those of others
				others := []string{"B: UPDATE post SET likes = likes + 2, views = views + 1 WHERE id < 9", "B: UPDATE post SET likes = 1 WHERE id = 3"}
				if level == "S" {
					others = nil // they would wait
				}
				reads := []string{"A: SELECT COUNT(*) FROM post WHERE likes = 1", "A: SELECT * FROM post WHERE id = 3", "A: SELECT COUNT(*) FROM page WHERE hits > 1"}
				steps := append([]string{"A: begin " + level}, reads...)
				steps = append(append(steps, others...), reads...)
				steps = append(append(steps, "A: UPDATE post SET likes = likes + 5, views = views + 1 WHERE id = 3", "A: UPDATE page SET hits = 0 WHERE site = 1 AND n = 1"), reads...)
				tw.Play(t, append(append(append(steps, "A: savepoint x", "A: DELETE FROM post WHERE id = 4"), reads...), "A: commit")...)
			}
		}
	})
}
