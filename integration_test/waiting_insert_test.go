package integration_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/testserver"
)

// TestInsertThatWaits proves that a row which is inserted while another client deletes
// the one that has its key, by itself or by a cascade, has nothing of that one's count;
// and that it keeps its count if it stays.
func TestInsertThatWaits(t *testing.T) {
	const schema = `
CREATE TABLE author (id INT PRIMARY KEY);
CREATE TABLE post (id INT PRIMARY KEY, author INT NULL, likes INT NOT NULL DEFAULT 0, FOREIGN KEY (author) REFERENCES author (id) ON DELETE CASCADE);
INSERT INTO author VALUES (1), (2);
INSERT INTO post (id, author) VALUES (1, 1);
`
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, level := range []string{"", "begin", "begin RC"} {
			for _, gone := range []string{"DELETE FROM post", "DELETE FROM author WHERE id = 1"} {
				for _, end := range []string{"COMMIT", "ROLLBACK"} {
					t.Run(level+"/"+gone+"/"+end, func(t *testing.T) {
						tw := newTwin(t, srv, schema, counters("post", "likes"))
						var answers [2]string
						for i, db := range []*sql.DB{tw.plain, tw.ours} {
							direct := tw.directTo(db)
							s := &script{db: db, clients: map[string]*client{}}
							s.do(t, "A: UPDATE post SET likes = likes + 1 WHERE id = 1")
							deleter := session(t, direct)
							for _, stmt := range []string{"BEGIN", gone} {
								_, err := deleter.ExecContext(t.Context(), stmt)
								require.NoError(t, err)
							}
							if level != "" {
								s.do(t, "A: "+level)
							}
							inserted := make(chan string, 1)
							go func() {
								inserted <- s.clients["A"].answer(t, context.WithoutCancel(t.Context()), "INSERT INTO post (id, author) VALUES (1, 2)")
							}()
							select {
							case answer := <-inserted:
								t.Fatal("it does not wait: ", answer)
							case <-time.After(100 * time.Millisecond):
							}
							_, err := deleter.ExecContext(t.Context(), end)
							require.NoError(t, err)
							answers[i] = soon(t, inserted) + "; "
							if level != "" {
								s.do(t, "A: SELECT * FROM post")
								s.do(t, "A: commit")
							}
							s.do(t, "A: UPDATE post SET likes = likes + 1 WHERE id = 1")
							s.do(t, "A: SELECT * FROM post")
							for _, a := range s.answers {
								answers[i] += a + "; "
							}
							s.end()
						}
						require.Equal(t, answers[0], answers[1])
					})
				}
			}
		}
	})
}

// TestUpsertsThatWait proves that transactions whose upserts, or REPLACEs, wait for the
// same row, which has slots, go one after the other: with shared locks of the row they
// would all wait for each other.
func TestUpsertsThatWait(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, stmt := range []string{
			"INSERT INTO page (id, name, hits) VALUES (1, 'x', 1) ON DUPLICATE KEY UPDATE name = VALUES(name), hits = hits + 1",
			"INSERT INTO page (id, name, hits) VALUES (1, 'x', 1) ON DUPLICATE KEY UPDATE hits = 0",
			"REPLACE INTO page (id, hits) VALUES (1, 5)",
		} {
			t.Run(stmt, func(t *testing.T) {
				tw := newTwin(t, srv, "CREATE TABLE page (id INT PRIMARY KEY, name VARCHAR(10) NULL, hits INT NOT NULL);\nINSERT INTO page VALUES (1, 'a', 1)", counters("page", "hits"))
				for _, db := range []*sql.DB{tw.plain, tw.ours} {
					_, err := db.ExecContext(t.Context(), "UPDATE page SET hits = hits + 1 WHERE id = 1")
					require.NoError(t, err)
					holder, err := tw.directTo(db).BeginTx(t.Context(), nil)
					require.NoError(t, err)
					_, err = holder.ExecContext(t.Context(), "UPDATE page SET name = 'b' WHERE id = 1")
					require.NoError(t, err)
					ended := make(chan string, 3)
					for range cap(ended) {
						go func() {
							ended <- fmt.Sprint(inTransaction(context.WithoutCancel(t.Context()), db, sql.LevelDefault, []string{stmt}))
						}()
					}
					select {
					case err := <-ended:
						t.Fatal("it does not wait: ", err)
					case <-time.After(300 * time.Millisecond):
					}
					require.NoError(t, holder.Commit())
					for range cap(ended) {
						require.Equal(t, "<nil>", soon(t, ended))
					}
				}
				tw.same(t, "SELECT * FROM page")
			})
		}
	})
}

