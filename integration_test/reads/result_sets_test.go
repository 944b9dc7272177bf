package reads

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// allQueried are all result sets of a text.
func allQueried(ctx context.Context, db *sql.DB, text string) string {
	rows, err := db.QueryContext(ctx, text)
	if err != nil {
		return harness.Told(err)
	}
	defer rows.Close()
	var b strings.Builder
	for more := true; more; more = rows.NextResultSet() {
		for rows.Next() {
			var v string
			if err := rows.Scan(&v); err != nil {
				return harness.Told(err)
			}
			fmt.Fprintf(&b, "[%s]", v)
		}
		fmt.Fprint(&b, ", ")
	}
	return b.String() + harness.Told(rows.Err())
}

// TestBehindCall proves that what stands behind a CALL in a text of several statements is run,
// and its rows given out.
func TestBehindCall(t *testing.T) {
	const procedures = "CREATE PROCEDURE two() BEGIN SELECT 7; SELECT likes FROM post WHERE id = 1; END;\nCREATE PROCEDURE none() DO 1;\n"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Blog+procedures, harness.BlogCounters(), "multiStatements=true")
		tw.Reset(t)
		for _, text := range []string{
			"SELECT likes FROM post WHERE id = 1; CALL two(); SELECT likes FROM post WHERE id = 2",
			"UPDATE post SET likes = likes + 1; CALL two(); UPDATE post SET likes = likes + 1; SELECT likes FROM post WHERE id = 2",
			"SELECT likes FROM post WHERE id = 1; CALL none(); CALL two(); CALL two(); UPDATE post SET likes = likes + 1",
		} {
			require.Equal(t, allQueried(t.Context(), tw.Plain, text), allQueried(t.Context(), tw.Ours, text), text)
			for _, db := range []*sql.DB{tw.Plain, tw.Ours} { // rows that nobody asks for
				rows, err := db.QueryContext(t.Context(), text)
				require.NoError(t, err)
				require.NoError(t, rows.Close())
			}
			tw.Same(t, "SELECT id, likes FROM post ORDER BY id")
		}
	})
}

// TestCompoundAmongSeveral proves that a compound statement beside others in one text finds what
// is in slots. MySQL has none.
func TestCompoundAmongSeveral(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "multiStatements=true")
		for _, text := range []string{
			"BEGIN NOT ATOMIC UPDATE post SET likes = 3 WHERE id = 1; END; UPDATE post SET likes = likes + 1 WHERE id = 1",
			"BEGIN NOT ATOMIC SELECT likes FROM post WHERE id = 1; END; SELECT likes FROM post WHERE id = 2",
			"SELECT 1; BEGIN NOT ATOMIC SELECT likes FROM post WHERE id = 1; SELECT 2; END",
		} {
			tw.Reset(t)
			require.Equal(t, allQueried(t.Context(), tw.Plain, text), allQueried(t.Context(), tw.Ours, text), text)
			tw.Same(t, "SELECT id, likes FROM post ORDER BY id")
		}
	})
}

// leftEarly is what closing the rows of a text tells who has read none but the first.
func leftEarly(t *testing.T, db *sql.DB, text string) string {
	rows, err := db.QueryContext(t.Context(), text)
	if err != nil {
		return harness.Told(err)
	}
	rows.Next()
	return fmt.Sprint(harness.Told(rows.Close()), ", ", harness.Told(rows.Err()))
}

// TestErrorBetweenResultSets proves that nothing behind a failing statement is
// run, neither by NextResultSet nor by Close, and that both tell the error.
func TestErrorBetweenResultSets(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "multiStatements=true")
		for _, text := range []string{
			"SELECT likes FROM post WHERE id = 1; SELECT nosuch FROM post; UPDATE post SET likes = likes + 1",
			"SELECT likes FROM post WHERE id = 1; UPDATE post SET nosuch = 1; DELETE FROM post",
			"SELECT IF(id < 3, likes, (SELECT 1 UNION SELECT id)) FROM post ORDER BY id; UPDATE post SET likes = likes + 1",
			"SELECT nosuch FROM post; UPDATE post SET likes = likes + 1",
			"UPDATE post SET likes = likes + 1 WHERE id = 1; SELECT likes FROM post WHERE id = 1; UPDATE post SET likes = likes + 1 WHERE id = 1",
		} {
			require.Equal(t, allQueried(t.Context(), tw.Plain, text), allQueried(t.Context(), tw.Ours, text), text)
			require.Equal(t, leftEarly(t, tw.Plain, text), leftEarly(t, tw.Ours, text), text)
			tw.Same(t, "SELECT id, likes FROM post ORDER BY id")
		}
	})
}

