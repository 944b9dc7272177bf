package groups

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// voted are two counter tables, of which a transaction increments the later one first.
const voted = `
CREATE TABLE author (id INT PRIMARY KEY, points INT NOT NULL DEFAULT 0, name VARCHAR(9) NOT NULL DEFAULT '');
CREATE TABLE book (id INT PRIMARY KEY, author_id INT NOT NULL, votes INT UNSIGNED NOT NULL DEFAULT 0, seen INT NULL DEFAULT 0, title VARCHAR(9) NOT NULL DEFAULT '', FOREIGN KEY (author_id) REFERENCES author (id));
CREATE TABLE vote (id INT PRIMARY KEY AUTO_INCREMENT, book_id INT, FOREIGN KEY (book_id) REFERENCES book (id));
INSERT INTO author (id) VALUES (1), (2), (3);
INSERT INTO book (id, author_id) VALUES (1, 1), (2, 2), (3, 3)`

func votedCounters() *countermysql.Config {
	return cooling(&countermysql.Config{Tables: []countermysql.TableConfig{{Table: "author", Counters: []string{"points"}}, {Table: "book", Counters: []string{"votes", "seen"}}}})
}

const voteBook, voteAuthor = "UPDATE book SET votes = votes + 1 WHERE id = ?", "UPDATE author SET points = points + 1 WHERE id = ?"

// voteOf runs a transaction of a row and increments.
func voteOf(t *testing.T, db *sql.DB, id int, increments ...string) {
	t.Helper()
	require.NoError(t, transact(db, func(tx *sql.Tx) error {
		harness.Affected(t, tx, "INSERT INTO vote (book_id) VALUES (?)", id)
		for _, increment := range increments {
			require.EqualValues(t, 1, harness.Affected(t, tx, increment, id))
		}
		return nil
	}))
}

var holdsRow = regexp.MustCompile("^SELECT 0?.* (LOCK IN SHARE MODE|FOR SHARE) NOWAIT$")

// held is how many rows were locked to be held.
func held(sent []harness.Sending) (n int) {
	for _, s := range sent {
		if holdsRow.MatchString(s.Text) {
			n++
		}
	}
	return n
}

// learnVotes runs transactions until they hold their first row.
func learnVotes(t *testing.T, tw *harness.Twin) {
	t.Helper()
	for range 500 { // some commit late on a busy machine
		if held(tw.Sent.During(func() { voteOf(t, tw.Ours, 3, voteBook, voteAuthor) })) > 0 {
			return
		}
	}
	require.Fail(t, "it is not learned")
}

// TestHeldRows proves that a transaction of two increments, of which it is known that nothing
// but these comes until COMMIT, changes its cold base rows in one round trip more than plain
// MySQL, which is asked for RowsAffected; and that all is answered as there.
func TestHeldRows(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		book, author := "A: UPDATE book SET votes = votes + 1 WHERE id = 1", "A: UPDATE author SET points = points + 1 WHERE id = 1"
		books, authors := "A: SELECT id, votes, seen, title FROM book ORDER BY id", "A: SELECT id, points FROM author ORDER BY points DESC, id"
		vote := []string{"A: INSERT INTO vote (book_id) VALUES (1)", book, author}
		of := func(begin string, behind ...string) []string { return slices.Concat([]string{begin}, vote, behind) }
		for i, steps := range [][]string{
			of("A: begin", "A: commit", books, authors),
			of("A: begin", books, authors, "A: commit", books),
			of("A: begin RC", books, "A: rollback", books, authors),
			{"A: begin", vote[0], "A: SAVEPOINT s", book, author, "A: ROLLBACK TO s", books, authors, author, "A: commit", books, authors},
			{"A: begin", vote[0], book, "A: SAVEPOINT s", author, books, "A: ROLLBACK TO s", books, authors, book, author, "A: commit", books, authors},
			slices.Concat([]string{"A: begin RR", books, "B: UPDATE book SET votes = votes + 5 WHERE id = 1"}, of("B: SELECT 1", books, "A: commit", books, authors)),
			of("A: begin", book, "A: UPDATE book SET votes = votes * 2 WHERE id = 1", books, "A: commit", books),
			of("A: begin", "A: UPDATE book SET title = 'x' WHERE id = 1", author, books, "A: commit", books, authors),
			of("A: begin", "A: UPDATE book SET seen = seen + 1 WHERE id = 1", book, books, "A: commit", books, authors),
			of("A: begin", "A: DELETE FROM vote", "A: DELETE FROM book WHERE id = 1", author, books, "A: commit", books, authors),
			{"A: begin", "A: UPDATE book SET votes = votes + 1 WHERE id = 99", author, books, "A: commit", books, authors},
			{"A: begin", "A: UPDATE book SET votes = votes - 1 WHERE id = 1", author, "A: commit", books, authors},
		} {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				tw := harness.NewTwin(t, srv, voted, votedCounters(), "interpolateParams=true")
				plays := func() []harness.Sending { return tw.Sent.During(func() { tw.Play(t, of("A: begin", "A: commit")...) }) }
				for n := 0; held(plays()) == 0; n++ {
					require.Less(t, n, 500, "it is not learned")
				}
				for n := 0; changesRow("book", plays()) == 0 || changesRow("author", plays()) == 0; n++ {
					require.Less(t, n, 500)
				}
				if i == 0 {
					var texts []string
					for _, s := range plays() {
						texts = append(texts, s.Text)
					}
					require.Len(t, texts, 6, strings.Join(texts, "\n"))
				}
				tw.Play(t, steps...)
				for _, table := range []string{"author", "book"} {
					tw.Same(t, "SELECT * FROM "+table+" ORDER BY id")
				}
			})
		}
	})
}

