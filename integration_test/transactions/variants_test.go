package transactions

import (
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestSnapshotIsolation proves the transactions under MariaDB's
// innodb_snapshot_isolation, where a row changed since the snapshot may not be
// touched (error 1020), and the transaction is over.
func TestSnapshotIsolation(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		if !harness.MariaDB(srv) {
			return // MySQL has no such variable
		}
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_snapshot_isolation=ON", "innodb_lock_wait_timeout=1")
		for _, c := range transactions {
			if slices.ContainsFunc(c.steps, func(s string) bool { return strings.HasPrefix(s, "B: ") && strings.Contains(s, "likes") }) {
				continue // others change the row on plain MariaDB, and its slots on ours
			}
			t.Run(c.name, func(t *testing.T) {
				tw.Reset(t)
				tw.Play(t, slices.Concat(c.steps, harness.Everything)...)
			})
		}
		// A rollup by others changes the base row: own increments bear it, other
		// writes of the row are refused, which is an accepted difference.
		borne := []string{"nothing", "edit that matches nothing", "increment", "increment of two", "insert of a neighbour", "upsert of a new row"}
		for _, own := range ownWrites {
			t.Run("rollup/"+own.name, func(t *testing.T) {
				tw.Reset(t)
				steps := slices.Concat([]string{"A: begin RR", readings[1], rollUp1, rollUp2}, own.steps, readings[:2], []string{"A: commit"}, harness.Everything)
				if slices.Contains(borne, own.name) {
					tw.Play(t, steps...)
					return
				}
				require.Contains(t, strings.Join(harness.PlayOn(t, tw.Ours, steps), "\n"), "→ error 1020")
			})
		}
		t.Run("increments of others are no conflict", func(t *testing.T) {
			tw.Reset(t)
			tx, err := tw.Ours.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
			require.NoError(t, err)
			defer tx.Rollback()
			require.EqualValues(t, 10, harness.Number(t, tx, "SELECT likes FROM post WHERE id = 1"))
			harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes + 1 WHERE id = 1")
			harness.Affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id = 1")
			require.NoError(t, tx.Commit())
			require.EqualValues(t, 12, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"))
		})
		t.Run("edits of others are", func(t *testing.T) {
			tw.Reset(t)
			tw.Play(t, "A: begin RR", "A: SELECT likes FROM post WHERE id = 1", "B: UPDATE post SET title = 'theirs' WHERE id = 1",
				"A: INSERT INTO note VALUES (1, '')", "A: UPDATE post SET title = 'mine' WHERE id = 1", "A: UPDATE post SET likes = likes + 1 WHERE id = 2", "A: commit", harness.Everything[0], harness.Everything[2])
		})
		// An exact statement acts on the latest value, which is an accepted difference.
		t.Run("exact statements after edits of others", func(t *testing.T) {
			tw.Reset(t)
			steps := []string{"A: begin RR", "A: SELECT likes FROM post WHERE id = 1", "B: UPDATE post SET title = 'theirs' WHERE id = 1",
				"A: UPDATE post SET likes = GREATEST(likes - 1, 0) WHERE id = 1", "A: commit"}
			require.Contains(t, strings.Join(harness.PlayOn(t, tw.Plain, steps), "\n"), "→ error 1020")
			require.NotContains(t, strings.Join(harness.PlayOn(t, tw.Ours, steps), "\n"), "→ error")
			require.EqualValues(t, 9, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"))
		})
	})
}

// TestTouchInTransactions proves that ON UPDATE CURRENT_TIMESTAMP columns and
// touch columns move with increments, at COMMIT as inside the transaction. The
// sessions' clocks stand still, so that both drivers have the same time.
func TestTouchInTransactions(t *testing.T) {
	const schema = `
CREATE TABLE page (id INT PRIMARY KEY, hits INT NOT NULL DEFAULT 0, seen DATETIME NOT NULL DEFAULT '2020-01-01' ON UPDATE CURRENT_TIMESTAMP, last TIMESTAMP NULL DEFAULT NULL, title VARCHAR(9) NOT NULL DEFAULT '');
INSERT INTO page (id) VALUES (1), (2), (3);
`
	scripts := [][]string{
		{"A: UPDATE page SET hits = hits + 1 WHERE id = 1"},
		{"A: UPDATE page SET hits = hits + 1, last = NOW() WHERE id = 1"},
		{"A: BEGIN", "A: UPDATE page SET hits = hits + 1 WHERE id = 1", "A: SELECT * FROM page", "A: COMMIT"},
		{"A: BEGIN", "A: SELECT COUNT(*) FROM page", "A: UPDATE page SET hits = hits + 1, last = CURRENT_TIMESTAMP WHERE id IN (1, 2)", "B: SELECT * FROM page", "A: COMMIT"},
		{"A: BEGIN", "A: UPDATE page SET hits = hits + 1 WHERE id = 1", "A: ROLLBACK"},
		{"A: BEGIN", "A: UPDATE page SET hits = hits + 1 WHERE id = 1", "A: SAVEPOINT a", "A: UPDATE page SET hits = hits + 1, last = NOW() WHERE id = 2", "A: SELECT * FROM page WHERE id = 2", "A: ROLLBACK TO a", "A: SELECT * FROM page", "A: COMMIT"},
		{"A: UPDATE page SET hits = hits + 1, seen = '2031-01-01' WHERE id = 1", "A: SELECT * FROM page WHERE seen > '2030-01-01'"},
		{"A: UPDATE page SET hits = hits + 1, last = NOW() WHERE id = 1", "A: UPDATE page SET last = NULL WHERE id = 1"},
		{"A: UPDATE page SET hits = hits + 1, last = NOW() WHERE id = 1", "A: UPDATE page SET hits = hits + 1, last = '2001-01-01' WHERE id = 1"},
		{"A: UPDATE page SET hits = hits + 1 WHERE id = 1", "A: UPDATE page SET seen = '2001-01-01', title = 'x' WHERE id = 1"},
		{"A: UPDATE page SET hits = hits + 1 WHERE id = 1", "A: UPDATE page SET hits = GREATEST(hits, 0) WHERE id IN (1, 2)"},
		{"A: UPDATE page SET hits = hits + 0 WHERE id = 1"},
		{"A: UPDATE page SET hits = hits + 1, seen = seen WHERE id = 1"},
		{"A: BEGIN", "A: UPDATE page SET hits = hits + 1 WHERE id = 1", "A: UPDATE page SET seen = '2001-01-01' WHERE id = 1", "A: SELECT * FROM page WHERE seen < '2002-01-01'", "A: COMMIT"},
		{"A: BEGIN", "A: UPDATE page SET seen = '2001-01-01' WHERE id = 1", "A: UPDATE page SET hits = hits + 1 WHERE id = 1", "A: SELECT * FROM page WHERE seen < '2002-01-01'", "A: COMMIT"},
	}
	config := &countermysql.Config{Tables: []countermysql.TableConfig{{Table: "page", Counters: []string{"hits"}, Touch: []string{"last"}}}}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, c := range []*countermysql.Config{config, harness.ReadOwnSnapshot(config)} {
			tw := harness.NewTwin(t, srv, schema, c, "timestamp=1700000000", "parseTime=true")
			for _, steps := range scripts {
				t.Run(string(c.ReadOwn)+strings.Join(steps, "/"), func(t *testing.T) {
					for _, db := range []*sql.DB{tw.Plain, tw.Direct} {
						harness.Affected(t, db, "DELETE FROM page")
						harness.Affected(t, db, "INSERT INTO page (id) VALUES (1), (2), (3)")
					}
					harness.Affected(t, tw.Direct, "DELETE FROM page_slots")
					tw.Play(t, slices.Concat(steps, []string{"Z: SELECT * FROM page ORDER BY id", "Z: SELECT id FROM page ORDER BY seen DESC, last, id"})...)
				})
			}
		}
	})
}

