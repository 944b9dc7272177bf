// Package gormsuite_test runs GORM's own tests on our driver, with counters in
// their tables: what passes on go-sql-driver has to pass on ours.
//
// Their module, gorm.io/gorm/tests, is not made for being downloaded: Debian has
// its sources in a package. The tests run in a copy, whose connections open the
// driver that the environment names.
package gormsuite_test

import (
	"bytes"
	"context"
	"database/sql"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/suite"
	"github.com/countermysql/countermysql/internal/testserver"
)

const (
	database = "cm_gormsuite"
	lastTest = "TestCountersUsed" // testdata/last_test.go
	reruns   = 2
)

func TestGORMSuite(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	t.Cleanup(cancel)
	binary := build(t, copyTree(t, source(t, ctx)))
	servers, err := testserver.FromEnv(ctx,
		// It makes thousands of tables, which need not survive anything.
		testserver.WithArgs("--skip-log-bin", "--innodb-flush-log-at-trx-commit=0"),
		testserver.WithProgress(func(s string) { t.Log(s) }))
	require.NoError(t, err)
	for _, srv := range servers {
		t.Cleanup(srv.Stop)
	}
	for _, srv := range servers {
		t.Run(string(srv.Flavor()), func(t *testing.T) {
			t.Parallel()
			r := runner{binary: binary, srv: srv}
			ours := r.run(t, ctx, "countermysql", "")
			suspects := "" // all, if it has crashed, which no test does by chance
			if ours.Outcome[lastTest] != "" {
				suspects = pattern(append(ours.NotPassed(), lastTest))
			}
			theirs := r.run(t, ctx, "mysql", suspects)
			require.Equal(t, "pass", theirs.Outcome[lastTest], "%s%s", theirs.Output[lastTest], theirs.Tail())
			missing := theirs.Missing(ours)
			if suspects != "" {
				missing = r.again(t, ctx, ours, missing)
			}
			ours.Report(t, missing)
			require.Equal(t, "pass", ours.Outcome[lastTest], "%s%s", ours.Output[lastTest], ours.Tail())
			t.Log(ours.Output[lastTest])
		})
	}
}

// runner runs their tests on a server.
type runner struct {
	binary string
	srv    *testserver.Server
}

// run runs the tests that the pattern matches, in a fresh database.
func (r runner) run(t *testing.T, ctx context.Context, driver, pattern string) suite.Results {
	db, err := sql.Open("mysql", r.srv.DSN("", "multiStatements=true"))
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(ctx, "DROP DATABASE IF EXISTS "+database+"; CREATE DATABASE "+database+" CHARACTER SET utf8mb4")
	require.NoError(t, err)

	counters, err := filepath.Abs("testdata/counters.yaml")
	require.NoError(t, err)
	begin := time.Now()
	cmd := exec.CommandContext(ctx, "go", "tool", "test2json", "-t", r.binary,
		"-test.v=test2json", "-test.timeout=8m", "-test.run="+pattern)
	cmd.Dir = filepath.Dir(r.binary)
	cmd.Env = suite.Environment("COUNTERMYSQL_CONFIG="+counters, "GORM_DRIVER="+driver, "GORM_DIALECT=mysql",
		"GORM_DSN="+r.srv.DSN(database, "charset=utf8mb4", "parseTime=True", "loc=Local"), "DEBUG=false")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, failure := cmd.Output() // a failure of theirs is not yet one of ours
	require.NoError(t, ctx.Err())

	results, err := suite.Parse(stdout)
	require.NoError(t, err)
	results.Output[""] += stderr.String()
	require.NotEmpty(t, results.Outcome, "no test ran (%v):\n%s", failure, results.Tail())
	results.Log(t, driver)
	t.Logf("%.0f s", time.Since(begin).Seconds())
	return results
}

// again runs the tests that are missing in ours once more, alone, and returns
// those that stay so: a few of theirs fail now and then on any driver. What the
// first run said is logged all the same.
func (r runner) again(t *testing.T, ctx context.Context, ours suite.Results, missing []string) []string {
	for range reruns {
		if len(missing) == 0 {
			break
		}
		var tests []string
		for _, test := range missing {
			t.Logf("passes on go-sql-driver, not on ours; once more: %s\n%s", test, ours.Output[test])
			top, _, _ := strings.Cut(test, "/")
			tests = append(tests, top)
		}
		r.run(t, ctx, "mysql", pattern(tests)) // for who reads the log: does it need the tests before it?
		ours = r.run(t, ctx, "countermysql", pattern(tests))
		missing = slices.DeleteFunc(missing, func(test string) bool { return ours.Outcome[test] == "pass" })
	}
	return missing
}

// pattern matches these tests alone.
func pattern(tests []string) string { return "^(" + strings.Join(slices.Compact(tests), "|") + ")$" }
