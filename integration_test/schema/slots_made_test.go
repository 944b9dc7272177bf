package schema

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestAlteredWhileSlotsAreMade proves that what another client does to a table while its
// slots table is made is seen by the next look at the schema, although the driver, which
// reads not all once more then, counts its own DDL itself.
func TestAlteredWhileSlotsAreMade(t *testing.T) {
	t.Parallel()
	const table = "CREATE TABLE p (id INT PRIMARY KEY, slug INT NOT NULL UNIQUE, n INT NOT NULL DEFAULT 0, m INT NOT NULL DEFAULT 0)"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, ddl := range []string{
			"", "ALTER TABLE p DROP PRIMARY KEY, ADD PRIMARY KEY (slug)", "ALTER TABLE p DROP COLUMN m", "ALTER TABLE p MODIFY n TINYINT NOT NULL",
			"CREATE TRIGGER counts BEFORE UPDATE ON p FOR EACH ROW SET NEW.m = NEW.m + 1", "CREATE VIEW v AS SELECT n AS c FROM p", "DROP TABLE p",
		} {
			t.Run(ddl, func(t *testing.T) {
				tw := harness.NewTwin(t, srv, "CREATE TABLE other (id INT PRIMARY KEY)", harness.Counters("p", "n"))
				harness.Affected(t, tw.Plain, table)
				if ddl != "" {
					harness.Affected(t, tw.Plain, ddl)
				}
				var meddled atomic.Bool
				tw.Sent.Meddle(t, func(query string) error {
					if ddl != "" && beginsToMake(query) && !meddled.Swap(true) {
						harness.Affected(t, tw.Direct, ddl)
					}
					return nil
				})
				harness.Affected(t, tw.Ours, table)
				require.Equal(t, ddl != "", meddled.Load())
				_, err := countermysql.Check(t.Context(), tw.Ours) // reads it
				require.NoError(t, err)
				tw.Play(t, "A: INSERT INTO p (id, slug) VALUES (1, 7), (2, 8)", "A: UPDATE p SET n = n + 1 WHERE id = 1", "A: UPDATE p SET n = n + 100 WHERE slug = 7", "A: UPDATE p SET n = n + 100 WHERE slug = 7",
					"A: SELECT * FROM p ORDER BY slug", "A: SELECT * FROM v ORDER BY c", "A: UPDATE p SET id = 3 WHERE slug = 8", "A: SELECT * FROM p ORDER BY slug")
			})
		}
	})
}

// beginsToMake reports whether a slots table is made next: later, other DDL of its table
// waits.
func beginsToMake(query string) bool {
	return query == "START TRANSACTION" || strings.HasPrefix(query, "CREATE TABLE IF NOT EXISTS")
}

// TestSlotsMadeForAnotherKey proves that no slots table is made for a key that the table has
// no more, by a process that has read it before another gave the table a longer one: who
// knows the old key would fill it, and those who know the new one could not use it.
func TestSlotsMadeForAnotherKey(t *testing.T) {
	t.Parallel()
	const table = "CREATE TABLE p (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0)"
	const longer = "ALTER TABLE p DROP PRIMARY KEY, ADD COLUMN b INT NOT NULL DEFAULT 7, ADD PRIMARY KEY (id, b)"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE other (id INT PRIMARY KEY)", harness.Counters("p", "n"))
		without := *tw.Config
		without.CreateSlots = false
		other, _ := harness.OpenOurs(t, tw.OursDSN, &without)
		harness.Affected(t, tw.Plain, table)
		harness.Affected(t, tw.Plain, longer)
		var meddled atomic.Bool
		tw.Sent.Meddle(t, func(query string) error {
			if beginsToMake(query) && !meddled.Swap(true) {
				harness.Affected(t, other, longer)
			}
			return nil
		})
		harness.Affected(t, tw.Ours, table)
		require.True(t, meddled.Load())
		tw.Play(t, "A: INSERT INTO p (id) VALUES (1), (2)", "A: UPDATE p SET n = n + 1 WHERE id = 1", "A: UPDATE p SET n = n + 1 WHERE id = 1")
		newer, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
		require.EqualValues(t, 2, harness.Number(t, newer, "SELECT n FROM p WHERE id = 1 AND b = 7"))
		harness.RollUp(t, newer)
		require.EqualValues(t, 2, harness.Number(t, tw.Direct, "SELECT n FROM p WHERE id = 1 AND b = 7"))
	})
}

