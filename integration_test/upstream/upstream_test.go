// Package upstream_test runs go-sql-driver's own test suite on our driver:
// what passes on theirs has to pass on ours.
//
// Their tests are internal to package mysql, so they run in a copy of the
// module, into which one file is put that imports our driver.
package upstream_test

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/suite"
	"github.com/countermysql/countermysql/internal/testserver"
)

const (
	theirModule = "github.com/go-sql-driver/mysql"

	database = "cm_upstream"
	counters = "hits" // a table of this name, with a counter n
)

// The counter table is none of theirs, which come and go and have no keys: all
// connections are ours, and no statement may become another one.
const config = `
create_slots: true
tables:
  - table: ` + counters + `
    counters: [n]
`

// offline are the tests that need the Internet, and no driver by name: behind a
// proxy that accepts every connection this one takes the whole run down.
var offline = []string{"TestConnectorReturnsTimeout"}

// notOurs are the tests that take the connection out of sql.Conn.Raw and assert
// that it is their own type: on a wrapped connection they panic.
var notOurs = []string{
	"TestPing/default#01",
	"TestPing/interpolateParams#01",
	"TestPing/compress#01",
	"TestQueryMultipleResults",
}

func TestUpstream(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	t.Cleanup(cancel)
	servers, err := testserver.FromEnv(ctx,
		testserver.WithArgs("--max-allowed-packet=64M"), // MariaDB's 16M are too few for their TestLongData
		testserver.WithProgress(func(s string) { t.Log(s) }))
	require.NoError(t, err)
	for _, srv := range servers {
		t.Cleanup(srv.Stop)
	}

	dir := copyModule(t)
	build(t, dir, "mysql")
	build(t, dir, "countermysql")
	configFile := filepath.Join(t.TempDir(), "counters.yaml")
	require.NoError(t, os.WriteFile(configFile, []byte(config), 0o600))

	for _, srv := range servers {
		t.Run(string(srv.Flavor()), func(t *testing.T) {
			t.Parallel()
			c := copied{dir: dir, env: environment(t, ctx, srv)}
			theirs := c.run(t, ctx, "mysql", offline...)
			// Where no server answers, most of their tests skip.
			require.Equal(t, "pass", theirs.Outcome["TestCRUD/default"], "the suite did not use the server:\n%s", theirs.Tail())

			if srv == servers[0] { // without counters the connections are go-sql-driver's own, whatever the server
				t.Run("no counters", func(t *testing.T) {
					ours := c.run(t, ctx, "countermysql", offline...)
					ours.Report(t, theirs.Missing(ours))
				})
			}
			t.Run("counters", func(t *testing.T) {
				c.env = append(c.env, "COUNTERMYSQL_CONFIG="+configFile)
				ours := c.run(t, ctx, "countermysql", slices.Concat(offline, notOurs)...)
				ours.Report(t, theirs.Without(notOurs).Missing(ours))
			})
		})
	}
}

// edits are what we change in their tests.
var edits = map[string]string{
	// A third of the tests ignore the switch.
	`sql.Open("mysql",`: `sql.Open(driverNameTest,`,
	// They cancel a statement of one second after 250 ms, and see that the call
	// returns early and the server goes on. Two busy cores need longer.
	`d > 500*time.Millisecond`: `d > 900*time.Millisecond`,
	`time.Sleep(time.Second)`:  `time.Sleep(2 * time.Second)`,
}

// copyModule is their module with our driver in it.
func copyModule(t *testing.T) string {
	dir := t.TempDir()
	theirs := suite.ModuleDir(t, theirModule)
	files, err := os.ReadDir(theirs)
	require.NoError(t, err)
	found := map[string]bool{}
	for _, f := range files {
		if !f.Type().IsRegular() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(theirs, f.Name()))
		require.NoError(t, err)
		if strings.HasSuffix(f.Name(), "_test.go") {
			for from, to := range edits {
				found[from] = found[from] || bytes.Contains(text, []byte(from))
				text = bytes.ReplaceAll(text, []byte(from), []byte(to))
			}
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, f.Name()), text, 0o600))
	}
	for from := range edits {
		require.True(t, found[from], "%s is no longer in their tests", from)
	}

	// An external test package may import what imports the package under test.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "countermysql_test.go"),
		[]byte("package mysql_test\n\nimport _ \""+suite.OurModule+"\"\n"), 0o600))

	// Our requirements under their name.
	ours := suite.ModuleDir(t, suite.OurModule)
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(ours, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	suite.Go(t, dir, nil, "mod", "edit", "-module="+theirModule, "-droprequire="+theirModule,
		"-require="+suite.OurModule+"@v0.0.0", "-replace="+suite.OurModule+"="+ours)
	return dir
}

// environment names the server to their tests, where a fresh database is made.
func environment(t *testing.T, ctx context.Context, srv *testserver.Server) []string {
	db, err := sql.Open("mysql", srv.DSN("", "multiStatements=true"))
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(ctx, "DROP DATABASE IF EXISTS "+database+"; CREATE DATABASE "+database+"; "+
		"CREATE TABLE "+database+"."+counters+" (id BIGINT PRIMARY KEY, n BIGINT NOT NULL DEFAULT 0)")
	require.NoError(t, err)

	cfg, err := mysql.ParseDSN(srv.DSN(""))
	require.NoError(t, err)
	return suite.Environment("MYSQL_TEST_CONCURRENT=1",
		"MYSQL_TEST_USER="+cfg.User, "MYSQL_TEST_PASS="+cfg.Passwd,
		"MYSQL_TEST_PROT="+cfg.Net, "MYSQL_TEST_ADDR="+cfg.Addr, "MYSQL_TEST_DBNAME="+database)
}
