package countermysql

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// blocks returns the fenced code blocks of a language in a Markdown file; there may be none.
func blocks(t *testing.T, file, language string) []string {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var found []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		found = append(found, m[1])
	}
	return found
}

// configured are the pages that have programs and configurations.
var configured = []string{"README.md", "docs/configuration.md", "docs/buffered.md", "docs/derived.md", "docs/history.md", "docs/stock.md", "docs/ways-of-counting.md"}

// allBlocks returns those of all these pages.
func allBlocks(t *testing.T, language string) (found []string) {
	for _, page := range configured {
		found = append(found, blocks(t, page, language)...)
	}
	require.Greater(t, len(found), 5, language)
	return found
}

// TestReadmeProgram proves that the programs of the README and of other pages compile.
func TestReadmeProgram(t *testing.T) {
	for _, program := range allBlocks(t, "go") {
		dir, err := os.MkdirTemp(".", "readme") // in the module, whose dependencies it has
		require.NoError(t, err)
		defer os.RemoveAll(dir)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600))
		out, err := exec.Command("go", "vet", "./"+dir).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}

// TestReadmeConfiguration proves that the files in the README and in other pages are valid
// configurations.
func TestReadmeConfiguration(t *testing.T) {
	for _, file := range allBlocks(t, "yaml") {
		name := filepath.Join(t.TempDir(), "counters.yaml")
		require.NoError(t, os.WriteFile(name, []byte(file), 0o600))
		_, _, err := ParseDSN("/forum?counterConfig=" + name)
		require.NoError(t, err)
	}
}

// TestReadmeParameters proves that the parameters in the table of docs/configuration.md are
// those that the DSN takes, as ParseDSN lists them.
func TestReadmeParameters(t *testing.T) {
	text, err := os.ReadFile("docs/configuration.md")
	require.NoError(t, err)
	code, err := os.ReadFile("config.go")
	require.NoError(t, err)
	var listed, told []string
	for _, m := range regexp.MustCompile(`(?m)^//\t(counter\w*) `).FindAllStringSubmatch(string(code), -1) {
		listed = append(listed, m[1])
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(counter\\w*)=([^`]*)`").FindAllStringSubmatch(string(text), -1) {
		told = append(told, m[1])
		if m[1] == "counterConfig" {
			continue // names a file
		}
		params := m[1] + "=" + m[2]
		if m[1] == "counterTouch" {
			params += "&counters=user.posts" // a table has counters
		}
		_, config, err := ParseDSN("u@tcp(h)/forum?" + params)
		require.NoError(t, err, m[0])
		require.NotEqual(t, &Config{}, config, "%s is not ours", strings.TrimSpace(m[0]))
	}
	require.ElementsMatch(t, listed, told)
}

// TestReadmeVersions proves that docs/compatibility.md names the versions of others' packages
// that the tests use.
func TestReadmeVersions(t *testing.T) {
	text, err := os.ReadFile("docs/compatibility.md")
	require.NoError(t, err)
	named := regexp.MustCompile(`\[([\w-]+)\]\(\.\./(integration_test/\w+)(?:/\w+)?\) (v\d+\.\d+)`).FindAllStringSubmatch(string(text), -1)
	for _, m := range named {
		used, err := os.ReadFile(filepath.Join(m[2], "go.mod"))
		require.NoError(t, err)
		require.Regexp(t, `(?i)`+m[1]+`\S* `+m[3]+`\.`, string(used), "the page says %s %s: %s uses another version", m[1], m[3], m[2])
	}
	require.Greater(t, len(named), 5)
}

// TestReadmeSizes proves that the README and docs/compatibility.md name the sizes that docs/size.md has.
func TestReadmeSizes(t *testing.T) {
	text, err := os.ReadFile("docs/size.md")
	require.NoError(t, err)
	size := map[string][]string{}
	for _, m := range regexp.MustCompile(`(?m)^\| (\S+) \| (\S+) MB \| (\S+) MB \|$`).FindAllStringSubmatch(string(text), -1) {
		size[m[1]] = m[2:]
	}
	ours, plain := size["countermysql"], size["go-sql-driver/mysql"]
	require.Len(t, ours, 2)
	require.Len(t, plain, 2)
	adds := regexp.MustCompile(`So countermysql adds (\S+) MB`).FindSubmatch(text)
	require.NotNil(t, adds)
	more, err := strconv.ParseFloat(string(adds[1]), 64)
	require.NoError(t, err)
	for page, want := range map[string]string{
		"docs/compatibility.md": fmt.Sprintf("| %s MB, %s without debug information; with go-sql-driver %s and %s.", ours[0], ours[1], plain[0], plain[1]),
		"README.md":             fmt.Sprintf("[%.0f MB more](docs/size.md)", more),
	} {
		said, err := os.ReadFile(page)
		require.NoError(t, err)
		require.True(t, strings.Contains(string(said), want), "%s lacks: %s", page, want)
	}
}

// TestSizes proves that docs/size.md is not off by more than a twentieth, for the release of Go
// that it names. It builds two programs: seconds, and a minute where the parser has never been built.
func TestSizes(t *testing.T) {
	out, err := exec.Command("go", "run", "./.ci/size", "-check").CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("%s", out)
}

var (
	testName = regexp.MustCompile("`(Test\\w+)`")
	testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
)

// tests are the names of all tests below the root.
func tests(t *testing.T) map[string]bool {
	names := map[string]bool{}
	require.NoError(t, filepath.WalkDir(".", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range testFunc.FindAllStringSubmatch(string(text), -1) {
			names[m[1]] = true
		}
		return err
	}))
	return names
}

// TestDifferencesArePinned proves that each entry of docs/semantics.md, a section with an
// example or a row of a table, names the tests that pin it, that there are such, and that no
// entry is longer than three lines.
func TestDifferencesArePinned(t *testing.T) {
	text, err := os.ReadFile("docs/semantics.md")
	require.NoError(t, err)
	_, entries, ok := strings.Cut(string(text), "\n## ") // what comes before is no entry
	require.True(t, ok)
	exist, examples, rows := tests(t), 0, 0
	pinned := func(entry string, line int) { // of so many characters
		names := testName.FindAllStringSubmatch(entry, -1)
		if len(names) == 0 {
			t.Errorf("no test pins: %s", entry)
		}
		for _, name := range names {
			if !exist[name[1]] {
				t.Errorf("there is no %s, which is to pin: %s", name[1], entry)
			}
		}
		if said := strings.Trim(testName.ReplaceAllString(entry, ""), " |(),."); len([]rune(said)) > 3*line {
			t.Errorf("longer than three lines: %s", entry)
		}
	}
	example := regexp.MustCompile("(?s)```.*?```\n")
	for _, entry := range regexp.MustCompile(`(?m)^#+ .*$`).Split(entries, -1) {
		if example.MatchString(entry) {
			examples++
			pinned(strings.TrimSpace(example.ReplaceAllString(entry, "")), 140)
			continue
		}
		for line := range strings.Lines(entry) {
			line = strings.TrimSpace(line)
			switch {
			case line == "", line == "| what | when | test |", line == "|---|---|---|", !strings.Contains(entry, "|---|"):
			default:
				rows++
				pinned(line, 100)
			}
		}
	}
	require.Equal(t, 10, examples)
	require.Greater(t, rows, 50)
}

// TestMakeCommands proves that the shell understands each make command with
// arguments that is written somewhere: echo stands in for go.
func TestMakeCommands(t *testing.T) {
	commands := 0
	for _, file := range []string{"README.md", "bench/README.md", "bench/main.go", "docs/benchmark.md", "docs/benchmark/README.md", "examples/demo/main.go"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`make (demo|bench) ARGS=('[^']*'|\S+)`).FindAllStringSubmatch(string(text), -1) {
			commands++
			out, err := exec.Command("bash", "-c", m[0]+" GO=echo").CombinedOutput()
			require.NoError(t, err, "%s: %s\n%s", file, m[0], out)
			for word := range strings.FieldsSeq(strings.Trim(m[2], "'")) {
				require.Contains(t, string(out), strings.Trim(word, `"`), "%s: %s", file, m[0])
			}
		}
	}
	require.GreaterOrEqual(t, commands, 8)
}

