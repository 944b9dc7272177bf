package groups

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/ngrok/sqlmw"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

var database = regexp.MustCompile("`itg_[0-9_]+`")

// TestPreparedIncrements proves that an increment of a cold row that a connection sends often
// is prepared, that all is as on plain MySQL from then on, too, whatever is added to whichever
// column and row, and that a row which is locked is not waited for.
func TestPreparedIncrements(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"interpolateParams=true", "interpolateParams=false", "clientFoundRows=true"} {
			tw := harness.NewTwin(t, srv, cold, cooling(harness.Counters("post", "likes", "views", "small")), params)
			conn, err := tw.Ours.Conn(t.Context())
			require.NoError(t, err)
			defer conn.Close()
			increments := []struct {
				text string
				args []any
			}{
				{"UPDATE post SET likes = likes + 1 WHERE id = ?", []any{1}},
				{"UPDATE post SET likes = likes + ?, views = views + ? WHERE id = ?", []any{-2, 3, 2}},
				{"UPDATE post SET views = views - ? WHERE id = ?", []any{1, 2}},
				{"UPDATE post SET views = views - ? WHERE id = ?", []any{100, 2}}, // below zero
				{"UPDATE post SET small = small + ? WHERE id = ?", []any{3, 3}},
				{"UPDATE post SET likes = likes + ? WHERE id = ?", []any{int64(1) << 40, 3}},
				{"UPDATE post SET likes = likes + 5 WHERE id = ?", []any{99}},
				{"UPDATE post SET likes = likes + 5 WHERE id = ?", []any{"1"}},
				{"UPDATE post SET likes = likes + 5 WHERE id = ?", []any{1.5}},
				{"UPDATE post SET likes = likes + ? WHERE id = ?", []any{uint64(1) << 63, 1}},
				{"UPDATE post SET likes = likes + 2 WHERE slug = ?", []any{"c"}},
			}
			sent := tw.Sent.During(func() {
				for range 20 {
					for _, i := range increments {
						requireSameAnswer(t, tw.Plain, conn, i.text, i.args...)
					}
				}
			})
			prepared := 0
			for _, s := range sent {
				if strings.HasPrefix(s.Text, "PREPARE ") && strings.Contains(s.Text, "`post` SET `post`.") {
					prepared++
				}
			}
			require.Equal(t, 3, prepared, "what is added to likes, to likes and views, and to small")
			tw.Same(t, "SELECT id, slug, likes, views, small, updated_at IS NULL FROM post")
			require.LessOrEqual(t, tw.Sent.Prepared(), 2*16)

			harness.Affected(t, tw.Plain, "UPDATE post SET likes = likes + 1 WHERE id = 1") // its table is another now
			for _, db := range []*sql.DB{tw.Plain, tw.Direct} {
				_, err := db.Exec("ALTER TABLE post ADD COLUMN later INT NULL")
				require.NoError(t, err)
			}
			_, err = conn.ExecContext(t.Context(), increments[0].text, increments[0].args...)
			require.NoError(t, err)

			tx, err := tw.Direct.Begin()
			require.NoError(t, err)
			harness.Affected(t, tx, "INSERT INTO log (post_id) VALUES (1)") // a shared lock of post 1
			_, err = conn.ExecContext(t.Context(), increments[0].text, increments[0].args...)
			require.NoError(t, err)
			require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT likes FROM post_slots WHERE id = 1"))
			require.NoError(t, tx.Rollback())
			harness.Affected(t, tw.Plain, "UPDATE post SET likes = likes + 1 WHERE id = 1")
			tw.Same(t, "SELECT id, likes FROM post")
		}
	})
}

// requireSameAnswer requires the same rows or the same error, word by word.
func requireSameAnswer(t *testing.T, plain, ours harness.Execer, text string, args ...any) {
	t.Helper()
	told := func(db harness.Execer) string {
		res, err := db.ExecContext(t.Context(), text, args...)
		if err != nil {
			return database.ReplaceAllString(err.Error(), "")
		}
		n, err := res.RowsAffected()
		return fmt.Sprint(n, err)
	}
	require.Equal(t, told(plain), told(ours), "%s %v", text, args)
}

// TestPreparedGuards proves the same of guarded updates, of which those with numbers alone are
// prepared, also while their row has slots, and that errors quote the text as it was sent.
func TestPreparedGuards(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"interpolateParams=true", "interpolateParams=false", found} {
			tw := harness.NewTwin(t, srv, shelves, harness.Counters("item", "tiny", "stock", "spare", "used"), params)
			conn, err := tw.Ours.Conn(t.Context())
			require.NoError(t, err)
			defer conn.Close()
			sent := tw.Sent.During(func() {
				for round := range 12 {
					for _, u := range taken {
						for id, sku := range []string{"a", "b", "c"} {
							if round%3 == 2 {
								harness.Affected(t, tw.Plain, fmt.Sprintf("UPDATE item SET stock = stock + 2, spare = spare + 1, used = used + 1 WHERE id = %d", id+1))
								harness.Affected(t, tw.Direct, fmt.Sprintf("INSERT INTO item_slots (id, slot, stock, spare, used) SELECT id, 3, 2, 1, 1 FROM item WHERE id = %d", id+1)+
									" ON DUPLICATE KEY UPDATE stock = item_slots.stock + VALUES(stock), spare = item_slots.spare + 1, used = item_slots.used + 1")
							}
							text, args := strings.ReplaceAll(u.text, "@", sku), []any(nil)
							for _, place := range strings.FieldsFunc(text, func(r rune) bool { return r != '?' && r != '#' }) {
								args = append(args, map[string]int{"#": id + 1, "?": []int{1, 2, -1, 30}[round%4]}[place])
							}
							text = strings.ReplaceAll(text, "#", "?")
							requireSameAnswer(t, tw.Plain, conn, text, args...)
						}
					}
					tw.Same(t, shelf)
				}
			})
			prepared := slices.ContainsFunc(sent, func(s harness.Sending) bool {
				return strings.HasPrefix(s.Text, "PREPARE UPDATE item SET stock = stock - ? WHERE") && strings.Contains(s.Text, "countermysql_slots")
			})
			require.True(t, prepared)
		}
	})
}

