package groups

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestRowsThatComeToMatch proves that an exact statement by other columns than the
// key leaves no slots standing at READ COMMITTED, where a row may come to meet its
// condition between the rollup of the keys and the statement: it gets the whole row
// or nothing of it.
func TestRowsThatComeToMatch(t *testing.T) {
	t.Parallel()
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		variable := "transaction_isolation"
		if harness.MariaDB(srv) {
			variable = "tx_isolation"
		}
		for _, params := range []string{"interpolateParams=true", "interpolateParams=false"} {
			for _, level := range []string{"READ-COMMITTED", "READ-UNCOMMITTED", "REPEATABLE-READ"} {
				tw := harness.NewBlog(t, srv, harness.BlogCounters(), params, variable+"=%27"+level+"%27", "innodb_lock_wait_timeout=1")
				other := harness.Open(t, tw.OursDSN)
				for _, begin := range []bool{false, true} {
					if level == "REPEATABLE-READ" && (begin || params == "interpolateParams=false") {
						continue // each waits for a second
					}
					for _, c := range []struct {
						name, text string
						args       []any
						meddling   string
						hit        int64 // rows that match at the beginning
					}{
						{"column", "UPDATE post SET likes = 0 WHERE title = 'second'", nil, "UPDATE post SET title = 'second' WHERE id = 1", 1},
						{"argument", "UPDATE post SET likes = ?, title = ? WHERE title = ?", []any{0, "new", "second"}, "UPDATE post SET title = 'second' WHERE id = 1", 1},
						{"none yet", "UPDATE post SET likes = 0 WHERE title = 'none'", nil, "UPDATE post SET title = 'none' WHERE id = 1", 0},
						{"key and column", "UPDATE post SET likes = 0 WHERE id IN (1, 2) AND title = 'second'", nil, "UPDATE post SET title = 'second' WHERE id = 1", 1},
						{"unique key", "UPDATE post SET likes = 0 WHERE slug = 'new'", nil, "UPDATE post SET slug = 'new' WHERE id = 1", 0},
						{"unique key and counter", "UPDATE post SET likes = 0 WHERE slug IN ('b', 'new') AND likes < 100", nil, "UPDATE post SET slug = 'new' WHERE id = 1", 1},
						{"order", "UPDATE post SET likes = 0 WHERE title <> '' ORDER BY likes DESC LIMIT 5", nil, "UPDATE post SET title = 'second' WHERE id = 1", 1}, // the third has none anyway
						{"DELETE", "DELETE FROM post WHERE title = 'second'", nil, "UPDATE post SET title = 'second' WHERE id = 1", 1},
					} {
						t.Run(fmt.Sprint(params, " ", level, " in a transaction ", begin, " ", c.name), func(t *testing.T) {
							tw.Reset(t)
							conn := harness.Session(t, tw.Ours)
							if begin {
								harness.Affected(t, conn, "BEGIN")
								harness.Number(t, conn, "SELECT COUNT(*) FROM note")
							}
							stmt, err := conn.PrepareContext(t.Context(), c.text)
							require.NoError(t, err)
							defer stmt.Close()
							locked, met := false, false
							tw.Sent.Meddle(t, func(query string) error {
								if locked && !met {
									met = true
									_, _ = other.Exec(c.meddling) // at REPEATABLE READ it waits
								}
								locked = locked || strings.HasSuffix(query, " FOR UPDATE")
								return nil
							})
							var res sql.Result
							if len(c.args) > 0 {
								res, err = stmt.ExecContext(t.Context(), c.args...)
							} else {
								res, err = conn.ExecContext(t.Context(), c.text)
							}
							require.NoError(t, err)
							hit, _ := res.RowsAffected()
							require.EqualValues(t, c.hit, hit)
							require.Equal(t, begin || c.name != "unique key", met, "that is one round trip where no row has slots")
							tw.Sent.Before.Store(nil)
							if begin {
								harness.Affected(t, conn, "COMMIT")
							}
							want := map[int64]string{0: "[1 10][2 9][3 0]", 1: "[1 10][2 0][3 0]"}[c.hit]
							if c.name == "DELETE" {
								want = "[1 10][3 0]"
							}
							require.Equal(t, "id INT, likes INT, "+want, harness.Queried(t.Context(), tw.Ours, "SELECT id, likes FROM post ORDER BY id"))
						})
					}
				}
			}
		}
	})
}

// TestNoRowsThatMatch proves that a statement that finds no row answers as it would.
func TestNoRowsThatMatch(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		steps := []string{"A: SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "A: UPDATE post SET likes = 0 WHERE title = 'none'",
			"A: DELETE FROM post WHERE title = 'none'", "A: DELETE FROM page WHERE hits IS NULL AND name = 'none'"}
		tw.Play(t, steps...)
		if harness.MariaDB(srv) {
			for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
				conn := harness.Session(t, db)
				harness.Affected(t, conn, steps[0][len("A: "):])
				require.Equal(t, "likes INT, id INT, ", harness.Queried(t.Context(), conn, "DELETE FROM post WHERE title = 'none' RETURNING likes, id"))
			}
		}
	})
}

// TestManyRowsThatComeToMatch is the same for a statement that matches more rows than
// can be written into it.
func TestManyRowsThatComeToMatch(t *testing.T) {
	const schema = `
CREATE TABLE p (id INT PRIMARY KEY, title VARCHAR(9) NOT NULL DEFAULT 'x', n INT NOT NULL DEFAULT 7);
INSERT INTO p (id) SELECT 1 + a.d + 10 * b.d + 100 * c.d + 1000 * e.d FROM digits a, digits b, digits c, digits e;
INSERT INTO p (id, title) VALUES (20001, 'x'), (20002, 'y');
`
	digits := "CREATE TABLE digits (d INT PRIMARY KEY);\nINSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9);\n"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for locks, want := range map[int]int64{1: 0, 2: 12} {
			tw := harness.NewTwin(t, srv, digits+schema, harness.Counters("p", "n"), "innodb_lock_wait_timeout=1")
			harness.Affected(t, tw.Ours, "UPDATE p SET n = n + 5 WHERE id = 20002")
			other := harness.Open(t, tw.OursDSN)
			conn := harness.Session(t, tw.Ours)
			harness.Affected(t, conn, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
			n := 0
			tw.Sent.Meddle(t, func(query string) error {
				if n == locks {
					_, _ = other.Exec("UPDATE p SET title = 'x' WHERE id = 20002") // waits in vain once all is locked
					n++
				}
				if strings.HasSuffix(query, " FOR UPDATE") {
					n++
				}
				return nil
			})
			harness.Affected(t, conn, "UPDATE p SET n = 0 WHERE title = 'x'")
			tw.Sent.Before.Store(nil)
			require.Greater(t, n, locks)
			require.Equal(t, want, harness.Number(t, tw.Ours, "SELECT n FROM p WHERE id = 20002"))
			require.Zero(t, harness.Number(t, tw.Ours, "SELECT SUM(n) FROM p WHERE id < 20002"))
		}
	})
}
