package connections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
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

// TestGalera runs on a cluster of two nodes, both of which are written.
func TestGalera(t *testing.T) {
	t.Parallel()
	nodes, err := testserver.StartCluster(t.Context(), 2)
	require.NoError(t, err)
	for _, s := range nodes {
		t.Cleanup(s.Stop)
	}
	t.Run("schedules", func(t *testing.T) { clusterSchedules(t, nodes) })
	t.Run("rollups", func(t *testing.T) { clusterRollups(t, nodes) })
	t.Run("load", func(t *testing.T) { clusterLoad(t, nodes) })
	t.Run("drop", func(t *testing.T) { galeraDrop(t, nodes) })
	t.Run("definitions", func(t *testing.T) { galeraDDL(t, nodes) })
	t.Run("check", func(t *testing.T) { galeraCheck(t, nodes) })
}

const stock = `CREATE TABLE item (id INT PRIMARY KEY, slug VARCHAR(20) NOT NULL UNIQUE, n INT NOT NULL, open INT NOT NULL, title VARCHAR(20) NOT NULL DEFAULT '');
INSERT INTO item (id, slug, n, open) VALUES (1, 'a', 1, 1), (2, 'b', 0, 1), (3, 'd', 0, 1);
CREATE TABLE mark (id INT PRIMARY KEY)`

// cluster is a twin whose databases are open on both nodes.
type cluster struct {
	*harness.Twin
	plains, both [2]*sql.DB // by node; what is read on the second is what the first had committed
}

func newCluster(t *testing.T, nodes []*testserver.Server, schema string, config *countermysql.Config) *cluster {
	t.Helper()
	config.SlotRange = "0-15"
	c := &cluster{Twin: harness.NewTwin(t, nodes[0], schema, config)}
	c.plains[0], c.both[0] = c.Plain, c.Ours
	var name [2]string
	require.NoError(t, c.Plain.QueryRow("SELECT DATABASE()").Scan(&name[0]))
	require.NoError(t, c.Direct.QueryRow("SELECT DATABASE()").Scan(&name[1]))
	wait := "wsrep_sync_wait=15"
	if !harness.MariaDB(nodes[0]) {
		wait = "group_replication_consistency=%27BEFORE%27"
	}
	const arrived = "DO (SELECT COUNT(*) FROM mysql.db)" // waits for what the other node has written
	here := harness.Open(t, nodes[0].DSN("", wait))
	t.Cleanup(func() { // a member of a group can't go on where that comes behind the DROP
		_, err := here.ExecContext(context.WithoutCancel(t.Context()), arrived)
		require.NoError(t, err)
	})
	harness.Affected(t, harness.Open(t, nodes[1].DSN("", wait)), arrived)
	other := *c.Config
	other.SlotRange = "16-31"
	c.plains[1] = harness.Open(t, nodes[1].DSN(name[0], wait))
	c.both[1], _ = harness.OpenOurs(t, nodes[1].DSN(name[1], wait), &other)
	return c
}

// conflict is the number of an error; 1213 for all by which a node rolls back what another one was
// quicker to change. Which of MySQL's it is, is a matter of time.
func conflict(err error) int {
	switch n := harness.ErrorNumber(err); n {
	case 1180, 3101:
		return 1213
	default:
		return n
	}
}

const row1 = "SELECT n, open, slug FROM item WHERE id = 1"

