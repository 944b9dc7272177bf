package groups

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// promised are tables with an increment's row that anything may make: a statement, a
// trigger, a routine.
const promised = `
CREATE TABLE p (id INT PRIMARY KEY, slug VARCHAR(9) NULL UNIQUE, n INT NOT NULL DEFAULT 0, m INT NULL, title VARCHAR(9) NOT NULL DEFAULT '');
INSERT INTO p (id, slug, m) VALUES (1, 'a', 0), (2, 'b', NULL), (3, 'c', 0);
CREATE TABLE q (id BIGINT UNSIGNED PRIMARY KEY, n INT UNSIGNED NOT NULL DEFAULT 0);
INSERT INTO q (id) VALUES (1), (2);
CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, p INT NOT NULL);
CREATE TABLE made (p INT NOT NULL);
CREATE TRIGGER makes AFTER INSERT ON made FOR EACH ROW INSERT INTO p (id) VALUES (NEW.p);
CREATE PROCEDURE make(IN n INT) INSERT INTO p (id) VALUES (n);
`

func promisedCounters() *countermysql.Config {
	return &countermysql.Config{Tables: []countermysql.TableConfig{{Table: "p", Counters: []string{"n", "m"}}, {Table: "q", Counters: []string{"n"}}}}
}

// look-ups of rows, as the driver sends them
func looksUp(sent []harness.Sending) (n int) {
	for _, s := range sent {
		if strings.HasPrefix(s.Text, "SELECT 0, `") {
			n++
		}
	}
	return n
}

// TestNobodyAsked proves that an increment in a transaction sends nothing before COMMIT
// where nobody asks for RowsAffected, that one who asks gets the answer, and that it is
// looked for once.
func TestNobodyAsked(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range [][]string{nil, {"interpolateParams=true"}, {"interpolateParams=true", "multiStatements=true"}, {"clientFoundRows=true"}} {
			tw := harness.NewTwin(t, srv, promised, promisedCounters(), params...)
			for _, asks := range []bool{false, true} {
				for _, alone := range []bool{false, true} {
					for _, id := range []int{1, 9} {
						var answers [2]int64
						var looked int
						for i, db := range []*sql.DB{tw.Plain, tw.Ours} {
							sent := tw.Sent.During(func() {
								tx, err := db.BeginTx(t.Context(), nil)
								require.NoError(t, err)
								if !alone {
									harness.Affected(t, tx, "INSERT INTO log (p) VALUES (?)", id)
								}
								res, err := tx.ExecContext(t.Context(), "UPDATE p SET n = n + 5 WHERE id = ?", id)
								require.NoError(t, err)
								if !alone {
									harness.Affected(t, tx, "INSERT INTO log (p) VALUES (?)", id)
								}
								if asks {
									answers[i], err = res.RowsAffected()
									require.NoError(t, err)
								}
								require.NoError(t, tx.Commit())
								for range 2 { // the connection may have another user
									n, err := res.RowsAffected()
									require.NoError(t, err)
									require.Equal(t, id == 1, n == 1)
								}
							})
							if i == 1 {
								looked = looksUp(sent)
							}
						}
						require.Equal(t, answers[0], answers[1])
						require.Equal(t, asks, looked == 1, "asks %v, row %d: looked %d times", asks, id, looked)
					}
				}
			}
			tw.Same(t, "SELECT id, n FROM p ORDER BY id")
		}
	})
}

