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

// run runs the tests on a driver, all but those named in skip.
func (c copied) run(t *testing.T, ctx context.Context, driver string, skip ...string) suite.Results {
	args := []string{"test", "-json", "-count=1", "-vet=off", "-timeout=6m",
		"-ldflags=-X " + theirModule + ".driverNameTest=" + driver}
	if underRace() {
		args = append(args, "-race")
	}
	if len(skip) > 0 {
		args = append(args, "-skip=^"+strings.ReplaceAll(strings.Join(skip, "$|^"), "/", "$/^")+"$")
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
