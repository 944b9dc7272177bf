package writes

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestReadToWrite proves that statements which write another table by what subqueries
// read of counters write what they write on plain MySQL: alone, in a transaction that has
// incremented, and in one with an old snapshot.
func TestReadToWrite(t *testing.T) {
	const schema = harness.Board + `
ALTER TABLE author ADD total INT, ADD likes INT NOT NULL DEFAULT 3;
`
	stmts := []string{
		"UPDATE author SET total = (SELECT SUM(likes) FROM post WHERE author = author.id)",
		"UPDATE author SET total = (SELECT SUM(p.likes) FROM post AS p WHERE p.author = author.id) WHERE id = 1 ORDER BY id LIMIT 1",
		"UPDATE author SET likes = (SELECT likes + author.likes FROM post WHERE id = 1)",
		"UPDATE author SET name = 'known' WHERE id IN (SELECT author FROM post WHERE likes > 15)",
		"UPDATE author a SET a.name = 'known' WHERE EXISTS (SELECT * FROM post WHERE author = a.id AND likes > 20)",
		"UPDATE author SET total = (SELECT MAX(likes) FROM (SELECT author, likes FROM post WHERE likes < 100) best WHERE best.author = author.id)",
		"UPDATE author SET total = (SELECT likes FROM post WHERE author = author.id ORDER BY likes DESC LIMIT 1)",
		"UPDATE author SET total = (SELECT likes FROM post WHERE id = 3 FOR UPDATE)",
		"UPDATE author SET total = (SELECT COUNT(*) FROM post WHERE post.author = author.id)",
		"UPDATE author SET total = (SELECT likes FROM post)",
		"UPDATE author SET total = (SELECT none FROM post)",
		"DELETE FROM author WHERE id IN (SELECT author FROM post WHERE id = 1)",
		"DELETE a FROM author a JOIN post ON post.author = a.id WHERE post.id = 2",
		"DELETE FROM author WHERE id IN (SELECT author FROM post WHERE likes > 15)",
		"DELETE a FROM author a JOIN post ON post.author = a.id WHERE likes > 20",
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw, now := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes")), harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
		for _, stmt := range stmts {
			for _, around := range [][2][]string{
				{nil, nil},
				{{"A: begin RR", "A: UPDATE post SET likes = likes + 2 WHERE id = 1"}, {"A: commit"}},
				{{"A: begin RC", "A: UPDATE post SET likes = likes + 2 WHERE id = 1"}, {"A: commit"}},
				{{"A: begin RR", "A: SELECT * FROM post ORDER BY id", "B: UPDATE post SET likes = likes + 9 WHERE id <> 2"}, {"A: SELECT * FROM post ORDER BY id", "A: commit"}},
				{{"A: begin RR", "A: SELECT * FROM post ORDER BY id", "B: UPDATE post SET likes = likes + 9 WHERE id = 1", "A: UPDATE post SET author = 2 WHERE id = 1"}, {"A: SELECT * FROM post ORDER BY id", "A: rollback"}},
			} {
				if around[1] != nil && harness.MariaDB(srv) && len(around[0]) > 2 {
					around[0] = append([]string{"A: SET innodb_snapshot_isolation = OFF"}, around[0]...)
				}
				steps := append([]string{"B: UPDATE post SET likes = likes + 1 WHERE id = 1", "B: UPDATE post SET likes = likes + 1 WHERE id = 4"}, around[0]...)
				steps = append(append(steps, "A: "+stmt), around[1]...)
				tw.PlayFolded(t, now, append(steps, "B: SELECT * FROM author ORDER BY id", "B: SELECT * FROM post ORDER BY id",
					"B: INSERT IGNORE INTO author (id) VALUES (1), (2)")...)
			}
		}
	})
}

// TestTransfersAreSeenWhole proves that a statement which writes another table by a sum
// of counters sees transactions that move something from one to another whole.
func TestTransfersAreSeenWhole(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE account (id INT PRIMARY KEY, n INT NOT NULL);\nCREATE TABLE audit (id INT PRIMARY KEY, sum INT);\nINSERT INTO audit VALUES (1, 0);\n"+
			"INSERT INTO account VALUES (1, 100), (2, 100), (3, 100), (4, 100), (5, 100), (6, 100)", harness.Counters("account", "n"))
		for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelReadCommitted} {
			t.Run(fmt.Sprint(level), func(t *testing.T) {
				var stop atomic.Bool
				var wg sync.WaitGroup
				for range 4 {
					wg.Go(func() {
						for !stop.Load() {
							from := 1 + rand.N(6)
							to := 1 + (from+rand.N(5))%6
							// a deadlock is rolled back, and moves nothing
							_ = harness.InTransaction(t.Context(), tw.Ours, sql.LevelRepeatableRead, []string{
								fmt.Sprintf("UPDATE account SET n = n - 1 WHERE id = %d", from), fmt.Sprintf("UPDATE account SET n = n + 1 WHERE id = %d", to),
							})
						}
					})
				}
				auditor := harness.Session(t, tw.Ours)
				if level == sql.LevelReadCommitted {
					harness.Affected(t, auditor, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
				}
				for i := range 60 {
					if i%10 == 0 {
						harness.RollUp(t, tw.Ours)
					}
					if _, err := auditor.ExecContext(t.Context(), "UPDATE audit SET sum = (SELECT SUM(n) FROM account)"); harness.ErrorNumber(err) != 1213 {
						require.NoError(t, err)
						require.EqualValues(t, 600, harness.Number(t, auditor, "SELECT sum FROM audit"))
					}
				}
				stop.Store(true)
				wg.Wait()
				require.EqualValues(t, 600, harness.Number(t, tw.Ours, "SELECT SUM(n) FROM account"))
			})
		}
	})
}
