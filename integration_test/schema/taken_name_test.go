package schema

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestTakenName proves that a table of the application's that has the slots
// table's name is never dropped, empty or not, and that all who would need the
// name say so.
func TestTakenName(t *testing.T) {
	const schema = "CREATE TABLE appointment (id INT PRIMARY KEY, visits INT NOT NULL DEFAULT 0);\nINSERT INTO appointment (id) VALUES (1);\n"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, other := range []string{
			"CREATE TABLE appointment_slots (id INT PRIMARY KEY AUTO_INCREMENT, start DATETIME NOT NULL, visits BIGINT NOT NULL DEFAULT 0)",
			"CREATE TABLE appointment_slots (doctor INT, slot TIME, PRIMARY KEY (doctor, slot))",
			"CREATE VIEW appointment_slots AS SELECT id FROM appointment WHERE visits < 3",
		} {
			config := harness.Counters("appointment", "visits")
			tw := harness.NewTwin(t, srv, schema+other, config)
			describe := func() (row [4]string) {
				rows, err := tw.Direct.Query("SHOW CREATE TABLE appointment_slots")
				require.NoError(t, err)
				defer rows.Close()
				names, err := rows.Columns()
				require.NoError(t, err)
				dest := make([]any, len(names))
				for i := range dest {
					dest[i] = &row[i]
				}
				require.True(t, rows.Next())
				require.NoError(t, rows.Scan(dest...))
				return row
			}
			want := describe()
			require.NotContains(t, want[1], "smallint", "it was dropped when the database was opened")
			refused := func(err error) {
				var taken *countermysql.SlotsTableError
				require.ErrorAs(t, err, &taken)
				require.True(t, taken.Taken)
				require.ErrorContains(t, err, "choose another name with slots_table")
			}
			for _, stmt := range []string{"UPDATE appointment SET visits = visits + 1 WHERE id = 1", "SELECT visits FROM appointment", "DELETE FROM appointment"} {
				_, err := tw.Ours.Exec(stmt)
				refused(err)
			}
			for _, dry := range []bool{true, false} {
				statements, err := countermysql.Init(t.Context(), tw.Ours, &countermysql.InitOptions{DryRun: dry})
				refused(err)
				require.Empty(t, statements)
			}
			_, err := countermysql.Rollup(t.Context(), tw.Ours, nil)
			refused(err)
			_, err = countermysql.Drop(t.Context(), tw.Ours, &countermysql.DropOptions{Notice: 1})
			refused(err)
			findings, err := countermysql.Check(t.Context(), tw.Ours)
			require.NoError(t, err)
			require.NotEmpty(t, harness.OnTables(findings))
			require.Contains(t, harness.OnTables(findings)[0].Problem, "another table")
			require.Empty(t, harness.OnTables(findings)[0].SQL)
			require.Equal(t, want, describe())
			for _, stmt := range []string{"TRUNCATE TABLE appointment", "DROP TABLE appointment", "CREATE TABLE appointment (id INT PRIMARY KEY, visits INT NOT NULL DEFAULT 0)", "INSERT INTO appointment (id) VALUES (1)"} {
				if _, err := tw.Ours.Exec(stmt); err != nil {
					refused(err)
					harness.ExecAll(t, tw.Direct, stmt)
				}
			}
			require.Equal(t, want, describe())

			config.Tables[0].SlotsTable = "appointment_visits"
			config.CreateSlots = true
			db, _ := harness.OpenOurs(t, tw.OursDSN, config)
			require.EqualValues(t, 1, harness.Affected(t, db, "UPDATE appointment SET visits = visits + 1 WHERE id = 1"))
			require.EqualValues(t, 1, harness.Number(t, db, "SELECT visits FROM appointment"))
			require.Equal(t, want, describe())
		}
	})
}

// TestPartsOfTypes proves that a slots table is made where its DDL holds what
// separates statements.
func TestPartsOfTypes(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE vote (choice ENUM('yes; of course', 'no') PRIMARY KEY, n INT NOT NULL DEFAULT 0);\nINSERT INTO vote (choice) VALUES (1), (2)", harness.Counters("vote", "n"))
		tw.Play(t, "A: UPDATE vote SET n = n + 1 WHERE choice = 'yes; of course'", "A: SELECT * FROM vote ORDER BY choice")
		require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM vote_slots"))
	})
}
