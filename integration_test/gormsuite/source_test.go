package gormsuite_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/suite"
	"github.com/countermysql/countermysql/internal/testserver"
)

// envSource names a checkout of github.com/go-gorm/gorm, for machines that are
// not Debian's.
const envSource = "COUNTERMYSQL_GORM_SOURCE"

// source is the folder with GORM's sources, tests and all.
func source(t *testing.T, ctx context.Context) string {
	dir := os.Getenv(envSource)
	if dir == "" {
		files, err := testserver.DebianFiles(ctx, "golang-gorm-gorm-dev", func(s string) { t.Log(s) })
		require.NoError(t, err, "GORM's tests can't be had: git clone -b v1.31.1 https://github.com/go-gorm/gorm, "+
			"and name the folder in %s", envSource)
		dir = filepath.Join(files, "usr/share/gocode/src/gorm.io/gorm")
	}
	require.FileExists(t, filepath.Join(dir, "tests", "tests_test.go"), "GORM's tests are not in %s; is %s a checkout of it?", dir, envSource)
	return dir
}

// edit is what we change in their tests.
type edit struct {
	file, from, to string
	optional       bool // without it the tests only take longer
}

var edits = []edit{
	// Times have microseconds: a dozen tests expect that an update changes the
	// time of update, and two may come within the same millisecond.
	{file: "tests_test.go", from: `mysql.Open(dbDSN)`, to: `mysql.New(mysql.Config{` +
		`DriverName: os.Getenv("GORM_DRIVER"), DSN: dbDSN, DefaultDatetimePrecision: &microseconds})`},
	{file: "connpool_test.go", from: `sql.Open("mysql", dbDSN)`, to: `sql.Open(os.Getenv("GORM_DRIVER"), dbDSN)`},
	// Our database has a name that is nobody else's.
	{file: "migrate_test.go", from: `tblSchema = "gorm"`, to: `tblSchema = "` + database + `"`},
	{file: "sql_builder_test.go", from: `"gorm.users"`, to: `"` + database + `.users"`},
	// The drivers of other databases take longer to compile than all else together.
	{file: "tests_test.go", from: `"gorm.io/driver/gaussdb"`, to: `gaussdb ` + otherDatabase},
	{file: "tests_test.go", from: `"gorm.io/driver/postgres"`, to: `postgres ` + otherDatabase},
	{file: "tests_test.go", from: `"gorm.io/driver/sqlite"`, to: `sqlite ` + otherDatabase},
	{file: "tests_test.go", from: `"gorm.io/driver/sqlserver"`, to: `sqlserver ` + otherDatabase},
	{file: "migrate_test.go", from: `"gorm.io/driver/gaussdb"`, to: `gaussdb ` + otherDatabase},
	{file: "migrate_test.go", from: `"gorm.io/driver/postgres"`, to: `postgres ` + otherDatabase},
	{file: "table_test.go", from: `"gorm.io/driver/gaussdb"`, to: `gaussdb ` + otherDatabase},
	{file: "table_test.go", from: `"gorm.io/driver/postgres"`, to: `postgres ` + otherDatabase},
	// One test of a cache sleeps for longer than all others take.
	{file: "prepared_stmt_test.go", from: `PrepareStmtTTL: 20 * time.Second`, to: `PrepareStmtTTL: 5 * time.Second`, optional: true},
	{file: "prepared_stmt_test.go", from: `time.Sleep(time.Second * 40)`, to: `time.Sleep(time.Second * 10)`, optional: true},
}

// otherDatabase is the package that stands for GORM's drivers of other databases:
// testdata/other.go.
const otherDatabase = `"gorm.io/gorm/tests/other"`

// noDatabase are their tests of a cache in memory. They need no driver, and an
// idle machine: entries have to expire at the millisecond.
const noDatabase = "lru_test.go"

// copyTree is a copy of their sources with our driver in the tests.
func copyTree(t *testing.T, theirs string) string {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(theirs)))
	tests := filepath.Join(dir, "tests")
	require.NoError(t, os.RemoveAll(filepath.Join(tests, noDatabase)))
	for _, e := range edits {
		name := filepath.Join(tests, e.file)
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		if !e.optional {
			require.Contains(t, string(text), e.from, "%s has changed", e.file)
		}
		text = bytes.ReplaceAll(text, []byte(e.from), []byte(e.to))
		require.NoError(t, os.WriteFile(name, text, 0o600))
	}
	require.NoError(t, os.Mkdir(filepath.Join(tests, "other"), 0o700))
	for from, to := range map[string]string{
		"last_test.go": "zz_last_test.go", // go test keeps the files' order
		"other.go":     "other/other.go",
	} {
		text, err := os.ReadFile(filepath.Join("testdata", from))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(tests, to), text, 0o600))
	}
	return dir
}

// build compiles the tests once for all runs. Not with -race: with that they take three times
// as long, and ours runs with it in all other tests; this is about its answers.
func build(t *testing.T, dir string) string {
	tests := filepath.Join(dir, "tests")
	suite.Go(t, tests, suite.Environment(), "mod", "edit", "-require="+suite.OurModule+"@v0.0.0",
		"-replace="+suite.OurModule+"="+suite.ModuleDir(t, suite.OurModule), "-replace=gorm.io/gorm=../")
	binary := filepath.Join(tests, "gorm.test")
	suite.Go(t, tests, suite.Environment(), "test", "-c", "-vet=off", "-o", binary, ".")
	return binary
}
