package writes

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

// schedule is one of clients, a letter each: "A: …" runs a statement and "A& …" begins one, which
// waits for a lock until "A!". RC begins a transaction at READ COMMITTED.
type schedule struct {
	schema string
	steps  []string
	later  bool // clients wait for others than on plain, and may come behind them: only the sum is the same
}

// play gives the answers to all steps of one database, and the rows of the counter table.
func (s schedule) play(t *testing.T, db *sql.DB) (answers []string) {
	t.Helper()
	clients, waiting := map[string]*sql.Conn{}, map[string]chan string{}
	for _, step := range s.steps {
		name, how, text := step[:1], step[1], step[2:]
		c := clients[name]
		if c == nil {
			c = harness.Session(t, db)
			clients[name] = c
		}
		ask := func() string {
			ctx := context.WithoutCancel(t.Context())
			switch {
			case text == " RC":
				_, err := c.ExecContext(ctx, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
				require.NoError(t, err)
				text = "BEGIN"
			case strings.HasPrefix(text, " SELECT"):
				return harness.Queried(ctx, c, text)
			}
			return harness.Told2(c.ExecContext(ctx, text))
		}
		var answer string
		switch how {
		case '&':
			waiting[name] = make(chan string, 1)
			go func(done chan string) { done <- ask() }(waiting[name])
			time.Sleep(150 * time.Millisecond)
			continue
		case '!':
			answer = <-waiting[name]
		default:
			answer = ask()
		}
		answers = append(answers, step+" → "+answer)
	}
	for _, c := range clients {
		require.NoError(t, c.Close())
	}
	return answers
}

const (
	children = "CREATE TABLE p (id INT PRIMARY KEY, n INT NOT NULL UNIQUE);\nCREATE TABLE c (id INT PRIMARY KEY, pid INT NOT NULL DEFAULT 1, hits INT NOT NULL DEFAULT 0, KEY (pid));\nINSERT INTO p VALUES (1, 0), (2, 1);\nINSERT INTO c (id, hits) VALUES (1, 10), (2, 10), (3, 10), (5, 10);\n"
	cascades = children + "DELETE FROM c WHERE id > 2;\nALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p (id) ON UPDATE CASCADE"
	fires    = children + "CREATE TRIGGER tr AFTER UPDATE ON p FOR EACH ROW UPDATE c SET id = NEW.n, hits = hits * 2 WHERE id = OLD.id"
	narrow   = children + "ALTER TABLE c ADD o TINYINT NOT NULL DEFAULT 0, ADD fat VARCHAR(200) NOT NULL DEFAULT '', ADD KEY (o);\nINSERT INTO c (id, hits) VALUES (6, 10)"
	slugs    = "CREATE TABLE c (id INT PRIMARY KEY, slug VARCHAR(10) NOT NULL UNIQUE, hits INT NOT NULL);\nCREATE TABLE note (x INT);\nINSERT INTO c VALUES (1, 'a', 10), (20, 'b', 20), (300, 'c', 30)"
	lockP    = "B: SELECT * FROM p WHERE id = 1 FOR UPDATE"
	hit      = "C: UPDATE c SET hits = hits + 5 WHERE id = 1"
)

// TestIncrementedBetween proves that an increment is not lost, nor counted for another row, which
// comes between what a statement does first, to roll up slots, and the statement: of a row that it did
// not know to be one of its own, or has missed while it waited.
func TestIncrementedBetween(t *testing.T) {
	schedules := map[string]schedule{
		"cascade":                  {cascades, []string{"B: BEGIN", lockP, "A& UPDATE p SET id = 20 WHERE id = 1", hit, "B: COMMIT", "A!"}, false},
		"cascade in a transaction": {cascades, []string{"A: BEGIN", "B: BEGIN", lockP, "A& UPDATE p SET id = 20 WHERE id = 1", hit, "B: COMMIT", "A!", "A: COMMIT"}, false},
		"cascade of an upsert":     {cascades, []string{"B: BEGIN", lockP, "A& INSERT INTO p VALUES (9, 0) ON DUPLICATE KEY UPDATE id = VALUES(id)", hit, "B: COMMIT", "A!"}, false},
		"trigger":                  {fires, []string{"B: BEGIN", lockP, "A& UPDATE p SET n = 50 WHERE id = 1", hit, "B: COMMIT", "A!"}, false},
		"all rows":                 {children, []string{"B: BEGIN", "B: SELECT id FROM c WHERE id = 2 FOR UPDATE", "A& UPDATE c SET hits = hits * 2", "C& UPDATE c SET hits = hits + 5 WHERE id = 3", "B: COMMIT", "A!", "C!"}, false},
		"join":                     {children, []string{"B: BEGIN", "B: SELECT id FROM c WHERE id = 2 FOR UPDATE", "A& UPDATE c JOIN p ON p.id = c.pid SET c.hits = 0", "C: UPDATE c SET hits = hits + 5 WHERE id = 5", "C: SELECT hits FROM c WHERE id = 5", "B: COMMIT", "A!"}, false},
		"new row in a range": {children, []string{"B: RC", "B: SELECT * FROM c WHERE id = 5 FOR UPDATE", "A: RC", "A& UPDATE c SET id = id + 100 WHERE id BETWEEN 1 AND 9",
			"C: INSERT INTO c VALUES (4, 1, 7)", "C: UPDATE c SET hits = hits + 5 WHERE id = 4", "B: COMMIT", "A!", "A: COMMIT"}, true},
		"row that moves (MySQL)": {slugs, []string{"B: BEGIN", "B: SELECT * FROM c WHERE slug = 'b' FOR UPDATE", "A& UPDATE c SET id = 5 WHERE slug = 'b'",
			"B: UPDATE c SET id = 10 WHERE slug = 'b'", "C& UPDATE c SET hits = hits + 5 WHERE slug = 'b'", "B: COMMIT", "A!", "C!"}, true}, // MariaDB deadlocks
		"by one of two keys (MySQL)": {slugs, []string{"B: BEGIN", "B: SELECT * FROM c WHERE slug = 'b' FOR UPDATE", "A& UPDATE c SET id = 5 WHERE slug = 'b' OR slug = 'zz'",
			"B: UPDATE c SET id = 10 WHERE slug = 'b'", "C& UPDATE c SET hits = hits + 5 WHERE slug = 'b'", "B: COMMIT", "A!", "C!"}, true},
		"rows found by another index": {narrow, []string{"B: BEGIN", "B: SELECT id FROM c WHERE id = 2 FOR UPDATE", "A: BEGIN", "A& UPDATE c JOIN p ON p.id = c.pid SET c.hits = 0",
			"C: UPDATE c SET hits = hits + 5 WHERE id IN (3, 5, 6)", "C: SELECT hits FROM c WHERE id = 5", "B: COMMIT", "A!", "A: COMMIT"}, false},
		"while somebody else has a row": {children, []string{"B: BEGIN", "B: SELECT id FROM c WHERE id = 2 FOR UPDATE", "A: BEGIN", "A& UPDATE c JOIN p ON p.id = c.pid SET c.hits = 0 WHERE c.id IN (1, 2)",
			"C: UPDATE c SET hits = hits + 5 WHERE id = 5", "D: BEGIN", "D: SELECT id FROM c WHERE id = 5 FOR UPDATE", "B: COMMIT", "A!", "A: COMMIT", "D: COMMIT"}, false},
		"row that moves before COMMIT": {slugs, []string{"A: RC", "A: INSERT INTO note VALUES (1)", "A: UPDATE c SET hits = hits + 2 WHERE slug = 'b'", "B& UPDATE c SET id = 30 WHERE slug = 'b'",
			"C: RC", "C& SELECT * FROM c WHERE slug = 'b' FOR UPDATE", "A& COMMIT", "C!", "C: UPDATE c SET id = 10 WHERE slug = 'b'", "C: COMMIT", "A!", "B!"}, true},
	}
	for name, ranks := range map[string]string{ // which are sent once
		"variables": "UPDATE c SET pid = (@r := @r + 1), hits = hits * 2 WHERE hits > 1 ORDER BY id", "variables of a join": "UPDATE c JOIN p ON p.id = c.pid SET c.pid = (@r := @r + 1), c.hits = 0",
	} {
		schedules[name] = schedule{children, []string{"A: SET @r = 0", "B: BEGIN", "B: SELECT id FROM c WHERE id = 2 FOR UPDATE", "A& " + ranks,
			"C: UPDATE c SET hits = hits + 5 WHERE id = 5", "B: COMMIT", "A!", "A: SELECT @r"}, false}
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for name, s := range schedules {
			if strings.Contains(name, "MySQL") && harness.MariaDB(srv) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				tw := harness.NewTwin(t, srv, s.schema, harness.Counters("c", "hits"))
				want, rows := s.play(t, tw.Plain), "SELECT * FROM c ORDER BY id"
				if got := s.play(t, tw.Ours); s.later {
					rows = "SELECT SUM(hits) FROM c"
				} else {
					require.Equal(t, want, got)
				}
				tw.Same(t, rows)
				tw.RolledUp(t)
				require.Equal(t, harness.Queried(t.Context(), tw.Plain, rows), harness.Queried(t.Context(), tw.Direct, rows))
			})
		}
	})
}