// TestIncrementsBesideInsert proves that an INSERT which has waited for a row that it
// then meets keeps no increments from that row's slots.
func TestIncrementsBesideInsert(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, "CREATE TABLE page (id INT PRIMARY KEY, name VARCHAR(10) NULL, hits INT NOT NULL);\nINSERT INTO page VALUES (1, 'a', 1)", counters("page", "hits"), "innodb_lock_wait_timeout=2")
		const increment = "UPDATE page SET hits = hits + 1 WHERE id = 1"
		for range 50 {
			_, err := tw.ours.ExecContext(t.Context(), increment)
			require.NoError(t, err)
		}
		holder, err := tw.direct.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = holder.ExecContext(t.Context(), "UPDATE page SET name = 'b' WHERE id = 1")
		require.NoError(t, err)
		tx, err := tw.ours.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		inserted := make(chan string, 1)
		go func() {
			_, err := tx.ExecContext(context.WithoutCancel(t.Context()), "INSERT IGNORE INTO page (id, hits) VALUES (1, 0)")
			inserted <- fmt.Sprint(err)
		}()
		select {
		case err := <-inserted:
			t.Fatal("it does not wait: ", err)
		case <-time.After(100 * time.Millisecond):
		}
		require.NoError(t, holder.Commit())
		require.Equal(t, "<nil>", soon(t, inserted))
		for range 50 {
			_, err = tw.ours.ExecContext(t.Context(), increment)
			require.NoError(t, err)
		}
		require.NoError(t, tx.Commit())
	})
}

// TestIncrementsBesideCleaning proves that an INSERT of many rows, or of those of a
// query, that removes left-over slots keeps no increments from the slots of other rows.
func TestIncrementsBesideCleaning(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, "CREATE TABLE page (id INT PRIMARY KEY, hits INT NOT NULL);\nCREATE TABLE old (id INT PRIMARY KEY);\nINSERT INTO old VALUES (5000)", counters("page", "hits"), "innodb_lock_wait_timeout=2")
		execAll(t, tw.direct, "INSERT INTO page VALUES ("+strings.Join(numbered("%d", 51), ", 0), (")+", 0)")
		execAll(t, tw.direct, "INSERT INTO page_slots (id, slot, hits) VALUES (50, 1, 0)") // the gap before left-over slots is locked
		for _, stmt := range []string{
			"INSERT INTO page (id, hits) VALUES (" + strings.Join(numbered("1%03d", 300), ", 7), (") + ", 7)",
			"INSERT INTO page (id, hits) SELECT id, 7 FROM old",
		} {
			execAll(t, tw.direct, "INSERT INTO page_slots (id, slot, hits) VALUES (1001, 1, 100), (1001, 2, 100), (5000, 1, 100), (9000, 1, 100)")
			increment := func() {
				for id := range 50 {
					_, err := tw.ours.ExecContext(t.Context(), "UPDATE page SET hits = hits + 1 WHERE id = ?", id)
					require.NoError(t, err)
				}
			}
			increment()
			tx, err := tw.ours.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			_, err = tx.ExecContext(t.Context(), stmt)
			require.NoError(t, err)
			increment()
			require.NoError(t, tx.Commit())
			var sum, rows int
			require.NoError(t, tw.ours.QueryRowContext(t.Context(), "SELECT SUM(hits), COUNT(*) FROM page WHERE id > 50").Scan(&sum, &rows))
			require.Equal(t, 7*rows, sum)
			require.NoError(t, tw.direct.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM page_slots WHERE id > 50").Scan(&rows))
			require.Zero(t, rows)
			execAll(t, tw.direct, "DELETE FROM page WHERE id > 50")
		}
	})
}
