package integration_test

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/testserver"
)

// TestStickyParameters proves that a prepared statement adds what it adds on plain MySQL
// where an earlier argument was a floating-point number: its parameter stays one.
func TestStickyParameters(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, likes BIGINT NOT NULL, views BIGINT UNSIGNED NOT NULL);
INSERT INTO post VALUES (1, 1152921504606846977, 9223372036854775813), (2, 3, 4);
`
	updates := []string{
		"UPDATE post SET likes = likes + ? WHERE id = 1", "UPDATE post SET likes = ? + likes", "UPDATE post SET views = views - ? WHERE id = 2",
		"UPDATE post SET views = COALESCE(views, 0) + ? WHERE id IN (1, 2)",
		"INSERT INTO post VALUES (1, 1, 1) ON DUPLICATE KEY UPDATE likes = likes + ?",
	}
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, first := range []any{4.0, float32(0.5), "4", []byte("4"), "4.5", uint64(4), true, nil, int64(4)} {
			for _, update := range updates {
				for _, begin := range []bool{false, true} {
					tw := newTwin(t, srv, schema, counters("post", "likes", "views"))
					var answers [2][]string
					for i, db := range []*sql.DB{tw.plain, tw.ours} {
						conn := session(t, db)
						stmt, err := conn.PrepareContext(t.Context(), update)
						require.NoError(t, err)
						affected(t, conn, "UPDATE post SET likes = likes + 6, views = views + 2 WHERE id = 1")
						if begin {
							affected(t, conn, "BEGIN")
						}
						for _, arg := range []any{first, int64(3), uint64(2), int64(9)} {
							res, err := stmt.ExecContext(t.Context(), arg)
							n := int64(-1)
							if err == nil {
								n, err = res.RowsAffected()
							}
							answers[i] = append(answers[i], fmt.Sprint(n, " ", errorNumber(err), " ", queried(t.Context(), conn, "SELECT id, likes, views FROM post ORDER BY id")))
							if !begin {
								affected(t, conn, "UPDATE post SET likes = likes + 1 WHERE id = 1")
							}
						}
						require.NoError(t, stmt.Close())
					}
					require.Equal(t, answers[0], answers[1], "%T, %s, begin %v", first, update, begin)
				}
			}
		}
	})
}
