package transactions

import (
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// naive is a slotted counter made by hand: likes = base row + slots = 10.
const naive = `
CREATE TABLE post (id INT PRIMARY KEY, title VARCHAR(30) NOT NULL DEFAULT '', author INT, likes INT NOT NULL DEFAULT 0);
CREATE TABLE post_slots (id INT, slot INT, likes INT NOT NULL, PRIMARY KEY (id, slot));
INSERT INTO post VALUES (1, '', 1, 5);
INSERT INTO post_slots VALUES (1, 0, 5);
`

const naiveSum = "SELECT likes + COALESCE((SELECT SUM(s.likes) FROM post_slots s WHERE s.id = post.id), 0) FROM post WHERE id = 1"

// TestNaiveSnapshots proves that the anomalies exist which the driver has to
// avoid: without them the tests below would show nothing.
func TestNaiveSnapshots(t *testing.T) {
	cases := []struct {
		name, write string
		want        int64 // what plain MySQL would read with one row
		got         int64
	}{
		{"edit of the title", "UPDATE post SET title = 'x' WHERE id = 1", 10, 15},
		{"wide edit", "UPDATE post SET title = 'x' WHERE title = ''", 10, 15},
		{"write into a slot", "INSERT INTO post_slots VALUES (1, 0, 3) ON DUPLICATE KEY UPDATE likes = post_slots.likes + VALUES(likes)", 13, 8},
		{"ghosts of slots", "UPDATE post SET likes = 0 WHERE id = 1; DELETE FROM post_slots WHERE id = 1", 0, 5},
		{"relative write", "UPDATE post SET likes = likes + 3 WHERE id = 1", 13, 18},
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, c := range cases {
			for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelReadCommitted} {
				t.Run(c.name+"/"+level.String(), func(t *testing.T) {
					db := harness.Open(t, srv.DSN(harness.NewDatabase(t, srv)))
					harness.ExecAll(t, db, naive)
					tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
					require.NoError(t, err)
					defer tx.Rollback()
					require.EqualValues(t, 10, harness.Number(t, tx, naiveSum))
					other, err := db.Begin() // a rollup
					require.NoError(t, err)
					harness.Affected(t, other, "UPDATE post SET likes = likes + 5 WHERE id = 1")
					harness.Affected(t, other, "DELETE FROM post_slots WHERE id = 1")
					require.NoError(t, other.Commit())
					for _, stmt := range strings.Split(c.write, "; ") {
						harness.Affected(t, tx, stmt)
					}
					want := c.got
					if level == sql.LevelReadCommitted {
						want = c.want
					}
					require.Equal(t, want, harness.Number(t, tx, naiveSum))
				})
			}
		}
	})
}

// An exact statement, which rolls up: on plain MySQL it changes nothing.
const rollUp1 = "B: UPDATE post SET likes = GREATEST(likes, 0) WHERE id = 1"
const rollUp2 = "B: UPDATE post SET likes = GREATEST(likes, 0) WHERE id = 2"

var interference = []struct {
	name  string
	steps []string
}{
	{"rollup", []string{rollUp1, rollUp2}},
	{"increment", []string{"B: UPDATE post SET likes = likes + 100 WHERE id IN (1, 2)"}},
	{"increment, rollup", []string{"B: UPDATE post SET likes = likes + 100 WHERE id IN (1, 2)", rollUp1, rollUp2}},
	{"rollup, increment", []string{rollUp1, rollUp2, "B: UPDATE post SET likes = likes + 100 WHERE id IN (1, 2)"}},
}

var readings = []string{
	"A: SELECT likes FROM post WHERE id = 1",
	"A: SELECT * FROM post ORDER BY id",
	"A: SELECT id, likes FROM post p WHERE p.likes BETWEEN 9 AND 14 ORDER BY p.likes DESC, id",
	"A: SELECT a.name, SUM(p.likes) AS n FROM post p LEFT JOIN author a ON a.id = p.author GROUP BY a.name ORDER BY n, a.name",
	"A: SELECT (SELECT likes FROM post WHERE id = 2) AS two, title FROM post WHERE slug = 'a'",
}

// The keys that some writes change are not known beforehand: after them all rows
// of the table are read as they are now, which is an accepted difference.
var wide = []string{"wide edit of one row", "cascade of a delete", "cascade of an update"}

