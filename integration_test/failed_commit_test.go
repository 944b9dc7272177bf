package integration_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/testserver"
)

// TestFailedCommit proves that what comes on a connection after a COMMIT that the
// server refused, whose transaction it has rolled back, is outside a transaction.
func TestFailedCommit(t *testing.T) {
	t.Parallel()
	forOwnServers(t, func(t *testing.T, srv *testserver.Server) {
		asApp, readOnly := refusable(t, srv)
		for _, c := range []struct {
			name  string
			steps []string // the server is read-only from the COMMIT of the last on
		}{
			{"text", []string{"A: BEGIN", "A: INSERT INTO note VALUES (9, '')", "A: COMMIT"}},
			{"increment", []string{"A: BEGIN", "A: INSERT INTO note VALUES (9, '')", "A: UPDATE post SET likes = likes + 3 WHERE id = 2", "A: COMMIT"}},
			{"begin", []string{"A: BEGIN", "A: INSERT INTO note VALUES (9, '')", "A: BEGIN"}},
			{"DDL", []string{"A: BEGIN", "A: INSERT INTO note VALUES (9, '')", "A: ALTER TABLE note ADD COLUMN x INT"}},
			{"exact", []string{"A: UPDATE post SET likes = GREATEST(likes, 0) WHERE id = 1"}},
			{"autocommit", []string{"A: SET autocommit = 0", "A: INSERT INTO note VALUES (9, '')", "A: COMMIT"}},
			{"BeginTx", []string{"A: begin", "A: INSERT INTO note VALUES (9, '')", "A: commit"}},
		} {
			t.Run(c.name, func(t *testing.T) {
				tw := newBlog(t, srv, blogCounters())
				plainName, oursName := dbName(t, tw.plain), dbName(t, tw.ours)
				plain := open(t, asApp(srv.DSN(plainName)))
				ours, _ := openOurs(t, asApp(srv.DSN(oursName)), tw.config)
				s, o := &script{db: plain, clients: map[string]*client{}}, &script{db: ours, clients: map[string]*client{}}
				defer s.end()
				defer o.end()
				for _, x := range []*script{s, o} {
					x.do(t, "A: UPDATE post SET likes = likes + 1 WHERE id = 1")
					for i, step := range c.steps {
						last := i == len(c.steps)-1
						if last && x == s || last && !strings.Contains(c.name, "exact") {
							readOnly("1")
						} else if last {
							var once atomic.Bool
							tw.sent.meddle(t, func(query string) error {
								if strings.HasPrefix(query, "COMMIT") && once.CompareAndSwap(false, true) {
									readOnly("1")
								}
								return nil
							})
						}
						x.do(t, step)
					}
					readOnly("0")
					if c.name == "autocommit" {
						x.do(t, "A: SET autocommit = 1")
					}
					x.do(t, "A: UPDATE post SET likes = likes + 1 WHERE id = 1")
					x.do(t, "B: SELECT likes FROM post WHERE id = 1")
					x.do(t, "A: UPDATE post SET likes = 20 WHERE id = 2")
					x.do(t, "B: SELECT likes FROM post WHERE id = 2")
					x.do(t, "B: SELECT COUNT(*) FROM note")
				}
				require.Equal(t, strings.Join(s.answers, "\n"), strings.Join(o.answers, "\n"))
			})
		}
	})
}

func dbName(t *testing.T, db querier) string {
	t.Helper()
	var name string
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT DATABASE()").Scan(&name))
	return name
}
