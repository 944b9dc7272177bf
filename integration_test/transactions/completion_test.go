package transactions

import (
	"slices"
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestCompletionType proves that completion_type, which makes COMMIT begin another
// transaction or end the session, does so with the application's COMMITs only: those
// of exact statements are not its own, and that of a transaction of nothing but
// increments is.
func TestCompletionType(t *testing.T) {
	const like, exact = "A: UPDATE post SET likes = likes + 100 WHERE id = 1", "A: UPDATE post SET likes = likes * 2 WHERE title <> 'x'"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, c := range []struct {
			params  []string
			scripts [][]string
		}{
			{nil, [][]string{
				{"A: SET completion_type = CHAIN", exact, like, "A: INSERT INTO note VALUES (1, '')", "A: ROLLBACK"},
				{"A: SET completion_type = 1", "A: begin", like, "A: commit", like, "A: ROLLBACK"},
				{"A: SET completion_type = 'RELEASE'", exact, like, "A: SET completion_type = 0"},
			}},
			{[]string{"completion_type=1"}, [][]string{
				{exact, like, "A: INSERT INTO note VALUES (1, '')", "A: ROLLBACK"},
				{"A: UPDATE post SET likes = GREATEST(likes - 1, 0) WHERE id = 1", like, "A: ROLLBACK"},
				{"A: begin", like, "A: commit", like, "A: ROLLBACK"},
				{"A: begin RC", like, "A: rollback", like, "A: COMMIT AND NO CHAIN", like, "A: ROLLBACK"},
				{"A: BEGIN", like, "A: ALTER TABLE post COMMENT 'x'", like, "A: ROLLBACK"},
			}},
			{[]string{"completion_type=2"}, [][]string{
				{exact, like, "A: INSERT INTO note VALUES (1, '')"},
				{"A: begin", like, "A: commit"},
			}},
		} {
			tw := harness.NewBlog(t, srv, harness.BlogCounters(), c.params...)
			tw.Plain.SetMaxIdleConns(0) // nobody takes over what a script leaves
			tw.Ours.SetMaxIdleConns(0)
			for _, steps := range c.scripts {
				tw.Reset(t)
				tw.Play(t, slices.Concat(steps, harness.Everything)...)
			}
		}
	})
}

// TestChainedLevel proves that a transaction which the end of another has begun is taken
// for one of the same isolation level, as the server begins it.
func TestChainedLevel(t *testing.T) {
	reads := []string{"A: SELECT likes FROM post ORDER BY id", "B: UPDATE post SET likes = likes + 7 WHERE id = 1", rollUp1,
		"A: UPDATE post SET title = 'x' WHERE id = 1", "A: SELECT likes FROM post ORDER BY id", "A: COMMIT AND NO CHAIN"}
	const chain, level, next = "A: SET completion_type = CHAIN", "A: SET SESSION TRANSACTION ISOLATION LEVEL ", "A: SET TRANSACTION ISOLATION LEVEL "
	const committed, repeatable = "READ COMMITTED", "REPEATABLE READ"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		tw.Plain.SetMaxIdleConns(0)
		tw.Ours.SetMaxIdleConns(0)
		for _, c := range []struct {
			begin []string
			end   string
		}{
			{[]string{level + committed, chain, next + repeatable, "A: BEGIN"}, "A: COMMIT"},
			{[]string{level + repeatable, chain, next + committed, "A: BEGIN"}, "A: ROLLBACK"},
			{[]string{level + committed, chain, "A: begin RR"}, "A: commit"},
			{[]string{level + repeatable, chain, "A: begin RC"}, "A: rollback"},
			{[]string{level + committed, next + repeatable, "A: BEGIN"}, "A: COMMIT WORK AND CHAIN"},
			{[]string{level + committed, next + repeatable, "A: BEGIN"}, "A: ROLLBACK AND CHAIN NO RELEASE"},
		} {
			tw.Reset(t)
			tw.Play(t, slices.Concat(c.begin, []string{"A: UPDATE author SET name = 'x' WHERE id = 1", c.end}, reads, harness.Everything)...)
		}
	})
}
