package operations

import (
	"database/sql"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestCheck proves that each thing that keeps a table from being counted well is
// found, with a remedy, that a remedy given as SQL helps, and that nothing is
// found where all is well.
func TestCheck(t *testing.T) {
	cases := []struct {
		name, ddl string
		severity  countermysql.Severity
		problem   string
	}{
		{"UPDATE trigger", "CREATE TRIGGER tr BEFORE UPDATE ON item FOR EACH ROW SET NEW.name = 'x'", countermysql.Warning, "UPDATE trigger"},
		{"generated column", "ALTER TABLE item ADD g INT AS (stock + 1) VIRTUAL", countermysql.Warning, "generated column g reads counter stock"},
		{"CHECK", "ALTER TABLE item ADD CONSTRAINT few CHECK (stock < 1000)", countermysql.Warning, "CHECK constraint"},
		{"foreign key of a counter", "CREATE TABLE level (n INT PRIMARY KEY);\nINSERT INTO level VALUES (0);\nALTER TABLE item ADD FOREIGN KEY (stock) REFERENCES level (n)", countermysql.Warning, "foreign key reads a counter"},
		{"generated from touch", "ALTER TABLE item ADD moved DATETIME NULL ON UPDATE CURRENT_TIMESTAMP, ADD g DATE AS (DATE(moved)) VIRTUAL;\nALTER TABLE item_slots ADD moved DATETIME NULL", countermysql.Warning, "generated column reads a touch column"},
		{"view", "CREATE VIEW best AS SELECT id, stock FROM item", countermysql.Warning, "view %s.best uses it"},
		{"view of a view", "CREATE VIEW best AS SELECT id, stock FROM item;\nCREATE VIEW better AS SELECT * FROM best", countermysql.Warning, "view %s.better uses it"},
		{"procedure", "CREATE PROCEDURE p() SELECT stock FROM item", countermysql.Warning, "routine %s.p uses it"},
		{"MyISAM", "ALTER TABLE item ENGINE = MyISAM", countermysql.Failure, "engine MyISAM"},
		{"MyISAM slots", "ALTER TABLE item_slots ENGINE = MyISAM", countermysql.Failure, "slots table has the engine MyISAM"},
		{"no slots table", "DROP TABLE item_slots", countermysql.Failure, "item_slots is missing"},
		{"slots table without a column", "ALTER TABLE item_slots DROP COLUMN sold", countermysql.Failure, "item_slots does not fit"},
		{"slots table with another key", "ALTER TABLE item MODIFY id BIGINT", countermysql.Failure, "item_slots does not fit"},
		{"unique index on slots", "ALTER TABLE item_slots ADD UNIQUE INDEX serial (id, slot)", countermysql.Failure, "unique index serial"},
		{"primary key of slots", "ALTER TABLE item_slots DROP PRIMARY KEY, ADD PRIMARY KEY (id)", countermysql.Failure, "primary key of its slots table is not (id, slot)"},
		{"trigger on slots", "CREATE TRIGGER tr BEFORE INSERT ON item_slots FOR EACH ROW SET @x = 1", countermysql.Warning, "trigger tr of its slots table"},
		{"index on a counter", "ALTER TABLE item ADD INDEX by_stock (stock)", countermysql.Warning, "index by_stock has counter stock"},
		{"cascade", "CREATE TABLE owner (id INT PRIMARY KEY);\nALTER TABLE item ADD FOREIGN KEY (owner) REFERENCES owner (id) ON DELETE CASCADE", countermysql.Warning, "foreign key to %s.owner"},
		{"invisible column", "ALTER TABLE item ADD quiet INT NULL INVISIBLE", countermysql.Warning, "invisible column quiet"},
		{"no such table", "DROP TABLE item", countermysql.Failure, "does not exist"},
		{"no such column", "ALTER TABLE item DROP COLUMN sold", countermysql.Failure, "no column sold"},
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				tw := harness.NewTwin(t, srv, harness.Shop, harness.Counters("item", "stock", "sold"))
				config := *tw.Config
				config.CreateSlots = false
				db, _ := harness.OpenOurs(t, tw.OursDSN, &config)
				findings, err := countermysql.Check(t.Context(), db)
				require.NoError(t, err)
				require.Empty(t, harness.OnTables(findings))

				harness.ExecAll(t, tw.Direct, c.ddl)
				findings, err = countermysql.Check(t.Context(), db)
				require.NoError(t, err)
				want := c.problem
				if strings.Contains(want, "%s") {
					var name string
					require.NoError(t, tw.Direct.QueryRow("SELECT DATABASE()").Scan(&name))
					want = fmt.Sprintf(want, name)
				}
				found := false
				for _, f := range harness.OnTables(findings) {
					require.NotEmpty(t, f.Remedy)
					if strings.Contains(f.Problem, want) {
						found = true
						require.Equal(t, c.severity, f.Severity)
					}
				}
				require.True(t, found, "%q is not among %+v", want, findings)
				mended := false
				for _, f := range findings {
					if f.SQL != "" && f.Table != "" {
						for _, stmt := range strings.Split(f.SQL, "; ") {
							harness.Affected(t, tw.Direct, stmt)
							mended = true
						}
					}
				}
				if mended {
					findings, err = countermysql.Check(t.Context(), db)
					require.NoError(t, err)
					require.Empty(t, harness.OnTables(findings))
				}
			})
		}
	})
}