// TestFoundByAnotherKey proves that an increment by a unique key is counted for the row that has it at
// COMMIT where others have given that another primary key, and not for the one that has got the old one;
// and, where the transaction itself has moved the unique key, for the row that it was found in.
func TestFoundByAnotherKey(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, first := range []string{"", "INSERT INTO note VALUES (1)"} {
			for _, id := range []int{5, 100} { // lower and higher than what it is now
				tw := harness.NewTwin(t, srv, slugs, harness.Counters("c", "hits"))
				tx, err := tw.Ours.Begin()
				require.NoError(t, err)
				if first != "" {
					harness.Affected(t, tx, first)
				}
				require.EqualValues(t, 1, harness.Affected(t, tx, "UPDATE c SET hits = hits + 2 WHERE slug = 'b'"))
				harness.Affected(t, tw.Ours, fmt.Sprintf("UPDATE c SET id = %d WHERE slug = 'b'", id))
				harness.Affected(t, tw.Ours, "UPDATE c SET id = 20 WHERE slug = 'c'")
				require.NoError(t, tx.Commit())
				require.Equal(t, "[a10 b22 c30]", fmt.Sprint(harness.QueriedList(t, tw.Ours, "SELECT CONCAT(slug, hits) FROM c ORDER BY slug")))
			}
		}
		tw := harness.NewTwin(t, srv, slugs, harness.Counters("c", "hits"))
		for _, steps := range [][]string{
			{"UPDATE c SET hits = hits + 2 WHERE slug = 'b'", "UPDATE c SET hits = hits - 1, slug = 'v' WHERE id = 20", "UPDATE c SET hits = hits * 2 WHERE id = 20"},
			{"UPDATE c SET slug = 't' WHERE id = 20", "UPDATE c SET slug = 'b' WHERE id = 300", "UPDATE c SET hits = hits + 2 WHERE slug = 'b'"},
			{"UPDATE c SET hits = hits + 2 WHERE slug = 'b'", "UPDATE c SET slug = 'u' WHERE id = 300", "UPDATE c SET slug = 'b' WHERE id = 1"},
		} {
			for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
				require.NoError(t, harness.InTransaction(t.Context(), db, sql.LevelDefault, steps))
			}
			tw.Same(t, "SELECT * FROM c ORDER BY id")
		}
	})
}

