package derived

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestDerived proves that counters follow every kind of write of their formulas' table, by the
// driver and by other clients, and that Init sets them and may be repeated.
func TestDerived(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newPosts(t, srv)
		require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM post_slots"))
		require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT comments FROM post WHERE id = 1"))
		require.Empty(t, initialized(t, tw.Ours), "what is there needs no statement")
		for i, stmt := range []string{
			"INSERT INTO comment (post_id, amount) VALUES (1, 2.25)",
			"INSERT INTO comment (post_id, status, amount) VALUES (2, 'public', 1), (3, 'hidden', 2), (3, 'public', NULL), (NULL, 'public', 9), (99, 'public', 9)",
			"UPDATE comment SET status = 'hidden' WHERE post_id = 1",
			"UPDATE comment SET status = 'public', post_id = 3 WHERE post_id = 1 LIMIT 1",
			"UPDATE comment SET post_id = NULL WHERE post_id = 2",
			"UPDATE comment SET post_id = 4 WHERE post_id IS NULL",
			"UPDATE comment SET amount = amount + 0.01, text = 'x'",
			"UPDATE comment SET text = 'y'",
			"INSERT INTO comment (id, post_id, amount) VALUES (1, 5, 4) ON DUPLICATE KEY UPDATE post_id = 5, amount = 4",
			"REPLACE INTO comment (id, post_id, amount) VALUES (1, 4, 3), (1000, 5, 5)",
			"INSERT IGNORE INTO comment (id, post_id) VALUES (1, 2), (1001, 2)",
			"DELETE FROM comment WHERE post_id = 3",
			"UPDATE comment c JOIN post p ON p.id = c.post_id SET c.post_id = 1 WHERE p.comments > 1",
			"INSERT INTO comment (post_id, amount) SELECT id, comments FROM post WHERE id < 4",
			"DELETE c FROM comment c JOIN post p ON p.id = c.post_id WHERE p.comments >= 3 AND c.status = 'hidden'",
			"UPDATE post SET title = CONCAT(comments, ' comments')",
			"UPDATE post SET id = 7 WHERE id = 2",
			"DELETE FROM post WHERE id = 5",
			"INSERT INTO post (id) VALUES (5)",
			"INSERT INTO comment (post_id) VALUES (7), (1)",
			"DELETE FROM comment",
		} {
			if stmt == "UPDATE post SET id = 7 WHERE id = 2" { // comments don't follow: the counter does
				harness.Affected(t, tw.Ours, stmt)
				harness.Affected(t, tw.Direct, "UPDATE comment SET post_id = NULL WHERE post_id = 7")
				harness.Affected(t, tw.Direct, "DELETE FROM comment WHERE post_id = 2")
				harness.Affected(t, tw.Direct, "DELETE FROM post_slots WHERE id = 2")
				_, err := countermysql.Recount(t.Context(), tw.Ours, &countermysql.RecountOptions{Repair: true})
				require.NoError(t, err)
				requireExact(t, tw)
				continue
			}
			if stmt == "INSERT INTO post (id) VALUES (5)" {
				harness.Affected(t, tw.Direct, "DELETE FROM comment WHERE post_id = 5")
			}
			db := tw.Ours
			if i%3 == 2 {
				db = tw.Direct
				_, err := countermysql.Rollup(t.Context(), tw.Ours, nil) // which it does not see otherwise
				require.NoError(t, err)
			}
			harness.Affected(t, db, stmt)
			requireExact(t, tw)
			if i%4 == 3 {
				_, err := countermysql.Rollup(t.Context(), tw.Ours, nil)
				require.NoError(t, err)
				requireExact(t, tw)
			}
		}
		_, err := countermysql.Rollup(t.Context(), tw.Ours, nil)
		require.NoError(t, err)
		require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM post_slots"))
		requireExact(t, tw)
	})
}

// TestExactReadBesideComments proves that a query which needs all in the base rows sees the comments of now
// also behind an old snapshot, with what was in slots then and what has come since.
func TestExactReadBesideComments(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newPosts(t, srv)
		harness.Affected(t, tw.Direct, "INSERT INTO comment (post_id) VALUES (1)")
		for range 2 {
			reader := harness.Session(t, tw.Ours)
			harness.Affected(t, reader, "BEGIN")
			before := comments(t, reader, 1)
			harness.Affected(t, tw.Direct, "INSERT INTO comment (post_id) VALUES (1), (2)")
			require.EqualValues(t, before+1, harness.Number(t, reader, "SELECT comments FROM post, JSON_TABLE('[1]', '$[*]' COLUMNS (a INT PATH '$')) j WHERE id = 1"))
			harness.Affected(t, reader, "COMMIT")
			requireExact(t, tw)
		}
	})
}

