package reads

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestForeignColumns proves that reads go on when another client drops or adds a
// column, and lock nothing once that is noticed: by the first that fails for it.
func TestForeignColumns(t *testing.T) {
	const schema = "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, old INT NULL);\nINSERT INTO post (id) VALUES (1), (2)"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, change := range []struct{ ddl, read string }{
			{"ALTER TABLE post DROP COLUMN old", "SELECT likes FROM post ORDER BY id"},
			{"ALTER TABLE post ADD COLUMN new INT NULL", "SELECT likes, new FROM post ORDER BY id"},
		} {
			for _, after := range []time.Duration{0, 1100 * time.Millisecond} {
				tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
				const count = "A: UPDATE post SET likes = likes + 1 WHERE id = 1"
				tw.Play(t, count, "A: SELECT * FROM post ORDER BY id")
				harness.Affected(t, tw.Plain, change.ddl)
				harness.Affected(t, tw.Direct, change.ddl)
				time.Sleep(after)
				sent := tw.Sent.During(func() { tw.Play(t, "A: "+change.read, count, "A: "+change.read) })
				for _, s := range sent {
					require.False(t, after > 0 && strings.HasSuffix(s.Text, "FOR UPDATE"), s.Text)
				}
				tw.Play(t, "A: BEGIN", "A: "+change.read, count, "A: "+change.read, "A: COMMIT", "A: "+change.read)
			}
		}
	})
}
