package schema

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestFoldedNames proves that names of tables and aliases mean the same in any case
// where the server has it so.
func TestFoldedNames(t *testing.T) {
	t.Parallel()
	const schema = `
CREATE TABLE Post (ID INT PRIMARY KEY, Grp INT NOT NULL, Title VARCHAR(9) NOT NULL DEFAULT '', Likes INT NOT NULL DEFAULT 0, KEY (Likes));
CREATE TABLE Note (id INT PRIMARY KEY, post_id INT NOT NULL);
INSERT INTO POST (id, grp, likes) VALUES (1, 1, 5), (2, 1, 3), (3, 2, 9);
INSERT INTO note VALUES (1, 1), (2, 1), (3, 2);
CREATE VIEW Liked AS SELECT id, likes FROM pOST WHERE likes > 4;
CREATE TRIGGER Noted AFTER INSERT ON NOTE FOR EACH ROW UPDATE POST SET likes = likes * 2 WHERE id = NEW.post_id;
`
	steps := []string{
		"A: UPDATE POST SET LIKES = likes + 1 WHERE id = 1", "A: UPDATE post P SET p.likes = P.likes + 1 WHERE p.ID = 1", "A: UPDATE Post SET post.likes = POST.likes + 1 WHERE pOst.id IN (1, 3)",
		"A: SELECT likes FROM pOST WHERE POST.id = 1", "A: SELECT P.likes, p.ID FROM POST p ORDER BY P.likes DESC LIMIT 2", "A: SELECT Post.Likes, `POST`.`likes` FROM post WHERE post.ID = 1",
		"A: SELECT n.id, P.likes FROM NOTE N JOIN POST p ON P.id = N.post_id ORDER BY p.likes, n.id", "A: SELECT * FROM Post JOIN note USING (ID) ORDER BY POST.likes",
		"A: SELECT a.likes, A.likes FROM Post A WHERE a.likes > 3 ORDER BY A.likes", "A: SELECT Grp, SUM(POST.likes) FROM post GROUP BY Post.grp HAVING SUM(Post.likes) > 3 ORDER BY 1",
		"A: SELECT likes FROM LIKED ORDER BY likes", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT Liked.likes FROM liked ORDER BY likes",
		"A: WITH post AS (SELECT 1 AS likes) SELECT likes FROM POST", "A: WITH C AS (SELECT likes FROM Post) SELECT MAX(likes) FROM c",
		"A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: INSERT INTO Note VALUES (4, 1)", "A: SELECT id, likes FROM POST ORDER BY id",
		"A: INSERT INTO POST (id, grp, likes) VALUES (1, 1, 1) ON DUPLICATE KEY UPDATE Likes = POST.likes + VALUES(LIKES)",
		"A: BEGIN", "A: UPDATE pOST SET likes = likes + 1 WHERE ID = 2", "A: SELECT likes FROM POST p WHERE P.id = 2", "A: UPDATE POST SET title = 'x' WHERE id = 2", "A: SELECT * FROM post ORDER BY id", "A: COMMIT",
		"A: SELECT POST.likes FROM Post WHERE id = 1 FOR UPDATE", "A: DELETE FROM POST WHERE likes = 4", "A: ALTER TABLE POST ADD COLUMN more INT NULL", "A: UPDATE post SET likes = likes + 1, MORE = 1 WHERE id = 1",
		"A: CREATE TEMPORARY TABLE NOTE2 SELECT * FROM Post", "A: SELECT * FROM note2 ORDER BY id", "A: TABLE POST", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT id, likes FROM Post ORDER BY id",
		"A: RENAME TABLE POST TO POSTED", "A: SELECT id, likes FROM posted ORDER BY id",
	}
	for _, flavor := range []testserver.Flavor{testserver.MariaDB, testserver.MySQL} {
		t.Run(string(flavor), func(t *testing.T) {
			t.Parallel()
			srv, err := testserver.Start(t.Context(), flavor, testserver.WithArgs("--lower-case-table-names=1"))
			require.NoError(t, err)
			t.Cleanup(srv.Stop)
			for _, table := range []string{"Post", "post", "POST"} {
				tw := harness.NewTwin(t, srv, schema, &countermysql.Config{Tables: []countermysql.TableConfig{{Table: table, Counters: []string{"LIKES"}}}})
				tw.Play(t, steps...)
				require.NotZero(t, harness.Stats(t, tw.Ours).Increments)
				require.NotZero(t, harness.Stats(t, tw.Ours).Sums)
			}
		})
	}
}
