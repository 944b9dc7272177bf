package integration_test

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

	"github.com/countermysql/countermysql/internal/testserver"
)

// allQueried are all result sets of a text.
func allQueried(ctx context.Context, db *sql.DB, text string) string {
	rows, err := db.QueryContext(ctx, text)
	if err != nil {
		return told(err)
	}
	defer rows.Close()
	var b strings.Builder
	for more := true; more; more = rows.NextResultSet() {
		for rows.Next() {
			var v string
			if err := rows.Scan(&v); err != nil {
				return told(err)
			}
			fmt.Fprintf(&b, "[%s]", v)
		}
		fmt.Fprint(&b, ", ")
	}
	return b.String() + told(rows.Err())
}

// TestErrorBetweenResultSets proves that nothing behind a failing statement is
// run, neither by NextResultSet nor by Close.
func TestErrorBetweenResultSets(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newBlog(t, srv, blogCounters(), "multiStatements=true")
		for _, text := range []string{
			"SELECT likes FROM post WHERE id = 1; SELECT nosuch FROM post; UPDATE post SET likes = likes + 1",
			"SELECT likes FROM post WHERE id = 1; UPDATE post SET nosuch = 1; DELETE FROM post",
			"SELECT IF(id < 3, likes, (SELECT 1 UNION SELECT id)) FROM post ORDER BY id; UPDATE post SET likes = likes + 1",
			"SELECT nosuch FROM post; UPDATE post SET likes = likes + 1",
			"UPDATE post SET likes = likes + 1 WHERE id = 1; SELECT likes FROM post WHERE id = 1; UPDATE post SET likes = likes + 1 WHERE id = 1",
		} {
			require.Equal(t, allQueried(t.Context(), tw.plain, text), allQueried(t.Context(), tw.ours, text), text)
			tw.same(t, "SELECT id, likes FROM post ORDER BY id")
		}
	})
}

// TestLostBetweenStatements proves that a text is not sent again when the
// connection turns out to be dead behind its first statement, whose increment
// may have gone on another connection.
func TestLostBetweenStatements(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newBlog(t, srv, blogCounters(), "multiStatements=true")
		var lost atomic.Bool
		tw.sent.meddle(t, func(query string) error {
			if strings.Contains(query, "note") && lost.CompareAndSwap(true, false) {
				return driver.ErrBadConn // as go-sql-driver does where nothing was sent
			}
			return nil
		})
		for i, run := range []func() error{
			func() error {
				_, err := tw.ours.Exec("UPDATE post SET likes = likes + 1 WHERE id = 1; UPDATE note SET body = 'x'")
				return err
			},
			func() error {
				rows, err := tw.ours.Query("UPDATE post SET likes = likes + 1 WHERE id = 1; SELECT body FROM note")
				if err == nil {
					rows.Close()
				}
				return err
			},
		} {
			lost.Store(true)
			require.ErrorIs(t, run(), mysql.ErrInvalidConn)
			require.EqualValues(t, 11+i, number(t, tw.ours, "SELECT likes FROM post WHERE id = 1"))
		}
		lost.Store(true) // nothing was done yet: it is sent again
		affected(t, tw.ours, "UPDATE note SET body = 'x'; UPDATE post SET likes = likes + 1 WHERE id = 1")
		require.EqualValues(t, 13, number(t, tw.ours, "SELECT likes FROM post WHERE id = 1"))
	})
}

// TestArgumentsOfSeveralStatements proves that a text with too many or too few
// arguments does nothing, as on plain MySQL, which is asked to prepare it.
func TestArgumentsOfSeveralStatements(t *testing.T) {
	const text = "UPDATE post SET likes = likes + ? WHERE id = 1; UPDATE post SET likes = likes + ? WHERE id = 2"
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"interpolateParams=true", "interpolateParams=false"} {
			tw := newBlog(t, srv, blogCounters(), "multiStatements=true", params)
			for _, args := range [][]any{{1, 2}, {1}, {1, 2, 3}, {}} {
				require.Equal(t, told2(tw.plain.Exec(text, args...)), told2(tw.ours.Exec(text, args...)), args)
				require.Equal(t, queried(t.Context(), tw.plain, text, args...), queried(t.Context(), tw.ours, text, args...), args)
				tw.same(t, "SELECT id, likes FROM post ORDER BY id")
			}
		}
	})
}

// TestArgumentsOfIncrements proves that an increment with too many or too few
// arguments fails and counts nothing, as on plain MySQL.
func TestArgumentsOfIncrements(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"interpolateParams=true", "interpolateParams=false"} {
			tw := newBlog(t, srv, blogCounters(), params)
			for _, text := range []string{
				"UPDATE post SET likes = likes + ? WHERE id = ?",
				"UPDATE post SET likes = likes + 2 WHERE slug = 'a' AND id = ? AND 1 = ?",
				"INSERT INTO post (id, slug, likes) VALUES (1, 'a', ?) ON DUPLICATE KEY UPDATE likes = likes + ?",
			} {
				for _, args := range [][]any{{1, 1}, {1}, {1, 1, 1}, {}} {
					require.Equal(t, told2(tw.plain.Exec(text, args...)), told2(tw.ours.Exec(text, args...)), "%s %v", text, args)
					require.Equal(t, toldInTransaction(t, tw.plain, text, args...), toldInTransaction(t, tw.ours, text, args...), "%s %v", text, args)
					tw.same(t, "SELECT id, likes FROM post ORDER BY id")
				}
			}
		}
	})
}

// toldInTransaction tells what becomes of a statement inside a transaction.
func toldInTransaction(t *testing.T, db *sql.DB, text string, args ...any) string {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	answer := told2(tx.Exec(text, args...))
	require.NoError(t, tx.Commit())
	return answer
}
