package reads

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestHandler proves that HANDLER reads counters, also by a name of its own.
func TestHandler(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		for _, begin := range []string{"SELECT 1", "begin RR"} {
			for _, name := range []string{"post", "h"} {
				steps := []string{"A: " + begin, "A: " + harness.LikeOne}
				if name == "post" {
					steps = append(steps, "A: HANDLER post OPEN")
				} else {
					steps = append(steps, "A: HANDLER post OPEN AS h")
				}
				steps = append(steps, "B: UPDATE post SET likes = likes + 10 WHERE id = 2", "A: HANDLER "+name+" READ `PRIMARY` = (1)", "A: HANDLER "+name+" READ `PRIMARY` NEXT", "A: HANDLER "+name+" CLOSE")
				if begin != "SELECT 1" {
					steps = append(steps, "A: rollback")
				}
				tw.Play(t, steps...)
			}
		}
	})
}