// TestSnapshotScripts proves that under ReadOwnSnapshot, too, transactions do
// what they do on plain MySQL as long as others change nothing meanwhile.
func TestSnapshotScripts(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.ReadOwnSnapshot(harness.BlogCounters()), "innodb_lock_wait_timeout=1")
		for _, c := range transactions {
			if slices.ContainsFunc(c.steps, func(s string) bool { return strings.HasPrefix(s, "B: ") }) {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				tw.Reset(t)
				tw.Play(t, slices.Concat(c.steps, harness.Everything)...)
			})
		}
	})
}

// TestOneSlot proves the transactions with a single slot for each counter, so
// that own increments always meet those of others there.
func TestOneSlot(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := harness.BlogCounters()
		config.Slots = 1
		tw := harness.NewBlog(t, srv, config, "innodb_lock_wait_timeout=1")
		for _, c := range transactions {
			t.Run(c.name, func(t *testing.T) {
				tw.Reset(t)
				harness.Affected(t, tw.Direct, "UPDATE post_slots SET slot = 0 WHERE slot = 3")
				tw.Play(t, slices.Concat(c.steps, harness.Everything)...)
			})
		}
	})
}

// TestFoundRows proves RowsAffected with clientFoundRows: matched rows count. As the
// server reports a matched row alike whether it was changed or not, a transaction behind
// an UPDATE or upsert reads all rows as they are now, which is an accepted difference.
func TestFoundRows(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "clientFoundRows=true", "innodb_lock_wait_timeout=1")
		for _, c := range transactions {
			t.Run(c.name, func(t *testing.T) {
				tw.Reset(t)
				tw.Play(t, slices.Concat(c.steps, harness.Everything)...)
			})
		}
		for _, other := range interference {
			for _, own := range ownWrites {
				t.Run(other.name+"/"+own.name, func(t *testing.T) {
					tw.Reset(t)
					blog{tw}.playSnapshot(t, "RR", true, other.left, own, other.steps)
				})
			}
		}
	})
}

