package writes

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestNulledMeanwhile proves that where another client makes a counter NULL between an
// increment of several and COMMIT, the other counters get theirs: on plain MySQL it
// would have waited.
func TestNulledMeanwhile(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"multiStatements=false", "multiStatements=true"} {
			for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelReadCommitted} {
				for _, begun := range []bool{false, true} {
					tw := harness.NewTwin(t, srv, harness.Crowded, harness.CrowdedCounters(), params)
					was := harness.Number(t, tw.Ours, "SELECT n FROM item WHERE id = 1")
					harness.Affected(t, tw.Ours, "UPDATE item SET n = n + 10, m = m + 10, d = d + 10 WHERE id = 1")
					tx, err := tw.Ours.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
					require.NoError(t, err)
					if begun {
						harness.Number(t, tx, "SELECT COUNT(*) FROM word")
					}
					require.EqualValues(t, 3, harness.Affected(t, tx, "UPDATE item SET n = n + 1, m = m + 1, d = d + 0.5 WHERE id IN (1, 2, 3)"))
					harness.Affected(t, tw.Ours, "UPDATE item SET m = NULL WHERE id = 1")
					harness.Affected(t, tw.Ours, "UPDATE item SET n = n + 100 WHERE id = 1")
					require.NoError(t, tx.Commit())
					require.Equal(t, was+111, harness.Number(t, tw.Ours, "SELECT n FROM item WHERE id = 1"))
					require.EqualValues(t, 1, harness.Number(t, tw.Ours, "SELECT COUNT(*) FROM item WHERE id = 1 AND m IS NULL AND d = 10.5"))
					require.EqualValues(t, 2, harness.Number(t, tw.Ours, "SELECT COUNT(*) FROM item WHERE id IN (2, 3) AND m = 1 AND d = 0.5"))
				}
			}
		}
	})
}

// TestRekeyedMeanwhile proves that increments of a row by its old and by its new key are
// both counted, whichever of them a read or COMMIT takes first.
func TestRekeyedMeanwhile(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, read := range []string{"", "SELECT COUNT(likes) FROM post WHERE id = 1", "SELECT COUNT(likes) FROM post WHERE id = 9", "SELECT SUM(likes) FROM post"} {
			for _, begun := range []bool{false, true} {
				tw := harness.NewBlog(t, srv, harness.BlogCounters())
				tx, err := tw.Ours.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
				require.NoError(t, err)
				if begun {
					harness.Affected(t, tx, "INSERT INTO note VALUES (1, '')")
				}
				harness.Affected(t, tx, "UPDATE post SET likes = likes + 100 WHERE slug = 'a'")
				harness.Affected(t, tw.Ours, "UPDATE post SET id = 9 WHERE id = 1")
				harness.Affected(t, tx, "UPDATE post SET likes = likes + 1000 WHERE id = 9")
				if read != "" {
					harness.Number(t, tx, read)
				}
				require.NoError(t, tx.Commit())
				require.EqualValues(t, 1110, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 9"), "%s, begun %v", read, begun)
			}
		}
	})
}