// TestCheckNamesWhatIsLeft proves that Check, right after a rollup that has left rows, names
// them and the column, and no others.
func TestCheckNamesWhatIsLeft(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, test := range []struct{ schema, where, column, row string }{
			{"CREATE TABLE small (a INT, b VARCHAR(8) COLLATE utf8mb4_bin, n TINYINT NOT NULL DEFAULT 120, d DECIMAL(4,2) NOT NULL DEFAULT 99, PRIMARY KEY (a, b));\nINSERT INTO small (a, b) VALUES (1, 'x'), (2, 'y')", " WHERE a = 1 AND b = 'x'", "column n", `a=1 b="x"`},
			{"CREATE TABLE small (n BIGINT UNSIGNED NOT NULL DEFAULT 18446744073709551600, d DECIMAL(4,2) NOT NULL DEFAULT 0);\nINSERT INTO small VALUES ()", "", "column n", "the only row"},
		} {
			tw := harness.NewTwin(t, srv, test.schema, harness.Counters("small", "n", "d"))
			harness.ExecAll(t, tw.Ours, "UPDATE small SET n = n + 100, d = d + 0.5"+test.where)
			done := harness.RollUp(t, tw.Ours)
			require.Len(t, done["small"].Left, 1, "%v", done)
			require.Equal(t, test.row, done["small"].Left[0].Key)
			findings, err := countermysql.Check(t.Context(), tw.Ours)
			require.NoError(t, err)
			findings = harness.OnTables(findings)
			require.Len(t, findings, 1, "%v", findings)
			require.Equal(t, countermysql.Failure, findings[0].Severity)
			require.Equal(t, test.column+" can't hold the counter of "+test.row+", so that rollups leave it, or a part of it, in slots", findings[0].Problem)
		}
	})
}

// TestCheckNamesWhatConstraintsRefuse proves the same of rows that a CHECK constraint refuses,
// which somebody has added since they were incremented.
func TestCheckNamesWhatConstraintsRefuse(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, constraint := range []string{"n < 100", "n + d < 100 AND (note <> 'its' OR n < 100)"} {
			tw := harness.NewTwin(t, srv, "CREATE TABLE item (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0, d INT NULL, note VARCHAR(9) NOT NULL DEFAULT 'its');\nINSERT INTO item (id, d) VALUES (1, 0), (2, 0), (3, 0), (4, NULL)", harness.Counters("item", "n"))
			harness.ExecAll(t, tw.Ours, "UPDATE item SET n = n + 500 WHERE id IN (1, 2)")
			harness.ExecAll(t, tw.Ours, "UPDATE item SET n = n + 50 WHERE id = 3")
			harness.ExecAll(t, tw.Direct, "ALTER TABLE item ADD CHECK ("+constraint+")")
			left := harness.RollUp(t, tw.Ours)["item"].Left
			require.Len(t, left, 2)
			require.Contains(t, left[0].Reason, "change the constraint")
			findings, err := countermysql.Check(t.Context(), tw.Ours)
			require.NoError(t, err)
			findings = slices.DeleteFunc(harness.OnTables(findings), func(f countermysql.Finding) bool { return f.Severity != countermysql.Failure })
			require.Len(t, findings, 1, "%v", findings)
			require.Regexp(t, `^CHECK \(.*\) refuses the counter of id=1, id=2, so that rollups leave it`, findings[0].Problem)
		}
		for schema, stmts := range map[string][]string{ // in which nothing is left, or which can't be told
			"CREATE TABLE item (n INT NULL, CHECK (COALESCE(n, -1) >= 0));\nINSERT INTO item VALUES (5)": nil,
			"CREATE TABLE item (id INT PRIMARY KEY, n INT NOT NULL, at DATETIME NULL);\nINSERT INTO item VALUES (1, 0, NULL)": {
				"UPDATE item SET n = n + 1, at = NOW() WHERE id = 1", "ALTER TABLE item ADD CHECK (n = 0 OR at IS NOT NULL)"},
			"CREATE TABLE item (id INT PRIMARY KEY, n INT NOT NULL, m INT NOT NULL DEFAULT 1000);\nINSERT INTO item (id, n) VALUES (1, 0)": {
				"UPDATE item SET n = n + 1 WHERE id = 1", "ALTER TABLE item ADD CHECK (EXP(m) > n OR m = 1000)"},
		} {
			config, touches := harness.Counters("item", "n"), strings.Contains(schema, "at DATETIME")
			if touches {
				config.Tables[0].Touch = []string{"at"}
			}
			tw := harness.NewTwin(t, srv, schema, config)
			for _, stmt := range stmts {
				_, _ = tw.Ours.Exec(stmt) // the last one fails, where the server computes it
			}
			findings, err := countermysql.Check(t.Context(), tw.Ours)
			require.NoError(t, err)
			require.NotContains(t, fmt.Sprint(findings), "rollups leave", schema)
			require.Equal(t, touches, strings.Contains(fmt.Sprint(findings), "can't be computed from here"), schema)
			require.Empty(t, harness.RollUp(t, tw.Ours)["item"].Left)
		}
	})
}

