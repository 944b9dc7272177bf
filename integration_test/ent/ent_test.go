// Package ent_test uses countermysql through ent, as applications do. It is a
// module of its own, so that its dependencies are not ours.
//
// ent's code is generated, from the schema, in a copy of this module; the
// program under testdata, which needs it, runs there.
package ent_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	// The program's: go.mod has to keep what it needs.
	_ "github.com/countermysql/countermysql/internal/twin"
)

func TestEnt(t *testing.T) {
	here, err := os.Getwd()
	require.NoError(t, err)
	dir := t.TempDir()
	for from, to := range map[string]string{
		"go.mod":                   "go.mod",
		"go.sum":                   "go.sum",
		"schema/schema.go":         "schema/schema.go",
		"testdata/program_test.go": "program_test.go",
	} {
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		to = filepath.Join(dir, to)
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o700))
		require.NoError(t, os.WriteFile(to, text, 0o600))
	}
	for _, args := range [][]string{
		{"mod", "edit", "-replace=github.com/countermysql/countermysql=" + filepath.Dir(filepath.Dir(here))},
		{"tool", "ent", "generate", "--feature", "sql/upsert,sql/lock,sql/modifier", "--target", "generated", "./schema"},
		{"test", "-count=1", "."},
	} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "go %v\n%s", args, out)
	}
}