// TestExactBehindRekeyed proves that a statement which needs a counter's value comes behind what its
// transaction has added to the row before, where another client has given that another primary key
// meanwhile, and perhaps its own to a different row: on plain MySQL that would have waited for COMMIT.
func TestExactBehindRekeyed(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelReadCommitted} {
			for _, stmt := range []string{
				"UPDATE c SET hits = 0 WHERE slug = 'b'", "UPDATE c SET hits = 2 * hits WHERE slug < 'c'", "UPDATE c SET hits = 2 * hits", "UPDATE c SET hits = hits - 22 WHERE slug = 'b' AND hits >= 22",
				"INSERT INTO note SELECT hits FROM c WHERE slug = 'b'", "SELECT hits FROM c WHERE slug = 'b' FOR UPDATE", "DELETE FROM c WHERE slug = 'b'",
				"SELECT hits FROM c WHERE slug = 'b'", "SELECT SUM(hits) FROM c", "UPDATE c SET slug = 'd' WHERE slug = 'b'", "UPDATE c SET hits = hits + 3 WHERE slug IN ('a', 'b')", "UPDATE c AS x SET x.hits = x.hits + 3 WHERE x.slug = 'b'", "SELECT hits FROM c WHERE slug = 'a' FOR UPDATE", "DO 1",
				"REPLACE INTO c VALUES (20, 'b', 7)", "INSERT INTO c VALUES (20, 'b', 1) ON DUPLICATE KEY UPDATE hits = 7",
			} {
				for _, reused := range []bool{false, true} {
					if reused && strings.Contains(stmt, "20") { // which is another row then
						continue
					}
					tw := harness.NewTwin(t, srv, slugs, harness.Counters("c", "hits"))
					rekey := func(db *sql.DB) {
						harness.Affected(t, db, "UPDATE c SET id = 5 WHERE id = 20")
						if reused {
							harness.Affected(t, db, "UPDATE c SET id = 20 WHERE slug = 'c'")
						}
					}
					run := func(db *sql.DB, meanwhile func()) string {
						tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
						require.NoError(t, err)
						defer tx.Rollback()
						harness.Affected(t, tx, "INSERT INTO note VALUES (1)")
						harness.Affected(t, tx, "UPDATE c SET hits = hits + 1 WHERE slug = 'a'")
						harness.Affected(t, tx, "UPDATE c SET hits = hits + 2 WHERE slug = 'b'")
						meanwhile()
						answer := ""
						if harness.IsQuery.MatchString(stmt) {
							answer = harness.Queried(t.Context(), tx, stmt)
						} else {
							answer = harness.Told2(tx.ExecContext(t.Context(), stmt))
						}
						require.NoError(t, tx.Commit(), stmt)
						return answer
					}
					want := run(tw.Plain, func() {})
					if !strings.HasPrefix(stmt, "REPLACE") { // which has given it the old key again
						rekey(tw.Plain)
					}
					require.Equal(t, want, run(tw.Ours, func() { rekey(tw.Ours) }), stmt)
					tw.Same(t, "SELECT slug, hits FROM c ORDER BY slug")
					tw.Same(t, "SELECT * FROM note ORDER BY x")
				}
			}
		}
	})
}