// TestNoSlotsMadeBesideAlter proves the same where another process makes the slots table while
// the ALTER that gives the table a longer key, through the driver, is on its way: it has
// found none.
func TestNoSlotsMadeBesideAlter(t *testing.T) {
	t.Parallel()
	const longer = "ALTER TABLE p DROP PRIMARY KEY, ADD COLUMN b INT NOT NULL DEFAULT 7, ADD PRIMARY KEY (id, b)"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE other (id INT PRIMARY KEY)", harness.Counters("p", "n"))
		quiet := *tw.Config
		quiet.Interceptor = nil
		counts, _ := harness.OpenOurs(t, tw.OursDSN, &quiet)
		harness.Affected(t, tw.Ours, "CREATE TABLE p (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0)")
		harness.Affected(t, tw.Ours, "INSERT INTO p VALUES (1, 0)")
		var counted <-chan string
		dropped := false
		tw.Sent.Meddle(t, func(query string) error {
			switch {
			case strings.HasPrefix(query, "LOCK TABLES") && !dropped:
				dropped = true
				harness.Affected(t, tw.Direct, "DROP TABLE p_slots") // as another process does that makes it anew
			case query == longer && counted == nil:
				counted = harness.Later(t, counts, "UPDATE p SET n = n + 1 WHERE id = 1")
				time.Sleep(300 * time.Millisecond) // it makes the slots table, or waits
			}
			return nil
		})
		harness.Affected(t, tw.Ours, longer)
		require.NotNil(t, counted)
		require.Equal(t, "affected 1", harness.Soon(t, counted))
		require.EqualValues(t, 1, harness.Affected(t, counts, "UPDATE p SET n = n + 1 WHERE id = 1"))
		newer, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
		require.EqualValues(t, 2, harness.Number(t, newer, "SELECT n FROM p WHERE id = 1 AND b = 7"))
	})
}

// TestAlterBesideSlotsOfOthers proves that a process which has found no slots table, and gives
// the base table a longer key, or the counter another name, takes along what others have
// counted since in one that they have made.
func TestAlterBesideSlotsOfOthers(t *testing.T) {
	t.Parallel()
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, alter := range []string{"DROP PRIMARY KEY, ADD COLUMN b INT NOT NULL DEFAULT 7, ADD PRIMARY KEY (id, b)", "CHANGE n m INT NOT NULL DEFAULT 0", "ADD COLUMN b INT NOT NULL DEFAULT 7"} {
			for _, made := range []int{1, 0} {
				tw := harness.NewTwin(t, srv, "CREATE TABLE other (id INT PRIMARY KEY)", harness.Counters("p", "n"))
				without := *tw.Config
				without.CreateSlots, without.Interceptor = false, nil
				alters, _ := harness.OpenOurs(t, tw.OursDSN, &without)
				harness.Affected(t, tw.Direct, "CREATE TABLE p (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0)")
				harness.Affected(t, tw.Direct, "INSERT INTO p VALUES (1, 0)")
				var missing *countermysql.SlotsTableError
				require.ErrorAs(t, alters.QueryRow("SELECT n FROM p WHERE id = 1").Err(), &missing)
				if made == 1 {
					harness.Affected(t, tw.Ours, "UPDATE p SET n = n + 1 WHERE id = 1")
					require.NotZero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM p_slots"))
				}
				harness.Affected(t, alters, "ALTER TABLE p "+alter)
				if strings.HasPrefix(alter, "CHANGE") {
					require.EqualValues(t, made, harness.Number(t, tw.Direct, "SELECT m FROM p WHERE id = 1"))
					continue
				}
				newer, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
				require.EqualValues(t, made, harness.Number(t, newer, "SELECT n FROM p WHERE id = 1 AND b = 7"))
				require.EqualValues(t, 1, harness.Affected(t, newer, "UPDATE p SET n = n + 1 WHERE id = 1 AND b = 7"))
				require.EqualValues(t, made+1, harness.Number(t, newer, "SELECT n FROM p WHERE id = 1 AND b = 7"))
			}
		}
	})
}
