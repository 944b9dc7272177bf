package reads

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestStickyInOtherTexts proves that a prepared statement does what it does on plain MySQL
// whatever its earlier arguments were, also where the driver sends other texts at first
// than later on. An increment with floating-point arguments is one that is prepared for
// each execution: TestAcceptedFloating.
func TestStickyInOtherTexts(t *testing.T) {
	const schema = "CREATE TABLE post (id INT PRIMARY KEY, title VARCHAR(10), likes BIGINT NOT NULL, views TINYINT UNSIGNED NOT NULL)"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, text := range []string{
			"UPDATE post SET views = views + ? WHERE title <> 'x' ORDER BY id DESC LIMIT 2",
			"UPDATE post SET views = views + ? WHERE title <> 'x'",
			"UPDATE post SET views = views + ? WHERE id = 1",
			"UPDATE post SET views = GREATEST(views + ?, 0) WHERE id IN (1, 2)",
			"UPDATE post SET views = GREATEST(views + ?, 0) WHERE id = 1",
			"UPDATE post SET views = views + 1 ORDER BY id LIMIT ?",
		} {
			for _, level := range []string{"READ COMMITTED", "REPEATABLE READ"} {
				for _, args := range [][]any{{-1.0, int64(-1), int64(3)}, {2.5, "1", int64(-1), uint64(3)}, {int64(2), 2.5, nil, true, int64(9007199254740993)}, {"x", int64(-1), int64(2)}} {
					tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes", "views"))
					var answers [2][]string
					for i, db := range []*sql.DB{tw.Plain, tw.Ours} {
						conn := harness.Session(t, db)
						harness.Affected(t, conn, "SET SESSION TRANSACTION ISOLATION LEVEL "+level)
						stmt, err := conn.PrepareContext(t.Context(), text)
						require.NoError(t, err)
						anew := i == 0 && strings.Contains(text, "views + ? ") && slices.ContainsFunc(args, func(arg any) bool { _, is := arg.(float64); return is })
						say := func(arg any) {
							execute := stmt.ExecContext
							if anew {
								execute = func(ctx context.Context, args ...any) (sql.Result, error) {
									return conn.ExecContext(ctx, text, args...)
								}
							}
							answers[i] = append(answers[i], harness.Told2(execute(t.Context(), arg)), harness.Queried(t.Context(), conn, "SELECT * FROM post ORDER BY id"))
						}
						say(args[0])
						harness.Affected(t, conn, "INSERT INTO post VALUES (1, 'a', 0, 0), (2, 'b', 5, 7)")
						harness.Affected(t, conn, "UPDATE post SET likes = likes + 6 WHERE id = 1")
						for n, arg := range args[1:] {
							say(arg)
							if n == 0 {
								harness.Affected(t, conn, "BEGIN")
								harness.Affected(t, conn, "UPDATE post SET likes = likes + 1 WHERE id = 2")
							}
						}
						harness.Affected(t, conn, "ROLLBACK")
						require.NoError(t, stmt.Close())
					}
					require.Equal(t, answers[0], answers[1], "%s, %s, %v", text, level, args)
				}
			}
		}
	})
}

// TestFloatsLockNoOtherRows proves that a floating-point argument of a prepared update
// keeps nobody from other rows.
func TestFloatsLockNoOtherRows(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_lock_wait_timeout=1")
		for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
			for _, text := range []string{"UPDATE post SET views = views + ? + 1 WHERE slug = 'a'", "UPDATE post SET likes = GREATEST(likes + ?, 0) WHERE slug = 'gone'"} {
				conn, other := harness.Session(t, db), harness.Session(t, db)
				stmt, err := conn.PrepareContext(t.Context(), text)
				require.NoError(t, err)
				harness.Affected(t, conn, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
				harness.Affected(t, conn, "BEGIN")
				_, err = stmt.ExecContext(t.Context(), 1.0)
				require.NoError(t, err)
				require.EqualValues(t, 1, harness.Affected(t, other, "UPDATE post SET likes = GREATEST(likes, 0) + 1 WHERE id = 2"))
				harness.Affected(t, conn, "ROLLBACK")
				require.NoError(t, stmt.Close())
			}
		}
	})
}