// TestPreparedInTransactions proves the same of the increments of transactions, one or two of
// which go to their base rows.
func TestPreparedInTransactions(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"interpolateParams=true", "clientFoundRows=true", "sql_safe_updates=1"} {
			tw := harness.NewTwin(t, srv, manyKeys, manyCounters(), params)
			tw.Ours.SetMaxOpenConns(1)
			vote := func(db *sql.DB, increments ...string) string {
				return fmt.Sprint(transact(db, func(tx *sql.Tx) error {
					for _, s := range append([]string{"INSERT INTO log (post_id) VALUES (NULL)"}, increments...) {
						if _, err := tx.Exec(s); err != nil {
							return err
						}
					}
					return nil
				}))
			}
			sent := tw.Sent.During(func() {
				for n := range 15 {
					for _, increments := range [][]string{
						{fmt.Sprintf("UPDATE post SET likes = likes + %d WHERE id = 1", n-5), fmt.Sprintf("UPDATE member SET points = points - %d WHERE id = %d", n, 1+n%4)},
						{fmt.Sprintf("UPDATE member SET points = points + %d WHERE id = %d", n+1, 1+n%5)}, // 5 is not there
						{"UPDATE post SET likes = likes + 1 WHERE id = 2", "UPDATE post SET likes = likes + 2 WHERE id = 99"},
						{"UPDATE post SET views = views - 1 WHERE id = 2", "UPDATE member SET points = points + 1 WHERE id = 1"}, // below zero in the end
						{"UPDATE thread SET answers = answers + 1, seen = '2026-11-25 10:00:00.125' WHERE id = 1", "UPDATE tag SET used = used + 1.25 WHERE name = 'go'"},
					} {
						require.Equal(t, database.ReplaceAllString(vote(tw.Plain, increments...), ""), database.ReplaceAllString(vote(tw.Ours, increments...), ""), "%v", increments)
					}
				}
			})
			for _, table := range []string{"member", "thread", "post", "tag"} {
				tw.Same(t, "SELECT * FROM "+table+" ORDER BY 1")
			}
			var texts []string
			for _, s := range sent {
				if strings.HasPrefix(s.Text, "PREPARE ") {
					texts = append(texts, s.Text)
				}
			}
			prepared := strings.Join(texts, "\n")
			require.Equal(t, 2, strings.Count(prepared, "_locked STRAIGHT_JOIN"), "of a post and a member, each column of the post's:\n%s", prepared)
			require.Contains(t, prepared, "`member` SET", "of a member alone")
			harness.RollUp(t, tw.Ours)

			tx, err := tw.Direct.Begin()
			require.NoError(t, err)
			harness.Affected(t, tx, "INSERT INTO log (post_id) VALUES (1)") // a shared lock of post 1
			both := []string{"UPDATE post SET likes = likes + 1 WHERE id = 1", "UPDATE member SET points = points + 1 WHERE id = 2"}
			require.Equal(t, "<nil>", vote(tw.Ours, both...))
			require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT likes FROM post_slots WHERE id = 1"))
			require.NoError(t, tx.Rollback())
			require.Equal(t, "<nil>", vote(tw.Plain, both...))
			tw.Same(t, "SELECT * FROM post ORDER BY 1")
			tw.Same(t, "SELECT * FROM member ORDER BY 1")
		}
	})
}

// refusing has the server's answer to our prepared statements be an error: as where it has
// too many, or where they are gone.
type refusing struct {
	sqlmw.NullInterceptor
	prepare, execute uint16 // 0: none
	refused          atomic.Int32
}

func (r *refusing) ConnPrepareContext(ctx context.Context, c driver.ConnPrepareContext, query string) (context.Context, driver.Stmt, error) {
	if r.prepare != 0 && strings.Contains(query, "`post` SET `post`.") {
		r.refused.Add(1)
		return ctx, nil, &mysql.MySQLError{Number: r.prepare}
	}
	stmt, err := c.PrepareContext(ctx, query)
	return ctx, stmt, err
}

func (r *refusing) StmtExecContext(ctx context.Context, s driver.StmtExecContext, query string, args []driver.NamedValue) (driver.Result, error) {
	if r.execute != 0 && strings.Contains(query, "`post` SET `post`.") {
		r.refused.Add(1)
		return nil, &mysql.MySQLError{Number: r.execute}
	}
	return s.ExecContext(ctx, args)
}

// TestPreparedIncrementsRefused proves that increments count once where the server, or a proxy,
// does not prepare statements of the driver's, or no longer knows them.
func TestPreparedIncrementsRefused(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, r := range []*refusing{{prepare: 1461}, {execute: 1243}, {execute: 1615}} {
			tw := harness.NewTwin(t, srv, cold, cooling(harness.Counters("post", "likes")), "interpolateParams=true")
			config := *tw.Config
			config.Interceptor = r
			db, _ := harness.OpenOurs(t, tw.OursDSN, &config)
			db.SetMaxOpenConns(1)
			for range 30 {
				require.EqualValues(t, 1, harness.Affected(t, db, "UPDATE post SET likes = likes + 1 WHERE id = 1"))
			}
			require.EqualValues(t, 30, harness.Number(t, tw.Direct, "SELECT likes FROM post WHERE id = 1"))
			require.Positive(t, r.refused.Load())
		}
	})
}
