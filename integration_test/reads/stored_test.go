package reads

import (
	"database/sql"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestStoredOtherwise proves that an INSERT meets the row, and the slots, of the
// key that the server makes of the value it is given: it rounds, cuts and pads.
func TestStoredOtherwise(t *testing.T) {
	keys := []struct {
		column, stored string
		given          []any
	}{
		{"INT", "2", []any{"1.6", "2abc", uint64(2), 1.6}},
		{"TINYINT", "127", []any{300, "300", int64(127)}},
		{"BIGINT UNSIGNED", "18446744073709551615", []any{uint64(1<<64 - 1)}},
		{"DECIMAL(5,2)", "1.01", []any{"1.006", "1.01"}},
		{"DATE", "2024-01-02", []any{"2024-01-02 10:00:00", time.Date(2024, 1, 2, 10, 0, 0, 0, time.UTC), time.Date(2024, 1, 2, 23, 59, 59, 4e8, time.UTC), "2024-01-02"}},
		{"DATETIME", "2024-01-02 10:00:01", []any{time.Date(2024, 1, 2, 10, 0, 1, 2e8, time.UTC), "2024-01-02 10:00:01.2", "2024-01-02 10:00:01"}},
		{"DATETIME(3)", "2024-01-02 10:00:01.123", []any{time.Date(2024, 1, 2, 10, 0, 1, 123123000, time.UTC), "2024-01-02 10:00:01.123"}},
		{"YEAR", "2024", []any{24, "24", 2024}},
		{"BINARY(3)", "a\x00\x00", []any{"a", []byte("a"), "a\x00\x00"}},
		{"VARBINARY(3)", "abc", []any{"abcd", []byte("abcd")}},
		{"VARCHAR(3)", "abc", []any{"abcd", "ABC", []byte("ABC")}},
		{"CHAR(3)", "ab", []any{"ab ", "ab"}},
		{"VARCHAR(3) CHARACTER SET latin1", "?", []any{"\u4e16"}},
		{"ENUM('a','b')", "a", []any{1, "1", "A"}},
	}
	attempts := []struct {
		stmt    string
		deleted bool
	}{
		{"INSERT INTO k (id, c) VALUES (?, 3) ON DUPLICATE KEY UPDATE c = VALUES(c)", false},
		{"INSERT INTO k (id, c) VALUES (?, 3) ON DUPLICATE KEY UPDATE c = c + 1", false},
		{"REPLACE INTO k (id, c) VALUES (?, 3)", false},
		{"INSERT INTO k (id, c) VALUES (?, 3)", true},
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, k := range keys {
			tw := harness.NewTwin(t, srv, "CREATE TABLE k (id "+k.column+" PRIMARY KEY, c INT NOT NULL DEFAULT 0)", harness.Counters("k", "c"), "sql_mode=''")
			for _, interpolated := range []bool{false, true} {
				plain, ours := tw.Plain, tw.Ours
				if interpolated {
					plain, ours = harness.Open(t, tw.DSNOf(t, tw.Plain, "interpolateParams=true")), tw.Bare(t, "&interpolateParams=true")
				}
				for _, given := range k.given {
					for _, a := range attempts {
						told := func(db *sql.DB, direct *sql.DB) string {
							harness.Affected(t, db, "DELETE FROM k")
							harness.Affected(t, db, "INSERT INTO k (id, c) VALUES (?, 10)", k.stored)
							require.EqualValues(t, 1, harness.Affected(t, db, "UPDATE k SET c = c + 5 WHERE id = ?", k.stored))
							if a.deleted { // by another client
								harness.Affected(t, direct, "DELETE FROM k")
							}
							tx, err := db.Begin()
							require.NoError(t, err)
							defer tx.Rollback()
							harness.Number(t, tx, "SELECT COUNT(*) FROM k")
							n, err := tx.Exec(a.stmt, given)
							if err != nil {
								return harness.Told(err)
							}
							rows, err := n.RowsAffected()
							require.NoError(t, err)
							inside := harness.Queried(t.Context(), tx, "SELECT id, c FROM k")
							require.NoError(t, tx.Commit())
							return harness.Queried(t.Context(), db, "SELECT ? AS n, id, c, ? AS inside FROM k", rows, inside)
						}
						require.Equal(t, told(plain, tw.Plain), told(ours, tw.Direct), "%s: %s with %T %v, interpolated %t", k.column, a.stmt, given, given, interpolated)
					}
				}
			}
		}
	})
}