// clusterSchedules proves that of two transactions which take the same row on two nodes one
// fails with a conflict, as without the driver, though they change it by increments.
func clusterSchedules(t *testing.T, nodes []*testserver.Server) {
	c := newCluster(t, nodes, stock, harness.Counters("item", "n"))
	const (
		add  = "UPDATE item SET n = n + 1 WHERE id = 1"
		take = "UPDATE item SET n = n - 1 WHERE id = 1"
		lock = "SELECT n FROM item WHERE id = 1 FOR UPDATE"
	)
	for name, steps := range map[string][]string{
		"guarded decrement behind a lock":       {lock, take},
		"by a lock that reads no counter":       {"SELECT slug FROM item WHERE id = 1 FOR UPDATE", take},
		"share lock":                            {"SELECT n FROM item WHERE id = 1 LOCK IN SHARE MODE", take},
		"lock behind an increment":              {add, lock},
		"read behind an increment":              {add, "SELECT n FROM item WHERE id = 1"},
		"lock that reads no counter behind one": {add, "SELECT slug FROM item WHERE id = 1 FOR UPDATE"},
		"harvest":                               {lock, "UPDATE item SET n = n - 1 WHERE id = 1", "UPDATE item SET n = n + 1 WHERE id = 2"},
		"exact statement that changes nothing":  {"UPDATE item SET n = 5 WHERE id = 1 AND n > 100", add},
		"edit that changes nothing":             {"UPDATE item SET title = '' WHERE id = 1", add},
		"further condition":                     {"UPDATE item SET n = n + 1 WHERE id = 1 AND open = 1"},
		"another unique key":                    {"UPDATE item SET n = n + 1 WHERE slug = 'a'"},
		"edit of rows that are not known":       {"UPDATE item SET title = 'x' WHERE slug LIKE 'b%'", add},
		"lock of rows that are not known":       {"SELECT id FROM item WHERE open = 1 FOR UPDATE", add},
		"prepared lock":                         {"PREPARE s FROM '" + lock + "'", "EXECUTE s", take},
		"behind a savepoint":                    {"SAVEPOINT s", lock, "ROLLBACK TO s", take},
	} {
		t.Run(name, func(t *testing.T) {
			for _, others := range [][]string{steps, {"UPDATE item SET open = 0, slug = 'c' WHERE id = 1"}} {
				play := func(dbs [2]*sql.DB) (answers []string) {
					conns := [2]*sql.Conn{harness.Session(t, dbs[0]), harness.Session(t, dbs[1])}
					var errs [2]error
					do := func(i int, stmt string) {
						if errs[i] == nil {
							_, errs[i] = conns[i].ExecContext(t.Context(), stmt)
						}
					}
					for i, stmts := range [][]string{steps, others} {
						do(i, "BEGIN")
						for _, stmt := range stmts {
							do(i, stmt)
						}
					}
					for i := range conns {
						do(i, "COMMIT")
						answers = append(answers, fmt.Sprint(conflict(errs[i])))
						if errs[i] != nil {
							_, _ = conns[i].ExecContext(t.Context(), "ROLLBACK") // the server has done it
						}
					}
					answers = append(answers, harness.Queried(t.Context(), dbs[1], row1))
					for _, conn := range conns {
						require.NoError(t, conn.Close())
					}
					harness.Affected(t, dbs[0], "UPDATE item SET n = 1, open = 1, slug = 'a', title = '' WHERE id = 1")
					harness.Queried(t.Context(), dbs[1], row1)
					return answers
				}
				want := play(c.plains)
				if slices.Equal(steps, others) {
					require.Equal(t, []string{"0", "1213"}, want[:2])
				}
				require.Equal(t, want, play(c.both), others)
			}
		})
	}
	t.Run("increments do not conflict", func(t *testing.T) {
		before := harness.Number(t, c.both[1], "SELECT n FROM item WHERE id = 1")
		var txs [2]*sql.Tx
		for i, db := range c.both {
			var err error
			txs[i], err = db.Begin()
			require.NoError(t, err)
			harness.Affected(t, txs[i], "UPDATE item SET n = n + 1 WHERE id = 1")
			harness.Affected(t, txs[i], "INSERT INTO item (id, slug, n, open) VALUES (?, ?, 0, 1)", 10+i, fmt.Sprint("slug", i))
		}
		for _, tx := range txs {
			require.NoError(t, tx.Commit())
		}
		require.Equal(t, before+2, harness.Number(t, c.both[1], "SELECT n FROM item WHERE id = 1"))
	})
}

// clusterRollups proves that a rollup keeps every count beside increments and rollups of
// another node: all write the slots, or the base row.
func clusterRollups(t *testing.T, nodes []*testserver.Server) {
	c := newCluster(t, nodes, stock, harness.Counters("item", "n"))
	increment := func(node, times int) {
		for range times {
			harness.Affected(t, c.both[node], "UPDATE item SET n = n + 1 WHERE id IN (1, 2)")
		}
	}
	increment(0, 3)
	increment(1, 3)
	expected := int64(1 + 6)
	for _, meanwhile := range []func(){
		func() { increment(1, 20); expected += 20 },
		func() {
			_, err := countermysql.Rollup(t.Context(), c.both[1], nil)
			require.NoError(t, err)
			require.Zero(t, harness.Number(t, c.both[1], "SELECT COUNT(*) FROM item_slots"))
		},
		func() { harness.Affected(t, c.both[1], "DELETE FROM item WHERE id = 2") },
	} {
		var once atomic.Bool
		c.Sent.Meddle(t, func(query string) error {
			if strings.HasPrefix(query, "UPDATE ") && strings.Contains(query, "item") && once.CompareAndSwap(false, true) {
				meanwhile()
			}
			return nil
		})
		_, err := countermysql.Rollup(t.Context(), c.both[0], nil)
		require.NoError(t, err)
		require.True(t, once.Load(), "the rollup has changed base rows")
		require.Equal(t, expected, harness.Number(t, c.both[1], "SELECT n FROM item WHERE id = 1"))
		increment(0, 1)
		increment(1, 1)
		expected += 2
	}
}

