package groups

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
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
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, level := range []string{"", "begin", "begin RC"} {
			for _, gone := range []string{"DELETE FROM post", "DELETE FROM author WHERE id = 1"} {
				for _, end := range []string{"COMMIT", "ROLLBACK"} {
					t.Run(level+"/"+gone+"/"+end, func(t *testing.T) {
						tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
						var answers [2]string
						for i, db := range []*sql.DB{tw.Plain, tw.Ours} {
							direct := tw.DirectTo(db)
							s := &harness.Script{Db: db, Clients: map[string]*harness.Client{}}
							s.Do(t, "A: UPDATE post SET likes = likes + 1 WHERE id = 1")
							deleter := harness.Session(t, direct)
							for _, stmt := range []string{"BEGIN", gone} {
								_, err := deleter.ExecContext(t.Context(), stmt)
								require.NoError(t, err)
							}
							if level != "" {
								s.Do(t, "A: "+level)
							}
							inserted := make(chan string, 1)
							go func() {
								inserted <- s.Clients["A"].Answer(t, context.WithoutCancel(t.Context()), "INSERT INTO post (id, author) VALUES (1, 2)")
							}()
							select {
							case answer := <-inserted:
								t.Fatal("it does not wait: ", answer)
							case <-time.After(100 * time.Millisecond):
							}
							_, err := deleter.ExecContext(t.Context(), end)
							require.NoError(t, err)
							answers[i] = harness.Soon(t, inserted) + "; "
							if level != "" {
								s.Do(t, "A: SELECT * FROM post")
								s.Do(t, "A: commit")
							}
							s.Do(t, "A: UPDATE post SET likes = likes + 1 WHERE id = 1")
							s.Do(t, "A: SELECT * FROM post")
							for _, a := range s.Answers {
								answers[i] += a + "; "
							}
							s.End()
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
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, stmt := range []string{
			"INSERT INTO page (id, name, hits) VALUES (1, 'x', 1) ON DUPLICATE KEY UPDATE name = VALUES(name), hits = hits + 1",
			"INSERT INTO page (id, name, hits) VALUES (1, 'x', 1) ON DUPLICATE KEY UPDATE hits = 0",
			"REPLACE INTO page (id, hits) VALUES (1, 5)",
		} {
			t.Run(stmt, func(t *testing.T) {
				tw := harness.NewTwin(t, srv, "CREATE TABLE page (id INT PRIMARY KEY, name VARCHAR(10) NULL, hits INT NOT NULL);\nINSERT INTO page VALUES (1, 'a', 1)", harness.Counters("page", "hits"))
				for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
					_, err := db.ExecContext(t.Context(), "UPDATE page SET hits = hits + 1 WHERE id = 1")
					require.NoError(t, err)
					holder, err := tw.DirectTo(db).BeginTx(t.Context(), nil)
					require.NoError(t, err)
					_, err = holder.ExecContext(t.Context(), "UPDATE page SET name = 'b' WHERE id = 1")
					require.NoError(t, err)
					ended := make(chan string, 3)
					for range cap(ended) {
						go func() {
							ended <- fmt.Sprint(harness.InTransaction(context.WithoutCancel(t.Context()), db, sql.LevelDefault, []string{stmt}))
						}()
					}
					select {
					case err := <-ended:
						t.Fatal("it does not wait: ", err)
					case <-time.After(300 * time.Millisecond):
					}
					require.NoError(t, holder.Commit())
					for range cap(ended) {
						require.Equal(t, "<nil>", harness.Soon(t, ended))
					}
				}
				tw.Same(t, "SELECT * FROM page")
			})
		}
	})
}

// TestIncrementsBesideInsert proves that an INSERT which has waited for a row that it
// then meets keeps no increments from that row's slots.
func TestIncrementsBesideInsert(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE page (id INT PRIMARY KEY, name VARCHAR(10) NULL, hits INT NOT NULL);\nINSERT INTO page VALUES (1, 'a', 1)", harness.Counters("page", "hits"), "innodb_lock_wait_timeout=2")
		const increment = "UPDATE page SET hits = hits + 1 WHERE id = 1"
		for range 50 {
			_, err := tw.Ours.ExecContext(t.Context(), increment)
			require.NoError(t, err)
		}
		holder, err := tw.Direct.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = holder.ExecContext(t.Context(), "UPDATE page SET name = 'b' WHERE id = 1")
		require.NoError(t, err)
		tx, err := tw.Ours.BeginTx(t.Context(), nil)
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
		require.Equal(t, "<nil>", harness.Soon(t, inserted))
		for range 50 {
			_, err = tw.Ours.ExecContext(t.Context(), increment)
			require.NoError(t, err)
		}
		require.NoError(t, tx.Commit())
	})
}

// TestIncrementsBesideCleaning proves that an INSERT of many rows, or of those of a
// query, that removes left-over slots keeps no increments from the slots of other rows.
func TestIncrementsBesideCleaning(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE page (id INT PRIMARY KEY, hits INT NOT NULL);\nCREATE TABLE old (id INT PRIMARY KEY);\nINSERT INTO old VALUES (5000)", harness.Counters("page", "hits"), "innodb_lock_wait_timeout=2")
		harness.ExecAll(t, tw.Direct, "INSERT INTO page VALUES ("+strings.Join(harness.Numbered("%d", 51), ", 0), (")+", 0)")
		harness.ExecAll(t, tw.Direct, "INSERT INTO page_slots (id, slot, hits) VALUES (50, 1, 0)") // the gap before left-over slots is locked
		for _, stmt := range []string{
			"INSERT INTO page (id, hits) VALUES (" + strings.Join(harness.Numbered("1%03d", 300), ", 7), (") + ", 7)",
			"INSERT INTO page (id, hits) SELECT id, 7 FROM old",
		} {
			harness.ExecAll(t, tw.Direct, "INSERT INTO page_slots (id, slot, hits) VALUES (1001, 1, 100), (1001, 2, 100), (5000, 1, 100), (9000, 1, 100)")
			increment := func() {
				for id := range 50 {
					_, err := tw.Ours.ExecContext(t.Context(), "UPDATE page SET hits = hits + 1 WHERE id = ?", id)
					require.NoError(t, err)
				}
			}
			increment()
			tx, err := tw.Ours.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			_, err = tx.ExecContext(t.Context(), stmt)
			require.NoError(t, err)
			increment()
			require.NoError(t, tx.Commit())
			var sum, rows int
			require.NoError(t, tw.Ours.QueryRowContext(t.Context(), "SELECT SUM(hits), COUNT(*) FROM page WHERE id > 50").Scan(&sum, &rows))
			require.Equal(t, 7*rows, sum)
			require.NoError(t, tw.Direct.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM page_slots WHERE id > 50").Scan(&rows))
			require.Zero(t, rows)
			harness.ExecAll(t, tw.Direct, "DELETE FROM page WHERE id > 50")
		}
	})
}
