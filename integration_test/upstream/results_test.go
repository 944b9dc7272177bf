package upstream_test

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/suite"
)

// copied is a copy of their module and the environment to run its tests in.
type copied struct {
	dir string
	env []string
}

// build compiles the tests for a driver, once for all servers. Not with -race: with that they
// take twice as long, and ours runs with it in all other tests; this is about its answers.
func build(t *testing.T, dir, driver string) {
	suite.Go(t, dir, suite.Environment(), "test", "-c", "-vet=off", "-o", driver+".test", "-ldflags=-X "+theirModule+".driverNameTest="+driver)
}

// run runs the tests on a driver, all but those named in skip.
func (c copied) run(t *testing.T, ctx context.Context, driver string, skip ...string) suite.Results {
	args := []string{"tool", "test2json", "-t", "./" + driver + ".test", "-test.v=test2json", "-test.timeout=6m"}
	if len(skip) > 0 {
		args = append(args, "-test.skip=^"+strings.ReplaceAll(strings.Join(skip, "$|^"), "/", "$/^")+"$")
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, failure := cmd.Output() // a failure of theirs is not yet one of ours
	require.NoError(t, ctx.Err())

	r, err := suite.Parse(stdout)
	require.NoError(t, err)
	r.Output[""] = stderr.String() + r.Output[""]
	require.NotEmpty(t, r.Outcome, "no test ran (%v):\n%s", failure, r.Tail())
	r.Log(t, driver)
	return r
}
