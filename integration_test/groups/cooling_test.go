package groups

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

const cold = `CREATE TABLE post (id INT PRIMARY KEY AUTO_INCREMENT, slug VARCHAR(20) UNIQUE, title VARCHAR(20), likes INT NOT NULL DEFAULT 0, views INT UNSIGNED DEFAULT 0, small TINYINT NOT NULL DEFAULT 0,
 updated_at DATETIME(3) NULL ON UPDATE CURRENT_TIMESTAMP(3));
CREATE TABLE log (id INT PRIMARY KEY AUTO_INCREMENT, post_id INT, FOREIGN KEY (post_id) REFERENCES post (id));
INSERT INTO post (slug, title) VALUES ('a', 'A'), ('b', 'B'), ('c', 'C'), ('d', NULL)`

// cooling is a configuration in which slots are for hot rows only.
func cooling(config *countermysql.Config) *countermysql.Config {
	config.Rollup = time.Hour
	return config
}

// TestColdIncrements proves that an increment that meets no other changes the base row,
// and answers as on plain MySQL, alone and in a transaction.
func TestColdIncrements(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"interpolateParams=true", "interpolateParams=false", "clientFoundRows=true", "multiStatements=true", "sql_mode=''"} {
			tw := harness.NewTwin(t, srv, cold, cooling(harness.Counters("post", "likes", "views", "small")), params)
			tw.Play(t,
				"a: UPDATE post SET likes = likes + 1 WHERE id = 1",
				"a: UPDATE post SET likes = likes + 2, views = views + 3 WHERE slug = 'b'",
				"a: UPDATE post SET likes = likes - 1 WHERE id = 9",
				"a: UPDATE post SET likes = likes + 1 WHERE id = 1 AND title = 'A'",
				"a: UPDATE post SET likes = likes + 1 WHERE id = 1 AND title = 'B'",
				"a: UPDATE post SET views = views + 1 WHERE id IN (1, 2, 3)",
				"a: UPDATE post SET small = small + 120 WHERE id = 3",
				"a: UPDATE post SET views = NULL WHERE id = 3",
				"a: UPDATE post SET views = views + 1 WHERE id = 3",
				"a: UPDATE post SET views = COALESCE(views, 0) + 1 WHERE id = 3",
				"a: UPDATE post SET views = COALESCE(views, 0) + 1 WHERE id = 2",
				"a: INSERT INTO post (slug, likes) VALUES ('a', 1) ON DUPLICATE KEY UPDATE likes = likes + 4",
				"a: begin RR", "a: SELECT likes FROM post WHERE id = 2",
				"b: UPDATE post SET likes = likes + 10 WHERE id = 1", "b: UPDATE post SET likes = likes + 10 WHERE id = 2",
				"a: INSERT INTO log (post_id) VALUES (1)", "a: UPDATE post SET likes = likes + 1 WHERE id = 1", "a: commit",
				"a: begin", "a: UPDATE post SET likes = likes + 1 WHERE slug = 'a'", "a: commit",
				"a: begin", "a: UPDATE post SET likes = likes + 1 WHERE id = 1", "a: UPDATE post SET views = views + 1 WHERE id = 2", "a: commit",
				"a: begin", "a: INSERT INTO log (post_id) VALUES (2)", "a: UPDATE post SET likes = likes + 1 WHERE id = 2", "a: rollback",
				"a: SELECT id, slug, likes, views, small, updated_at IS NULL FROM post",
			)
			if params != "sql_mode=''" {
				require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM post_slots WHERE id = 3 AND small <> 0"), "it met no other")
			}
			require.Eventually(t, func() bool { return harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM post_slots") == 0 }, 10*time.Second, 20*time.Millisecond)
			tw.Same(t, "SELECT id, slug, likes, views, small, updated_at IS NULL FROM post")
			require.Equal(t, harness.Queried(t.Context(), tw.Ours, "SELECT id, likes, views, small FROM post"), harness.Queried(t.Context(), tw.Direct, "SELECT id, likes, views, small FROM post"))
		}
	})
}

// TestSlottedKeys proves that the statistics tell how many keys are in slots, and for how
// long.
func TestSlottedKeys(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, cold, cooling(harness.Counters("post", "likes")), "interpolateParams=true")
		slotted := func() countermysql.SlottedStatistics {
			stats, err := countermysql.Stats(tw.Ours)
			require.NoError(t, err)
			return stats.Slotted
		}
		harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes + 1 WHERE id = 1")
		require.Zero(t, slotted(), "it met no other")
		tx, err := tw.Direct.Begin()
		require.NoError(t, err)
		defer tx.Rollback()
		harness.Affected(t, tx, "INSERT INTO log (post_id) VALUES (1), (2)") // shared locks
		start := time.Now()
		harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes + 1 WHERE id = 1")
		harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes + 1 WHERE id = 2")
		require.EqualValues(t, 2, slotted().Keys)
		time.Sleep(100 * time.Millisecond)
		now := slotted()
		require.EqualValues(t, 2, now.Keys, "their rows are locked")
		require.Greater(t, now.Oldest, 100*time.Millisecond)
		require.LessOrEqual(t, now.Oldest, time.Since(start))
		require.NoError(t, tx.Commit())
		require.Eventually(t, func() bool { return slotted() == countermysql.SlottedStatistics{} }, 10*time.Second, 20*time.Millisecond)
	})
}