// TestOwnComment proves that a transaction sees the effect of what it has written, at every
// isolation level, behind an old snapshot, a rollup by others, an exact statement and ROLLBACK TO.
func TestOwnComment(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newPosts(t, srv)
		for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelReadCommitted, sql.LevelSerializable} {
			harness.Affected(t, tw.Direct, "DELETE FROM comment")
			harness.Affected(t, tw.Direct, "INSERT INTO comment (post_id) VALUES (1), (1), (1), (2)")
			rollup := func() {
				_, err := countermysql.Rollup(t.Context(), tw.Ours, &countermysql.RollupOptions{MaxLock: time.Millisecond})
				require.NoError(t, err)
			}
			begin := func() *sql.Tx {
				tx, err := tw.Ours.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
				require.NoError(t, err)
				return tx
			}
			insert := func(tx *sql.Tx, id int) { harness.Affected(t, tx, "INSERT INTO comment (post_id) VALUES (?)", id) }

			tx := begin() // without a snapshot
			insert(tx, 1)
			require.EqualValues(t, 4, comments(t, tx, 1))
			insert(tx, 2)
			require.EqualValues(t, 2, comments(t, tx, 2))
			require.NoError(t, tx.Rollback())
			require.EqualValues(t, 3, comments(t, tw.Ours, 1))
			requireExact(t, tw)

			if level != sql.LevelSerializable { // which locks what it reads
				tx = begin() // behind a snapshot, from before a rollup
				require.EqualValues(t, 3, comments(t, tx, 1))
				rollup()
				harness.Affected(t, tw.Direct, "INSERT INTO comment (post_id) VALUES (1)")
				rollup()
				insert(tx, 1)
				require.EqualValues(t, 5, comments(t, tx, 1))
				require.NoError(t, tx.Commit())
				requireExact(t, tw)
				harness.Affected(t, tw.Direct, "DELETE FROM comment WHERE post_id = 1 LIMIT 2")
			}

			tx = begin() // with exact statements of the row
			insert(tx, 1)
			require.EqualValues(t, 4, harness.Number(t, tx, "SELECT comments FROM post WHERE id = 1 FOR UPDATE"))
			insert(tx, 1)
			require.EqualValues(t, 5, comments(t, tx, 1))
			require.EqualValues(t, 5, harness.Number(t, tx, "SELECT comments FROM post WHERE id = 1 FOR UPDATE"))
			harness.Affected(t, tx, "UPDATE post SET title = CONCAT(comments, '!') WHERE id = 1")
			require.EqualValues(t, 5, comments(t, tx, 1))
			insert(tx, 1)
			harness.Affected(t, tx, "UPDATE post SET title = CONCAT(comments, '!') WHERE id = 1")
			require.EqualValues(t, 6, comments(t, tx, 1))
			var title string
			require.NoError(t, tx.QueryRow("SELECT title FROM post WHERE id = 1").Scan(&title))
			require.Equal(t, "6!", title)
			harness.Affected(t, tx, "SAVEPOINT a")
			insert(tx, 1)
			require.EqualValues(t, 7, comments(t, tx, 1))
			harness.Affected(t, tx, "ROLLBACK TO a")
			require.EqualValues(t, 6, comments(t, tx, 1))
			require.NoError(t, tx.Commit())
			requireExact(t, tw)

			tx = begin() // and an edit, and a like
			insert(tx, 2)
			harness.Affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id = 2")
			harness.Affected(t, tx, "UPDATE post SET title = 'x' WHERE id = 2")
			require.EqualValues(t, 2, comments(t, tx, 2))
			insert(tx, 2)
			require.EqualValues(t, 3, comments(t, tx, 2))
			require.NoError(t, tx.Commit())
			requireExact(t, tw)
		}
	})
}

// TestOthersCommentBeside proves that a transaction which has commented and needs a post's
// counters keeps nobody from commenting on other posts, nor from liking them.
func TestOthersCommentBeside(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newPosts(t, srv)
		for _, commented := range []int{4, 2} {
			for _, exact := range []string{"UPDATE post SET likes = likes - 1 WHERE id = 4 AND likes >= 1", "SELECT comments FROM post WHERE id = 4", "SELECT likes FROM post WHERE id = 4 FOR UPDATE", "UPDATE post SET likes = 5 WHERE id = 4"} {
				harness.Affected(t, tw.Direct, "DELETE FROM comment")
				_, err := countermysql.Rollup(t.Context(), tw.Ours, nil)
				require.NoError(t, err)
				tx, err := tw.Ours.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
				require.NoError(t, err)
				harness.Affected(t, tx, "INSERT INTO comment (post_id) VALUES (?)", commented)
				_, err = tx.Exec(exact)
				require.NoError(t, err)
				other, err := tw.Ours.BeginTx(t.Context(), nil)
				require.NoError(t, err)
				harness.Affected(t, other, "INSERT INTO comment (post_id) VALUES (5)")
				harness.Affected(t, other, "UPDATE post SET likes = likes + 3 WHERE id = 3")
				require.NoError(t, other.Commit(), "%d, %s", commented, exact)
				harness.Affected(t, tx, "INSERT INTO comment (post_id) VALUES (4)")
				require.NoError(t, tx.Commit())
				requireExact(t, tw)
			}
		}
	})
}

