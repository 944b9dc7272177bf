package accepted

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestAcceptedNewerSlots pins that a snapshot does not reach slots tables that are newer,
// nor, on MySQL, those which have got a counter since.
func TestAcceptedNewerSlots(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, views INT NOT NULL DEFAULT 0);
CREATE TABLE job (id INT PRIMARY KEY);
INSERT INTO post (id) VALUES (1);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, newer := range []string{"DROP TABLE post_slots", "ALTER TABLE post_slots DROP COLUMN views"} {
			tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
			later := harness.Counters("post", "likes", "views")
			later.CreateSlots = true
			harness.OpenOurs(t, tw.OursDSN, later)
			harness.Affected(t, tw.Direct, newer)
			begin, look := []string{"A: begin RR", "A: SELECT COUNT(*) FROM job"}, "A: SELECT likes FROM post"
			ours := &harness.Script{Db: tw.Ours, Clients: map[string]*harness.Client{}}
			defer ours.End()
			for _, step := range begin {
				ours.Do(t, step)
			}
			db, _ := harness.OpenOurs(t, tw.OursDSN, later)
			harness.Affected(t, db, "UPDATE post SET views = views + 1 WHERE id = 1")
			for _, step := range []string{look, "A: rollback", look} {
				ours.Do(t, step)
			}
			want := harness.PlayOn(t, tw.Plain, append(begin, look, "A: rollback", look))
			if !harness.MariaDB(srv) || newer == "DROP TABLE post_slots" {
				require.Contains(t, want[2], "[0]")
				want[2] = look + " → error 1412"
			}
			require.Equal(t, want, ours.Answers)
		}
	})
}