// TestDirectNeverWaits proves that an increment goes to a slot where somebody shares the
// base row, as a foreign key does, and that it waits for who has it exclusively as any
// increment.
func TestDirectNeverWaits(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, cold, cooling(harness.Counters("post", "likes")), "interpolateParams=true")
		tx, err := tw.Direct.Begin()
		require.NoError(t, err)
		harness.Affected(t, tx, "INSERT INTO log (post_id) VALUES (1)") // a shared lock of post 1
		start := time.Now()
		require.EqualValues(t, 1, harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes + 1 WHERE id = 1"))
		require.Less(t, time.Since(start), 3*time.Second, "it waited for the lock")
		require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT likes FROM post_slots WHERE id = 1"))

		own, err := tw.Ours.Begin()
		require.NoError(t, err)
		harness.Affected(t, own, "INSERT INTO log (post_id) VALUES (2)")
		other, err := tw.Direct.Begin()
		require.NoError(t, err)
		harness.Affected(t, other, "INSERT INTO log (post_id) VALUES (2)")
		harness.Affected(t, own, "UPDATE post SET likes = likes + 1 WHERE id = 2")
		require.NoError(t, own.Commit())
		require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT likes FROM post_slots WHERE id = 2"))
		require.NoError(t, other.Rollback())
		require.NoError(t, tx.Rollback())

		require.Eventually(t, func() bool { return harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM post_slots") == 0 }, 10*time.Second, 20*time.Millisecond)
		require.EqualValues(t, 2, harness.Number(t, tw.Direct, "SELECT SUM(likes) FROM post"))
	})
}

// TestSuddenlyHot proves that those who want a row to which an increment is on its way wait for
// that, and then go together: else the server would refuse them the row's lock, and each would
// go by itself.
func TestSuddenlyHot(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, cold, cooling(harness.Counters("post", "likes")), "interpolateParams=true")
		harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes + 1 WHERE id = ?", 2)
		const clients = 30
		var first sync.Once
		var sent, meanwhile atomic.Int32
		tw.Sent.Meddle(t, func(query string) error {
			if !strings.Contains(query, "likes") {
				return nil // of a new connection
			}
			sent.Add(1)
			first.Do(func() {
				time.Sleep(100 * time.Millisecond)
				meanwhile.Store(sent.Load() - 1)
			})
			return nil
		})
		var wg sync.WaitGroup
		for range clients {
			wg.Go(func() {
				_, err := tw.Ours.Exec("UPDATE post SET likes = likes + 1 WHERE id = ?", 1)
				assert.NoError(t, err)
			})
		}
		wg.Wait()
		require.Zero(t, meanwhile.Load(), "they sent something beside it")
		require.Less(t, sent.Load(), int32(clients/2), "each went by itself")
		require.EqualValues(t, clients, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"))
	})
}

