package connections

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestPreparedBeforeTheSessionChanged proves that a prepared statement goes on to be
// what it was when it was prepared, whatever the default database and the sql_mode are
// by then: its tables are those of the database of that time, and its quotes mean what
// they meant.
func TestPreparedBeforeTheSessionChanged(t *testing.T) {
	const other, ansi, none = "USE mysql", "sql_mode='ANSI_QUOTES'", "SET sql_mode = ''"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for params, cases := range map[string][]struct {
			before, text, change string
			arg                  int
		}{
			"sql_mode=''": {
				{"", "SELECT likes FROM post WHERE id = ?", other, 1},
				{"", "SELECT title, likes FROM post WHERE likes > ? FOR UPDATE", other, 3},
				{"", "UPDATE post SET likes = likes + 1 WHERE id = ?", other, 1},
				{"BEGIN", "UPDATE post SET likes = likes + 1 WHERE id = ?", other, 1},
				{"", "UPDATE post SET likes = GREATEST(likes - ?, 0) WHERE id = 1", other, 3},
				{"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "UPDATE post SET likes = likes * ? WHERE title <> 'x'", other, 3},
				{"", "INSERT INTO post (id, slug, likes) VALUES (?, 'z', 1) ON DUPLICATE KEY UPDATE likes = likes + 1", other, 4},
				{"", "DELETE FROM post WHERE likes > ?", other, 9},
				{"", `UPDATE post SET title = "x" WHERE likes > ?`, "SET sql_mode = 'ANSI_QUOTES'", 7},
			},
			ansi: {
				{"", `SELECT likes FROM post WHERE "slug" = 'a' AND id > ?`, none, 0},
				{"", `UPDATE "post" SET likes = likes + ? WHERE "slug" = 'a'`, none, 3},
			},
			"sql_mode='NO_UNSIGNED_SUBTRACTION'": {
				{"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "UPDATE IGNORE post SET views = GREATEST(views - ?, 0) WHERE title <> 'x'", none, 1},
			},
		} {
			tw := harness.NewBlog(t, srv, harness.BlogCounters(), params)
			tw.Plain.SetMaxIdleConns(0) // nobody takes over what a script leaves
			tw.Ours.SetMaxIdleConns(0)
			for _, c := range cases {
				t.Run(c.text+"/"+c.before+"/"+c.change, func(t *testing.T) {
					tw.Reset(t)
					var answers [2][]string
					for i, db := range []*sql.DB{tw.Plain, tw.Ours} {
						s := &harness.Script{Db: db, Clients: map[string]*harness.Client{}}
						if c.before != "" {
							s.Do(t, "A: "+c.before)
						} else {
							s.Do(t, "A: SELECT 1")
						}
						stmt, err := s.Clients["A"].Conn.PrepareContext(t.Context(), c.text)
						require.NoError(t, err)
						s.Do(t, "A: "+c.change)
						if harness.IsQuery.MatchString(c.text) {
							s.Answers = append(s.Answers, harness.Queried(t.Context(), harness.StmtQuerier{Stmt: stmt}, "", c.arg))
						} else {
							res, err := stmt.ExecContext(t.Context(), c.arg)
							n := int64(-1)
							if err == nil {
								n, err = res.RowsAffected()
							}
							s.Answers = append(s.Answers, fmt.Sprint(harness.Told(err), n))
						}
						require.NoError(t, stmt.Close())
						s.Do(t, "A: COMMIT")
						s.Do(t, harness.Everything[0])
						s.End()
						answers[i] = s.Answers
					}
					require.Equal(t, strings.Join(answers[0], "\n"), strings.Join(answers[1], "\n"))
				})
			}
		}
	})
}
