package integration_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

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