// TestCheckOtherDatabases proves that what uses a table of the same name in another
// database is not found, where each tenant has a database, say, unless it names ours.
func TestCheckOtherDatabases(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw, other := harness.NewTwin(t, srv, harness.Shop, harness.Counters("item", "stock")), harness.NewTwin(t, srv, harness.Shop, harness.Counters("item", "sold"))
		harness.ExecAll(t, other.Direct, "CREATE VIEW best AS SELECT id, stock FROM item;\nCREATE VIEW better AS SELECT * FROM best;\n"+
			"CREATE FUNCTION stock() RETURNS INT READS SQL DATA RETURN (SELECT SUM(stock) FROM item);\nCREATE VIEW all_stock AS SELECT stock() AS n;\n"+
			"CREATE TRIGGER tr AFTER INSERT ON item FOR EACH ROW SET @n = (SELECT SUM(stock) FROM item)")
		findings, err := countermysql.Check(t.Context(), tw.Ours)
		require.NoError(t, err)
		require.Empty(t, harness.OnTables(findings))

		var name string
		require.NoError(t, tw.Direct.QueryRow("SELECT DATABASE()").Scan(&name))
		harness.ExecAll(t, other.Direct, "CREATE VIEW ours AS SELECT id, stock FROM "+name+".item;\nCREATE PROCEDURE tell() SELECT stock FROM "+name+".item")
		findings, err = countermysql.Check(t.Context(), tw.Ours)
		require.NoError(t, err)
		found := harness.OnTables(findings)
		require.Len(t, found, 2)
		require.Contains(t, found[0].Problem+found[1].Problem, ".ours uses it")
		require.Contains(t, found[0].Problem+found[1].Problem, ".tell uses it")
	})
}

// TestCheckStoredEstimates proves that a slots table made without
// STATS_PERSISTENT=0 is found on MariaDB, where it matters, and that the remedy
// helps.
func TestCheckStoredEstimates(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Shop, harness.Counters("item", "stock", "sold"))
		harness.ExecAll(t, tw.Direct, "ALTER TABLE item_slots STATS_PERSISTENT=DEFAULT")
		findings, err := countermysql.Check(t.Context(), tw.Ours)
		require.NoError(t, err)
		found := harness.OnTables(findings)
		if srv.Flavor() != testserver.MariaDB {
			require.Empty(t, found)
			return
		}
		require.Len(t, found, 1)
		require.Equal(t, countermysql.Warning, found[0].Severity)
		require.Contains(t, found[0].Problem, "estimates")
		harness.ExecAll(t, tw.Direct, found[0].SQL)
		findings, err = countermysql.Check(t.Context(), tw.Ours)
		require.NoError(t, err)
		require.Empty(t, harness.OnTables(findings))
	})
}