// TestLastKey proves that of several increments of a transaction the last one, in the
// order of tables and keys, changes its base row, and that a transaction which waits holds
// no base row: one that has edited a row, and increments another, does not deadlock with it.
func TestLastKey(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, `
CREATE TABLE member (id INT PRIMARY KEY, points INT NOT NULL DEFAULT 0);
CREATE TABLE post (id INT PRIMARY KEY, title VARCHAR(9) NOT NULL DEFAULT '', likes INT NOT NULL DEFAULT 0);
INSERT INTO member (id) VALUES (1), (2), (3);
INSERT INTO post (id) VALUES (1), (2), (3);
`, cooling(&countermysql.Config{Tables: []countermysql.TableConfig{{Table: "member", Counters: []string{"points"}}, {Table: "post", Counters: []string{"likes"}}}}), "interpolateParams=true")
		vote := func(tx *sql.Tx, post, member int) {
			harness.Affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id = ?", post)
			harness.Affected(t, tx, "UPDATE member SET points = points + 1 WHERE id = ?", member)
		}
		begin := func() *sql.Tx {
			tx, err := tw.Ours.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			return tx
		}
		tx := begin()
		vote(tx, 1, 1)
		require.NoError(t, tx.Commit())
		require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT likes FROM post WHERE id = 1"))
		require.EqualValues(t, 1, harness.Number(t, tw.Ours, "SELECT points FROM member WHERE id = 1"))
		require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM post_slots"))

		editor, voter := begin(), begin()
		harness.Affected(t, editor, "UPDATE post SET title = 'x' WHERE id = 2")
		harness.Affected(t, editor, "UPDATE member SET points = points + 15 WHERE id = 2")
		vote(voter, 2, 2)
		voted := make(chan error, 1)
		go func() { voted <- voter.Commit() }()
		time.Sleep(100 * time.Millisecond) // it has a slot of member 2, and waits for post 2
		require.NoError(t, editor.Commit())
		require.NoError(t, <-voted)

		editor, voter = begin(), begin()
		require.EqualValues(t, 3, harness.Number(t, editor, "SELECT id FROM member WHERE id = 3 FOR UPDATE"))
		harness.Affected(t, editor, "UPDATE post SET likes = likes + 15 WHERE id = 3")
		vote(voter, 3, 3)
		go func() { voted <- voter.Commit() }()
		time.Sleep(100 * time.Millisecond)
		require.NoError(t, editor.Commit())
		require.NoError(t, <-voted)
		require.EqualValues(t, 1+16+1, harness.Number(t, tw.Ours, "SELECT SUM(points) FROM member"))
		require.EqualValues(t, 1+1+16, harness.Number(t, tw.Ours, "SELECT SUM(likes) FROM post"))
	})
}

// TestDeadlockOfDirect proves that a transaction which a deadlock has ended while its last
// increment went to the base row is not committed without the rest: here an ALTER waits for
// the transaction, which has read the table, and the transaction for the ALTER.
func TestDeadlockOfDirect(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, cold, cooling(harness.Counters("post", "likes", "views")), "interpolateParams=true")
		const id = 1
		tx, err := tw.Ours.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		harness.Affected(t, tx, "INSERT INTO log (post_id) VALUES (?)", id)
		require.EqualValues(t, 1, harness.Number(t, tx, "SELECT COUNT(*) FROM post WHERE title = 'A' AND id = ?", id))
		harness.Affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id = ?", id)
		altered := make(chan error, 1)
		go func() {
			_, err := tw.Direct.Exec("ALTER TABLE post ADD COLUMN later INT NULL")
			altered <- err
		}()
		require.Eventually(t, func() bool {
			return harness.Number(t, tw.Plain, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE LIKE 'Waiting for table metadata lock%' AND INFO LIKE 'ALTER TABLE post%'") > 0
		}, 10*time.Second, 10*time.Millisecond)
		committed := tx.Commit()
		require.NoError(t, <-altered)
		counted := int64(0)
		if committed == nil {
			counted = 1
		}
		require.EqualValues(t, counted, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = ?", id), "COMMIT: %v", committed)
		require.EqualValues(t, counted, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM log WHERE post_id = ?", id), "COMMIT: %v", committed)
	})
}

