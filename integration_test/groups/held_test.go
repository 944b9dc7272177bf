package groups

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
CREATE TABLE vote (book_id INT, FOREIGN KEY (book_id) REFERENCES book (id));
INSERT INTO author (id) VALUES (1), (2), (3);
INSERT INTO book (id, author_id) VALUES (1, 1), (2, 2), (3, 3)`

func votedCounters() *countermysql.Config {
	return cooling(&countermysql.Config{Tables: []countermysql.TableConfig{{Table: "author", Counters: []string{"points"}}, {Table: "book", Counters: []string{"votes", "seen"}}}})
}

const voteBook, voteAuthor = "UPDATE book SET votes = votes + 1 WHERE id = 1", "UPDATE author SET points = points + 1 WHERE id = 1"

var holdsRow = regexp.MustCompile("^(SET STATEMENT .* )?SELECT .* (LOCK IN SHARE MODE|FOR SHARE) NOWAIT$")

// held is how many rows were locked to be held.
func held(sent []harness.Sending) (n int) {
	for _, s := range sent {
		if holdsRow.MatchString(s.Text) {
			n++
		}
	}
	return n
}

// learnVotes commits transactions until one would hold its first row and send both increments
// with the last one, if that is known; that one is rolled back: who commits late forgets it.
func learnVotes(t *testing.T, tw *harness.Twin, increments ...string) {
	t.Helper()
	for range 500 { // some commit late on a busy machine
		var tx *sql.Tx
		sent := tw.Sent.During(func() { tx = begunVote(t, tw.Ours, increments...) })
		if held(sent) == 1 && changesRow("author", sent) == 1 {
			require.NoError(t, tx.Rollback())
			break
		}
		require.NoError(t, tx.Commit())
		harness.Affected(t, tw.Plain, "INSERT INTO vote (book_id) VALUES (NULL)")
		for _, increment := range increments {
			harness.Affected(t, tw.Plain, increment)
		}
	}
	for _, db := range []*sql.DB{tw.Plain, tw.Ours} { // so that nobody has to know how many
		harness.Affected(t, db, "UPDATE book SET votes = 0")
		harness.Affected(t, db, "UPDATE author SET points = 0")
	}
}

// TestHeldRows proves that a transaction of two increments, of which it is known that nothing
// but these comes until COMMIT, changes its cold base rows in as many round trips as plain
// MySQL, if it is asked for RowsAffected, both with the second, whichever of them comes first in
// canonical order; and that all is answered as there, also if it goes on otherwise.
func TestHeldRows(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		book, author := "A: UPDATE book SET votes = votes + 1 WHERE id = 1", "A: UPDATE author SET points = points + 1 WHERE id = 1"
		books, authors := "A: SELECT id, votes, seen, title FROM book ORDER BY id", "A: SELECT id, points FROM author ORDER BY points DESC, id"
		insert := "A: INSERT INTO vote (book_id) VALUES (1)"
		of := func(begin string, behind ...string) []string {
			return slices.Concat([]string{begin, insert, book, author}, behind)
		}
		for i, steps := range [][]string{
			of("A: begin", "A: commit", books, authors),
			{"A: begin", insert, author, book, "A: commit", books, authors},
			of("A: begin", books, authors, "A: commit", books),
			of("A: begin RC", books, "A: rollback", books, authors),
			{"A: begin", insert, "A: SAVEPOINT s", book, author, "A: ROLLBACK TO s", books, authors, author, "A: commit", books, authors},
			{"A: begin", insert, book, "A: SAVEPOINT s", author, books, "A: ROLLBACK TO s", books, authors, book, author, "A: commit", books, authors},
			slices.Concat([]string{"A: begin RR", books, "B: UPDATE book SET votes = votes + 5 WHERE id = 1"}, of("B: SELECT 1", books, "A: commit", books, authors)[1:]),
			of("A: begin", book, "A: UPDATE book SET votes = votes * 2 WHERE id = 1", books, "A: commit", books),
			of("A: begin", "A: UPDATE book SET title = 'x' WHERE id = 1", author, books, "A: commit", books, authors),
			of("A: begin", "A: UPDATE book SET seen = seen + 1 WHERE id = 1", book, books, "A: commit", books, authors),
			of("A: begin", "A: DELETE FROM vote", "A: DELETE FROM book WHERE id = 1", author, books, "A: commit", books, authors),
			of("A: begin", "A: UPDATE book SET votes = votes - 5 WHERE id = 1", author, "A: commit", books, authors),
		} {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				tw := harness.NewTwin(t, srv, voted, votedCounters(), "interpolateParams=true")
				increments := []string{strings.TrimPrefix(book, "A: "), strings.TrimPrefix(author, "A: ")}
				if i == 1 {
					slices.Reverse(increments)
				}
				learnVotes(t, tw, increments...)
				sent := tw.Sent.During(func() { tw.Play(t, steps...) })
				require.NotZero(t, held(sent), "%v", sent)
				if i < 2 {
					var texts []string
					for _, s := range sent {
						if !strings.HasPrefix(s.Text, "SELECT id, ") {
							texts = append(texts, s.Text)
						}
					}
					require.Len(t, texts, len(steps)-2, strings.Join(texts, "\n"))
					require.Equal(t, 1, changesRow("book", sent), strings.Join(texts, "\n"))
					require.Equal(t, 1, changesRow("author", sent), strings.Join(texts, "\n"))
				}
				for _, table := range []string{"author", "book"} {
					tw.Same(t, "SELECT * FROM "+table+" ORDER BY id")
				}
			})
		}
	})
}

// begunVote is a transaction that has incremented rows.
func begunVote(t *testing.T, db *sql.DB, increments ...string) *sql.Tx {
	t.Helper()
	tx, err := db.Begin()
	require.NoError(t, err)
	harness.Affected(t, tx, "INSERT INTO vote (book_id) VALUES (NULL)")
	for _, increment := range increments {
		require.EqualValues(t, 1, harness.Affected(t, tx, increment))
	}
	return tx
}

// requireVotes proves that so many votes were counted, of the book and of its author.
func requireVotes(t *testing.T, tw *harness.Twin, n int) {
	t.Helper()
	require.EqualValues(t, n, harness.Number(t, tw.Ours, "SELECT votes FROM book WHERE id = 1"))
	require.EqualValues(t, n, harness.Number(t, tw.Ours, "SELECT points FROM author WHERE id = 1"))
}

// TestHeldByOthers proves that a transaction does not wait for a row that somebody has locked
// before COMMIT, and changes no row then before it has waited.
func TestHeldByOthers(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, voted, votedCounters(), "interpolateParams=true")
		learnVotes(t, tw, voteBook, voteAuthor)
		edit, err := tw.Direct.Begin()
		require.NoError(t, err)
		harness.Affected(t, edit, "UPDATE book SET title = 'x' WHERE id = 1")
		var tx *sql.Tx
		sent := tw.Sent.During(func() { tx = begunVote(t, tw.Ours, voteBook, voteAuthor) })
		require.Equal(t, 1, held(sent), "%v", sent)
		require.Zero(t, changesRow("author", sent), "%v", sent)
		committed := commitWaits(t, tx)
		require.NoError(t, edit.Commit())
		require.NoError(t, <-committed)
		requireVotes(t, tw, 1)
	})
}

// TestHeldNoMore proves that no row is held any more where a transaction has gone on with
// anything but increments behind one: two who hold a row and want it for themselves would
// wait for each other. So these do not.
func TestHeldNoMore(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, other := range []string{
			"UPDATE book SET title = 'x' WHERE id = 1",
			"SELECT title FROM book WHERE id = 1 FOR UPDATE",
			"DELETE FROM book WHERE id = 99",
			"SELECT votes FROM book WHERE id = 1",
			"UPDATE book SET votes = votes * 1 WHERE id = 1",
			"UPDATE book SET seen = seen + 1 WHERE id = 2", // NULL
			"UPDATE book SET votes = votes + 0 WHERE id = 1",
			"UPDATE edited SET id = id + 1",
		} {
			t.Run(other, func(t *testing.T) {
				tw := harness.NewTwin(t, srv, voted+`;
