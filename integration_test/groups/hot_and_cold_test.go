package groups

import (
	"database/sql"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestHotAndColdRows proves that transactions which increment a hot row and two cold ones wait
// for each other in one order, at whichever moment of the one's COMMIT the other commits: a
// base row that is changed is waited for by who holds the slot that comes before it.
func TestHotAndColdRows(t *testing.T) {
	tables := []string{"author", "book", "copy"}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, hot := range tables { // in canonical order
			t.Run(hot, func(t *testing.T) {
				schema, config := "CREATE TABLE log (id INT)", &countermysql.Config{}
				for _, name := range tables {
					schema += ";\nCREATE TABLE " + name + " (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0);\nINSERT INTO " + name + " (id) VALUES (1)"
					config.Tables = append(config.Tables, countermysql.TableConfig{Table: name, Counters: []string{"n"}, Slots: 1})
				}
				tw := harness.NewTwin(t, srv, schema, cooling(config), "interpolateParams=true")
				second, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
				begun := func(db *sql.DB) *sql.Tx {
					tx, err := db.BeginTx(t.Context(), nil)
					require.NoError(t, err)
					harness.Affected(t, tx, "INSERT INTO log VALUES (1)")
					for _, name := range tables {
						require.EqualValues(t, 1, harness.Affected(t, tx, "UPDATE "+name+" SET n = n + 1 WHERE id = 1"))
					}
					return tx
				}
				counted, tries := 0, 0
				for at := int32(1); ; {
					heat(t, tw, hot, "n", tw.Ours, second)
					one, two := begun(tw.Ours), begun(second)
					var n atomic.Int32
					wanted := at
					var slotted, reached, over atomic.Bool
					other := make(chan error, 1)
					tw.Sent.Meddle(t, func(query string) error {
						if harness.InsertsSlots.MatchString(query) {
							slotted.Store(true)
						}
						if n.Add(1) != wanted || reached.Swap(true) {
							return nil
						}
						go func() { defer over.Store(true); other <- two.Commit() }()
						require.Eventually(t, func() bool { return over.Load() || tw.Waits(t) }, 10*time.Second, 10*time.Millisecond) // of a fold, perhaps
						return nil
					})
					require.NoError(t, one.Commit(), "before statement %d", at)
					if !reached.Swap(true) { // so that the cooler's statements do not reach it now
						cooled := !slotted.Load() // on a busy machine
						require.NoError(t, two.Commit())
						counted += 2
						if cooled {
							tries++
							require.Less(t, tries, 100)
							continue
						}
						require.Greater(t, at, int32(2))
						break
					}
					require.NoError(t, <-other, "before statement %d", at)
					counted += 2
					at++
					for _, name := range tables {
						require.GreaterOrEqual(t, harness.Number(t, tw.Ours, "SELECT n FROM "+name+" WHERE id = 1"), int64(counted))
					}
				}
			})
		}
	})
}

// heat makes a row hot in processes, by a lock for want of which their increments go to slots.
func heat(t *testing.T, tw *harness.Twin, table, counter string, dbs ...*sql.DB) {
	t.Helper()
	lock, err := tw.Direct.Begin()
	require.NoError(t, err)
	defer lock.Rollback()
	harness.Number(t, lock, "SELECT "+counter+" FROM "+table+" WHERE id = 1 LOCK IN SHARE MODE")
	for _, db := range dbs {
		for tries := 0; changesRow(table, tw.Sent.During(func() {
			harness.Affected(t, db, "UPDATE "+table+" SET "+counter+" = "+counter+" + 1 WHERE id = 1")
		})) > 0; tries++ {
			require.Less(t, tries, 100, "it does not become hot")
		}
	}
}
