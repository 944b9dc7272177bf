// Package derived proves that counters which are formulas over other tables are always what
// the formula says, whoever writes those tables, and that keeping them deadlocks with nobody.
package derived

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// schema has posts 1 to 5 and some comments. Comments count in post if they are public, and
// what they earn in post, too.
const schema = `CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, comments INT UNSIGNED NOT NULL DEFAULT 0, earned DECIMAL(12,2) NOT NULL DEFAULT 0, title VARCHAR(40) NOT NULL DEFAULT '');
CREATE TABLE comment (id BIGINT AUTO_INCREMENT PRIMARY KEY, post_id INT NULL, status VARCHAR(10) NOT NULL DEFAULT 'public', amount DECIMAL(8,2) NULL, text VARCHAR(40) NOT NULL DEFAULT '', KEY (post_id));
INSERT INTO post (id) VALUES (1), (2), (3), (4), (5);
INSERT INTO comment (post_id, status, amount) VALUES (1, 'public', 1.50), (1, 'hidden', 7), (2, 'public', NULL), (NULL, 'public', 3)`

const (
	ofComments = "SELECT post_id, COUNT(*) FROM comment WHERE status = 'public' GROUP BY post_id"
	ofEarned   = "SELECT post_id, SUM(amount) FROM comment GROUP BY post_id"
)

func posts() *countermysql.Config {
	config := harness.Counters("post", "likes", "comments", "earned")
	config.Tables[0].Derived = map[string]string{"comments": ofComments, "earned": ofEarned}
	return config
}

// newPosts makes the twins, of which ours has its triggers.
func newPosts(t testing.TB, srv *testserver.Server, params ...string) *harness.Twin {
	t.Helper()
	tw := harness.NewTwin(t, srv, schema, posts(), params...)
	initialized(t, tw.Ours)
	return tw
}

func initialized(t testing.TB, db *sql.DB) []string {
	t.Helper()
	statements, err := countermysql.Init(context.Background(), db, nil)
	require.NoError(t, err)
	return statements
}

// truth is what the formulas say of all posts, as one text.
const truth = "SELECT p.id, (SELECT COUNT(*) FROM comment c WHERE c.post_id = p.id AND c.status = 'public') AS comments, (SELECT CAST(COALESCE(SUM(c.amount), 0) AS DECIMAL(12,2)) FROM comment c WHERE c.post_id = p.id) AS earned FROM post p ORDER BY p.id"

// requireExact proves that the counters are what the formulas say, as the driver reads them and
// as base rows and slots hold them.
func requireExact(t testing.TB, tw *harness.Twin) {
	t.Helper()
	want := rows(t, tw.Direct, truth)
	require.Equal(t, want, rows(t, tw.Ours, "SELECT id, comments, earned FROM post ORDER BY id"))
	require.Equal(t, want, rows(t, tw.Direct,
		"SELECT id, CAST(comments + COALESCE((SELECT SUM(s.comments) FROM post_slots s WHERE s.id = p.id), 0) AS SIGNED) AS comments, CAST(earned + COALESCE((SELECT SUM(s.earned) FROM post_slots s WHERE s.id = p.id), 0) AS DECIMAL(12,2)) AS earned FROM post p ORDER BY id"))
}

// rows are those of a query, as text, without the types of its columns.
func rows(t testing.TB, db harness.Querier, query string) string {
	t.Helper()
	found, err := db.QueryContext(context.Background(), query)
	require.NoError(t, err, query)
	defer found.Close()
	columns, err := found.Columns()
	require.NoError(t, err)
	var all []string
	for found.Next() {
		row, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		require.NoError(t, found.Scan(into...))
		all = append(all, fmt.Sprint(row))
	}
	require.NoError(t, found.Err(), query)
	return strings.Join(all, "\n")
}

// comments reads a post's counter.
func comments(t testing.TB, db harness.Querier, id int) (n int64) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(context.Background(), fmt.Sprintf("SELECT comments FROM post WHERE id = %d", id)).Scan(&n))
	return n
}
