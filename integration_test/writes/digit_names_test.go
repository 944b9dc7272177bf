package writes

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestNamesThatBeginWithDigits proves that a counter is seen behind a table's name that
// begins with digits: 0a.likes was taken for one word, and base rows answered.
func TestNamesThatBeginWithDigits(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		for _, name := range []string{"0a", "1e", "12ab34", "0x1G", "0b", "1e_5", "`5`", "0xg"} {
			tw.Play(t, "A: UPDATE post "+name+" SET "+name+".likes = "+name+".likes + 1.0 WHERE "+name+".id = 1", "A: SELECT "+name+".likes FROM post "+name+" WHERE "+name+".id < 1e+1",
				"A: UPDATE post "+name+" SET "+name+".likes = "+name+".likes * 2 WHERE "+name+".id = 2 AND "+name+".likes > .5", "A: SELECT "+name+".* FROM post AS "+name+" ORDER BY "+name+".likes, id LIMIT 5",
				"A: SELECT 5.likes, 5.e1, 1.5e-1, 0x1e-2, 2.e FROM post "+name, "A: DELETE FROM "+name+" USING post AS "+name+" WHERE "+name+".likes = 0")
		}
	})
}
