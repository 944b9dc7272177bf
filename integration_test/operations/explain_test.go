package operations

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestExplainArguments proves that a statement is explained only with all its arguments:
// without them an increment was explained as verbatim.
func TestExplainArguments(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Shop, harness.Counters("item", "stock"))
		const like = "UPDATE item SET stock = stock + ? WHERE id = ? /* ? */ AND name <> '?'"
		for _, args := range [][]any{nil, {1}, {1, 2, 3}} {
			_, err := countermysql.Explain(t.Context(), tw.Ours, like, args...)
			require.ErrorContains(t, err, fmt.Sprintf("expected 2 arguments, got %d", len(args)))
		}
		e, err := countermysql.Explain(t.Context(), tw.Ours, like, 1, 2)
		require.NoError(t, err)
		require.EqualValues(t, "increment", e.Class)
	})
}

// TestExplainReasons proves that the value is told that keeps an increment from a slot,
// and the locks of a query.
func TestExplainReasons(t *testing.T) {
	const schema = "CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(9), stock INT UNSIGNED NOT NULL DEFAULT 0, sold DECIMAL(10,2) NOT NULL DEFAULT 0, moved DATETIME NULL)"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := harness.Counters("item", "stock", "sold")
		config.Tables[0].Touch = []string{"moved"}
		tw := harness.NewTwin(t, srv, schema, config)
		for _, c := range []struct {
			stmt, class, want string
			args              []any
		}{
			{"UPDATE item SET stock = stock - 1 WHERE id = 1", "exact", "it takes from UNSIGNED counter stock", nil},
			{"UPDATE item SET stock = stock + ? WHERE id = 1", "exact", "it takes from UNSIGNED counter stock", []any{-1}},
			{"UPDATE item SET stock = stock + ? WHERE id = 1", "exact", "what it adds to counter stock is none of its numbers", []any{"x"}},
			{"UPDATE item SET sold = sold + 1, stock = stock + ? WHERE id = 1", "exact", "what it adds to counter stock is none of its numbers", []any{nil}},
			{"INSERT INTO item (id, stock) VALUES (1, 1), (2, 1) ON DUPLICATE KEY UPDATE stock = stock - 1", "exact", "it takes from UNSIGNED counter stock", nil},
			{"UPDATE item SET stock = stock + 1, moved = ? WHERE id = 1", "exact", "it sets touch column moved to another time than now", []any{"2026-01-02 03:04:05"}},
			{"UPDATE item SET moved = '2026-01-02 03:04:05' WHERE id = 1", "exact", "it sets touch column moved to another time than now", nil},
			{"UPDATE item SET stock = stock + 1 WHERE id = 1 LIMIT 1", "verbatim", "it has ORDER BY or LIMIT", nil},
			{"UPDATE item SET stock = stock + 1, name = 'x' WHERE id = 1", "verbatim", "it sets name, which is neither a counter nor a touch column", nil},
			{"UPDATE item i JOIN item j ON j.id = i.id SET i.stock = i.stock + 1 WHERE j.name = 'x'", "verbatim", "it updates a join", nil},
			{"INSERT INTO item (id, name, stock) VALUES (1, 'x', 1) ON DUPLICATE KEY UPDATE stock = stock + 1", "verbatim", "it gives a value to name, which is neither in the key nor a counter", nil},
			{"UPDATE item SET stock = stock + 1 WHERE name = 'x'", "verbatim", "its condition does not give a primary or unique key", nil},
			{"UPDATE item SET stock = stock + ? WHERE id = 1", "verbatim", "it adds nothing", []any{0}},
			{"SELECT stock FROM item WHERE id = 1 FOR UPDATE", "sum", "inside a transaction: the base rows are locked before", nil},
			{"SELECT stock FROM item WHERE id = ? FOR UPDATE", "sum", "inside a transaction, first: if a row comes, and has no slots, as a look behind it tells, this is the answer", []any{1}},
			{"UPDATE item SET sold = sold + 1 WHERE id = 1", "increment", "inside a transaction that has locked the row, which has no slots: as it is", nil},
			{"UPDATE item SET stock = 1 WHERE id = 1", "exact", "inside a transaction that has locked the row, which has no slots: as it is", nil},
		} {
			e, err := countermysql.Explain(t.Context(), tw.Ours, c.stmt, c.args...)
			require.NoError(t, err)
			require.EqualValues(t, c.class, e.Class, c.stmt)
			require.Contains(t, e.String(), c.want, c.stmt)
		}
	})
}

