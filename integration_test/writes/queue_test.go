package writes

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestQueue proves that a locking query with a LIMIT leaves the rows behind it to
// others, as those who take jobs from a queue need it.
func TestQueue(t *testing.T) {
	const schema = `
CREATE TABLE job (id INT PRIMARY KEY, state VARCHAR(9) NOT NULL DEFAULT 'new', attempts INT NOT NULL DEFAULT 0, KEY (state));
CREATE TABLE log (id INT);
INSERT INTO job (id) VALUES (1), (2), (3), (4);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("job", "attempts"), "innodb_lock_wait_timeout=1")
		for _, query := range []string{
			"SELECT * FROM job WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED",
			"SELECT j.attempts, j.id FROM job AS j WHERE j.state = 'new' AND (id > 0) ORDER BY j.id ASC LIMIT 0, 1 FOR UPDATE SKIP LOCKED;",
			"SELECT id, (SELECT id FROM log WHERE id = 1 LIMIT 1) n, attempts FROM job WHERE id > 0 LIMIT 1 FOR UPDATE SKIP LOCKED",
			"SELECT * FROM job ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED",
			"SELECT * FROM job LIMIT 1 FOR UPDATE SKIP LOCKED",
			"(SELECT * FROM job WHERE id = 1 FOR UPDATE SKIP LOCKED)",
			"(SELECT attempts FROM job WHERE id = 1 LIMIT 1 FOR UPDATE SKIP LOCKED)",
			"SELECT DISTINCT id, attempts FROM job WHERE id = 1 LIMIT 1 FOR UPDATE SKIP LOCKED",
			"SELECT attempts FROM job WHERE state = 'new' ORDER BY attempts, id LIMIT 1 FOR UPDATE SKIP LOCKED",
			"SELECT COUNT(attempts) FROM job WHERE state = 'new' LIMIT 1 FOR UPDATE SKIP LOCKED",
		} {
			for _, level := range []string{"RR", "RC"} {
				tw.Play(t, "C: UPDATE job SET attempts = attempts + 1 WHERE id IN (1, 3)", "A: begin "+level, "B: begin "+level, "A: "+query, "B: "+query,
					"C: SELECT id FROM job ORDER BY id FOR UPDATE SKIP LOCKED", "A: UPDATE job SET attempts = attempts + 1 WHERE id = 1", "B: commit", "A: commit",
					"C: UPDATE job SET attempts = attempts + 1 WHERE id = 4", "C: SELECT * FROM job ORDER BY id")
			}
		}
	})
}

// TestLimitedChanges proves that an exact statement with a LIMIT changes the rows that it
// changes on plain MySQL, and leaves those behind them to others.
func TestLimitedChanges(t *testing.T) {
	const schema = `
CREATE TABLE job (id INT PRIMARY KEY, state VARCHAR(9) NOT NULL DEFAULT 'new', attempts INT NOT NULL DEFAULT 0) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (3), PARTITION p1 VALUES LESS THAN MAXVALUE);
`
	fill := []string{"C: DELETE FROM job", "C: INSERT INTO job (id, attempts) VALUES (1, 5), (2, 0), (3, 7), (4, 1), (5, 0), (6, 2)", "C: UPDATE job SET attempts = attempts + 10 WHERE id IN (1, 3, 4, 6)"}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("job", "attempts"), "innodb_lock_wait_timeout=1")
		changes := []string{
			"UPDATE job SET state = 'taken', attempts = 0 WHERE id > 0 ORDER BY id LIMIT 1",
			"UPDATE job AS j SET j.attempts = j.attempts * 2 WHERE (j.id > 1) ORDER BY j.id DESC, state LIMIT 2;",
			"UPDATE job SET attempts = 0 WHERE id IN (4, 2, 9) LIMIT 2",
			"UPDATE job SET attempts = 0 WHERE id = 9 LIMIT 1",
			"UPDATE job SET attempts = 0 WHERE id > 0 LIMIT 0",
			"UPDATE job SET attempts = attempts * 2 WHERE state = 'new' ORDER BY attempts DESC, id LIMIT 2",
			"UPDATE job PARTITION (p1) SET attempts = 0 WHERE state = 'new' ORDER BY id LIMIT 1",
			"DELETE FROM job WHERE id > 0 ORDER BY id LIMIT 2",
			"DELETE FROM job WHERE state = 'none' ORDER BY id LIMIT 2",
			"DELETE FROM job PARTITION (p1) WHERE id > 0 ORDER BY id LIMIT 1",
		}
		if harness.MariaDB(srv) {
			changes = append(changes, "DELETE FROM job WHERE id > 2 ORDER BY id LIMIT 2 RETURNING *")
		}
		for _, change := range changes {
			for _, level := range []string{"RR", "RC"} {
				tw.Play(t, fill...)
				tw.Play(t, "A: begin "+level, "A: "+change, "A: UPDATE job SET attempts = attempts + 100 WHERE id = 1",
					"A: SELECT * FROM job ORDER BY id", "A: rollback", "C: SELECT * FROM job ORDER BY id", "C: "+change, "C: SELECT * FROM job ORDER BY id")
			}
		}
		for _, level := range []string{"RR", "RC"} {
			for _, change := range []string{"UPDATE job SET attempts = 0 WHERE id > 0 ORDER BY id LIMIT 1", "DELETE FROM job WHERE id > 0 ORDER BY id LIMIT 1"} {
				tw.Play(t, fill...)
				tw.Play(t, "A: begin "+level, "A: "+change, "B: UPDATE job SET attempts = 3 WHERE id = 4",
					"B: UPDATE job SET attempts = attempts + 1 WHERE id = 6", "B: UPDATE job SET state = 'x' WHERE id = 5", "A: commit", "B: SELECT * FROM job ORDER BY id")
			}
		}
	})
}

// TestLimitArguments proves that an argument of LIMIT means what it means on plain MySQL,
// whatever its type.
func TestLimitArguments(t *testing.T) {
	const schema = "CREATE TABLE job (id INT PRIMARY KEY, state VARCHAR(9) NOT NULL DEFAULT 'new', attempts INT NOT NULL DEFAULT 0);\nINSERT INTO job (id, attempts) VALUES (1, 5), (2, 3), (3, 7);\n"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, interpolate := range []string{"true", "false"} {
			tw := harness.NewTwin(t, srv, schema, harness.Counters("job", "attempts"), "interpolateParams="+interpolate)
			_, err := tw.Ours.Exec("UPDATE job SET attempts = attempts + 10 WHERE id IN (1, 3)")
			require.NoError(t, err)
			_, err = tw.Plain.Exec("UPDATE job SET attempts = attempts + 10 WHERE id IN (1, 3)")
			require.NoError(t, err)
			for _, limit := range []any{1, uint8(2), "1", []byte("2"), 2.0, -1, 0, nil, "x"} {
				for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelReadCommitted} {
					try := func(db *sql.DB) (answers []string) {
						tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
						require.NoError(t, err)
						defer tx.Rollback()
						answers = append(answers, harness.Queried(t.Context(), tx, "SELECT id, attempts FROM job WHERE state = ? ORDER BY id LIMIT ? FOR UPDATE", "new", limit))
						for _, change := range []string{"UPDATE job SET attempts = attempts * 2 WHERE state = ? ORDER BY id LIMIT ?", "DELETE FROM job WHERE state = ? ORDER BY id LIMIT ?"} {
							_, err := tx.Exec(change, "new", limit)
							answers = append(answers, harness.Told(err), harness.Queried(t.Context(), tx, "SELECT * FROM job ORDER BY id"))
						}
						return answers
					}
					require.Equal(t, try(tw.Plain), try(tw.Ours), "%T %[1]v", limit)
				}
			}
		}
	})
}

// TestLockedCopy proves that a query whose rows are stored takes the locks that it asks for.
func TestLockedCopy(t *testing.T) {
	t.Parallel()
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, level := range []string{"RR", "RC"} {
			for _, copies := range []string{
				"INSERT INTO note (id, body) SELECT likes, title FROM post WHERE id = 1 FOR UPDATE",
				"REPLACE INTO note SELECT p.likes, title FROM post p WHERE p.slug = 'a' LIMIT 1 FOR UPDATE",
				"INSERT INTO note (id, body) (SELECT likes, title FROM post WHERE id = 1 FOR UPDATE)",
				"INSERT INTO note SELECT p.likes, p.title FROM post p JOIN author a ON a.id = p.author WHERE p.id = 1 FOR UPDATE ON DUPLICATE KEY UPDATE body = 'again'",
			} {
				tw := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_lock_wait_timeout=1")
				tw.Play(t, "A: begin "+level, "B: begin "+level, "A: "+copies, "B: SELECT likes FROM post WHERE id = 1 FOR UPDATE", "C: UPDATE post SET likes = likes + 1 WHERE id = 1",
					"A: UPDATE post SET likes = likes * 2 WHERE id = 1", "A: commit", "B: "+copies, "B: commit", "C: SELECT * FROM note ORDER BY id", "C: SELECT id, likes FROM post ORDER BY id")
			}
		}
	})
}