// TestHeldByOthers proves that a transaction does not wait for a row that somebody has locked
// before COMMIT, and that it counts in slots then.
func TestHeldByOthers(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, voted, votedCounters(), "interpolateParams=true")
		learnVotes(t, tw)
		edit, err := tw.Direct.Begin()
		require.NoError(t, err)
		harness.Affected(t, edit, "UPDATE book SET title = 'x' WHERE id = 1")
		tx, err := tw.Ours.Begin()
		require.NoError(t, err)
		harness.Affected(t, tx, "INSERT INTO vote (book_id) VALUES (2)")
		sent := tw.Sent.During(func() {
			require.EqualValues(t, 1, harness.Affected(t, tx, voteBook, 1))
			require.EqualValues(t, 1, harness.Affected(t, tx, voteAuthor, 1))
		})
		require.Equal(t, 1, held(sent), sent)
		require.Zero(t, changesRow("author", sent), sent)
		committed := make(chan error, 1)
		go func() { committed <- tx.Commit() }()
		select {
		case <-committed:
			require.Fail(t, "COMMIT does not wait")
		case <-time.After(200 * time.Millisecond):
		}
		require.NoError(t, edit.Commit())
		require.NoError(t, <-committed)
		require.EqualValues(t, 1, harness.Number(t, tw.Ours, "SELECT votes FROM book WHERE id = 1"))
		require.EqualValues(t, 1, harness.Number(t, tw.Ours, "SELECT points FROM author WHERE id = 1"))
	})
}

// TestHeldAndEdited proves that no row is held where transactions edit rows behind their
// increments: two who have it would wait for each other.
func TestHeldAndEdited(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, edit := range []string{"UPDATE book SET title = 'x' WHERE id = 1", "SELECT title FROM book WHERE id = 1 FOR UPDATE", "DELETE FROM book WHERE id = 99"} {
			tw := harness.NewTwin(t, srv, voted, votedCounters(), "interpolateParams=true")
			learnVotes(t, tw)
			begun := func() *sql.Tx {
				tx, err := tw.Ours.Begin()
				require.NoError(t, err)
				harness.Affected(t, tx, "INSERT INTO vote (book_id) VALUES (2)")
				require.EqualValues(t, 1, harness.Affected(t, tx, voteBook, 1))
				return tx
			}
			tx := begun()
			harness.Queried(t.Context(), tx, edit)
			require.NoError(t, tx.Commit())
			for range 6 {
				require.Zero(t, held(tw.Sent.During(func() { voteOf(t, tw.Ours, 2, voteBook, voteAuthor) })), edit)
			}
			one, two := begun(), begun()
			done := make(chan error, 2)
			for _, tx := range []*sql.Tx{one, two} {
				go func() {
					if _, err := tx.Exec("UPDATE book SET title = 'y' WHERE id = 1"); err != nil {
						done <- err
						return
					}
					done <- tx.Commit()
				}()
			}
			require.NoError(t, <-done)
			require.NoError(t, <-done)
		}
	})
}

// TestHeldNoDeadlocks proves that transactions which increment the same few rows in whichever
// order never deadlock with each other, also where they refer to these rows, are of several
// processes, and meet increments outside of transactions; and that nothing is lost.
func TestHeldNoDeadlocks(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := votedCounters()
		for i := range config.Tables {
			config.Tables[i].Slots = 2
		}
		tw := harness.NewTwin(t, srv, voted, config, "interpolateParams=true")
		second, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
		learnVotes(t, tw)
		learned := int(harness.Number(t, tw.Ours, "SELECT votes FROM book WHERE id = 3"))
		ledger := map[string]int{fmt.Sprint(true, 3): learned, fmt.Sprint(false, 3): learned}
		sent := tw.Sent.During(func() {
			var mu sync.Mutex
			var wg sync.WaitGroup
			end := time.Now().Add(4 * time.Second)
			for w := range 6 {
				db := []*sql.DB{tw.Ours, second}[w%2]
				wg.Go(func() {
					for time.Now().Before(end) {
						texts, ids := []string{voteBook, voteAuthor}, []int{1 + rand.IntN(3), 1 + rand.IntN(3)}
						if w%3 == 0 { // by texts of their own: each plan has its habits
							texts = []string{"UPDATE author SET points = points + 1 WHERE id = (?)", "UPDATE book SET votes = votes + 1 WHERE id = (?)"}
						}
						var err error
						if rand.IntN(5) == 0 {
							texts, ids = texts[:1], ids[:1]
							_, err = db.Exec(texts[0], ids[0])
						} else {
							err = transact(db, func(tx *sql.Tx) error {
								if _, err := tx.Exec("INSERT INTO vote (book_id) VALUES (?)", 1+rand.IntN(3)); err != nil {
									return err
								}
								for i, text := range texts {
									res, err := tx.Exec(text, ids[i])
									if err != nil {
										return err
									}
									if _, err := res.RowsAffected(); err != nil {
										return err
									}
								}
								return nil
							})
						}
						if err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						for i, text := range texts {
							ledger[fmt.Sprint(strings.Contains(text, "book"), ids[i])]++
						}
						mu.Unlock()
						if rand.IntN(20) == 0 {
							time.Sleep(time.Duration(rand.IntN(50)) * time.Millisecond) // rows get cold
						}
					}
				})
			}
			wg.Wait()
			for id := 1; id <= 3; id++ {
				require.EqualValues(t, ledger[fmt.Sprint(true, id)], harness.Number(t, tw.Ours, "SELECT votes FROM book WHERE id = ?", id))
				require.EqualValues(t, ledger[fmt.Sprint(false, id)], harness.Number(t, tw.Ours, "SELECT points FROM author WHERE id = ?", id))
			}
		})
		require.NotZero(t, held(sent))
	})
}
