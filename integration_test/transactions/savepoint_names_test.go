package transactions

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestSavepointComments proves that increments behind a savepoint come and go with it also where its
// statements have comments that are hints, or code for some servers, elsewhere. What those hold is not
// read: where it goes back to a savepoint, the transaction ends with an error.
func TestSavepointComments(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		between := func(save, back string) []string {
			return []string{"A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: " + save, "A: UPDATE post SET likes = likes + 10 WHERE id = 1", "A: " + back}
		}
		const after = "B: SELECT id, likes FROM post ORDER BY id"
		for _, steps := range [][2]string{
			{"SAVEPOINT /*+ c */ a", "ROLLBACK TO a"},
			{"SAVEPOINT a", "ROLLBACK TO /*+ c */ a"},
			{"SAVEPOINT a", "ROLLBACK TO /*+ c */ SAVEPOINT a"},
			{"SAVEPOINT a", "RELEASE /*+ c */ SAVEPOINT a"},
			{"SAVEPOINT /*!50000 a */", "SELECT 1"},
			{"SAVEPOINT a", "ROLLBACK /*!50000 WORK */"},
			{"SAVEPOINT a", "COMMIT /*!50000 WORK */"},
			{"SAVEPOINT a", "SET /*!50000 autocommit = 1, */ @x = 1"},
		} {
			tw.Play(t, append(between(steps[0], steps[1]), "A: COMMIT", after)...)
		}
		tw.Play(t, "A: XA START 'x'", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: XA /*!50000 END */ 'x'", "A: XA COMMIT 'x' ONE PHASE", after)
		const told = " ⇒ affected 0 ⇒ countermysql: a routine went back to a savepoint that was set after increments; the transaction is rolled back"
		for _, steps := range [][2]string{
			{"SAVEPOINT a", "ROLLBACK /*!50000 TO a */" + told},
			{"SAVEPOINT a", "ROLLBACK TO /*!50000 a */" + told},
			{"SAVEPOINT a", "RELEASE SAVEPOINT /*!50000 a */" + told},
			{"SAVEPOINT /*!50000 a */", "ROLLBACK TO a"},
		} {
			tw.Reset(t)
			tw.Accepted(t, append(between(steps[0], steps[1]), "A: ROLLBACK", after)...)
		}
	})
}

// TestVersionedStart proves that a transaction is a new one whose beginning stands in a version comment, and
// that one of a later statement in the text is no matter of the first.
func TestVersionedStart(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "multiStatements=true")
		const after = "B: SELECT id, likes, views FROM post ORDER BY id"
		tw.Play(t, "A: START TRANSACTION", "A: UPDATE post SET likes = GREATEST(likes - 1, 0) WHERE id = 1", "A: START /*!50000 TRANSACTION */",
			"B: UPDATE post SET likes = likes + 7 WHERE id = 1", "A: UPDATE post SET likes = 0 WHERE id = 1", "A: COMMIT", after)
		tw.Play(t, "A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SAVEPOINT a", "A: UPDATE post SET likes = likes + 10 WHERE id = 1",
			"A: ROLLBACK TO a; UPDATE post SET views = views /*!40001 + 1 */ WHERE id = 1", "A: COMMIT", after)
		tw.Play(t, "A: START TRANSACTION /*!50600 READ WRITE */", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SAVEPOINT a", "A: SELECT 1", "A: ROLLBACK TO a",
			"O: UPDATE post SET title = 'new' WHERE id = 2", "A: SELECT title FROM post WHERE id = 2", "A: COMMIT", after)
	})
}

// TestSavepointNames proves that names of savepoints are compared as the servers
// do: an increment behind a savepoint stayed pending where ROLLBACK TO spelled it
// otherwise.
func TestSavepointNames(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range [][]string{{}, {"autocommit=0"}} {
			tw := harness.NewBlog(t, srv, harness.BlogCounters(), params...)
			steps := []string{}
			for _, names := range [][2]string{
				{"a", "A"}, {"a", "`a `"}, {"é", "e"}, {"E", "`É`"}, {"größe", "GROSE"}, {"größe", "Grösse"}, {"ж", "Ж"}, {"ж", "ё"}, {"`a.b`", "`A.B`"}, {"計数", "計数"},
			} {
				steps = append(steps, "A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SAVEPOINT "+names[0],
					"A: UPDATE post SET likes = likes + 10 WHERE id = 1", "A: SAVEPOINT later", "A: UPDATE post SET views = views + 1 WHERE id = 2",
					"A: ROLLBACK TO "+names[1], "A: UPDATE post SET likes = likes + 100 WHERE id = 1", "A: SAVEPOINT "+names[1], "A: ROLLBACK TO later",
					"A: RELEASE SAVEPOINT "+names[0], "A: ROLLBACK TO SAVEPOINT "+names[1], "A: COMMIT", "B: SELECT id, likes, views FROM post ORDER BY id", "B: COMMIT")
			}
			tw.Play(t, steps...)
		}
	})
}