// TestSharedRows proves that the increments of several cold rows in a transaction all go to
// their base rows, that a row which others share gets a slot at once, and that nobody
// deadlocks whose other statements don't: who edits a post and refers to its author beside
// votes for both, in either order.
func TestSharedRows(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, `
CREATE TABLE member (id INT PRIMARY KEY, points INT NOT NULL DEFAULT 0);
CREATE TABLE post (id INT PRIMARY KEY, title VARCHAR(9) NOT NULL DEFAULT '', likes INT NOT NULL DEFAULT 0);
CREATE TABLE revision (post INT NOT NULL, member INT NOT NULL, FOREIGN KEY (post) REFERENCES post (id), FOREIGN KEY (member) REFERENCES member (id));
INSERT INTO member (id) VALUES (1), (2), (3), (4), (5);
INSERT INTO post (id) VALUES (1), (2), (3), (4), (5);
`, cooling(&countermysql.Config{Tables: []countermysql.TableConfig{{Table: "member", Counters: []string{"points"}}, {Table: "post", Counters: []string{"likes"}}}}))
		vote := func(tx *sql.Tx, id int, first, second string) error {
			for _, counter := range []string{first, second} {
				table, column, _ := strings.Cut(counter, ".")
				res, err := tx.Exec(fmt.Sprintf("UPDATE %s SET %s = %[2]s + 1 WHERE id = ?", table, column), id)
				if err != nil {
					return err
				}
				if n, err := res.RowsAffected(); n != 1 || err != nil {
					return fmt.Errorf("%d rows: %w", n, err)
				}
			}
			return nil
		}
		require.NoError(t, transact(tw.Ours, func(tx *sql.Tx) error { return vote(tx, 1, "post.likes", "member.points") }))
		require.EqualValues(t, 2, harness.Number(t, tw.Direct, "SELECT likes + points FROM post JOIN member USING (id) WHERE id = 1"))

		reference, err := tw.Direct.Begin()
		require.NoError(t, err)
		harness.Affected(t, reference, "INSERT INTO revision VALUES (2, 2)") // shares both rows
		require.NoError(t, transact(tw.Ours, func(tx *sql.Tx) error { return vote(tx, 2, "post.likes", "member.points") }))
		require.EqualValues(t, 2, harness.Number(t, tw.Ours, "SELECT likes + points FROM post JOIN member USING (id) WHERE id = 2"))
		require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM post_slots WHERE id = 2"))
		require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM member_slots WHERE id = 2"))
		require.NoError(t, reference.Commit())

		var votes atomic.Int64
		var wg sync.WaitGroup
		end := time.Now().Add(3 * time.Second)
		for w := range 12 {
			wg.Go(func() {
				for time.Now().Before(end) {
					id := 1 + rand.IntN(5)
					err := transact(tw.Ours, func(tx *sql.Tx) error {
						switch w % 3 {
						case 0:
							return vote(tx, id, "post.likes", "member.points")
						case 1:
							return vote(tx, id, "member.points", "post.likes")
						}
						if _, err := tx.Exec("UPDATE post SET title = ? WHERE id = ?", rand.IntN(1000), id); err != nil {
							return err
						}
						_, err := tx.Exec("INSERT INTO revision VALUES (?, ?)", id, id)
						return err
					})
					if err != nil {
						t.Error(err)
					} else if w%3 < 2 {
						votes.Add(1)
					}
				}
			})
		}
		wg.Wait()
		require.EqualValues(t, votes.Load()+2, harness.Number(t, tw.Ours, "SELECT SUM(points) FROM member"))
		require.EqualValues(t, votes.Load()+2, harness.Number(t, tw.Ours, "SELECT SUM(likes) FROM post"))
	})
}

// TestColdAndHot proves that counts are exact while keys are hot and cold by turns, of
// several processes, with edits, guarded updates, foreign keys and reads beside, and that
// the slots vanish behind them.
func TestColdAndHot(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, cold, cooling(harness.Counters("post", "likes", "views")), "interpolateParams=true")
		for i := range 40 {
			harness.Affected(t, tw.Direct, "INSERT INTO post (slug, title) VALUES (?, 'x')", fmt.Sprint("s", i))
		}
		second, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
		var mu sync.Mutex
		ledger := map[int]int{}
		var wg sync.WaitGroup
		end := time.Now().Add(4 * time.Second)
		for w := range 12 {
			db := []*sql.DB{tw.Ours, second}[w%2]
			wg.Go(func() {
				for n := 0; time.Now().Before(end); n++ {
					id := 1
					if rand.IntN(3) > 0 {
						id = 1 + rand.IntN(44)
					}
					ids := []int{id}
					var err error
					switch rand.IntN(6) {
					case 0, 1:
						_, err = db.Exec("UPDATE post SET likes = likes + 1 WHERE id = ?", id)
					case 2:
						err = transact(db, func(tx *sql.Tx) error {
							if _, err := tx.Exec("INSERT INTO log (post_id) VALUES (?)", id); err != nil {
								return err
							}
							_, err := tx.Exec("UPDATE post SET likes = likes + 1 WHERE id = ?", id)
							return err
						})
					case 3:
						other := 1 + rand.IntN(44)
						ids = append(ids, other)
						err = transact(db, func(tx *sql.Tx) error {
							for _, id := range ids {
								if _, err := tx.Exec("UPDATE post SET likes = likes + 1 WHERE id = ?", id); err != nil {
									return err
								}
							}
							return nil
						})
					case 4:
						ids = nil
						_, err = db.Exec("UPDATE post SET title = ? WHERE id = ?", fmt.Sprint(n), id)
					case 5:
						_, err = db.Exec("UPDATE post SET likes = likes + 1 WHERE id = ? AND likes >= 0", id)
					}
					if err != nil {
						if !strings.Contains(err.Error(), "1213") {
							t.Error(err)
						}
						continue
					}
					mu.Lock()
					for _, id := range ids {
						ledger[id]++
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		check := func(db *sql.DB) {
			for id, n := range ledger {
				require.EqualValues(t, n, harness.Number(t, db, "SELECT likes FROM post WHERE id = ?", id), "post %d", id)
			}
		}
		check(tw.Ours)
		require.Eventually(t, func() bool { return harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM post_slots") == 0 }, 20*time.Second, 20*time.Millisecond)
		check(tw.Direct)
	})
}

func transact(db *sql.DB, f func(tx *sql.Tx) error) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}