// TestKeysOfTriggers proves that an INSERT meets the row of the key that a trigger
// gives it.
func TestKeysOfTriggers(t *testing.T) {
	const schema = `CREATE TABLE page (id INT PRIMARY KEY AUTO_INCREMENT, slug VARCHAR(20) NOT NULL UNIQUE, hits INT NOT NULL DEFAULT 0);
INSERT INTO page VALUES (1, 'abc', 10), (2, 'def', 20);
CREATE PROCEDURE make(INOUT slug VARCHAR(20)) SET slug = 'abc';
`
	bodies := []string{"SET NEW.slug = REPLACE(NEW.slug, ' ', '')", "CALL make(NEW.slug)", "SET NEW.hits = NEW.hits, NEW.id = 1"}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, body := range bodies {
			tw := harness.NewTwin(t, srv, schema+"CREATE TRIGGER makes BEFORE INSERT ON page FOR EACH ROW "+body, harness.Counters("page", "hits"))
			for _, steps := range [][]string{
				{"A: INSERT INTO page (slug, hits) VALUES ('a b c', 3) ON DUPLICATE KEY UPDATE hits = VALUES(hits)"},
				{"A: REPLACE INTO page (id, slug, hits) VALUES (1, 'a b c', 3)"},
				{"O: DELETE FROM page WHERE id = 1", "A: INSERT INTO page (id, slug, hits) VALUES (1, 'a b c', 3)"},
				{"A: begin", "A: SELECT * FROM page", "A: INSERT INTO page (slug, hits) VALUES ('a b c', 3) ON DUPLICATE KEY UPDATE hits = hits + 1", "A: SELECT * FROM page", "A: commit"},
			} {
				all := slices.Concat([]string{"O: DELETE FROM page", "O: INSERT INTO page VALUES (1, 'abc', 10)", "A: UPDATE page SET hits = hits + 5 WHERE id = 1"}, steps, []string{"A: SELECT * FROM page"})
				tw.Accepted(t, all...)
			}
		}
	})
}

// TestSavepointsOfRoutines proves that a savepoint may be set in one place, by the
// application or a procedure, and gone back to in another.
func TestSavepointsOfRoutines(t *testing.T) {
	const like, look = "A: UPDATE post SET likes = likes + 100 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1"
	const exact = "A: UPDATE post SET likes = GREATEST(likes, 1) WHERE id = 1"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		tw.Play(t, "A: CREATE PROCEDURE sets() SAVEPOINT a", "A: CREATE PROCEDURE goesback() ROLLBACK TO a")
		for _, steps := range [][]string{
			{"A: BEGIN", like, "A: CALL sets()", like, "A: ROLLBACK TO a", look, like, "A: COMMIT"},
			{"A: BEGIN", "A: CALL sets()", exact, like, look, "A: ROLLBACK TO a", look, exact, look, "A: COMMIT"},
			{"A: BEGIN", "A: CALL sets()", like, "A: CALL goesback()", look, like, "A: COMMIT"},
			{"A: BEGIN", "A: SAVEPOINT a", like, "A: CALL goesback()", look, exact, look, "A: COMMIT"},
			{"A: begin RC", exact, "A: SAVEPOINT a", exact, like, "A: CALL goesback()", exact, like, look, "A: commit"},
			{"A: begin", like, "A: CALL sets()", like, "A: SAVEPOINT b", like, "A: ROLLBACK TO b", look, "A: ROLLBACK TO a", look, "A: ROLLBACK TO b", like, "A: commit"},
		} {
			tw.Reset(t)
			tw.Play(t, append(steps, harness.Everything...)...)
		}
	})
}

// TestBackslashesOfStored proves that a trigger or routine is known to name a counter
// table whatever a backslash before that means in it.
func TestBackslashesOfStored(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		const look = "A: SELECT id, likes FROM post ORDER BY id"
		for _, steps := range [][]string{
			{`A: CREATE TRIGGER says AFTER INSERT ON note FOR EACH ROW BEGIN SET @a = '\'; UPDATE post SET likes = 0 WHERE id = 1; SET @b = 'x'; END`, "A: INSERT INTO note VALUES (1, '')"},
			{`A: CREATE PROCEDURE says() BEGIN SET @a = '\'; UPDATE post SET likes = 0 WHERE id = 1; SET @b = 'x'; END`, "A: CALL says()"},
		} {
			tw := harness.NewBlog(t, srv, harness.BlogCounters())
			tw.Play(t, append([]string{"A: SET sql_mode = 'NO_BACKSLASH_ESCAPES'", "B: UPDATE post SET likes = likes + 7 WHERE id IN (1, 2)"}, append(steps, look)...)...)
		}
	})
}
