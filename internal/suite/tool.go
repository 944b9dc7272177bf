package suite

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// OurModule is the driver's import path.
const OurModule = "github.com/countermysql/countermysql"

// Environment is that of their suite: ours without what configures our driver
// and our tests. The go.mod of their copy may be completed.
func Environment(more ...string) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "COUNTERMYSQL_") {
			env = append(env, v)
		}
	}
	return append(append(env, "GOWORK=off", "GOFLAGS=-mod=mod"), more...)
}

// ModuleDir is where the sources of a module are that we require, or of ours.
func ModuleDir(t *testing.T, path string) string {
	t.Helper()
	dir := strings.TrimSpace(Go(t, "", nil, "list", "-m", "-f", "{{.Dir}}", path))
	require.NotEmpty(t, dir, "%s is not in the module cache", path)
	return dir
}

// Go runs the go command and returns what it prints. env may be nil.
func Go(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = dir, env
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(t, err, "go %s\n%s", strings.Join(args, " "), &errs)
	return string(out)
}