// TestFollowedRows proves that what a transaction adds to rows that it finds by other unique keys is
// counted for them, once, where others give these other primary keys meanwhile, again and again, and
// theirs to different rows: whatever several such increments have in common, a key at different times,
// a condition, or a sum of nothing.
func TestFollowedRows(t *testing.T) {
	const (
		keyed = "CREATE TABLE c (id INT PRIMARY KEY, slug VARCHAR(10) NOT NULL UNIQUE, u INT NOT NULL UNIQUE, hits INT NOT NULL);\nCREATE TABLE note (x INT)"
		rows  = "INSERT INTO c VALUES (1, 'a', 101, 10), (20, 'b', 120, 20), (300, 'c', 400, 30)"
	)
	lower, reuse := "O: UPDATE c SET id = 5 WHERE slug = 'b'", "O: UPDATE c SET id = 20 WHERE slug = 'a'"
	cases := map[string]struct {
		steps []string
		want  string // slug and hits
	}{
		"by one condition, before and after":      {[]string{"T: UPDATE c SET hits = hits + 1 WHERE slug = 'b'", lower, "T: UPDATE c SET hits = hits + 2 WHERE slug = 'b'"}, "[a10 b23 c30]"},
		"by one condition, and the key is reused": {[]string{"T: UPDATE c SET hits = hits + 1 WHERE slug = 'b'", lower, reuse, "T: UPDATE c SET hits = hits + 2 WHERE slug = 'b'"}, "[a10 b23 c30]"},
		"alone":                       {[]string{"T: UPDATE c SET hits = hits + 1 WHERE slug = 'b'", lower, reuse}, "[a10 b21 c30]"},
		"by two conditions":           {[]string{"T: UPDATE c SET hits = hits + 1 WHERE slug = 'b'", "T: UPDATE c SET hits = hits + 2 WHERE u = 120", "T: UPDATE c SET hits = hits + 4 WHERE slug = 'c'", lower, reuse}, "[a10 b23 c34]"},
		"two rows, one key, no sum":   {[]string{"T: UPDATE c SET hits = hits + 1 WHERE slug = 'b'", lower, reuse, "T: UPDATE c SET hits = hits - 1 WHERE slug = 'a'"}, "[a9 b21 c30]"},
		"one row, two names, no sum":  {[]string{"T: UPDATE c SET hits = hits + 1 WHERE slug = 'b'", lower, "T: UPDATE c AS x SET x.hits = x.hits - 1 WHERE x.slug = 'b'"}, "[a10 b20 c30]"},
		"like and unlike":             {[]string{"T: UPDATE c SET hits = hits + 1 WHERE slug = 'b'", "T: UPDATE c SET hits = hits - 1 WHERE slug = 'b'"}, "[a10 b20 c30]"},
		"like by slug, unlike by key": {[]string{"T: UPDATE c SET hits = hits + 1 WHERE slug = 'b'", "T: UPDATE c SET hits = hits - 1 WHERE id = 20"}, "[a10 b20 c30]"},
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"multiStatements=false", "multiStatements=true"} {
			tw := harness.NewTwin(t, srv, keyed, harness.Counters("c", "hits"), params)
			run := func(t *testing.T, steps []string) string {
				harness.Affected(t, tw.Ours, "DELETE FROM c")
				harness.Affected(t, tw.Ours, rows)
				tx, err := tw.Ours.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
				require.NoError(t, err)
				for _, step := range steps {
					switch text := step[3:]; {
					case step[0] == 'O':
						harness.Affected(t, tw.Ours, text)
					case harness.IsQuery.MatchString(text):
						harness.Number(t, tx, text)
					default:
						harness.Affected(t, tx, text)
					}
				}
				require.NoError(t, tx.Commit())
				return fmt.Sprint(harness.QueriedList(t, tw.Ours, "SELECT CONCAT(slug, hits) FROM c ORDER BY slug"))
			}
			for name, c := range cases {
				for _, first := range []string{"T: INSERT INTO note VALUES (1)", ""} {
					for _, last := range []string{"", "T: SELECT SUM(hits) FROM c", "T: UPDATE c SET hits = hits + 0 * hits WHERE slug = 'c'"} {
						t.Run(strings.Join([]string{name, params, first, last}, "/"), func(t *testing.T) {
							steps := slices.DeleteFunc(slices.Concat([]string{first}, c.steps, []string{last}), func(s string) bool { return s == "" })
							require.Equal(t, c.want, run(t, steps))
						})
					}
				}
			}
		}
	})
}

// TestFollowedWhileItMoves proves that of several rows that an increment has found by another unique
// key none is missed which gets a lower primary key while the transaction waits for it.
func TestFollowedWhileItMoves(t *testing.T) {
	var rows []string
	for i := range 500 { // or the server reads the table by its primary key
		rows = append(rows, fmt.Sprintf("(%d, 'x%d', 0)", 1000+i, i))
	}
	many := slugs + ";\nINSERT INTO c VALUES " + strings.Join(rows, ", ") + ";\nANALYZE TABLE c"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, stmt := range []string{"SELECT SUM(hits) FROM c", "UPDATE c SET slug = 'z' WHERE id = 300"} {
			tw := harness.NewTwin(t, srv, many, harness.Counters("c", "hits"))
			s := schedule{steps: []string{"A: RC", "A: UPDATE c SET hits = hits + 1 WHERE slug IN ('b', 'c')", "B: BEGIN", "B: SELECT * FROM c WHERE slug = 'b' FOR UPDATE",
				"A& " + stmt, "B: UPDATE c SET id = 5 WHERE slug = 'b'", "B: COMMIT", "A!", "A: COMMIT"}}
			answers := s.play(t, tw.Ours)
			require.Equal(t, "[10 21 31]", fmt.Sprint(harness.QueriedList(t, tw.Ours, "SELECT hits FROM c WHERE id < 1000 ORDER BY hits")), answers)
		}
	})
}
