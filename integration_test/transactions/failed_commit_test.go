package transactions

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestFailedCommit proves that what comes on a connection after a COMMIT that the
// server refused, whose transaction it has rolled back, is outside a transaction.
func TestFailedCommit(t *testing.T) {
	t.Parallel()
	harness.ForOwnServers(t, func(t *testing.T, srv *testserver.Server) {
		asApp, readOnly := harness.Refusable(t, srv)
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
				tw := harness.NewBlog(t, srv, harness.BlogCounters())
				plainName, oursName := harness.DbName(t, tw.Plain), harness.DbName(t, tw.Ours)
				plain := harness.Open(t, asApp(srv.DSN(plainName)))
				ours, _ := harness.OpenOurs(t, asApp(srv.DSN(oursName)), tw.Config)
				s, o := &harness.Script{Db: plain, Clients: map[string]*harness.Client{}}, &harness.Script{Db: ours, Clients: map[string]*harness.Client{}}
				defer s.End()
				defer o.End()
				for _, x := range []*harness.Script{s, o} {
					x.Do(t, "A: UPDATE post SET likes = likes + 1 WHERE id = 1")
					for i, step := range c.steps {
						last := i == len(c.steps)-1
						if last && x == s || last && !strings.Contains(c.name, "exact") {
							readOnly("1")
						} else if last {
							var once atomic.Bool
							tw.Sent.Meddle(t, func(query string) error {
								if strings.HasPrefix(query, "COMMIT") && once.CompareAndSwap(false, true) {
									readOnly("1")
								}
								return nil
							})
						}
						x.Do(t, step)
					}
					readOnly("0")
					if c.name == "autocommit" {
						x.Do(t, "A: SET autocommit = 1")
					}
					x.Do(t, "A: UPDATE post SET likes = likes + 1 WHERE id = 1")
					x.Do(t, "B: SELECT likes FROM post WHERE id = 1")
					x.Do(t, "A: UPDATE post SET likes = 20 WHERE id = 2")
					x.Do(t, "B: SELECT likes FROM post WHERE id = 2")
					x.Do(t, "B: SELECT COUNT(*) FROM note")
				}
				require.Equal(t, strings.Join(s.Answers, "\n"), strings.Join(o.Answers, "\n"))
			})
		}
	})
}
