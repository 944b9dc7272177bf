package writes

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestOverwriting proves that a statement which gives the counters of a row other values,
// inside a transaction, answers and leaves all as on plain MySQL, whether the row has
// slots or not, and that without any it is the first to be sent: what went before it would
// make deadlocks likelier than on plain MySQL.
func TestOverwriting(t *testing.T) {
	t.Parallel()
	const schema = `CREATE TABLE post (id INT PRIMARY KEY, slug VARCHAR(9) UNIQUE, title VARCHAR(9), likes INT NOT NULL DEFAULT 0, views INT UNSIGNED NULL,
 updated_at DATETIME(3) NULL ON UPDATE CURRENT_TIMESTAMP(3)) ENGINE=InnoDB;
CREATE TABLE post_like (id INT AUTO_INCREMENT PRIMARY KEY, post_id INT NOT NULL, KEY (post_id));
INSERT INTO post_like (post_id) VALUES (1), (1), (1), (2);
INSERT INTO post VALUES (1, 'a', 't', 3, 0, NULL), (2, 'b', 't', 0, NULL, '2020-01-01'), (3, 'c', NULL, 9, 4, NULL)`
	const recount = "UPDATE post SET likes = (SELECT COUNT(*) FROM post_like WHERE post_id = %d) WHERE id = %[1]d"
	overwriting := []string{
		fmt.Sprintf(recount, 1), fmt.Sprintf(recount, 2), fmt.Sprintf(recount, 3), fmt.Sprintf(recount, 4),
		"UPDATE post SET likes = 3 WHERE id = 1", "UPDATE post SET likes = 8 WHERE slug = 'A'", "UPDATE post SET likes = 5, views = NULL WHERE id = 1",
		"UPDATE post SET likes = 3, views = 0 WHERE id = 1", "UPDATE post SET views = 7 WHERE id = 2", "UPDATE post SET views = -1 WHERE id = 1",
		"UPDATE post SET likes = 1 WHERE id = 1 AND title = 'x'", "UPDATE post SET likes = 1 WHERE id = 1 AND title = 't'", "UPDATE post SET likes = NULL WHERE id = 3",
		"UPDATE post SET likes = 99999999999 WHERE id = 1",
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for i, overwrite := range overwriting {
			for j, before := range [][]string{nil, {"b: UPDATE post SET likes = likes + 5 WHERE id = 1", "b: UPDATE post SET likes = likes + 1, views = views + 2 WHERE id IN (1, 3)"}} {
				params := []string{"interpolateParams=true", "clientFoundRows=true", "interpolateParams=false", "sql_mode=''"}[(i+j)%4]
				tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes", "views"), params, "timestamp=1700000000.5")
				for _, begin := range []string{"a: BEGIN", "a: begin RC", "a: begin"} {
					end := map[bool]string{true: "a: COMMIT", false: "a: commit"}[begin == "a: BEGIN"]
					tw.Play(t, append(before,
						begin, "a: INSERT INTO post_like (post_id) VALUES (1)", "a: "+overwrite, "a: SELECT * FROM post", "a: SELECT ROW_COUNT()", "a: UPDATE post SET likes = likes + 1 WHERE id = 1",
						"a: "+overwrite, "a: SELECT likes FROM post WHERE id = 1", end, "b: SELECT * FROM post", "b: SELECT COUNT(*) FROM post WHERE likes = 3",
						begin, "a: "+overwrite, "a: SAVEPOINT s", "a: "+overwrites(overwriting, i), "a: ROLLBACK TO s", "a: SELECT * FROM post", "a: "+map[bool]string{true: "ROLLBACK", false: "rollback"}[begin == "a: BEGIN"],
						"b: SELECT * FROM post")...)
				}
			}
		}
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes", "views"), "interpolateParams=true")
		tx, err := tw.Ours.Begin()
		require.NoError(t, err)
		defer tx.Rollback()
		harness.Affected(t, tx, "INSERT INTO post_like (post_id) VALUES (1)")
		sent := tw.Sent.During(func() { harness.Affected(t, tx, overwriting[0]) })
		require.Equal(t, overwriting[0], sent[0].Text)
		require.Len(t, sent, 2)
	})
}

// overwrites is another statement.
func overwrites(all []string, i int) string { return all[(i+1)%len(all)] }