CREATE TABLE edited (id INT);
INSERT INTO edited VALUES (1);
CREATE TRIGGER edits AFTER UPDATE ON edited FOR EACH ROW UPDATE book SET title = 'y' WHERE id = 1;
UPDATE book SET seen = NULL WHERE id = 2`, votedCounters(), "interpolateParams=true")
				learnVotes(t, tw, voteBook, voteAuthor)
				tx := begunVote(t, tw.Ours, voteBook)
				harness.Queried(t.Context(), tx, other)
				require.NoError(t, tx.Commit())
				for range 6 {
					sent := tw.Sent.During(func() { require.NoError(t, begunVote(t, tw.Ours, voteBook, voteAuthor).Commit()) })
					require.Zero(t, held(sent), "%v", sent)
				}
				done := make(chan error, 2)
				for _, tx := range []*sql.Tx{begunVote(t, tw.Ours, voteBook), begunVote(t, tw.Ours, voteBook)} {
					go func() {
						rows, err := tx.Query(other)
						if err == nil {
							err = rows.Close()
						}
						done <- errors.Join(err, tx.Commit())
					}()
				}
				require.NoError(t, <-done)
				require.NoError(t, <-done)
			})
		}
	})
}

// TestTouchedNotHeld proves that no row is held that may have been touched later than its
// increment: it would be wanted exclusively, by all who hold it.
func TestTouchedNotHeld(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		touched := strings.Replace(voted, "name VARCHAR", "seen TIMESTAMP NOT NULL DEFAULT '2026-01-01' ON UPDATE CURRENT_TIMESTAMP, name VARCHAR", 1)
		tw := harness.NewTwin(t, srv, touched, votedCounters(), "interpolateParams=true")
		sent := tw.Sent.During(func() {
			for range 20 {
				require.NoError(t, begunVote(t, tw.Ours, voteAuthor, voteBook).Commit())
			}
		})
		require.Zero(t, held(sent), "%v", sent)
	})
}

// TestHeldBesideSlots proves that a transaction which holds rows does not deadlock with one
// that sends the same increments to slots, in whichever order they count.
func TestHeldBesideSlots(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, increments := range [][]string{{voteAuthor, voteBook}, {voteBook, voteAuthor}} {
			config := votedCounters()
			for i := range config.Tables {
				config.Tables[i].Slots = 1
			}
			tw := harness.NewTwin(t, srv, voted, config, "interpolateParams=true")
			second, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
			learnVotes(t, tw, increments...)
			heat(t, tw, "author", "points", second)
			heat(t, tw, "book", "votes", second)
			var one *sql.Tx
			sent := tw.Sent.During(func() { one = begunVote(t, tw.Ours, increments...) })
			require.NotZero(t, held(sent), "%v", sent)
			two := begunVote(t, second, increments...)
			other := make(chan error, 1)
			go func() { other <- two.Commit() }()
			require.Eventually(t, func() bool { return len(other) > 0 || tw.Waits(t) }, 10*time.Second, 10*time.Millisecond)
			require.NoError(t, one.Commit())
			require.NoError(t, <-other)
		}
	})
}

// TestHeldBesideDDL proves that DDL waits for a transaction that holds rows, as it does on
// plain MySQL for one that has changed them, and does not make its COMMIT fail.
func TestHeldBesideDDL(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, voted, votedCounters(), "interpolateParams=true")
		learnVotes(t, tw, voteBook, voteAuthor)
		var tx *sql.Tx
		require.NotZero(t, held(tw.Sent.During(func() { tx = begunVote(t, tw.Ours, voteBook, voteAuthor) })))
		altered := alterLater(t, tw, "ALTER TABLE book ADD COLUMN later INT NULL")
		require.NoError(t, tx.Commit())
		require.NoError(t, <-altered)
		require.EqualValues(t, 1, harness.Number(t, tw.Ours, "SELECT votes FROM book WHERE id = 1"))
	})
}

// TestHeldNoDeadlocks proves that transactions which increment the same rows in whichever
// order never deadlock with each other, also where they refer to these rows, are of several
// processes, and meet increments outside of transactions; and that nothing is lost.
func TestHeldNoDeadlocks(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		const rows = 12
		config := votedCounters()
		for i := range config.Tables {
			config.Tables[i].Slots = 2
		}
		tw := harness.NewTwin(t, srv, voted, config, "interpolateParams=true")
		for id := 4; id <= rows; id++ {
			harness.Affected(t, tw.Direct, "INSERT INTO author (id) VALUES (?)", id)
			harness.Affected(t, tw.Direct, "INSERT INTO book (id, author_id) VALUES (?, ?)", id, id)
		}
		second, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
		learnVotes(t, tw, voteBook, voteAuthor)
		before := map[bool]int64{true: harness.Number(t, tw.Ours, "SELECT SUM(votes) FROM book"), false: harness.Number(t, tw.Ours, "SELECT SUM(points) FROM author")}
		var books, authors atomic.Int64
		var wg sync.WaitGroup
		end := time.Now().Add(4 * time.Second)
		for w := range 6 {
			db := []*sql.DB{tw.Ours, second}[w%2]
			wg.Go(func() {
				for time.Now().Before(end) {
					texts := []string{"UPDATE book SET votes = votes + 1 WHERE id = ?", "UPDATE author SET points = points + 1 WHERE id = ?"}
					if w%3 == 0 { // by texts of their own: each plan has its habits
						texts = []string{"UPDATE author SET points = points + 1 WHERE id = (?)", "UPDATE book SET votes = votes + 1 WHERE id = (?)"}
					}
					err := transact(db, func(tx *sql.Tx) error {
						if _, err := tx.Exec("INSERT INTO vote (book_id) VALUES (?)", 1+rand.IntN(rows)); err != nil {
							return err
						}
						for _, text := range texts {
							res, err := tx.Exec(text, 1+rand.IntN(rows))
							if err != nil {
								return err
							}
							if _, err := res.RowsAffected(); err != nil {
								return err
							}
						}
						return nil
					})
					if err != nil {
						t.Error(err)
						return
					}
					books.Add(1)
					authors.Add(1)
					if rand.IntN(5) == 0 {
						if _, err := db.Exec(texts[0], 1+rand.IntN(rows)); err != nil {
							t.Error(err)
							return
						}
						map[bool]*atomic.Int64{true: &books, false: &authors}[w%3 != 0].Add(1)
					}
					if rand.IntN(20) == 0 {
						time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond) // rows get cold
					}
				}
			})
		}
		wg.Wait()
		require.EqualValues(t, before[true]+books.Load(), harness.Number(t, tw.Ours, "SELECT SUM(votes) FROM book"))
		require.EqualValues(t, before[false]+authors.Load(), harness.Number(t, tw.Ours, "SELECT SUM(points) FROM author"))
	})
}
