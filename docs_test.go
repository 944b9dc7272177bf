package countermysql

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// blocks returns the fenced code blocks of a language in a Markdown file.
func blocks(t *testing.T, file, language string) []string {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var found []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		found = append(found, m[1])
	}
	require.NotEmpty(t, found)
	return found
}

// TestReadmeProgram proves that the README's program compiles.
func TestReadmeProgram(t *testing.T) {
	for _, program := range blocks(t, "README.md", "go") {
		dir, err := os.MkdirTemp(".", "readme") // in the module, whose dependencies it has
		require.NoError(t, err)
		defer os.RemoveAll(dir)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600))
		out, err := exec.Command("go", "vet", "./"+dir).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}

// TestReadmeConfiguration proves that the README's file is a valid configuration.
func TestReadmeConfiguration(t *testing.T) {
	for _, file := range blocks(t, "README.md", "yaml") {
		config, mistakes := readYAML("README.md", []byte(file))
		require.Empty(t, mistakes)
		_, err := config.resolve("forum")
		require.NoError(t, err)
	}
}

// TestReadmeParameters proves that the parameters in the README's table are
// those that the DSN takes.
func TestReadmeParameters(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, m := range regexp.MustCompile("(?m)^\\| `(counter\\w*)=([^`]*)`").FindAllStringSubmatch(string(text), -1) {
		if m[1] == "counterConfig" {
			continue // names a file
		}
		_, config, err := ParseDSN("u@tcp(h)/forum?" + m[1] + "=" + m[2])
		require.NoError(t, err, m[0])
		require.NotEqual(t, &Config{}, config, "%s is not ours", strings.TrimSpace(m[0]))
	}
}