// TestWideBehindDelete proves that a statement of rows that are not known goes on behind one of its
// transaction that has deleted rows with slots, which others still see.
func TestWideBehindDelete(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, schema := range []string{children, children + "DELETE FROM c WHERE id <> 3;\nALTER TABLE c DROP PRIMARY KEY"} {
			for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable} {
				tw := harness.NewTwin(t, srv, schema, harness.Counters("c", "hits"))
				for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
					harness.Affected(t, db, "UPDATE c SET hits = hits + 5")
					harness.Affected(t, db, "UPDATE c SET hits = hits + 5 WHERE id = 3")
					require.NoError(t, harness.InTransaction(t.Context(), db, level, []string{"DELETE FROM c WHERE id IN (SELECT id + 2 FROM p)", "UPDATE c JOIN p ON p.id = c.pid SET c.hits = c.hits * 2", "UPDATE c SET hits = hits * 2"}))
				}
				tw.Same(t, "SELECT * FROM c ORDER BY id")
			}
		}
	})
}

// TestIncrementedBesideRoutine proves that an increment which comes while a routine runs inside a
// transaction is not lost where that moves its row: the CALL is as if by a deadlock; and that it is
// not where the routine adds to the row.
func TestIncrementedBesideRoutine(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for name, does := range map[string]string{
			"moves": "UPDATE c SET id = 50 WHERE id = 1", "moves and answers": "UPDATE c SET id = 50 WHERE id = 1; SELECT id FROM p", "adds": "UPDATE c SET hits = hits + 1 WHERE id = 1",
		} {
			t.Run(name, func(t *testing.T) {
				tw := harness.NewTwin(t, srv, cascades+";\nALTER TABLE c DROP FOREIGN KEY c_ibfk_1;\nCREATE PROCEDURE waits() BEGIN UPDATE p SET n = n + 100 WHERE id = 1; "+does+"; END", harness.Counters("c", "hits"))
				s := schedule{steps: []string{"B: BEGIN", lockP, "A: BEGIN", "A& CALL waits()", hit, "B: COMMIT", "A!", "A: COMMIT"}}
				answers := s.play(t, tw.Ours)
				want := int64(25)
				if name == "adds" {
					want++
				}
				require.Equal(t, name != "adds", strings.Contains(answers[len(answers)-2], "1213"), answers)
				require.Equal(t, want, harness.Number(t, tw.Ours, "SELECT SUM(hits) FROM c"))
			})
		}
	})
}
