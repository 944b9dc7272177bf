package groups

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// once are tables whose increments may be promised, and, with a touch column, may not.
const once = `
CREATE TABLE topic (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0, title VARCHAR(9) NOT NULL DEFAULT '');
INSERT INTO topic (id) VALUES (1), (2), (3);
CREATE TABLE user (id INT PRIMARY KEY, n INT UNSIGNED NULL DEFAULT 0, title VARCHAR(9) NOT NULL DEFAULT '', seen TIMESTAMP NOT NULL DEFAULT '2026-01-01' ON UPDATE CURRENT_TIMESTAMP);
INSERT INTO user (id) VALUES (1), (2), (3);
CREATE TABLE log (about INT)`

// onceOf are a transaction of a row and an increment, and what comes behind these.
func onceOf(table, begin string, behind ...string) []string {
	return slices.Concat([]string{begin, "A: INSERT INTO log (about) VALUES (1)", "A: UPDATE " + table + " SET n = n + 1 WHERE id = 1"}, behind)
}

// learn runs transactions until their increment changes the base row at once, as soon
// as they are known to have no other.
func learn(t *testing.T, tw *harness.Twin, table string) {
	t.Helper()
	for range 500 { // some commit late on a busy machine
		tx, err := tw.Ours.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		harness.Affected(t, tx, "INSERT INTO log (about) VALUES (1)")
		if changesRow(table, tw.Sent.During(func() { harness.Affected(t, tx, "UPDATE "+table+" SET n = n + 1 WHERE id = 3") })) > 0 {
			require.NoError(t, tx.Rollback())
			return
		}
		require.NoError(t, tx.Commit())
		harness.Affected(t, tw.Plain, "UPDATE "+table+" SET n = n + 1 WHERE id = 3")
	}
	require.Fail(t, "it is not learned")
}

// changesRow is how many statements change a base row as increments do.
func changesRow(table string, sent []harness.Sending) (n int) {
	for _, s := range sent {
		if strings.Contains(s.Text, "UPDATE ") && strings.Contains(s.Text, "`"+table+"` AS ") && strings.Contains(s.Text, " SET ") && !harness.InsertsSlots.MatchString(s.Text) {
			n++
		}
	}
	return n
}

// TestAtOnce proves that the increment of a transaction which is known to have no other, and
// to commit soon, changes the base row where plain MySQL does, in as many round trips; that
// what comes behind it is answered as there; and that one row's lock is waited for at COMMIT
// alone.
func TestAtOnce(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for n, table := range []string{"topic", "user"} {
			value, all := "A: SELECT n FROM "+table+" WHERE id = 1", "A: SELECT id, n, title FROM "+table+" ORDER BY id"
			for i, steps := range [][]string{
				onceOf(table, "A: begin", "A: commit"),
				onceOf(table, "A: begin", value, all, "A: commit", value),
				onceOf(table, "A: begin RC", value, "A: rollback", value),
				{"A: begin", "A: SAVEPOINT s", "A: UPDATE " + table + " SET n = n + 1 WHERE id = 1", value, "A: ROLLBACK TO s", value, "A: commit", all},
				slices.Concat([]string{"A: begin RR", all, "B: UPDATE " + table + " SET n = n + 5 WHERE id = 1"}, onceOf(table, "B: SELECT 1", value, all, "A: commit", all)),
				slices.Concat([]string{"A: begin RR", all, "B: UPDATE " + table + " SET n = GREATEST(n, 0) WHERE id = 1"}, onceOf(table, "B: SELECT 2", value, all, "A: commit", all)), // it rolls up
				onceOf(table, "A: begin", "A: UPDATE "+table+" SET n = n * 2 WHERE id = 1", all, "A: commit", all),
				onceOf(table, "A: begin", "A: UPDATE "+table+" SET n = n + 7 WHERE id = 1", all, "A: commit", all),
				onceOf(table, "A: begin", "A: UPDATE "+table+" SET n = n + 7 WHERE id = 2", all, "A: commit", all),
				onceOf(table, "A: begin", "A: DELETE FROM "+table+" WHERE id = 1", all, "A: rollback", all),
			} {
				t.Run(fmt.Sprint(table, i), func(t *testing.T) {
					config := &countermysql.Config{Rollup: time.Hour, Tables: []countermysql.TableConfig{{Table: table, Counters: []string{"n"}}}}
					tw := harness.NewTwin(t, srv, once, config, []string{"interpolateParams=true", "clientFoundRows=true"}[(i+n)%2])
					learn(t, tw, table)
					harness.Affected(t, tw.Plain, "UPDATE "+table+" SET n = n + 3 WHERE id = 1")
					harness.Affected(t, tw.Direct, "INSERT INTO "+table+"_slots (id, slot, n) VALUES (1, 5, 3)") // what reads have to add up
					sent := tw.Sent.During(func() { tw.Play(t, steps...) })
					before := slices.IndexFunc(sent, func(s harness.Sending) bool {
						return strings.HasPrefix(s.Text, "INSERT INTO log") || s.Text == "SAVEPOINT s"
					})
					require.Equal(t, 1, changesRow(table, sent[before+1:before+2]), "%v", sent)
					if i == 0 {
						require.Len(t, sent, 4, "%v", sent)
					}
				})
			}
		}
	})
}

// commitWaits begins a COMMIT, and requires that it waits.
func commitWaits(t *testing.T, tx *sql.Tx) <-chan error {
	t.Helper()
	committed := make(chan error, 1)
	go func() { committed <- tx.Commit() }()
	select {
	case <-committed:
		require.Fail(t, "COMMIT does not wait")
	case <-time.After(200 * time.Millisecond):
	}
	return committed
}

// TestAtOnceWaits proves that a row which somebody has locked is waited for at COMMIT alone,
// as without it, and that transactions of several increments change no base row before.
func TestAtOnceWaits(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := &countermysql.Config{Rollup: time.Hour, Tables: []countermysql.TableConfig{{Table: "topic", Counters: []string{"n"}}}}
		tw := harness.NewTwin(t, srv, once, config, "interpolateParams=true")
		learn(t, tw, "topic")
		edit, err := tw.Direct.Begin()
		require.NoError(t, err)
		harness.Affected(t, edit, "UPDATE topic SET title = 'x' WHERE id = 1")
		tx, err := tw.Ours.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		harness.Affected(t, tx, "INSERT INTO log (about) VALUES (1)")
		require.EqualValues(t, 1, harness.Affected(t, tx, "UPDATE topic SET n = n + 1 WHERE id = 1"), "it does not wait")
		committed := commitWaits(t, tx)
		require.NoError(t, edit.Commit())
		require.NoError(t, <-committed)
		require.EqualValues(t, 1, harness.Number(t, tw.Ours, "SELECT n FROM topic WHERE id = 1"))

		learn(t, tw, "topic")
		for n := range 10 {
			tx, err := tw.Ours.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			harness.Affected(t, tx, "INSERT INTO log (about) VALUES (1)")
			sent := tw.Sent.During(func() {
				for id := range 2 {
					require.EqualValues(t, 1, harness.Affected(t, tx, "UPDATE topic SET n = n + 1 WHERE id = ?", 2+id))
				}
			})
			require.NoError(t, tx.Commit())
			if n > 0 { // it was not known of the first
				require.Zero(t, changesRow("topic", sent), "%v", sent)
			}
		}
	})
}
