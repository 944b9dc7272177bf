package writes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestRecountKilled proves that a recount whose query is ended says so, and not that a number
// is out of range.
func TestRecountKilled(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := *harness.ArticleCounters
		config.Tables = []countermysql.TableConfig{{Table: "blog", Counters: []string{"posts", "words"}, Recount: map[string]string{"posts": "SELECT blog, COUNT(*) FROM article GROUP BY blog"}}}
		tw := harness.NewTwin(t, srv, harness.Articles, &config)
		var rows, slots []string
		for id := range 4000 {
			rows = append(rows, fmt.Sprintf("(%d)", 100+id))
			for slot := range 16 {
				slots = append(slots, fmt.Sprintf("(%d, %d, %d)", 100+id, slot, 1-2*(slot%2)))
			}
		}
		harness.Affected(t, tw.Direct, "INSERT INTO blog (id) VALUES "+strings.Join(rows, ", "))
		harness.Affected(t, tw.Direct, "INSERT INTO blog_slots (id, slot, posts) VALUES "+strings.Join(slots, ", "))
		running := "SELECT ID FROM information_schema.PROCESSLIST WHERE DB = '" + harness.DbName(t, tw.Direct) + "' AND INFO LIKE '%blog_slots%<>%' AND ID <> CONNECTION_ID()"
		killed := 0
		for try := 0; try < 200 && killed < 50; try++ {
			answer := make(chan error, 1)
			go func() {
				_, err := countermysql.Recount(t.Context(), tw.Ours, nil)
				answer <- err
			}()
			for len(answer) == 0 {
				if ids := harness.QueriedList(t, tw.Direct, running); len(ids) > 0 {
					time.Sleep(time.Duration(try%25) * time.Millisecond)
					_, _ = tw.Direct.Exec("KILL QUERY " + ids[0])
					break
				}
			}
			if err := <-answer; err != nil {
				killed++
				require.Equal(t, 1317, harness.ErrorNumber(err), err.Error())
			}
		}
		require.NotZero(t, killed)
	})
}
