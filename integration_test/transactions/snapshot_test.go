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
					db := harness.Open(t, srv.DSN(harness.NewDatabase(t, srv), harness.Isolation(srv)...))
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

// slots is what interference leaves in them for a fold by the transaction.
type slots int

const (
	noSlots   slots = iota
	someSlots       // which change the base row
	vainSlots       // which add up to nothing
)

var interference = []struct {
	name  string
	left  slots
	steps []string
}{
	{"rollup", noSlots, []string{rollUp1, rollUp2}},
	{"increment", someSlots, []string{"B: UPDATE post SET likes = likes + 100 WHERE id IN (1, 2)"}},
	{"increment, rollup", noSlots, []string{"B: UPDATE post SET likes = likes + 100 WHERE id IN (1, 2)", rollUp1, rollUp2}},
	{"rollup, increment", someSlots, []string{rollUp1, rollUp2, "B: UPDATE post SET likes = likes + 100 WHERE id IN (1, 2)"}},
	{"slots of nothing", vainSlots, []string{"B: UPDATE post SET likes = likes + 100 WHERE id IN (1, 2)", rollUp1, rollUp2,
		"B: UPDATE post SET likes = likes + 7 WHERE id IN (1, 2)", "B: UPDATE post SET likes = likes - 7 WHERE id IN (1, 2)"}},
}

var readings = []string{
	"A: SELECT likes FROM post WHERE id = 1",
	"A: SELECT * FROM post ORDER BY id",
	"A: SELECT id, likes FROM post p WHERE p.likes BETWEEN 9 AND 14 ORDER BY p.likes DESC, id",
	"A: SELECT a.name, SUM(p.likes) AS n FROM post p LEFT JOIN author a ON a.id = p.author GROUP BY a.name ORDER BY n, a.name",
	"A: SELECT (SELECT likes FROM post WHERE id = 2) AS two, title FROM post WHERE slug = 'a'",
}

// ownWrite is what a transaction does before it reads.
type ownWrite struct {
	name  string
	is    kind
	steps []string
}

// kind says which rows it reads as they are now afterwards, and not as of its snapshot.
type kind int

const (
	known   kind = iota // those that it has written
	found               // with clientFoundRows all: the server does not tell whether it has written the row
	wide                // all: the server does not tell which rows it has written
	exact               // those that it has written; all if its fold has changed nothing
	changes             // the same, and with clientFoundRows all
	again               // the same where it has folded something
	missed              // those that it has folded, though it has written none; all if its fold has changed nothing
	vain                // the same, and with clientFoundRows all
)

// readsNow reports whether a transaction reads the table as it is now.
func (k kind) readsNow(left slots, foundRows bool) bool {
	return k == wide || k >= exact && left == vainSlots || foundRows && (k == found || k == changes || k == vain || k == again && left != noSlots)
}

