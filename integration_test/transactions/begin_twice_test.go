package transactions

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestBeginTwice proves that a second transaction on one connection commits the first,
// and that whichever of the two is ended first ends what is open, as on plain MySQL.
func TestBeginTwice(t *testing.T) {
	const like, view, edit = "UPDATE post SET likes = likes + 1 WHERE id = 1", "UPDATE page SET hits = hits + 1 WHERE name = 'home'", "UPDATE post SET title = CONCAT(title, 'x') WHERE id = 1"
	scripts := [][]string{
		{"begin 1", "begin 2", edit, "rollback 1", "commit 2"},
		{"begin 1", "begin 2", like, edit, "rollback 1", "commit 2"},
		{"begin 1", like, view, "begin 2", like, "rollback 2", "commit 1"},
		{"begin 1", like, view, "begin 2", edit, like, "rollback 1", view, "rollback 2"},
		{"begin 1", like, "begin 2", view, "commit 1", like, "rollback 2"},
		{"begin 1", edit, like, "begin 2", like, "rollback 1", view, "commit 2"},
		{"begin 1", like, "begin 2", "begin 3", edit, "rollback 2", "commit 3", "commit 1"},
	}
	play := func(t *testing.T, db *sql.DB, steps []string) string {
		conn, err := db.Conn(t.Context())
		require.NoError(t, err)
		defer conn.Close()
		open := map[string]*sql.Tx{}
		defer func() {
			for _, tx := range open {
				tx.Rollback()
			}
		}()
		var answers []string
		var last string
		for _, step := range steps {
			word, name, _ := strings.Cut(step, " ")
			switch word {
			case "begin":
				open[name], err = conn.BeginTx(t.Context(), nil)
				last = name
			case "commit":
				err = open[name].Commit()
			case "rollback":
				err = open[name].Rollback()
			default:
				_, err = open[last].ExecContext(t.Context(), step)
			}
			answers = append(answers, step+" → "+harness.Told(err))
		}
		return fmt.Sprint(answers, harness.Queried(t.Context(), conn, "SELECT id, title, likes, (SELECT SUM(hits) FROM page) AS hits FROM post ORDER BY id"))
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		for _, steps := range scripts {
			tw.Reset(t)
			require.Equal(t, play(t, tw.Plain, steps), play(t, tw.Ours, steps))
		}
	})
}
