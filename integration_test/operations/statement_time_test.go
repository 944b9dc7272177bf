package operations

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/ngrok/sqlmw"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// timed notes of queries whether their sessions end statements that take long.
type timed struct {
	sqlmw.NullInterceptor
	limit string // as SQL

	mu   sync.Mutex
	seen map[string]string // by kind of query
}

func (r *timed) ConnQueryContext(ctx context.Context, c driver.QueryerContext, query string, args []driver.NamedValue) (context.Context, driver.Rows, error) {
	kind := ""
	for _, of := range []string{"information_schema", "FOR UPDATE"} {
		if strings.Contains(query, of) {
			kind = of
		}
	}
	if kind != "" {
		rows, err := c.QueryContext(ctx, "SELECT "+r.limit+" > 0", nil)
		if err != nil {
			return ctx, nil, err
		}
		told := make([]driver.Value, 1)
		if err := rows.Next(told); err != nil {
			return ctx, nil, err
		}
		if err := rows.Close(); err != nil {
			return ctx, nil, err
		}
		r.mu.Lock()
		if limited := fmt.Sprint(told[0]); r.seen[kind] != "1" {
			r.seen[kind] = limited
		}
		r.mu.Unlock()
	}
	rows, err := c.QueryContext(ctx, query, args)
	return ctx, rows, err
}

// TestStatementTime proves that a limit in the DSN of how long statements may take, which is for
// those of the application, ends neither the reading of the schema, without which no statement of
// a counter table runs, nor rollups. MySQL's is for queries alone, and rollups lift it for each.
func TestStatementTime(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		param, seen := "max_execution_time=60000", &timed{limit: "@@max_execution_time", seen: map[string]string{}}
		if harness.MariaDB(srv) {
			param, seen.limit = "max_statement_time=60", "@@max_statement_time"
		}
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0);\nINSERT INTO post (id) VALUES (1)", harness.Counters("post", "likes"), param)
		harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes + 1 WHERE id = 1")
		harness.Affected(t, tw.Direct, "INSERT INTO post_slots (id, slot, likes) VALUES (1, 3, 1) ON DUPLICATE KEY UPDATE likes = likes + 1")
		config := *tw.Config
		config.Interceptor = seen
		ours, _ := harness.OpenOurs(t, tw.OursDSN, &config)
		_, err := countermysql.Rollup(t.Context(), ours, nil)
		require.NoError(t, err)
		require.EqualValues(t, 2, harness.Number(t, tw.Direct, "SELECT likes FROM post"))
		require.Equal(t, "0", seen.seen["information_schema"])
		if harness.MariaDB(srv) {
			require.Equal(t, "0", seen.seen["FOR UPDATE"])
		}
	})
}