// TestPromises proves that a transaction which increments a row that may be missing has
// the same answers and counts, whatever it does then, whether it asks for RowsAffected at
// once, at its end or after it.
func TestPromises(t *testing.T) {
	t.Parallel()
	scripts := [][]string{
		{"UPDATE p SET n = n + 1 WHERE id = 9", "INSERT INTO p (id) VALUES (9)"},
		{"UPDATE p SET n = n + 1 WHERE id = 9", "INSERT INTO p (id) SELECT 9"},
		{"UPDATE p SET n = n + 1 WHERE id = 9", "REPLACE INTO p (id) VALUES (9)"},
		{"UPDATE p SET n = n + 1 WHERE id = 9", "INSERT INTO p (id, n) VALUES (9, 1) ON DUPLICATE KEY UPDATE n = n + 1"},
		{"UPDATE p SET n = n + 1 WHERE id = 9", "INSERT INTO p (id, n) VALUES (9, 1) ON DUPLICATE KEY UPDATE n = n + 1", "UPDATE p SET n = n + 10 WHERE id = 9"},
		{"UPDATE p SET n = n + 1 WHERE id = 9", "UPDATE p SET id = 9 WHERE id = 1"},
		{"UPDATE p SET n = n + 1 WHERE id = 9", "UPDATE p SET id = 9, n = n + 1 WHERE slug = 'a'"},
		{"UPDATE p SET n = n + 1 WHERE id = 9", "INSERT INTO made VALUES (9)"},
		{"UPDATE p SET n = n + 1 WHERE id = 9", "CALL make(9)"},
		{"UPDATE p SET n = n + 1 WHERE id = 9", "SELECT COUNT(*) FROM log", "INSERT INTO p (id) VALUES (9)"},
		{"UPDATE p SET n = n + 1 WHERE id = 1", "UPDATE p SET n = n + 1 WHERE id = 9", "SELECT COUNT(*) FROM log", "SELECT id FROM p"},
		{"UPDATE p SET n = n + 1 WHERE id = 9", "UPDATE p SET n = n + 1 WHERE id = 1", "SELECT COUNT(*) FROM log"},
		{"UPDATE p SET n = n + 1 WHERE id = 9", "INSERT INTO log (p) VALUES (9)", "UPDATE p SET n = n + 1 WHERE id = 9"},
		{"UPDATE p SET n = n + 1 WHERE id = 1", "UPDATE p SET n = n + 1 WHERE id = 1", "UPDATE p SET n = n - 2 WHERE id = 1"},
		{"UPDATE p SET n = n + 1 WHERE id = 9", "UPDATE p SET n = n - 1 WHERE id = 9"},
		{"UPDATE p SET n = n + 1 WHERE id = 1", "SAVEPOINT s", "UPDATE p SET n = n + 1 WHERE id = 3", "ROLLBACK TO s"},
		{"SAVEPOINT s", "UPDATE p SET n = n + 1 WHERE id = 9", "INSERT INTO log (p) VALUES (9)", "ROLLBACK TO s", "INSERT INTO p (id) VALUES (9)"},
		{"UPDATE p SET n = n + 1 WHERE id = 9", "SAVEPOINT s", "INSERT INTO p (id) VALUES (9)", "ROLLBACK TO s", "UPDATE p SET n = n + 2 WHERE id = 1"},
		{"INSERT INTO p (id) VALUES (9)", "UPDATE p SET n = n + 1 WHERE id = 9"},
		{"DELETE FROM p WHERE id = 1", "UPDATE p SET n = n + 1 WHERE id = 1", "INSERT INTO p (id) VALUES (1)"},
		{"UPDATE p SET n = n + 1 WHERE id = 1", "DELETE FROM p WHERE id = 1", "INSERT INTO p (id) VALUES (1)"},
		{"UPDATE p SET n = n + 1 WHERE id = 1", "SELECT n FROM p WHERE id = 1"},
		{"UPDATE p SET n = n + 1 WHERE id = 1", "SELECT title FROM p WHERE id = 1", "UPDATE p SET title = 'x' WHERE id = 1"},
		{"UPDATE p SET n = n + 1 WHERE id = 1", "SELECT n FROM p WHERE id = 1 FOR UPDATE", "UPDATE p SET n = GREATEST(n - 5, 0) WHERE id = 1"},
		{"UPDATE p SET n = n + 1, m = m + 1 WHERE id = 2", "UPDATE p SET m = m + 1 WHERE id = 1"},
		{"UPDATE q SET n = n + 1 WHERE id = 1", "UPDATE p SET n = n + 1 WHERE id = 1", "UPDATE q SET n = n + 1 WHERE id = 9", "UPDATE p SET n = n + 1 WHERE id = 9", "UPDATE q SET n = n + 3 WHERE id = 2"},
		{"UPDATE q SET n = n + 1 WHERE id = 18446744073709551615", "UPDATE p SET n = n + 1 WHERE id = 99999999999"},
		{"UPDATE q SET n = n + 1 WHERE id = 1", "UPDATE q SET n = n - 5 WHERE id = 1"},
		{"UPDATE p SET n = n + 1 WHERE id = 1", "INSERT INTO log (id) VALUES (NULL)", "SELECT COUNT(*) FROM log"},
		{"UPDATE p SET n = n + 1 WHERE id = 9", "CREATE TABLE IF NOT EXISTS other (i INT)", "INSERT INTO p (id) VALUES (9)"},
		{"UPDATE p SET n = n + 1 WHERE id = 9", "COMMIT", "INSERT INTO p (id) VALUES (9)"},
		{"UPDATE p SET n = n + 1 WHERE id = 1", "COMMIT AND CHAIN", "UPDATE p SET n = n + 1 WHERE id = 1"},
		{"UPDATE p SET n = n + 1 WHERE id = 9", "SET @x = 1, sql_mode = ''", "INSERT INTO p (id) VALUES (9)"},
		{"UPDATE p SET n = n + 2147483647 WHERE id = 1", "UPDATE q SET n = n + 1 WHERE id = 1"},
	}
	const now, atCommit, after = 0, 1, 2
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, promised, promisedCounters(), "interpolateParams=true")
		for i, script := range scripts {
			level := []sql.IsolationLevel{sql.LevelDefault, sql.LevelReadCommitted}[i%2]
			for _, when := range []int{now, atCommit, after} {
				var answers [2][]string
				for side, db := range []*sql.DB{tw.Plain, tw.Ours} {
					answers[side] = playPromises(t, db, level, script, when)
				}
				require.Equal(t, answers[0], answers[1], "%v, asked %d", script, when)
				for _, q := range []string{"SELECT id, n, m, title FROM p ORDER BY id", "SELECT id, n FROM q ORDER BY id"} {
					tw.Same(t, q)
				}
				for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
					harness.Affected(t, db, "DELETE FROM p WHERE id > 3")
					harness.Affected(t, db, "UPDATE p SET n = 0 WHERE id < 4")
					harness.Affected(t, db, "INSERT IGNORE INTO p (id, slug, m) VALUES (1, 'a', 0)")
				}
			}
		}
	})
}