var ownWrites = []struct {
	name  string
	steps []string
}{
	{"nothing", nil},
	{"edit by key", []string{"A: UPDATE post SET title = 'x' WHERE id = 1"}},
	{"edit by slug", []string{"A: UPDATE post SET title = 'x' WHERE slug = 'a'"}},
	{"edit that matches nothing", []string{"A: UPDATE post SET title = 'x' WHERE id = 99"}},
	{"edit that changes nothing", []string{"A: UPDATE post SET title = '' WHERE id = 1"}},
	{"increment", []string{"A: UPDATE post SET likes = likes + 3 WHERE id = 1"}},
	{"increment of two", []string{"A: UPDATE post SET likes = likes + 3, views = views + 1 WHERE id IN (1, 2)"}},
	{"increment and edit", []string{"A: UPDATE post SET likes = likes + 3, title = 'y' WHERE id = 1"}},
	{"increment, then edit", []string{"A: UPDATE post SET likes = likes + 3 WHERE id = 1", "A: UPDATE post SET title = 'x' WHERE id = 1"}},
	{"edit, then increment", []string{"A: UPDATE post SET title = 'x' WHERE id = 1", "A: UPDATE post SET likes = likes + 3 WHERE id = 1"}},
	{"absolute", []string{"A: UPDATE post SET likes = 0 WHERE id = 1"}},
	{"clamp", []string{"A: UPDATE post SET likes = GREATEST(likes - 20, 0) WHERE id = 1"}},
	{"guarded", []string{"A: UPDATE post SET likes = likes - 1 WHERE id = 1 AND likes >= 1"}},
	{"guarded in vain", []string{"A: UPDATE post SET likes = likes - 1 WHERE id = 1 AND likes >= 1000"}},
	{"wide edit", []string{"A: UPDATE post SET title = CONCAT('w', title)"}},
	{"wide increment", []string{"A: UPDATE post SET likes = likes + 1 WHERE title <> 'third'"}},
	{"wide edit of one row", []string{"A: UPDATE post SET title = 'w' WHERE title = ''"}},
	{"cascade of a delete", []string{"A: DELETE FROM author WHERE id = 1"}},
	{"cascade of an update", []string{"A: UPDATE author SET id = 9 WHERE id = 1"}},
	{"upsert of the title", []string{"A: INSERT INTO post (id, slug, title) VALUES (1, 'a', 'z') ON DUPLICATE KEY UPDATE title = 'z'"}},
	{"upsert of the counter", []string{"A: INSERT INTO post (id, slug, likes) VALUES (1, 'a', 3) ON DUPLICATE KEY UPDATE likes = likes + 3"}},
	{"upsert by another key", []string{"A: INSERT INTO post (id, slug, title) VALUES (77, 'a', 'z') ON DUPLICATE KEY UPDATE title = 'z'"}},
	{"upsert of the counter by another key", []string{"A: INSERT INTO post (id, slug, likes) VALUES (77, 'a', 3) ON DUPLICATE KEY UPDATE likes = likes + 3"}},
	{"upsert of a new row", []string{"A: INSERT INTO post (id, slug, title) VALUES (77, 'z', 'z') ON DUPLICATE KEY UPDATE title = 'z'"}},
	{"absolute upsert by another key", []string{"A: INSERT INTO post (id, slug, likes) VALUES (77, 'a', 3) ON DUPLICATE KEY UPDATE likes = VALUES(likes)"}},
	{"upsert of two", []string{"A: INSERT INTO post (id, slug, title) VALUES (1, 'a', 'y'), (2, 'b', 'z') ON DUPLICATE KEY UPDATE title = VALUES(title)"}},
	{"upsert of two in the other order", []string{"A: INSERT INTO post (id, slug, title) VALUES (2, 'b', 'z'), (1, 'a', 'y') ON DUPLICATE KEY UPDATE title = VALUES(title)"}},
	{"delete", []string{"A: DELETE FROM post WHERE id = 1"}},
	{"delete and insert", []string{"A: DELETE FROM post WHERE id = 1", "A: INSERT INTO post (id, slug, likes) VALUES (1, 'a', 1)"}},
	{"another key", []string{"A: UPDATE post SET id = 50 WHERE id = 1"}},
	{"locking read", []string{"A: SELECT likes FROM post WHERE id = 1 FOR UPDATE"}},
	{"locking read of all", []string{"A: SELECT likes FROM post ORDER BY id LOCK IN SHARE MODE"}},
	{"insert of a neighbour", []string{"A: INSERT INTO post (id, slug) VALUES (4, 'd')"}},
	{"rollback to savepoint", []string{"A: SAVEPOINT s", "A: UPDATE post SET title = 'x', likes = likes + 1 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1", "A: ROLLBACK TO s"}},
}

