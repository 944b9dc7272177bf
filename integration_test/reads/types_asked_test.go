package reads

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestTypesAskedAgain proves that a query has plain's column types where the server, or the
// connection on which it is asked for them, fails once: they were those of the sum.
func TestTypesAskedAgain(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0);
INSERT INTO post VALUES (1, 5);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
		harness.Affected(t, tw.Direct, "INSERT INTO post_slots (id, slot, likes) VALUES (1, 0, 0)")
		for query, fails := range map[string]error{ // types are kept with the text
			"SELECT likes FROM post WHERE id = 1":     &mysql.MySQLError{Number: 1615, Message: "Prepared statement needs to be re-prepared"},
			"SELECT id, likes FROM post WHERE id = 1": mysql.ErrInvalidConn,
		} {
			var asked atomic.Int32
			tw.Sent.Meddle(t, func(sent string) error {
				if strings.HasSuffix(sent, "LIMIT 0") && asked.Add(1) == 1 {
					return fails
				}
				return nil
			})
			tw.Play(t, "A: "+query)
			require.EqualValues(t, 2, asked.Load())
		}
	})
}