// playPromises are the answers of a transaction that prepares every other statement and
// asks for the results when it is told to.
func playPromises(t *testing.T, db *sql.DB, level sql.IsolationLevel, script []string, when int) (answers []string) {
	conn := harness.Session(t, db)
	defer conn.Close()
	tx, err := conn.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
	require.NoError(t, err)
	var results []sql.Result
	ask := func() {
		for _, res := range results {
			n, err := res.RowsAffected()
			answers = append(answers, fmt.Sprint("affected ", n, err))
		}
		results = nil
	}
	for i, step := range script {
		switch {
		case strings.HasPrefix(step, "SELECT"):
			answers = append(answers, harness.Queried(t.Context(), tx, step))
			continue
		case i%2 == 1 && !strings.HasPrefix(step, "S") && !strings.HasPrefix(step, "R"):
			stmt, err := tx.PrepareContext(t.Context(), step)
			require.NoError(t, err)
			res, err := stmt.ExecContext(t.Context())
			require.NoError(t, stmt.Close())
			if err == nil {
				results = append(results, res)
			}
			answers = append(answers, harness.Told(err))
		default:
			res, err := tx.ExecContext(t.Context(), step)
			if err == nil {
				results = append(results, res)
			}
			answers = append(answers, harness.Told(err))
		}
		if when == 0 {
			ask()
		}
	}
	if when == 1 {
		ask()
	}
	answers = append(answers, harness.Told(tx.Commit()))
	ask()
	return answers
}

