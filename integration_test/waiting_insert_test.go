package integration_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/testserver"
)

// TestInsertThatWaits proves that a row which is inserted while another client deletes
// the one that has its key, by itself or by a cascade, has nothing of that one's count;
// and that it keeps its count if it stays.
func TestInsertThatWaits(t *testing.T) {
	const schema = `
CREATE TABLE author (id INT PRIMARY KEY);
CREATE TABLE post (id INT PRIMARY KEY, author INT NULL, likes INT NOT NULL DEFAULT 0, FOREIGN KEY (author) REFERENCES author (id) ON DELETE CASCADE);
INSERT INTO author VALUES (1), (2);
INSERT INTO post (id, author) VALUES (1, 1);
`
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, level := range []string{"", "begin", "begin RC"} {
			for _, gone := range []string{"DELETE FROM post", "DELETE FROM author WHERE id = 1"} {
				for _, end := range []string{"COMMIT", "ROLLBACK"} {
					t.Run(level+"/"+gone+"/"+end, func(t *testing.T) {
						tw := newTwin(t, srv, schema, counters("post", "likes"))
						var answers [2]string
						for i, db := range []*sql.DB{tw.plain, tw.ours} {
							direct := tw.directTo(db)
							s := &script{db: db, clients: map[string]*client{}}
							s.do(t, "A: UPDATE post SET likes = likes + 1 WHERE id = 1")
							deleter := session(t, direct)
							for _, stmt := range []string{"BEGIN", gone} {
								_, err := deleter.ExecContext(t.Context(), stmt)
								require.NoError(t, err)
							}
							if level != "" {
								s.do(t, "A: "+level)
							}
							inserted := make(chan string, 1)
							go func() {
								inserted <- s.clients["A"].answer(t, context.WithoutCancel(t.Context()), "INSERT INTO post (id, author) VALUES (1, 2)")
							}()
							select {
							case answer := <-inserted:
								t.Fatal("it does not wait: ", answer)
							case <-time.After(100 * time.Millisecond):
							}
							_, err := deleter.ExecContext(t.Context(), end)
							require.NoError(t, err)
							answers[i] = soon(t, inserted) + "; "
							if level != "" {
								s.do(t, "A: SELECT * FROM post")
								s.do(t, "A: commit")
							}
							s.do(t, "A: UPDATE post SET likes = likes + 1 WHERE id = 1")
							s.do(t, "A: SELECT * FROM post")
							for _, a := range s.answers {
								answers[i] += a + "; "
							}
							s.end()
						}
						require.Equal(t, answers[0], answers[1])
					})
				}
			}
		}
	})
}
