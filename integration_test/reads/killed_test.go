package reads

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// killedFor is for how long queries of one kind are killed: a few dozen of them in a subquery.
const killedFor = 1500 * time.Millisecond

// whileKilled calls f again and again while somebody kills the queries of its connection. The
// only error may be that they were.
func whileKilled(t *testing.T, db, killer *sql.DB, f func(conn *sql.Conn) error) {
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	var id int64
	require.NoError(t, conn.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id))
	ctx, cancel := context.WithTimeout(t.Context(), killedFor)
	defer cancel()
	var killing sync.WaitGroup
	defer killing.Wait()
	killing.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			_, _ = killer.Exec(fmt.Sprintf("KILL QUERY %d", id))
			time.Sleep(time.Duration(n%30) * 10 * time.Microsecond)
		}
	})
	done, killed := 0, 0
	for ctx.Err() == nil {
		var e *mysql.MySQLError
		switch err := f(conn); {
		case err == nil:
			done++
		case errors.As(err, &e) && e.Number == 1317:
			killed++
		default:
			cancel()
			require.NoError(t, err)
		}
	}
	require.Positive(t, done)
	require.Positive(t, killed)
}

// TestKilledReads proves that a query which KILL QUERY ends while it adds up slots, or asks
// whether there are any, fails as on plain MySQL, where the servers answer as if a subquery
// had found nothing.
func TestKilledReads(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, lookForum, lookCounters(), "interpolateParams=true")
		for range 20 { // into as many slots as there are
			harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes + 1, views = views + 2 WHERE id IN (1, 3)")
		}
		looked := map[string]bool{}
		for query, want := range map[string]string{
			"SELECT likes FROM post WHERE id = 1":                      "25",
			"SELECT likes, views, score, title FROM post WHERE id = 3": "29 43 0.00 ",
			"SELECT id FROM post WHERE id = 1 AND likes = 25":          "1",
			"SELECT COUNT(*) FROM post WHERE likes > 20":               "2",
		} {
			read := func(conn *sql.Conn, query string) (string, error) {
				rows, err := conn.QueryContext(t.Context(), query)
				if err != nil {
					return "", err
				}
				defer rows.Close()
				return onlyRow(rows)
			}
			sent := tw.Sent.During(func() {
				whileKilled(t, tw.Ours, tw.Direct, func(conn *sql.Conn) error {
					got, err := read(conn, query)
					if err == nil && got != want {
						return fmt.Errorf("%s: %s, not %s", query, got, want)
					}
					return err
				})
			})
			for _, s := range sent {
				if looks(s) && !s.Apart() && !strings.HasPrefix(s.Text, "PREPARE ") && !looked[s.Text] {
					looked[s.Text] = true
					whileKilled(t, tw.Direct, tw.Plain, func(conn *sql.Conn) error {
						got, err := read(conn, s.Text)
						if err == nil && strings.HasSuffix(got, " 0") {
							return fmt.Errorf("%s: %s", s.Text, got)
						}
						return err
					})
				}
			}
		}
		require.NotEmpty(t, looked)
		_, err := countermysql.Rollup(t.Context(), tw.Ours, nil)
		require.NoError(t, err)
	})
}

// onlyRow is the row of an answer, as text.
func onlyRow(rows *sql.Rows) (string, error) {
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	var texts []string
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return "", err
		}
		for _, v := range values {
			texts = append(texts, v.String)
		}
	}
	return strings.Join(texts, " "), errors.Join(rows.Err(), rows.Close())
}
