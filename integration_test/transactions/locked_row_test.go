package transactions

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

const accounts = `
CREATE TABLE account (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL, balance INT NOT NULL DEFAULT 0, open INT UNSIGNED NOT NULL DEFAULT 0, UNIQUE KEY (name));
INSERT INTO account VALUES (1, 'ann', 5, 1), (2, 'bob', 3, 2), (3, 'cid', 0, 0);
CREATE TABLE code (code VARCHAR(10) COLLATE utf8mb4_general_ci, part SMALLINT, uses INT NOT NULL DEFAULT 0, PRIMARY KEY (code, part));
INSERT INTO code VALUES ('Abc', 1, 4), ('d', 2, 0), ('x', 1, 9);
`

func accountCounters() *countermysql.Config {
	return &countermysql.Config{Rollup: countermysql.RollupNever, Tables: []countermysql.TableConfig{{Table: "account", Counters: []string{"balance", "open"}}, {Table: "code", Counters: []string{"uses"}}}}
}

// lockedRowScripts are transactions that lock a row and go on with it.
var lockedRowScripts = []string{
	"SELECT balance FROM account WHERE id = 1 FOR UPDATE/UPDATE account SET balance = 9 WHERE id = 1/SELECT balance, open FROM account WHERE id = 1",
	"SELECT * FROM account WHERE id = 1 FOR UPDATE/UPDATE account SET balance = balance * 2, open = 4 WHERE id = 1/SELECT balance * 2 AS b FROM account WHERE id = 1 FOR UPDATE/UPDATE account SET balance = balance * 2 WHERE id = 1",
	"SELECT a.id, a.balance FROM account a WHERE a.id = 1 AND a.balance > 6 FOR UPDATE/UPDATE account SET balance = 2 WHERE id = 1 AND balance > 6/SELECT balance FROM account WHERE id = 1",
	"SELECT a.id, a.balance FROM account a WHERE a.balance < 6 AND a.id = 1 FOR UPDATE/UPDATE account SET balance = 2 WHERE balance < 6 AND id = 1/SELECT balance FROM account WHERE id = 1",
	"SELECT balance FROM account WHERE id = 1 FOR UPDATE/UPDATE account SET balance = balance + 4 WHERE id = 1/SELECT balance FROM account WHERE id = 1 FOR UPDATE/UPDATE account SET balance = 7 WHERE id = 1 AND balance >= 8/SELECT balance FROM account WHERE id = 1",
	"SELECT balance FROM account WHERE id = 1 FOR UPDATE/UPDATE account SET balance = balance - 4 WHERE id = 1 AND balance >= 4/UPDATE account SET balance = balance - 4 WHERE id = 1 AND balance >= 4/SELECT balance FROM account WHERE id = 1",
	"SAVEPOINT s/SELECT balance FROM account WHERE id = 1 FOR UPDATE/UPDATE account SET balance = 9 WHERE id = 1/ROLLBACK TO s/UPDATE account SET balance = balance * 2 WHERE id = 1/SELECT balance FROM account WHERE id = 1 FOR UPDATE",
	"SELECT balance FROM account WHERE id = 1 FOR UPDATE/SAVEPOINT s/UPDATE account SET balance = balance * 3 WHERE id = 1/ROLLBACK TO s/SELECT balance FROM account WHERE id = 1 FOR UPDATE/UPDATE account SET balance = balance * 2, open = 1 WHERE id = 1",
	"SELECT balance FROM account WHERE id = 1 FOR UPDATE/DELETE FROM account WHERE id = 1/SELECT balance FROM account WHERE id = 1 FOR UPDATE/INSERT INTO account VALUES (1, 'ann', 8, 8)/UPDATE account SET balance = balance * 2 WHERE id = 1/SELECT * FROM account WHERE id = 1",
	"SELECT balance FROM account WHERE id = 1 FOR UPDATE/UPDATE account SET id = 7 WHERE id = 1/UPDATE account SET id = 1 WHERE id = 2/UPDATE account SET balance = balance * 2 WHERE id = 1/UPDATE account SET balance = balance * 2 WHERE id = 7/SELECT * FROM account ORDER BY id",
	"UPDATE account SET balance = balance * 2 WHERE id = 1/UPDATE account SET balance = balance * 3 WHERE id = 1/SELECT balance FROM account WHERE id = 1 FOR UPDATE/SELECT balance FROM account WHERE id = 1",
	"UPDATE account SET balance = balance * 2/UPDATE account SET balance = balance * 3 WHERE id = 2/UPDATE account SET balance = balance * 3 WHERE id = 1/SELECT * FROM account WHERE id = 1 FOR UPDATE",
	"UPDATE account SET balance = 6 WHERE id = 1/UPDATE account SET balance = balance * 3 WHERE id = 1/UPDATE account SET balance = 6 WHERE id = 9/UPDATE account SET balance = 7 WHERE id = 9/SELECT * FROM account WHERE id = 1",
	"SELECT balance FROM account WHERE id = 1 FOR UPDATE NOWAIT/SELECT balance FROM account WHERE id = 1 FOR UPDATE SKIP LOCKED/UPDATE account SET balance = 1 WHERE id = 1",
	"SELECT balance FROM account WHERE id = 1 LIMIT 1 FOR UPDATE/SELECT balance FROM account WHERE id = 1 LIMIT 0 FOR UPDATE/SELECT balance FROM account WHERE id = 1 LIMIT 1 OFFSET 1 FOR UPDATE/UPDATE account SET balance = 1 WHERE id = 1",
	"SELECT balance FROM account WHERE id = 8 FOR UPDATE/INSERT INTO account VALUES (8, 'zoe', 1, 1)/SELECT balance FROM account WHERE id = 8 FOR UPDATE/UPDATE account SET balance = balance * 5 WHERE id = 8/SELECT balance FROM account WHERE id = 8",
	"SELECT COUNT(*), SUM(balance) FROM account WHERE id = 1 FOR UPDATE/SELECT DISTINCT balance FROM account WHERE id = 1 FOR UPDATE/SELECT balance FROM account WHERE id = 1 GROUP BY id FOR UPDATE/UPDATE account SET balance = 1 WHERE id = 1",
	"SELECT balance, (SELECT name FROM account b WHERE b.id = a.id + 1) AS next FROM account a WHERE id = 1 ORDER BY 2 FOR UPDATE/UPDATE account SET balance = 1 WHERE id = 1",
	"SELECT balance FROM account WHERE id = 1 LOCK IN SHARE MODE/UPDATE account SET balance = balance * 2 WHERE id = 1/SELECT balance FROM account WHERE id = 1 LOCK IN SHARE MODE",
	"SELECT balance FROM account WHERE name = 'ann' FOR UPDATE/UPDATE account SET balance = balance * 2 WHERE name = 'ann'/UPDATE account SET balance = balance * 2 WHERE id = 1/UPDATE account SET balance = balance * 2 WHERE name = 'ann'/SELECT * FROM account WHERE id = 1",
	"SELECT uses FROM code WHERE code = 'Abc' AND part = 1 FOR UPDATE/UPDATE code SET uses = uses * 2 WHERE code = 'Abc' AND part = 1/SELECT uses, code FROM code WHERE part = 1 AND code = 'ABC' FOR UPDATE/UPDATE code SET uses = uses * 2 WHERE code = 'ABC' AND part = 1/SELECT * FROM code",
	"SELECT uses FROM code WHERE code = 'abc' AND part = '1' FOR UPDATE/UPDATE code SET uses = uses * 2 WHERE code = 'abc' AND part = 1.0/UPDATE code SET code = 'ABC' WHERE part = 1 AND code = 'abc'/UPDATE code SET uses = uses * 2 WHERE code = 'abc' AND part = 1/SELECT * FROM code",
	"SELECT balance FROM account WHERE id = 1 FOR UPDATE/UPDATE account SET balance = balance + 1 WHERE id = 2/UPDATE account SET balance = balance * 2 WHERE id = 1/UPDATE account SET balance = balance * 2 WHERE id = 2/SELECT * FROM account ORDER BY id",
	"SELECT balance FROM account WHERE id = 1 FOR UPDATE/UPDATE account SET balance = balance + 1 WHERE id = 2/UPDATE account SET balance = balance * 2 WHERE id = 1/SELECT balance FROM account WHERE id = 2/SELECT balance FROM account WHERE id = 1 FOR UPDATE",
	"SELECT balance FROM account WHERE id = 1 FOR UPDATE/UPDATE account SET balance = balance + 1 WHERE id = 1/SELECT balance FROM account WHERE id = 1/SELECT balance FROM account WHERE id = 1 FOR UPDATE/UPDATE account SET balance = balance + 1 WHERE id = 1/SELECT balance FROM account WHERE id = 1 FOR UPDATE",
	"SELECT balance FROM account WHERE id = 1 FOR UPDATE/SAVEPOINT s/UPDATE account SET balance = balance * 2 WHERE id = 1/SELECT balance FROM account WHERE id = 1 FOR UPDATE/ROLLBACK TO s/SELECT balance FROM account WHERE id = 1 FOR UPDATE/UPDATE account SET balance = balance + 1 WHERE id = 1/SELECT balance FROM account WHERE id = 1 FOR UPDATE",
	"SELECT code, uses FROM code WHERE code = 0 AND part = 1 AND uses > 4 FOR UPDATE/SELECT * FROM code WHERE code = 'x' AND part = 1 FOR UPDATE/UPDATE code SET uses = uses * 2 WHERE code = 'x' AND part = 1",
	"SELECT balance FROM account WHERE id = 1 FOR UPDATE/UPDATE account SET name = 'bob' WHERE id = 1/UPDATE account SET name = 'bob', balance = 3 WHERE id = 1/UPDATE account SET balance = 'x' WHERE id = 1/UPDATE account SET open = open - 9 WHERE id = 1 AND balance > 0/SELECT * FROM account WHERE id = 1",
}