// TestCheckPrivileges proves that each missing privilege is found by name.
func TestCheckPrivileges(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Shop, harness.Counters("item", "stock"))
		cfg, err := mysql.ParseDSN(tw.OursDSN)
		require.NoError(t, err)
		user := fmt.Sprintf("itg_%d", os.Getpid())
		host := "'" + user + "'@'127.0.0.1'"
		for _, stmt := range []string{"DROP USER IF EXISTS " + host, "CREATE USER " + host + " IDENTIFIED BY 'secret'", "GRANT SELECT ON " + cfg.DBName + ".* TO " + host} {
			harness.Affected(t, tw.Direct, stmt)
		}
		t.Cleanup(func() {
			admin, err := sql.Open("mysql", srv.DSN(""))
			require.NoError(t, err)
			defer admin.Close()
			_, err = admin.Exec("DROP USER " + host)
			require.NoError(t, err)
		})
		cfg.User, cfg.Passwd = user, "secret"
		config := *tw.Config
		config.CreateSlots, config.Interceptor = false, nil
		connector, err := countermysql.NewConnector(cfg, &config)
		require.NoError(t, err)
		db := sql.OpenDB(connector)
		defer db.Close()
		missing := []string{"INSERT", "UPDATE", "DELETE", "UPDATE"}
		findings, err := countermysql.Check(t.Context(), db)
		require.NoError(t, err)
		var problems []string
		for _, f := range harness.OnTables(findings) {
			require.Equal(t, countermysql.Failure, f.Severity)
			problems = append(problems, f.Problem)
		}
		require.Len(t, problems, len(missing), "%v", problems)
		for i, privilege := range missing {
			require.Contains(t, problems[i], "may not "+privilege)
		}
		require.Contains(t, fmt.Sprint(findings), "may not see triggers")
		require.NotContains(t, fmt.Sprint(findings), "secret")

		harness.Affected(t, tw.Direct, "GRANT INSERT, UPDATE, DELETE, TRIGGER ON "+cfg.DBName+".* TO "+host)
		connector, err = countermysql.NewConnector(cfg, &config)
		require.NoError(t, err)
		fresh := sql.OpenDB(connector) // with new sessions, which see the new privileges
		defer fresh.Close()
		findings, err = countermysql.Check(t.Context(), fresh)
		require.NoError(t, err)
		require.Empty(t, harness.OnTables(findings))
		require.NotContains(t, fmt.Sprint(findings), "may not see triggers")
		harness.Affected(t, fresh, "UPDATE item SET stock = stock + 1 WHERE id = 1")
		require.EqualValues(t, 1, harness.RollUp(t, fresh)["item"].Keys)
	})
}

// TestInit proves that Init makes what is missing, says so before, has nothing
// to do the second time, and drops no slots that hold increments.
func TestInit(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Shop, harness.Counters("item", "stock"))
		harness.Affected(t, tw.Direct, "DROP TABLE item_slots")
		config := *tw.Config
		config.CreateSlots = false
		db, _ := harness.OpenOurs(t, tw.OursDSN, &config)
		_, err := db.Exec("UPDATE item SET stock = stock + 1 WHERE id = 1")
		var missing *countermysql.SlotsTableError
		require.ErrorAs(t, err, &missing)

		would, err := countermysql.Init(t.Context(), db, &countermysql.InitOptions{DryRun: true})
		require.NoError(t, err)
		require.Equal(t, []string{missing.DDL}, would)
		require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'item_slots'"))
		for _, want := range [][]string{would, nil} {
			did, err := countermysql.Init(t.Context(), db, nil)
			require.NoError(t, err)
			require.Equal(t, want, did)
		}
		require.EqualValues(t, 1, harness.Affected(t, db, "UPDATE item SET stock = stock + 1 WHERE id = 1"))

		config.Tables = []countermysql.TableConfig{{Table: "item", Counters: []string{"stock", "sold"}}}
		more, _ := harness.OpenOurs(t, tw.OursDSN, &config)
		did, err := countermysql.Init(t.Context(), more, nil)
		require.NoError(t, err)
		require.Len(t, did, 1)
		require.Contains(t, did[0], "ADD COLUMN `sold`")

		harness.Affected(t, tw.Direct, "ALTER TABLE item CHANGE id item BIGINT")
		_, err = countermysql.Init(t.Context(), more, nil)
		require.ErrorContains(t, err, "holds increments")
		require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM item_slots"))
		harness.Affected(t, tw.Direct, "ALTER TABLE item CHANGE item id BIGINT") // of the same name: the slots keep what they hold
		did, err = countermysql.Init(t.Context(), more, nil)
		require.NoError(t, err)
		require.Len(t, did, 1)
		require.Contains(t, did[0], "MODIFY COLUMN `id`")
		require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM item_slots"))

		harness.Affected(t, tw.Direct, "DELETE FROM item WHERE id = 1") // leaves an orphan, which a foreign key forbids
		options := &countermysql.InitOptions{ForeignKeys: []string{"item"}}
		did, err = countermysql.Init(t.Context(), more, options)
		require.NoError(t, err)
		require.Len(t, did, 2)
		did, err = countermysql.Init(t.Context(), more, options)
		require.NoError(t, err)
		require.Empty(t, did)
		harness.Affected(t, more, "UPDATE item SET stock = stock + 1 WHERE id = 2")
		require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM item_slots"))
		for _, refused := range []string{"TRUNCATE TABLE item", "DROP TABLE item", "ALTER TABLE item MODIFY id VARCHAR(20) NOT NULL"} {
			_, err := more.Exec(refused)
			require.Positive(t, harness.ErrorNumber(err), refused)
			require.EqualValues(t, 1, harness.Number(t, more, "SELECT stock FROM item WHERE id = 2"), refused)
		}
		harness.Affected(t, tw.Direct, "DELETE FROM item WHERE id = 2")
		require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM item_slots"))
	})
}

