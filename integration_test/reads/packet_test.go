package reads

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestQueryThatFillsAPacket proves that a query which fits into a packet only without sums is answered, if it locks nothing.
func TestQueryThatFillsAPacket(t *testing.T) {
	const packet = 2000
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"interpolateParams=true", "interpolateParams=false"} {
			tw := harness.NewBlog(t, srv, harness.BlogCounters(), "maxAllowedPacket=2000", params)
			for _, query := range []string{
				"SELECT id, likes FROM post WHERE id IN (1, 2{})", "SELECT likes, views FROM post WHERE id = 1 OR id IN (2{})", "SELECT COUNT(*) FROM post WHERE likes > 9 AND likes NOT IN (0{})",
				"SELECT id, likes FROM post WHERE id NOT IN (7{}) ORDER BY likes DESC LIMIT 1", "SELECT SUM(likes) FROM post WHERE id NOT IN (7{})",
			} {
				for _, room := range []int{5, 30, 200, packet / 2} {
					room = packet - room - len(query) + len("{}")
					query := strings.Replace(query, "{}", strings.Repeat(", 8", room/3)+strings.Repeat(" ", room%3), 1)
					tw.Reset(t)
					require.Contains(t, tw.Same(t, query), "[")
					tw.Reset(t)
					tw.Play(t, "A: begin", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: "+query, "A: commit", "A: "+query)
				}
			}
		}
	})
}