// TestLockedRow proves that a transaction which locks a row and goes on with it has plain's answers,
// and leaves plain's rows, whether the row has slots or not.
func TestLockedRow(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for params, levels := range map[string][]string{"interpolateParams=true": {"RR", "S"}, "interpolateParams=false": {"RC"}} {
			tw := harness.NewTwin(t, srv, accounts, accountCounters(), params)
			for _, level := range levels {
				for _, script := range lockedRowScripts {
					for _, slots := range []bool{false, true} {
						for _, db := range []harness.Execer{tw.Plain, tw.Direct} {
							for _, table := range []string{"account", "code"} {
								harness.Affected(t, db, "DELETE FROM "+table)
							}
							for _, insert := range strings.Split(accounts, ";\n") {
								if strings.HasPrefix(insert, "INSERT") {
									harness.Affected(t, db, insert)
								}
							}
						}
						harness.Affected(t, tw.Direct, "DELETE FROM account_slots")
						harness.Affected(t, tw.Direct, "DELETE FROM code_slots")
						if slots {
							harness.Affected(t, tw.Plain, "UPDATE account SET balance = balance + 2, open = open + 1 WHERE id < 3")
							harness.Affected(t, tw.Plain, "UPDATE code SET uses = uses + 3 WHERE code <> 'x'")
							harness.Affected(t, tw.Direct, "INSERT INTO account_slots (id, slot, balance, open) VALUES (1, 0, 3, 1), (1, 3, -1, 0), (2, 1, 2, 1)")
							harness.Affected(t, tw.Direct, "INSERT INTO code_slots (code, part, key2_slot, uses) VALUES ('Abc', 1, 2, 3), ('d', 2, 0, 3)")
						}
						steps := []string{"A: begin " + level}
						for _, step := range strings.Split(script, "/") {
							steps = append(steps, "A: "+step)
						}
						tw.Play(t, append(steps, "A: commit", "A: SELECT * FROM account ORDER BY id", "A: SELECT * FROM code ORDER BY code")...)
						if script != lockedRowScripts[0] {
							continue
						}
						tw.SamePrepared(t, "begin "+level, "SELECT balance, name FROM account WHERE id = ? AND balance > ? FOR UPDATE", 1, 4)
						tw.SamePrepared(t, "begin "+level, "SELECT * FROM code WHERE code = ? AND part = ? FOR UPDATE", "abc", 1)
					}
				}
			}
		}
	})
}

