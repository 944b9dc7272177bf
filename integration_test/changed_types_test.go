package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestChangedTypes proves that a counter or touch column that gets a type with
// other digits loses none of them, through the driver and beside it, with slots
// tables that are made anew and with ones that nobody widens.
func TestChangedTypes(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, c := range []struct{ from, to, before, after string }{
			{"INT NOT NULL", "DECIMAL(10,2) NOT NULL", "1", "0.25"},
			{"DECIMAL(10,2) NOT NULL", "DECIMAL(12,4) NOT NULL", "0.25", "0.0025"},
			{"DECIMAL(10,2) NOT NULL", "INT NOT NULL", "1", "2"},
			{"DECIMAL(10,4) NOT NULL", "DECIMAL(10,2) NOT NULL", "0.25", "0.25"},
		} {
			for through, creates := range map[string]bool{"us": true, "another client": false, "another client, not noticed": true} {
				t.Run(c.from+" to "+c.to+"/through "+through, func(t *testing.T) {
					tw := newTwin(t, srv, "CREATE TABLE p (id INT PRIMARY KEY, n "+c.from+", at DATETIME NOT NULL);\nINSERT INTO p VALUES (1, 0, '2020-01-01'), (2, 0, '2020-01-01');\n",
						&countermysql.Config{Tables: []countermysql.TableConfig{{Table: "p", Counters: []string{"n"}, Touch: []string{"at"}}}})
					config := *tw.config
					config.CreateSlots = creates
					tw.ours, _ = openOurs(t, tw.oursDSN, &config)
					alter := "ALTER TABLE p MODIFY n " + c.to + ", MODIFY at DATETIME(6) NOT NULL"
					all := "A: SELECT * FROM p ORDER BY id"
					tw.play(t, "A: UPDATE p SET n = n + "+c.before+" WHERE id = 1", "A: UPDATE p SET n = n + "+c.before+" WHERE id = 1")
					affected(t, tw.plain, alter)
					switch through {
					case "us":
						affected(t, tw.ours, alter)
					case "another client":
						affected(t, tw.direct, alter)
						_, err := countermysql.Check(t.Context(), tw.ours) // notices it
						require.NoError(t, err)
					default:
						affected(t, tw.direct, alter)
						tw.play(t, "A: UPDATE p SET n = n + "+c.before+" WHERE id = 1", "A: UPDATE p SET n = GREATEST(n, 0) WHERE id = 1")
						_, err := countermysql.Check(t.Context(), tw.ours)
						require.NoError(t, err)
					}
					add := "A: UPDATE p SET n = n + " + c.after + " WHERE id = "
					tw.play(t, "A: SET timestamp = 1704103200.654321", "A: UPDATE p SET n = n + 1, at = NOW(6) WHERE id = 2", all)
					tw.play(t, add+"1", add+"1", add+"2", all, "A: begin", add+"1", all, "A: commit", all, "A: UPDATE p SET n = n * 2 WHERE id = 1", add+"1", all)
					rollUp(t, tw.ours)
					tw.play(t, all)
					require.Equal(t, queried(t.Context(), tw.plain, "SELECT * FROM p ORDER BY id"), queried(t.Context(), tw.direct, "SELECT * FROM p ORDER BY id"))
					findings, err := countermysql.Check(t.Context(), tw.ours)
					require.NoError(t, err)
					if creates {
						require.Empty(t, findings)
						return
					}
					require.Len(t, findings, 1)
					_, err = countermysql.Init(t.Context(), tw.ours, nil)
					require.NoError(t, err)
					findings, err = countermysql.Check(t.Context(), tw.ours)
					require.NoError(t, err)
					require.Empty(t, findings)
					tw.play(t, add+"1", add+"1", all)
					require.NotZero(t, number(t, tw.direct, "SELECT COUNT(*) FROM p_slots"))
				})
			}
		}
	})
}