// TestPromisesOfTwo proves what becomes of an increment whose row another client inserts
// or deletes before COMMIT: it is as if the other one had come first.
func TestPromisesOfTwo(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, level := range []sql.IsolationLevel{sql.LevelDefault, sql.LevelReadCommitted} {
			tw := harness.NewTwin(t, srv, promised, promisedCounters(), "interpolateParams=true")
			start := func(on *sql.DB, id int) (*sql.Tx, sql.Result) {
				tx, err := on.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
				require.NoError(t, err)
				harness.Affected(t, tx, "INSERT INTO log (p) VALUES (?)", id)
				res, err := tx.ExecContext(t.Context(), "UPDATE p SET n = n + 1 WHERE id = ?", id)
				require.NoError(t, err)
				return tx, res
			}
			ask := func(res sql.Result) int64 {
				n, err := res.RowsAffected()
				require.NoError(t, err)
				return n
			}

			tx, res := start(tw.Ours, 1)
			harness.Affected(t, tw.Ours, "DELETE FROM p WHERE id = 1")
			require.NoError(t, tx.Commit())
			require.Zero(t, ask(res), "its row was deleted before")
			require.Equal(t, "id INT, ", strings.TrimPrefix(harness.Queried(t.Context(), tw.Ours, "SELECT id FROM p WHERE id = 1"), "UNSIGNED "))

			tx, res = start(tw.Ours, 3)
			harness.Affected(t, tw.Ours, "DELETE FROM p WHERE id = 3")
			require.Zero(t, ask(res))
			require.NoError(t, tx.Commit())

			for _, end := range []string{"COMMIT", "ROLLBACK"} { // of an insert that waits
				other := harness.Session(t, tw.Ours)
				harness.Affected(t, other, "BEGIN")
				harness.Affected(t, other, "INSERT INTO p (id) VALUES (7)")
				tx, res = start(tw.Ours, 7)
				committed := make(chan error, 1)
				go func() { committed <- tx.Commit() }()
				select {
				case err := <-committed:
					require.FailNow(t, "it does not know yet whether there is a row", "%v", err)
				case <-time.After(100 * time.Millisecond):
				}
				harness.Affected(t, other, end)
				require.NoError(t, <-committed)
				require.Equal(t, end == "COMMIT", ask(res) == 1)
				require.Equal(t, end == "COMMIT", harness.Number(t, tw.Ours, "SELECT COALESCE(SUM(n), 0) FROM p WHERE id = 7") == 1)
				harness.Affected(t, tw.Ours, "DELETE FROM p WHERE id = 7")

				harness.Affected(t, other, "BEGIN")
				harness.Affected(t, other, "INSERT INTO p (id) VALUES (7)")
				tx, res = start(tw.Ours, 7)
				asked := make(chan int64, 1)
				go func() { asked <- ask(res) }()
				select {
				case n := <-asked:
					require.FailNow(t, "it does not know yet whether there is a row", "%d", n)
				case <-time.After(100 * time.Millisecond):
				}
				harness.Affected(t, other, end)
				require.Equal(t, end == "COMMIT", <-asked == 1)
				require.NoError(t, tx.Commit())
				require.Equal(t, end == "COMMIT", harness.Number(t, tw.Ours, "SELECT COALESCE(SUM(n), 0) FROM p WHERE id = 7") == 1)
				harness.Affected(t, tw.Ours, "DELETE FROM p WHERE id = 7")
				require.NoError(t, other.Close())
			}
		}
	})
}