// TestFoundRowsMoved proves that with clientFoundRows a row that a transaction has
// given another key is not found by the old one, also after a query has looked
// which rows the transaction has written.
func TestFoundRowsMoved(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE tag (id INT PRIMARY KEY, uses INT NOT NULL DEFAULT 0)",
			&countermysql.Config{Tables: []countermysql.TableConfig{{Table: "tag", Counters: []string{"uses"}}}}, "clientFoundRows=true")
		const increment, all = "A: UPDATE tag SET uses = uses + 1 WHERE id = 2", "A: SELECT id, uses FROM tag ORDER BY id"
		for _, took := range []string{"A: UPDATE tag SET id = 7 WHERE id = 2", "A: DELETE FROM tag WHERE id = 2"} {
			for _, more := range []string{"A: SELECT 1", "A: INSERT INTO tag VALUES (2, 100)"} {
				tw.Play(t, "A: DELETE FROM tag", "A: INSERT INTO tag VALUES (1, 10), (2, 20)",
					"A: begin RR", took, all, increment, all, more, all, increment, all, "A: commit", all)
			}
		}
	})
}

// TestMultiStatements proves that several statements in one text, transactions
// among them, do what they do on plain MySQL.
func TestMultiStatements(t *testing.T) {
	scripts := [][]string{
		{"A: BEGIN; UPDATE post SET likes = likes + 1 WHERE id = 1; UPDATE post SET likes = likes + 1 WHERE id = 2; COMMIT"},
		{"A: BEGIN; UPDATE post SET likes = likes + 1 WHERE id = 1; ROLLBACK; UPDATE post SET likes = likes + 1 WHERE id = 2"},
		{"A: UPDATE post SET likes = likes + 1 WHERE id = 1; BEGIN; UPDATE post SET likes = likes + 1 WHERE id = 2", "A: SELECT likes FROM post; SELECT title FROM post", "A: ROLLBACK"},
		{"A: SET autocommit = 0; UPDATE post SET likes = likes + 1 WHERE id = 1; COMMIT; UPDATE post SET likes = likes + 1 WHERE id = 1; SET autocommit = 1;"},
		{"A: UPDATE post SET likes = likes + 1 WHERE id = 1; UPDATE nosuch SET a = 1; UPDATE post SET likes = likes + 1 WHERE id = 2"},
		{"A: BEGIN; UPDATE post SET likes = likes + 1 WHERE id = 1; UPDATE nosuch SET a = 1", "A: COMMIT"},
		{"A: UPDATE post SET likes = likes + 1 WHERE id = 1;; UPDATE post SET likes = likes + 1 WHERE id = 2"},
		{"A: BEGIN; UPDATE post SET likes = likes + 1 WHERE id = 1; /* nothing */ ; COMMIT", "A: ROLLBACK"},
		{"A: ; UPDATE post SET likes = likes + 1 WHERE id = 1"}, {"A: UPDATE post SET likes = likes + 1 WHERE id = 1; ; ;"},
		{"A: INSERT INTO note VALUES (1, 'a; b'); BEGIN; INSERT INTO note VALUES (2, ''); UPDATE post SET title = 'x; y' WHERE id = 1; ROLLBACK"},
		{"A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: INSERT INTO note VALUES (1, ''); COMMIT; INSERT INTO note VALUES (2, '')", "A: ROLLBACK"},
		{"A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: INSERT INTO note VALUES (1, '') /* post */; COMMIT; INSERT INTO note VALUES (2, '')", "A: ROLLBACK"},
		{"A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: INSERT INTO note VALUES (1, ''); ROLLBACK; INSERT INTO note VALUES (2, '')", "A: COMMIT"},
		{"A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT 1; COMMIT; BEGIN", "A: UPDATE post SET likes = likes + 10 WHERE id = 1", "A: ROLLBACK"},
		{"A: SELECT 1; BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: INSERT INTO note VALUES (1, ''); CREATE TABLE other (id INT); DROP TABLE other", "A: ROLLBACK"},
		{"A: SET @x = 1; SET autocommit = 0", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SET @y = 2; SET autocommit = 1", "A: ROLLBACK"},
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "multiStatements=true", "innodb_lock_wait_timeout=1")
		for _, steps := range scripts {
			t.Run(strings.Join(steps, "/"), func(t *testing.T) {
				tw.Reset(t)
				tw.Play(t, slices.Concat(steps, harness.Everything)...)
			})
		}
	})
}
