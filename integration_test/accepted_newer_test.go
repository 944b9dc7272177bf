package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"

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
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, newer := range []string{"DROP TABLE post_slots", "ALTER TABLE post_slots DROP COLUMN views"} {
			tw := newTwin(t, srv, schema, counters("post", "likes"))
			later := counters("post", "likes", "views")
			later.CreateSlots = true
			openOurs(t, tw.oursDSN, later)
			affected(t, tw.direct, newer)
			begin, look := []string{"A: begin RR", "A: SELECT COUNT(*) FROM job"}, "A: SELECT likes FROM post"
			ours := &script{db: tw.ours, clients: map[string]*client{}}
			defer ours.end()
			for _, step := range begin {
				ours.do(t, step)
			}
			db, _ := openOurs(t, tw.oursDSN, later)
			affected(t, db, "UPDATE post SET views = views + 1 WHERE id = 1")
			for _, step := range []string{look, "A: rollback", look} {
				ours.do(t, step)
			}
			want := playOn(t, tw.plain, append(begin, look, "A: rollback", look))
			if !mariaDB(srv) || newer == "DROP TABLE post_slots" {
				require.Contains(t, want[2], "[0]")
				want[2] = look + " → error 1412"
			}
			require.Equal(t, want, ours.answers)
		}
	})
}