// TestOldSnapshots proves that a transaction with an old snapshot reads what it
// would read on plain MySQL, whatever it writes itself and others roll up.
func TestOldSnapshots(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		harness.PlayOn(t, tw.Ours, []string{rollUp1})
		require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM post_slots WHERE id = 1"), "the statement does not roll up")
		for _, level := range []string{"RR", "RC"} {
			for _, other := range interference {
				if level == "RC" && other.name != "increment, rollup" {
					continue // no snapshots there: one is enough
				}
				for _, own := range ownWrites {
					t.Run(level+"/"+other.name+"/"+own.name, func(t *testing.T) {
						tw.Reset(t)
						steps := slices.Concat(
							[]string{"A: begin " + level, "A: SELECT id, likes FROM post ORDER BY id"},
							other.steps, own.steps, readings, readings[:1], // twice: a read must not change the next
							[]string{"A: commit"}, readings)
						if !slices.Contains(wide, own.name) {
							tw.Play(t, steps...)
							return
						}
						want := harness.PlayOn(t, tw.Plain, slices.Concat([]string{"A: begin RC"}, steps[1:]))
						require.Equal(t, want[1:], harness.PlayOn(t, tw.Ours, steps)[1:])
					})
				}
			}
		}
	})
}

// TestSnapshotTakenLate proves that an increment or an edit before the first
// read does not fix the snapshot: others' commits until then are seen.
func TestSnapshotTakenLate(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		for _, own := range []string{
			"A: UPDATE post SET likes = likes + 3 WHERE id = 1",
			"A: UPDATE post SET title = 'x' WHERE id = 1",
			"A: UPDATE post SET likes = GREATEST(likes - 1, 0) WHERE id = 1",
			"A: SAVEPOINT s",
		} {
			for _, begin := range []string{"A: begin RR", "A: BEGIN", "A: START TRANSACTION", "A: START TRANSACTION WITH CONSISTENT SNAPSHOT"} {
				t.Run(own+"/"+begin, func(t *testing.T) {
					tw.Reset(t)
					end := "A: COMMIT"
					if begin == "A: begin RR" {
						end = "A: commit"
					}
					tw.Play(t, slices.Concat([]string{begin, own, "B: UPDATE post SET likes = likes + 100, title = 'theirs' WHERE id = 2",
						"B: UPDATE post SET likes = likes + 20 WHERE id = 3"}, readings, []string{rollUp2}, readings, []string{end}, readings)...)
				})
			}
		}
	})
}

// TestReadOwnSnapshot proves that under ReadOwnSnapshot a transaction reads its
// snapshot plus its own increments, locks nothing by it, and loses nothing.
func TestReadOwnSnapshot(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.ReadOwnSnapshot(harness.BlogCounters()))
		for _, other := range interference {
			for _, own := range []string{
				"UPDATE post SET likes = likes + 3 WHERE id = 1",
				"UPDATE post SET likes = likes + 3 WHERE slug = 'a'",
				"UPDATE post SET likes = likes + 2, views = views + 1 WHERE id IN (1, 2)",
			} {
				t.Run(other.name+"/"+own, func(t *testing.T) {
					tw.Reset(t)
					if other.name == "rollup" { // others change no value: plain MySQL reads the same
						tw.Play(t, slices.Concat([]string{"A: begin RR", readings[1]}, other.steps, []string{"A: " + own}, readings, []string{"A: commit"}, readings)...)
						return
					}
					tx, err := tw.Ours.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
					require.NoError(t, err)
					defer tx.Rollback()
					const read = "SELECT SUM(likes) FROM post"
					require.EqualValues(t, 19, harness.Number(t, tx, read))
					harness.PlayOn(t, tw.Ours, other.steps)
					harness.Affected(t, tx, own)
					mine := harness.Number(t, tx, read) - 19
					require.Contains(t, []int64{3, 4}, mine)
					require.EqualValues(t, 1, harness.Affected(t, tw.Ours, "UPDATE post SET likes = GREATEST(likes, 1), title = 'free' WHERE id = 1"), "reading has locked the row")
					require.Equal(t, mine, harness.Number(t, tx, read)-19)
					require.NoError(t, tx.Commit())
					require.Equal(t, 19+mine+200, harness.Number(t, tw.Ours, read))
				})
			}
		}
	})
}