// foldsSlots matches what a fold of them sends.
var foldsSlots = regexp.MustCompile(`^(LOCK TABLES |SELECT CAST\(|DELETE )`)

// TestExplanation proves that what is explained is what is sent.
func TestExplanation(t *testing.T) {
	cases := []struct {
		stmt  string
		args  []any
		class string
	}{
		{"UPDATE item SET stock = stock + ? WHERE id = ?", []any{2, 1}, "increment"},
		{"UPDATE item SET stock = stock + 1 WHERE id IN (1, 3)", nil, "increment"},
		{"UPDATE item AS i SET stock = stock + 1 WHERE i.id IN (1, 3) AND i.name IS NOT NULL", nil, "increment"},
		{"SELECT id, stock FROM item WHERE id = ?", []any{1}, "sum"},
		{"UPDATE item SET name = 'x' WHERE id = 1", nil, "verbatim"},
		{"UPDATE item SET stock = stock - 1 WHERE id = ? AND stock >= 1", []any{1}, "exact"},
		{"UPDATE item SET stock = 3 WHERE id = 1", nil, "exact"},
		{"SELECT 1", nil, "verbatim"},
		{"TRUNCATE TABLE item", nil, "verbatim"},
		{"DROP TABLE item", nil, "verbatim"},
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := harness.Counters("item", "stock")
		config.Slots = 1 // so that the slot is known
		tw := harness.NewTwin(t, srv, harness.Shop, config)
		for _, c := range cases {
			t.Run(c.stmt, func(t *testing.T) {
				var explained *countermysql.Explanation
				var err error
				for _, s := range tw.Sent.During(func() { explained, err = countermysql.Explain(t.Context(), tw.Ours, c.stmt, c.args...) }) {
					text := strings.TrimSpace(strings.TrimPrefix(s.Text, "PREPARE "))
					require.True(t, strings.HasPrefix(text, "SELECT") || strings.HasPrefix(text, "SET"), "it ran %s", text)
				}
				require.NoError(t, err)
				require.EqualValues(t, c.class, explained.Class)
				require.Equal(t, c.class == "exact", explained.Reason != "")
				require.Contains(t, explained.String(), explained.Steps[0].SQL)
				var texts []string
				for _, s := range tw.Sent.During(func() {
					if harness.IsQuery.MatchString(c.stmt) {
						harness.Queried(t.Context(), tw.Ours, c.stmt, c.args...)
					} else {
						harness.Affected(t, tw.Ours, c.stmt, c.args...)
					}
				}) {
					texts = append(texts, strings.TrimPrefix(s.Text, "PREPARE "))
				}
				first := explained.Steps[0]
				if strings.Contains(explained.String(), "in a transaction:") && first.SQL == "" {
					first = explained.Steps[1]
				}
				require.Contains(t, texts, first.SQL)
				if c.class == "verbatim" {
					for _, s := range explained.Steps {
						require.Contains(t, texts, s.SQL)
					}
					for _, text := range texts { // that the slots go is told; how they are folded depends on what they are
						if strings.Contains(text, "item_slots") && !foldsSlots.MatchString(text) && strings.Contains(c.stmt, "TABLE") {
							require.Contains(t, explained.String(), text)
						}
					}
				}
			})
		}
		_, err := countermysql.Explain(t.Context(), tw.Direct, "SELECT 1")
		require.Error(t, err)
	})
}