// TestLockedRowTrips proves that to lock a row without slots takes a query and a look, and what is done
// to it then one statement, and that nobody increments it meanwhile.
func TestLockedRowTrips(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelReadCommitted} {
			tw := harness.NewTwin(t, srv, accounts, accountCounters(), "interpolateParams=true")
			tw.Same(t, "SELECT 1 FROM account")
			c := harness.Session(t, tw.Ours)
			for round, most := range [][]int{{2, 1, 1, 1, 1, 0}, {4, 5, 1, 1, 1, 0}} {
				if round == 1 {
					harness.Affected(t, tw.Direct, "UPDATE account SET balance = 3 WHERE id = 1")
					harness.Affected(t, tw.Direct, "INSERT INTO account_slots (id, slot, balance) VALUES (1, 3, 2)")
				}
				tx, err := c.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
				require.NoError(t, err)
				trips := func(f func()) (texts []string) {
					for _, s := range tw.Sent.During(f) {
						if strings.Contains(s.Text, "account") && !strings.Contains(s.Text, "LIMIT 0") && !strings.HasPrefix(s.Text, "PREPARE") {
							texts = append(texts, s.Text)
						}
					}
					return texts
				}
				if round == 0 { // by another key
					require.Len(t, trips(func() {
						require.EqualValues(t, 3, harness.Number(t, tx, "SELECT balance FROM account WHERE name = 'bob' FOR UPDATE"))
					}), 2)
					require.Len(t, trips(func() { harness.Affected(t, tx, "UPDATE account SET balance = 4 WHERE id = 2") }), 1)
				}
				var other <-chan string
				for i, step := range []string{
					"SELECT balance FROM account WHERE id = 1 FOR UPDATE", "UPDATE account SET balance = 5 WHERE id = 1",
					"UPDATE account SET balance = balance - 2 WHERE id = 1 AND balance >= 1", "UPDATE account SET balance = balance + 1 WHERE id = 1",
					"SELECT balance FROM account WHERE id = 1 FOR UPDATE", "",
				} {
					texts := trips(func() {
						if step == "" {
							require.NoError(t, tx.Commit())
						} else if strings.HasPrefix(step, "SELECT") {
							require.EqualValues(t, []int64{5, 4}[i/4], harness.Number(t, tx, step))
						} else {
							harness.Affected(t, tx, step)
						}
					})
					require.LessOrEqual(t, len(texts), most[i], "%s %d: %q", level, round, texts)
					if i == 0 {
						other = harness.Later(t, tw.Direct, "UPDATE account SET balance = balance + 1 WHERE id = 1")
						harness.Queue()
					}
				}
				require.Equal(t, "affected 1", harness.Soon(t, other))
				require.EqualValues(t, 5, harness.Number(t, tw.Ours, "SELECT balance FROM account WHERE id = 1"), fmt.Sprint(level, round))
			}
		}
	})
}