// clusterLoad proves that what two nodes have acknowledged is counted, once, beside
// rollups of both, and that increments outside transactions do not fail by them. Shared locks of several increments would make the cluster stand still
// until innodb_lock_wait_timeout, though not every time.
func clusterLoad(t *testing.T, nodes []*testserver.Server) {
	c := newCluster(t, nodes, stock, harness.Counters("item", "n"))
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	c.Sent.Meddle(t, func(query string) error {
		if harness.MariaDB(nodes[0]) && strings.Contains(query, "INSERT") && (strings.Contains(query, "SHARE MODE") || !strings.Contains(query, "FOR UPDATE")) && strings.Contains(query, "item_slots") {
			t.Error(query)
		}
		return nil
	})
	var acknowledged, conflicts, certain, unknown atomic.Int64
	var seconds [2]atomic.Int64 // what transactions have done besides
	var clients sync.WaitGroup
	for i := range 10 {
		kind, db := i/2, c.both[i%2]
		clients.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				var err error
				switch kind {
				case 0:
					err = addWith(t.Context(), db, "INSERT INTO mark VALUES ("+fmt.Sprint(i*1_000_000+n)+")")
				case 1:
					err = addWith(t.Context(), db, "UPDATE item SET n = n + 1 WHERE id = 2")
				case 2: // many of which are given up under way
					short, cancel := context.WithTimeout(t.Context(), time.Duration(1+n%30)*time.Millisecond)
					_, err = db.ExecContext(short, "UPDATE item SET n = n + 1 WHERE id = 3")
					cancel()
					if err == nil {
						certain.Add(1)
					} else {
						unknown.Add(1)
					}
					continue
				default:
					_, err = db.ExecContext(t.Context(), addOne)
				}
				switch {
				case err == nil:
					acknowledged.Add(1)
					if kind < 2 {
						seconds[kind].Add(1)
					}
				case conflict(err) == 1213 && kind < 2: // with a rollup of the other node
					conflicts.Add(1)
				default:
					t.Error(kind, err)
				}
			}
		})
	}
	for _, db := range c.both {
		clients.Go(func() {
			for ctx.Err() == nil {
				_, err := countermysql.Rollup(t.Context(), db, nil)
				if err != nil {
					t.Error(err)
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	clients.Wait()
	c.Sent.Off.Store(true)
	t.Log("acknowledged", acknowledged.Load(), "conflicts", conflicts.Load(), "with short deadlines", certain.Load(), "unknown", unknown.Load())
	require.Positive(t, acknowledged.Load())
	require.Equal(t, acknowledged.Load(), harness.Number(t, c.both[1], "SELECT n FROM item WHERE id = 1")-1)
	value := harness.Number(t, c.both[1], "SELECT n FROM item WHERE id = 3")
	require.GreaterOrEqual(t, value, certain.Load())
	require.LessOrEqual(t, value, certain.Load()+unknown.Load())
	for kind, count := range []string{"SELECT COUNT(*) FROM mark", "SELECT n FROM item WHERE id = 2"} {
		require.Equal(t, seconds[kind].Load(), harness.Number(t, c.both[1], count))
	}
}

const addOne = "UPDATE item SET n = n + 1 WHERE id = 1"

// addWith adds one to item 1 in a transaction with another statement.
func addWith(ctx context.Context, db *sql.DB, stmt string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, stmt)
	if err == nil {
		_, err = tx.ExecContext(ctx, addOne)
	}
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func galeraCheck(t *testing.T, nodes []*testserver.Server) {
	c := newCluster(t, nodes, stock, harness.Counters("item", "n"))
	require.True(t, finds(t, c.both[0], "a node of a cluster of 2 nodes", "through one node"))
}

// finds reports whether Check says so of the server.
func finds(t *testing.T, db *sql.DB, problem, remedy string) bool {
	t.Helper()
	found, err := countermysql.Check(t.Context(), db)
	require.NoError(t, err)
	return slices.ContainsFunc(found, func(f countermysql.Finding) bool {
		return f.Table == "" && strings.Contains(f.Problem, problem) && strings.Contains(f.Remedy, remedy)
	})
}
