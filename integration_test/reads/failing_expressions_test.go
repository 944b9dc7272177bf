package reads

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

const outOfRange = `
CREATE TABLE page (id INT PRIMARY KEY, likes BIGINT UNSIGNED NOT NULL, views INT NOT NULL DEFAULT 0, n INT NULL, KEY (views));
INSERT INTO page VALUES (1, 5, 1, 3), (2, 9223372036854775813, 9, 2), (3, 6, 4, 1);
CREATE TABLE note (id INT PRIMARY KEY, n BIGINT UNSIGNED NULL);
`

// TestFailingExpressions proves that an expression which fails for a row (1690, 1242) lets
// a query fail only where the row is one of the answer's: where sums are sorted, the servers
// compute it for rows, too, that LIMIT or HAVING leaves out.
func TestFailingExpressions(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"interpolateParams=false", "interpolateParams=true"} {
			tw := harness.NewTwin(t, srv, outOfRange, harness.Counters("page", "likes", "views"), params)
			tw.Play(t, "A: UPDATE page SET views = views + 1 WHERE id IN (1, 2)", "A: UPDATE page SET likes = likes + 1 WHERE id = 2")
			failed := 0
			for _, query := range []string{
				"SELECT STRAIGHT_JOIN *, likes * 2 FROM page ORDER BY views, page.id DESC LIMIT 2",
				"SELECT *, likes * 2 FROM page ORDER BY views LIMIT 2",
				"SELECT *, likes * 2 FROM page ORDER BY views LIMIT 1, 2",
				"SELECT id, likes * 2 FROM page ORDER BY views * 2 + n, id LIMIT 2",
				"SELECT id, 9223372036854775813 + likes FROM page ORDER BY views DESC",
				"SELECT id, likes + likes FROM page WHERE likes > 0 ORDER BY views + 0, n LIMIT 1",
				"SELECT id, likes * 2 AS d, views FROM page HAVING views < 9 ORDER BY views + 0",
				"SELECT id, likes * 2 AS d, views FROM page HAVING views < 90 ORDER BY views + 0",
				"SELECT id, (SELECT q.id FROM page q WHERE q.id = p.id OR p.id = 2) FROM page p ORDER BY views + 0 LIMIT 2",
				"SELECT id, (SELECT q.id FROM page q WHERE q.id = p.id OR p.id = 2) FROM page p ORDER BY views + 0",
				"SELECT id, ABS(views) FROM page WHERE id > 5 ORDER BY likes",
			} {
				for _, begin := range []string{"A: SELECT 1", "A: begin RR", "A: begin RC"} {
					steps := []string{begin}
					if begin != "A: SELECT 1" {
						steps = append(steps, "A: UPDATE page SET views = views + 3 WHERE id = 1", "A: UPDATE page SET n = 5 WHERE id = 3")
					}
					steps = append(steps, "A: "+query, "A: SELECT id, likes, views FROM page ORDER BY id")
					if begin != "A: SELECT 1" {
						steps = append(steps, "A: rollback", "A: "+query)
					}
					for _, answer := range tw.Play(t, steps...) {
						if answer == "A: "+query+" → error 1690" || answer == "A: "+query+" → error 1242" {
							failed++
						}
					}
				}
				plain, err := tw.Plain.PrepareContext(t.Context(), query)
				require.NoError(t, err)
				ours, err := tw.Ours.PrepareContext(t.Context(), query)
				require.NoError(t, err)
				for range 2 {
					require.Equal(t, harness.Queried(t.Context(), harness.StmtQuerier{Stmt: plain}, query), harness.Queried(t.Context(), harness.StmtQuerier{Stmt: ours}, query), query)
				}
			}
			require.Equal(t, 20, failed)
			tw.Same(t, "SELECT id, likes * ? FROM page WHERE views > ? ORDER BY views LIMIT ?", 2, 0, 2)
			tw.Same(t, "SELECT id, likes * ? FROM page WHERE views > ? ORDER BY views LIMIT ?", 2, 0, 3)
			tw.Same(t, "SELECT likes * 2 FROM page WHERE id > ? ORDER BY views", 7)
		}
	})
}

// TestFirstRowIsRead proves that rows which are looked at beforehand are all there, in
// their order, whatever the application does first.
func TestFirstRowIsRead(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, outOfRange, harness.Counters("page", "likes", "views"))
		for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
			rows, err := db.QueryContext(t.Context(), "SELECT id, CONCAT('page ', id), views + 1 FROM page WHERE id <> 2 ORDER BY id")
			require.NoError(t, err)
			_ = harness.Number(t, db, "SELECT COUNT(*) FROM note")
			types, err := rows.ColumnTypes()
			require.NoError(t, err)
			require.Len(t, types, 3)
			require.True(t, rows.Next())
			var id, views int
			var text sql.RawBytes
			require.NoError(t, rows.Scan(&id, &text, &views))
			require.Equal(t, []any{1, "page 1", 2}, []any{id, string(text), views})
			require.True(t, rows.Next())
			require.NoError(t, rows.Scan(&id, &text, &views))
			require.Equal(t, []any{3, "page 3", 5}, []any{id, string(text), views})
			require.False(t, rows.Next())
			require.NoError(t, rows.Err())
			require.NoError(t, rows.Close())

			rows, err = db.QueryContext(t.Context(), "SELECT views + 1 FROM page")
			require.NoError(t, err)
			require.NoError(t, rows.Close())
			rows, err = db.QueryContext(t.Context(), "SELECT views + 1 FROM page")
			require.NoError(t, err)
			require.False(t, rows.NextResultSet())
			require.NoError(t, rows.Close())
		}
	})
}

// TestAcceptedFailing pins where an expression fails for a row of which plain MySQL does not
// compute it: an index tells it that the row comes too late, or is a group of its own; and in
// INSERT … SELECT, which is not sent twice.
func TestAcceptedFailing(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, outOfRange, harness.Counters("page", "likes", "views"))
		harness.Affected(t, tw.Direct, "INSERT INTO page_slots (id, slot) VALUES (1, 0)")
		grouped, distinct, inserted := " ⇒ [5 1 10][6 4 12] ⇒ error 1690", "", " ⇒ affected 2 ⇒ error 1690"
		if harness.MariaDB(srv) {
			grouped, distinct, inserted = "", " ⇒ [10] ⇒ error 1690", ""
		}
		tw.Accepted(t, "A: SELECT likes, views, likes * 2 AS d FROM page GROUP BY views, id, likes HAVING views < 9"+grouped,
			"A: SELECT DISTINCT likes * 2 FROM page WHERE views > 0 ORDER BY views LIMIT 1"+distinct, "A: INSERT INTO note SELECT views, likes * 2 FROM page ORDER BY views LIMIT 2"+inserted)
	})
}

// TestFailingExpressionsAreOneSum proves that a query which is sent once more, over tables, as
// a row that is none of the answer's has failed, is counted once.
func TestFailingExpressionsAreOneSum(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, outOfRange, harness.Counters("page", "likes", "views"))
		tw.Play(t, "A: UPDATE page SET views = views + 1 WHERE id IN (1, 2)", "A: UPDATE page SET likes = likes + 1 WHERE id = 2", "A: SELECT likes FROM page")
		before := harness.Stats(t, tw.Ours).Sums
		sent := tw.Sent.During(func() { tw.Play(t, "A: SELECT *, likes * 2 FROM page ORDER BY views LIMIT 2") })
		require.GreaterOrEqual(t, len(sent), 2, "it has not been sent once more: %v", sent)
		require.EqualValues(t, 1, harness.Stats(t, tw.Ours).Sums-before)
	})
}