var ownWrites = []ownWrite{
	{"nothing", known, nil},
	{"edit by key", found, []string{"A: UPDATE post SET title = 'x' WHERE id = 1"}},
	{"edit by slug", found, []string{"A: UPDATE post SET title = 'x' WHERE slug = 'a'"}},
	{"edit that matches nothing", known, []string{"A: UPDATE post SET title = 'x' WHERE id = 99"}},
	{"edit that changes nothing", found, []string{"A: UPDATE post SET title = '' WHERE id = 1"}},
	{"increment", known, []string{"A: UPDATE post SET likes = likes + 3 WHERE id = 1"}},
	{"increment of two", known, []string{"A: UPDATE post SET likes = likes + 3, views = views + 1 WHERE id IN (1, 2)"}},
	{"increment and edit", found, []string{"A: UPDATE post SET likes = likes + 3, title = 'y' WHERE id = 1"}},
	{"increment, then edit", found, []string{"A: UPDATE post SET likes = likes + 3 WHERE id = 1", "A: UPDATE post SET title = 'x' WHERE id = 1"}},
	{"edit, then increment", found, []string{"A: UPDATE post SET title = 'x' WHERE id = 1", "A: UPDATE post SET likes = likes + 3 WHERE id = 1"}},
	{"absolute", changes, []string{"A: UPDATE post SET likes = 0 WHERE id = 1"}},
	{"clamp", changes, []string{"A: UPDATE post SET likes = GREATEST(likes - 20, 0) WHERE id = 1"}},
	{"guarded", changes, []string{"A: UPDATE post SET likes = likes - 1 WHERE id = 1 AND likes >= 1"}},
	{"guarded in vain", missed, []string{"A: UPDATE post SET likes = likes - 1 WHERE id = 1 AND likes >= 1000"}},
	{"clamp in vain", vain, []string{"A: UPDATE post SET likes = GREATEST(likes, 0) WHERE slug = 'a'"}},
	{"failing", missed, []string{"A: UPDATE post SET likes = GREATEST(likes, 0), slug = 'b' WHERE id = 1"}},
	{"guarded in vain, then locking read", missed, []string{"A: UPDATE post SET likes = likes - 1 WHERE id = 1 AND likes >= 1000", "A: SELECT likes FROM post WHERE id = 1 FOR UPDATE"}},
	{"guarded in vain, then increment", again, []string{"A: UPDATE post SET likes = likes - 1 WHERE id = 1 AND likes >= 1000", "A: UPDATE post SET likes = likes + 3 WHERE id = 1"}},
	{"guarded in vain behind a savepoint", known, []string{"A: SAVEPOINT s", "A: UPDATE post SET likes = likes - 1 WHERE id = 1 AND likes >= 1000", "A: SELECT likes FROM post WHERE id = 3", "A: ROLLBACK TO s"}},
	{"wide edit", known, []string{"A: UPDATE post SET title = CONCAT('w', title)"}},
	{"wide increment", known, []string{"A: UPDATE post SET likes = likes + 1 WHERE title <> 'third'"}},
	{"wide edit of one row", wide, []string{"A: UPDATE post SET title = 'w' WHERE title = ''"}},
	{"cascade of a delete", wide, []string{"A: DELETE FROM author WHERE id = 1"}},
	{"cascade of an update", wide, []string{"A: UPDATE author SET id = 9 WHERE id = 1"}},
	{"upsert of the title", wide, []string{"A: INSERT INTO post (id, slug, title) VALUES (1, 'a', 'z') ON DUPLICATE KEY UPDATE title = 'z'"}},
	{"upsert of the counter", wide, []string{"A: INSERT INTO post (id, slug, likes) VALUES (1, 'a', 3) ON DUPLICATE KEY UPDATE likes = likes + 3"}},
	{"upsert by another key", wide, []string{"A: INSERT INTO post (id, slug, title) VALUES (77, 'a', 'z') ON DUPLICATE KEY UPDATE title = 'z'"}},
	{"upsert of the counter by another key", wide, []string{"A: INSERT INTO post (id, slug, likes) VALUES (77, 'a', 3) ON DUPLICATE KEY UPDATE likes = likes + 3"}},
	{"upsert of a new row", wide, []string{"A: INSERT INTO post (id, slug, title) VALUES (77, 'z', 'z') ON DUPLICATE KEY UPDATE title = 'z'"}},
	{"absolute upsert by another key", wide, []string{"A: INSERT INTO post (id, slug, likes) VALUES (77, 'a', 3) ON DUPLICATE KEY UPDATE likes = VALUES(likes)"}},
	{"upsert of two", found, []string{"A: INSERT INTO post (id, slug, title) VALUES (1, 'a', 'y'), (2, 'b', 'z') ON DUPLICATE KEY UPDATE title = VALUES(title)"}},
	{"upsert of two in the other order", found, []string{"A: INSERT INTO post (id, slug, title) VALUES (2, 'b', 'z'), (1, 'a', 'y') ON DUPLICATE KEY UPDATE title = VALUES(title)"}},
	{"delete", exact, []string{"A: DELETE FROM post WHERE id = 1"}},
	{"delete and insert", exact, []string{"A: DELETE FROM post WHERE id = 1", "A: INSERT INTO post (id, slug, likes) VALUES (1, 'a', 1)"}},
	{"another key", changes, []string{"A: UPDATE post SET id = 50 WHERE id = 1"}},
	{"locking read", known, []string{"A: SELECT likes FROM post WHERE id = 1 FOR UPDATE"}},
	{"locking read of all", known, []string{"A: SELECT likes FROM post ORDER BY id LOCK IN SHARE MODE"}},
	{"insert of a neighbour", known, []string{"A: INSERT INTO post (id, slug) VALUES (4, 'd')"}},
	{"rollback to savepoint", known, []string{"A: SAVEPOINT s", "A: UPDATE post SET title = 'x', likes = likes + 1 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1", "A: ROLLBACK TO s"}},
}

// writes1 writes a row as it is.
var writes1 = []string{"A: UPDATE post SET views = views + 1 WHERE id = 1", "A: UPDATE post SET views = views - 1 WHERE id = 1"}

type blog struct{ *harness.Twin }

// playSnapshot plays a transaction with an old snapshot on both databases.
func (tw blog) playSnapshot(t *testing.T, level string, foundRows bool, left slots, own ownWrite, others []string) {
	t.Helper()
	const first = "A: SELECT id, likes FROM post ORDER BY id"
	reads := slices.Concat(readings, readings[:1], []string{"A: commit"}, readings) // twice: a read must not change the next
	steps := slices.Concat([]string{"A: begin " + level, first}, others, own.steps, reads)
	plain := slices.Clone(steps)
	switch {
	case level == "RC":
	case own.is.readsNow(left, foundRows):
		plain[0] = "A: begin RC"
	case own.is >= missed && left == someSlots:
		plain = slices.Concat(steps[:2], others, writes1, reads)
	}
	want, got := harness.PlayOn(t, tw.Plain, plain), harness.PlayOn(t, tw.Ours, steps)
	same := len(reads)
	if plain[0] != steps[0] || slices.Equal(plain, steps) {
		same = len(steps) - 1
	}
	require.Equal(t, strings.Join(want[len(want)-same:], "\n"), strings.Join(got[len(got)-same:], "\n"))
}

// TestOldSnapshots proves that a transaction with an old snapshot reads what it
// would read on plain MySQL, whatever it writes itself and others roll up. Where it
// can't be told which rows the transaction has written, it reads all as they are now,
// and those that it has folded as well: these are accepted differences.
func TestOldSnapshots(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := blog{harness.NewBlog(t, srv, harness.BlogCounters())}
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
						tw.playSnapshot(t, level, false, other.left, own, other.steps)
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

// TestNamedTableBeginsNothing proves that a query which names a counter table and reads none begins no
// transaction where autocommit is off and nothing is in slots.
func TestNamedTableBeginsNothing(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL)", harness.Counters("post", "likes"), "autocommit=0")
		tw.Play(t, "A: WITH post AS (SELECT 1 AS views) SELECT * FROM post", "A: SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "A: COMMIT")
	})
}