// TestLinks proves that what the pages link to in this repository is there: the file, and
// the heading in it.
func TestLinks(t *testing.T) {
	var pages []string
	require.NoError(t, filepath.WalkDir(".", func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			pages = append(pages, path)
		}
		return err
	}))
	anchors := func(file string) (found []string) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(text), -1) {
			plain := regexp.MustCompile(`[^\p{L}\p{N}\-_ ]`).ReplaceAllString(strings.ToLower(m[1]), "")
			found = append(found, strings.ReplaceAll(plain, " ", "-"))
		}
		return found
	}
	links := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`\]\(([^():]+)\)`).FindAllStringSubmatch(string(text), -1) {
			links++
			file, anchor, has := strings.Cut(m[1], "#")
			if file = filepath.Join(filepath.Dir(page), file); strings.HasPrefix(m[1], "#") {
				file = page
			}
			_, err := os.Stat(file)
			require.NoError(t, err, "%s links to %s", page, m[1])
			if has {
				require.Contains(t, anchors(file), anchor, "%s links to %s", page, m[1])
			}
		}
	}
	require.Greater(t, links, 100)
}

// TestMapNamesEachFile proves that doc.go's map of the package has every file, once.
func TestMapNamesEachFile(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	_, lines, ok := strings.Cut(string(text), "// Where to read")
	require.True(t, ok)
	files := []string{"doc.go"}
	for line := range strings.Lines(lines) {
		if entry, ok := strings.CutPrefix(line, "//\t"); ok {
			names, _, _ := strings.Cut(entry, "   ") // what they are about
			for name := range strings.FieldsSeq(names) {
				files = append(files, name+".go")
			}
		}
	}
	all, err := filepath.Glob("*.go")
	require.NoError(t, err)
	require.ElementsMatch(t, slices.DeleteFunc(all, func(name string) bool { return strings.HasSuffix(name, "_test.go") }), files)
}

// TestMapNamesFunctions proves that the functions exist through which doc.go follows an increment.
func TestMapNamesFunctions(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), "// One increment")
	require.True(t, ok)
	way, _, ok := strings.Cut(rest, "// Where to read")
	require.True(t, ok)
	all, err := filepath.Glob("*.go")
	require.NoError(t, err)
	inside, err := filepath.Glob("internal/*/*.go")
	require.NoError(t, err)
	all = append(all, inside...)
	exist := map[string]bool{}
	for _, file := range all {
		code, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?(\w+)[(\[]`).FindAllStringSubmatch(string(code), -1) {
			exist[m[1]] = true
		}
	}
	named := 0
	for line := range strings.Lines(way) {
		names, _, _ := strings.Cut(strings.TrimPrefix(line, "//\t"), "   ")
		if !strings.HasPrefix(line, "//\t") {
			continue
		}
		for name := range strings.FieldsSeq(names) {
			named++
			require.True(t, exist[name], name)
		}
	}
	require.Greater(t, named, 20)
}
