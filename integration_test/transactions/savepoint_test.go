package transactions

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestSavepointBehindIncrement proves that ROLLBACK TO leaves the transaction its
// snapshot and its locks where only increments came before the savepoint: they were
// pending, so that the server did not know of them.
func TestSavepointBehindIncrement(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range [][]string{{}, {"autocommit=0"}} {
			tw := harness.NewBlog(t, srv, harness.BlogCounters(), params...)
			for _, begin := range []string{"A: SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "A: SET TRANSACTION ISOLATION LEVEL READ COMMITTED"} {
				for _, first := range [][]string{
					{"A: UPDATE post SET likes = likes + 1 WHERE id = 1"},
					{"A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: UPDATE post SET likes = likes - 1 WHERE id = 1"},
					{"A: UPDATE post SET likes = likes + 1 WHERE id = 99"},
					{"A: SET sql_select_limit = 0", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SET sql_select_limit = DEFAULT"},
				} {
					tw.Reset(t)
					tw.Play(t, slices.Concat([]string{begin, "A: BEGIN"}, first, []string{
						"A: SAVEPOINT a", "B: UPDATE post SET likes = likes + 70 WHERE id = 2", "B: COMMIT", // no snapshot is fixed yet
						"A: SELECT SUM(likes) FROM post", "A: SELECT * FROM author WHERE id = 1 FOR UPDATE",
						"B: UPDATE post SET likes = likes + 7 WHERE id = 2", "B: COMMIT",
						"A: ROLLBACK TO a", "A: SELECT likes FROM post ORDER BY id",
						"B: SELECT * FROM author WHERE id = 1 FOR UPDATE NOWAIT", "B: ROLLBACK", "A: ROLLBACK",
					})...)
				}
			}
		}
	})
}

// TestManySavepoints proves that ROLLBACK TO brings back what was pending, and what was
// already applied by a read or an exact statement behind the savepoint, however savepoints
// are nested, moved and released.
func TestManySavepoints(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 4))
	writes := []string{
		"A: UPDATE post SET likes = likes + %[1]d WHERE id = %[2]d",
		"A: UPDATE post SET likes = likes + %[1]d, views = views + 1 WHERE id IN (1, %[2]d)",
		"A: UPDATE post SET likes = likes - %[1]d WHERE slug = 'b'",
		"A: UPDATE post SET likes = GREATEST(likes - %[1]d, 0) WHERE id = %[2]d",
		"A: UPDATE post SET likes = likes - 1 WHERE id = %[2]d AND likes >= %[1]d",
		"A: UPDATE post SET likes = %[1]d WHERE id = %[2]d",
		"A: UPDATE post SET title = 't%[1]d' WHERE id = %[2]d",
		"A: UPDATE post SET slug = 's%[1]d' WHERE id = %[2]d",
		"A: DELETE FROM post WHERE id = %[2]d",
		"A: SELECT likes, views FROM post WHERE id = %[2]d",
		"A: SELECT id, likes, views FROM post ORDER BY id",
		"A: SELECT likes FROM post WHERE id = %[2]d FOR UPDATE",
	}
	var scripts [][]string
	for range 60 {
		steps := []string{"A: BEGIN"}
		if random.IntN(2) == 0 {
			steps = []string{"A: SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "A: BEGIN"}
		}
		for n := range 24 {
			name := string('a' + rune(random.IntN(3)))
			switch random.IntN(6) {
			case 0:
				steps = append(steps, "A: SAVEPOINT "+name)
			case 1:
				steps = append(steps, "A: ROLLBACK TO "+name)
			case 2:
				if random.IntN(3) == 0 {
					steps = append(steps, "A: RELEASE SAVEPOINT "+name)
				}
			default:
				steps = append(steps, fmt.Sprintf(writes[random.IntN(len(writes))], n+1, 1+random.IntN(3)))
			}
		}
		scripts = append(scripts, append(steps, "A: COMMIT", "A: SELECT id, likes, views FROM post ORDER BY id"))
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		for _, steps := range scripts {
			tw.Reset(t)
			tw.Play(t, steps...)
		}
	})
}
