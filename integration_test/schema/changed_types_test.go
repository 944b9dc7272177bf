package schema

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestChangedTypes proves that a counter or touch column that gets a type with
// other digits loses none of them, through the driver and beside it, with slots
// tables that are made anew and with ones that nobody widens.
func TestChangedTypes(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, c := range []struct{ from, to, before, after string }{
			{"INT NOT NULL", "DECIMAL(10,2) NOT NULL", "1", "0.25"},
			{"DECIMAL(10,2) NOT NULL", "DECIMAL(12,4) NOT NULL", "0.25", "0.0025"},
			{"DECIMAL(10,2) NOT NULL", "INT NOT NULL", "1", "2"},
			{"DECIMAL(10,4) NOT NULL", "DECIMAL(10,2) NOT NULL", "0.25", "0.25"},
		} {
			for through, creates := range map[string]bool{"us": true, "another client": false, "another client, not noticed": true} {
				t.Run(c.from+" to "+c.to+"/through "+through, func(t *testing.T) {
					tw := harness.NewTwin(t, srv, "CREATE TABLE p (id INT PRIMARY KEY, n "+c.from+", at DATETIME NOT NULL);\nINSERT INTO p VALUES (1, 0, '2020-01-01'), (2, 0, '2020-01-01');\n",
						&countermysql.Config{Tables: []countermysql.TableConfig{{Table: "p", Counters: []string{"n"}, Touch: []string{"at"}}}})
					config := *tw.Config
					config.CreateSlots = creates
					tw.Ours, _ = harness.OpenOurs(t, tw.OursDSN, &config)
					alter := "ALTER TABLE p MODIFY n " + c.to + ", MODIFY at DATETIME(6) NOT NULL"
					all := "A: SELECT * FROM p ORDER BY id"
					tw.Play(t, "A: UPDATE p SET n = n + "+c.before+" WHERE id = 1", "A: UPDATE p SET n = n + "+c.before+" WHERE id = 1")
					harness.Affected(t, tw.Plain, alter)
					switch through {
					case "us":
						harness.Affected(t, tw.Ours, alter)
					case "another client":
						harness.Affected(t, tw.Direct, alter)
						_, err := countermysql.Check(t.Context(), tw.Ours) // notices it
						require.NoError(t, err)
					default:
						harness.Affected(t, tw.Direct, alter)
						tw.Play(t, "A: UPDATE p SET n = n + "+c.before+" WHERE id = 1", "A: UPDATE p SET n = GREATEST(n, 0) WHERE id = 1")
						_, err := countermysql.Check(t.Context(), tw.Ours)
						require.NoError(t, err)
					}
					add := "A: UPDATE p SET n = n + " + c.after + " WHERE id = "
					tw.Play(t, "A: SET timestamp = 1704103200.654321", "A: UPDATE p SET n = n + 1, at = NOW(6) WHERE id = 2", all)
					tw.Play(t, add+"1", add+"1", add+"2", all, "A: begin", add+"1", all, "A: commit", all, "A: UPDATE p SET n = n * 2 WHERE id = 1", add+"1", all)
					harness.RollUp(t, tw.Ours)
					tw.Play(t, all)
					require.Equal(t, harness.Queried(t.Context(), tw.Plain, "SELECT * FROM p ORDER BY id"), harness.Queried(t.Context(), tw.Direct, "SELECT * FROM p ORDER BY id"))
					findings, err := countermysql.Check(t.Context(), tw.Ours)
					require.NoError(t, err)
					if creates {
						require.Empty(t, findings)
						return
					}
					require.Len(t, findings, 1)
					_, err = countermysql.Init(t.Context(), tw.Ours, nil)
					require.NoError(t, err)
					findings, err = countermysql.Check(t.Context(), tw.Ours)
					require.NoError(t, err)
					require.Empty(t, findings)
					tw.Play(t, add+"1", add+"1", all)
					require.NotZero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM p_slots"))
				})
			}
		}
	})
}
