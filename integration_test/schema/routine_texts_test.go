package schema

import (
	"slices"
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestRoutinesThatRunTexts proves that a routine which prepares a text may read and write any
// counter table: its definition does not tell which.
func TestRoutinesThatRunTexts(t *testing.T) {
	const objects = `
CREATE PROCEDURE tell_of(IN k INT) BEGIN SET @text = CONCAT('SELECT likes FROM post WHERE id = ', k); PREPARE s FROM @text; EXECUTE s; DEALLOCATE PREPARE s; END;
CREATE PROCEDURE run(IN what VARCHAR(99)) BEGIN SET @text = what; PREPARE s FROM @text; EXECUTE s; DEALLOCATE PREPARE s; END;
CREATE PROCEDURE tell_through(IN k INT) CALL tell_of(k);
`
	const like = "A: UPDATE post SET likes = likes + 1 WHERE id IN (1, 2)"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		more := ""
		if harness.MariaDB(srv) {
			more = "CREATE PROCEDURE at_once(IN what VARCHAR(99)) EXECUTE IMMEDIATE what;\n"
		}
		tw := harness.NewTwin(t, srv, harness.Blog+objects+more, harness.BlogCounters())
		steps := [][]string{
			{"A: CALL tell_of(1)"}, {"A: CALL tell_through(2)"},
			{"A: SET @q = CONCAT('UPDATE po', 'st SET likes = likes * 3')", "A: CALL run(@q)"},
			{"A: SET @q = CONCAT('DELETE FROM po', 'st WHERE id = 1')", "A: CALL run(@q)", "A: INSERT INTO post (id, slug) VALUES (1, 'a')"},
		}
		if more != "" {
			steps = append(steps, []string{"A: SET @q = CONCAT('UPDATE po', 'st SET likes = likes * 3')", "A: CALL at_once(@q)"})
		}
		for _, call := range steps {
			tw.Reset(t)
			tw.Play(t, slices.Concat([]string{like}, call, harness.Everything)...)
			tw.Reset(t)
			tw.Play(t, slices.Concat([]string{"A: begin", like}, call, []string{"A: commit"}, harness.Everything)...)
		}
	})
}