// TestExplainUnmade proves that where the slots table is missing a statement is explained as it
// will be, behind the CREATE TABLE, which is not run.
func TestExplainUnmade(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Shop, harness.Counters("item", "stock"))
		explain := func(db *sql.DB, stmt string) (*countermysql.Explanation, error) {
			return countermysql.Explain(t.Context(), db, stmt, 1)
		}
		texts := []string{"UPDATE item SET stock = stock + 1 WHERE id = ?", "SELECT stock FROM item WHERE id = ?", "UPDATE item SET stock = 0 WHERE id = ?", "UPDATE item SET stock = stock - 1 WHERE id = ? AND stock >= 1"}
		made := map[string]*countermysql.Explanation{}
		for _, text := range texts {
			e, err := explain(tw.Ours, text)
			require.NoError(t, err)
			made[text] = e
		}
		harness.ExecAll(t, tw.Direct, "DROP TABLE item_slots")
		unmade, _ := harness.OpenOurs(t, tw.OursDSN, harness.Counters("item", "stock"))
		for _, text := range texts {
			e, err := explain(unmade, text)
			require.NoError(t, err)
			require.Contains(t, e.Steps[0].SQL, "CREATE TABLE IF NOT EXISTS")
			require.Equal(t, made[text].Class, e.Class)
			require.Equal(t, made[text].Reason, e.Reason)
			require.Len(t, e.Steps, len(made[text].Steps)+1, "%s\n%s", made[text], e)
			for i, step := range made[text].Steps {
				require.Equal(t, step.When, e.Steps[i+1].When)
			}
		}
		require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'item_slots'"))
		harness.ExecAll(t, tw.Direct, "CREATE TABLE item_slots (id INT PRIMARY KEY, other INT)")
		stranger, _ := harness.OpenOurs(t, tw.OursDSN, harness.Counters("item", "stock"))
		_, err := explain(stranger, texts[0])
		var missing *countermysql.SlotsTableError
		require.ErrorAs(t, err, &missing, "its name is another table's")
	})
}

// TestExplainRefused proves that a statement that the driver refuses is explained by the error
// with which it is refused.
func TestExplainRefused(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Shop, harness.Counters("item", "stock"))
		for _, stmt := range []string{"LOCK TABLES item WRITE", "LOCK TABLES purchase READ, item READ", "CREATE TEMPORARY TABLE item (id INT)", "CREATE TEMPORARY TABLE item_slots AS SELECT 1",
			"RENAME TABLE item TO gone, purchase TO item", "ALTER TABLE item EXCHANGE PARTITION p WITH TABLE purchase"} {
			_, err := countermysql.Explain(t.Context(), tw.Ours, stmt)
			var refused *countermysql.RefusedError
			require.ErrorAs(t, err, &refused, stmt)
			_, ran := tw.Ours.Exec(stmt)
			require.EqualError(t, ran, err.Error())
		}
		for _, stmt := range []string{"LOCK TABLES purchase WRITE", "CREATE TEMPORARY TABLE other (id INT)", "DROP TEMPORARY TABLE item", "RENAME TABLE item TO gone"} {
			_, err := countermysql.Explain(t.Context(), tw.Ours, stmt)
			require.NoError(t, err, stmt)
		}
	})
}