// TestBrokenPromises proves that a transaction whose increments can't be looked for is not
// committed, also if nobody minds the error, and that a Result which is asked behind the
// end of its transaction sends nothing.
func TestBrokenPromises(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, promised, promisedCounters(), "interpolateParams=true")
		failed := errors.New("this fails")
		const increment = "UPDATE p SET n = n + 1 WHERE id = 1"
		for _, alone := range []bool{false, true} {
			begin := func(ctx context.Context) (*sql.Tx, sql.Result) {
				tx, err := tw.Ours.BeginTx(ctx, nil)
				require.NoError(t, err)
				if !alone {
					harness.Affected(t, tx, "INSERT INTO log (p) VALUES (1)")
				}
				res, err := tx.ExecContext(t.Context(), increment)
				require.NoError(t, err)
				return tx, res
			}
			for _, next := range []string{"", "SELECT n FROM p", "INSERT INTO p (id) VALUES (8)"} {
				tx, res := begin(t.Context())
				tw.Sent.Meddle(t, func(query string) error {
					if strings.Contains(query, "`p`.`n` IS NULL") {
						return failed
					}
					return nil
				})
				if next == "" {
					_, err := res.RowsAffected()
					require.ErrorIs(t, err, failed)
				} else {
					_, err := tx.ExecContext(t.Context(), next)
					require.ErrorIs(t, err, failed)
				}
				tw.Sent.Before.Store(nil)
				require.Error(t, tx.Commit())
				_, err := res.RowsAffected()
				require.ErrorIs(t, err, failed)
				require.Zero(t, harness.Number(t, tw.Ours, "SELECT SUM(n) FROM p"))
				require.EqualValues(t, 3, harness.Number(t, tw.Ours, "SELECT COUNT(*) FROM p"))
			}

			tx, res := begin(t.Context())
			require.NoError(t, tx.Rollback())
			sent := tw.Sent.During(func() {
				_, err := res.RowsAffected()
				require.ErrorContains(t, err, "rolled back")
			})
			require.Empty(t, sent)

			ctx, cancel := context.WithCancel(t.Context())
			tx, res = begin(ctx)
			cancel()
			_, err := res.RowsAffected()
			require.Error(t, err)
			require.Error(t, tx.Commit())
			require.Zero(t, harness.Number(t, tw.Ours, "SELECT SUM(n) FROM p"))
		}
	})
}

// TestOverlookedPromises proves that no row seems to be missing to who overlooks the error of
// a Result, as GORM does: because database/sql has rolled back, as the context has ended
// between the statement and the question, or because looking for the row has failed.
func TestOverlookedPromises(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, promised, promisedCounters(), "interpolateParams=true")
		begin := func(ctx context.Context, db *sql.DB, alone bool, id int) (*sql.Tx, sql.Result) {
			tx, err := db.BeginTx(ctx, nil)
			require.NoError(t, err)
			if !alone {
				harness.Affected(t, tx, "INSERT INTO log (p) VALUES (?)", id)
			}
			res, err := tx.ExecContext(t.Context(), "UPDATE p SET n = n + 1 WHERE id = ?", id)
			require.NoError(t, err)
			return tx, res
		}
		for _, alone := range []bool{false, true} {
			for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
				ctx, cancel := context.WithCancel(t.Context())
				tx, res := begin(ctx, db, alone, 1)
				cancel()
				require.Eventually(t, func() bool { return db.Stats().InUse == 0 }, 10*time.Second, time.Millisecond, "it is not rolled back")
				n, _ := res.RowsAffected()
				require.EqualValues(t, 1, n)
				require.Error(t, tx.Commit())
			}

			failed := errors.New("this fails")
			tx, res := begin(t.Context(), tw.Ours, alone, 9)
			tw.Sent.Meddle(t, func(query string) error {
				if strings.Contains(query, "UPDATE `") { // there is no row that it could look up
					return failed
				}
				return nil
			})
			n, err := res.RowsAffected()
			tw.Sent.Before.Store(nil)
			require.ErrorIs(t, err, failed)
			require.EqualValues(t, 1, n)
			require.Error(t, tx.Commit())
		}
		tw.Same(t, "SELECT id, n FROM p ORDER BY id")
	})
}

// TestPromisesOfGoroutines proves that a Result may be asked while others use its
// connection (with -race).
func TestPromisesOfGoroutines(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, promised, promisedCounters(), "interpolateParams=true")
		tw.Ours.SetMaxOpenConns(2)
		asked := make(chan error, 40)
		for i := range 40 {
			tx, err := tw.Ours.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			harness.Affected(t, tx, "INSERT INTO log (p) VALUES (1)")
			res, err := tx.ExecContext(t.Context(), "UPDATE p SET n = n + 1 WHERE id = ?", 1+2*(i%2))
			require.NoError(t, err)
			go func() {
				n, err := res.RowsAffected()
				if err == nil && n != 1 {
					err = fmt.Errorf("affected %d", n)
				}
				asked <- err
			}()
			require.NoError(t, tx.Commit())
		}
		for range 40 {
			require.NoError(t, <-asked)
		}
		require.EqualValues(t, 40, harness.Number(t, tw.Ours, "SELECT SUM(n) FROM p"))
	})
}