// TestAcceptedMadeAgain pins that a transaction which makes a row under a key whose slots are
// left keeps triggers from slots of the keys beside, until it ends.
func TestAcceptedMadeAgain(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newPosts(t, srv, "innodb_lock_wait_timeout=1")
		tx, err := tw.Ours.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
		require.NoError(t, err)
		for _, stmt := range []string{"INSERT INTO comment (post_id) VALUES (4)", "DELETE FROM comment WHERE post_id = 4", "DELETE FROM post WHERE id = 4", "INSERT INTO post (id) VALUES (4)"} {
			harness.Affected(t, tx, stmt)
		}
		_, err = tw.Ours.Exec("INSERT INTO comment (post_id) VALUES (5)")
		require.EqualValues(t, 1205, number(err))
		require.NoError(t, tx.Commit())
		harness.Affected(t, tw.Ours, "INSERT INTO comment (post_id) VALUES (4)")
		requireExact(t, tw)
	})
}

// number of a server's error; 0: none.
func number(err error) uint16 {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

// TestUnderLoad proves that counters are exact, that exact statements never fail, and that of the
// transactions, which take posts in any order, one in a hundred deadlocks at most, while many clients,
// with the driver and without, comment on few posts, move, hide and delete comments, edit posts, like
// them and run exact statements, in transactions of which some are rolled back, beside rollups.
func TestUnderLoad(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newPosts(t, srv)
		tw.Ours.SetMaxIdleConns(32)
		tw.Direct.SetMaxIdleConns(32)
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
		defer cancel()
		var done, deadlocks, exactly atomic.Int64
		var failed atomic.Value
		var wg sync.WaitGroup
		for i := range 24 {
			wg.Go(func() {
				db := tw.Ours
				if i%4 == 3 {
					db = tw.Direct
				}
				r := rand.New(rand.NewPCG(uint64(i), 1))
				for ctx.Err() == nil {
					switch err := transaction(db, r, db == tw.Ours); {
					case number(err) == 1213:
						deadlocks.Add(1)
					case err != nil:
						failed.CompareAndSwap(nil, err)
						return
					default:
						done.Add(1)
					}
				}
			})
		}
		wg.Go(func() {
			for ctx.Err() == nil {
				time.Sleep(50 * time.Millisecond)
				if _, err := countermysql.Rollup(context.Background(), tw.Ours, nil); err != nil {
					failed.CompareAndSwap(nil, err)
				}
			}
		})
		wg.Go(func() { // exact statements never wait for those who comment
			for ctx.Err() == nil {
				time.Sleep(20 * time.Millisecond)
				if _, err := tw.Ours.Exec("UPDATE post SET title = CONCAT(comments, ' comments') WHERE id = 1"); err != nil {
					failed.CompareAndSwap(nil, fmt.Errorf("exact: %w", err))
				}
				exactly.Add(1)
			}
		})
		wg.Wait()
		require.Nil(t, failed.Load())
		t.Logf("%d transactions, %d deadlocks, %d exact statements", done.Load(), deadlocks.Load(), exactly.Load())
		requireExact(t, tw)
		require.Less(t, deadlocks.Load()*100, done.Load()+100)
		for range 2 {
			_, err := countermysql.Rollup(t.Context(), tw.Ours, nil)
			require.NoError(t, err)
		}
		require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM post_slots"))
		requireExact(t, tw)
	})
}

// transaction comments on posts in any order, and does something to one of them.
func transaction(db *sql.DB, r *rand.Rand, ours bool) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	post := 1 + r.IntN(5)
	for range 1 + r.IntN(3) {
		var stmt string
		id := 1 + r.IntN(5)
		switch r.IntN(8) {
		case 0:
			stmt = fmt.Sprintf("DELETE FROM comment WHERE id = %d", r.IntN(500))
		case 1:
			stmt = fmt.Sprintf("INSERT INTO comment (post_id, status, amount) VALUES (%d, 'hidden', 0.5), (%d, 'public', 1.25)", id, 1+r.IntN(5))
		default:
			stmt = fmt.Sprintf("INSERT INTO comment (post_id, amount) VALUES (%d, %d)", id, r.IntN(9))
		}
		if _, err := tx.Exec(stmt); err != nil {
			return err
		}
	}
	if r.IntN(2) == 0 {
		var n int
		if err := tx.QueryRow(fmt.Sprintf("SELECT comments FROM post WHERE id = %d", post)).Scan(&n); err != nil {
			return err
		}
	}
	if ours && r.IntN(2) == 0 {
		if _, err := tx.Exec(fmt.Sprintf("UPDATE post SET likes = likes + 1 WHERE id = %d", post)); err != nil {
			return err
		}
	}
	if r.IntN(4) == 0 {
		if _, err := tx.Exec(fmt.Sprintf("UPDATE post SET title = 'edited %d' WHERE id = %d", r.IntN(1000), post)); err != nil {
			return err
		}
	}
	if r.IntN(8) == 0 {
		return nil // rolled back
	}
	return tx.Commit()
}