// TestLostBetweenStatements proves that a text is not sent again when the
// connection turns out to be dead behind its first statement, whose increment
// may have gone on another connection.
func TestLostBetweenStatements(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "multiStatements=true")
		var lost atomic.Bool
		tw.Sent.Meddle(t, func(query string) error {
			if strings.Contains(query, "note") && lost.CompareAndSwap(true, false) {
				return driver.ErrBadConn // as go-sql-driver does where nothing was sent
			}
			return nil
		})
		for i, run := range []func() error{
			func() error {
				_, err := tw.Ours.Exec("UPDATE post SET likes = likes + 1 WHERE id = 1; UPDATE note SET body = 'x'")
				return err
			},
			func() error {
				rows, err := tw.Ours.Query("UPDATE post SET likes = likes + 1 WHERE id = 1; SELECT body FROM note")
				if err == nil {
					rows.Close()
				}
				return err
			},
		} {
			lost.Store(true)
			require.ErrorIs(t, run(), mysql.ErrInvalidConn)
			require.EqualValues(t, 11+i, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"))
		}
		lost.Store(true) // nothing was done yet: it is sent again
		harness.Affected(t, tw.Ours, "UPDATE note SET body = 'x'; UPDATE post SET likes = likes + 1 WHERE id = 1")
		require.EqualValues(t, 13, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"))
	})
}

// TestArgumentsOfSeveralStatements proves that a text with too many or too few
// arguments does nothing, as on plain MySQL, which is asked to prepare it.
func TestArgumentsOfSeveralStatements(t *testing.T) {
	const text = "UPDATE post SET likes = likes + ? WHERE id = 1; UPDATE post SET likes = likes + ? WHERE id = 2"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"interpolateParams=true", "interpolateParams=false"} {
			tw := harness.NewBlog(t, srv, harness.BlogCounters(), "multiStatements=true", params)
			for _, args := range [][]any{{1, 2}, {1}, {1, 2, 3}, {}} {
				require.Equal(t, harness.Told2(tw.Plain.Exec(text, args...)), harness.Told2(tw.Ours.Exec(text, args...)), args)
				require.Equal(t, harness.Queried(t.Context(), tw.Plain, text, args...), harness.Queried(t.Context(), tw.Ours, text, args...), args)
				tw.Same(t, "SELECT id, likes FROM post ORDER BY id")
			}
		}
	})
}

// TestArgumentsOfIncrements proves that an increment with too many or too few
// arguments fails and counts nothing, as on plain MySQL.
func TestArgumentsOfIncrements(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"interpolateParams=true", "interpolateParams=false"} {
			tw := harness.NewBlog(t, srv, harness.BlogCounters(), params)
			for _, text := range []string{
				"UPDATE post SET likes = likes + ? WHERE id = ?",
				"UPDATE post SET likes = likes + 2 WHERE slug = 'a' AND id = ? AND 1 = ?",
				"INSERT INTO post (id, slug, likes) VALUES (1, 'a', ?) ON DUPLICATE KEY UPDATE likes = likes + ?",
			} {
				for _, args := range [][]any{{1, 1}, {1}, {1, 1, 1}, {}} {
					require.Equal(t, harness.Told2(tw.Plain.Exec(text, args...)), harness.Told2(tw.Ours.Exec(text, args...)), "%s %v", text, args)
					require.Equal(t, harness.ToldInTransaction(t, tw.Plain, text, args...), harness.ToldInTransaction(t, tw.Ours, text, args...), "%s %v", text, args)
					tw.Same(t, "SELECT id, likes FROM post ORDER BY id")
				}
			}
		}
	})
}
