package integration_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/testserver"
)

// TestForeignColumns proves that reads go on when another client drops or adds a
// column, and lock nothing once that is noticed: by the first that fails for it.
func TestForeignColumns(t *testing.T) {
	const schema = "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, old INT NULL);\nINSERT INTO post (id) VALUES (1), (2)"
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, change := range []struct{ ddl, read string }{
			{"ALTER TABLE post DROP COLUMN old", "SELECT likes FROM post ORDER BY id"},
			{"ALTER TABLE post ADD COLUMN new INT NULL", "SELECT likes, new FROM post ORDER BY id"},
		} {
			for _, after := range []time.Duration{0, 1100 * time.Millisecond} {
				tw := newTwin(t, srv, schema, counters("post", "likes"))
				const count = "A: UPDATE post SET likes = likes + 1 WHERE id = 1"
				tw.play(t, count, "A: SELECT * FROM post ORDER BY id")
				affected(t, tw.plain, change.ddl)
				affected(t, tw.direct, change.ddl)
				time.Sleep(after)
				sent := tw.sent.during(func() { tw.play(t, "A: "+change.read, count, "A: "+change.read) })
				for _, s := range sent {
					require.False(t, after > 0 && strings.HasSuffix(s.text, "FOR UPDATE"), s.text)
				}
				tw.play(t, "A: BEGIN", "A: "+change.read, count, "A: "+change.read, "A: COMMIT", "A: "+change.read)
			}
		}
	})
}
