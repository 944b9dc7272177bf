package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// stub is a module in the place of another, with as much as lets its users compile.
type stub struct {
	module string
	fill   func(dir string) error
}

func holds(name, text string) func(dir string) error {
	return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600) }
}

// thing is what could be cut.
type thing struct {
	name  string
	stubs []stub
}

var things = []thing{
	{"`failpoint`, and the HTTP server that it starts where `GO_FAILPOINTS_HTTP` is set", []stub{
		{"github.com/pingcap/failpoint", holds("failpoint.go", "package failpoint\n\nfunc Inject(string, any) {}\n")},
	}},
	{"the logger: `pingcap/log`, `zap`, `lumberjack`", []stub{
		{"github.com/pingcap/log", holds("log.go", `package log

import "go.uber.org/zap"

func Debug(string, ...zap.Field)       {}
func Warn(string, ...zap.Field)        {}
func Error(string, ...zap.Field)       {}
func Fatal(said string, _ ...zap.Field) { panic(said) }
`)},
		{"go.uber.org/zap", holds("zap.go", `package zap

type Field struct{}

func Int(string, int) Field       { return Field{} }
func String(string, string) Field { return Field{} }
func Stack(string) Field          { return Field{} }
func Error(error) Field           { return Field{} }
`)},
	}},
	{"the tables of character sets, `golang.org/x/text/encoding`", []stub{{"golang.org/x/text", emptyCharsets}}},
	{"`sqlmw`, which is the type of `Config.Interceptor`: its `init` makes a type for each of 64 sorts of rows", []stub{{"github.com/ngrok/sqlmw", bareInterceptor}}},
}

// folder is where the source of a module of ours is.
func folder(module string) (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	return strings.TrimSpace(string(out)), err
}

// emptyCharsets is x/text whose character sets are none.
func emptyCharsets(dir string) error {
	from, err := folder("golang.org/x/text")
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		return err
	}
	parser, err := folder(parserPath)
	if err != nil {
		return err
	}
	users, err := filepath.Glob(filepath.Join(parser, "charset", "*.go"))
	if err != nil {
		return err
	}
	var used strings.Builder
	for _, file := range users {
		code, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		used.Write(code)
	}
	for _, name := range []string{"charmap", "japanese", "korean", "simplifiedchinese", "traditionalchinese"} {
		code := "package " + name + "\n\nimport \"golang.org/x/text/encoding\"\n"
		names := regexp.MustCompile(`\b`+name+`\.([A-Z]\w*)`).FindAllStringSubmatch(used.String(), -1)
		slices.SortFunc(names, slices.Compare)
		for _, m := range slices.CompactFunc(names, slices.Equal) {
			code += "\nvar " + m[1] + " = encoding.Nop\n"
		}
		sub := filepath.Join(dir, "encoding", name)
		if err := os.RemoveAll(sub); err != nil {
			return err
		}
		if err := os.Mkdir(sub, 0o700); err != nil {
			return err
		}
		if err := holds("none.go", code)(sub); err != nil {
			return err
		}
	}
	return nil
}

// bareInterceptor is sqlmw that wraps nothing.
func bareInterceptor(dir string) error {
	from, err := folder("github.com/ngrok/sqlmw")
	if err != nil {
		return err
	}
	code, err := os.ReadFile(filepath.Join(from, "interceptor.go"))
	if err != nil {
		return err
	}
	return holds("sqlmw.go", string(code)+"\nfunc Driver(d driver.Driver, _ Interceptor) driver.Driver { return d }\n")(dir)
}

// cut is what programs weigh without things.
type cut struct {
	name            string
	program         program
	whole, stripped float64
}

// measureWithout builds countermysql without each thing, and without all of them; so at last, of
// both, what a driver has to have.
func measureWithout(dir string) (cuts []cut, err error) {
	all := thing{name: "all of them"}
	for _, t := range things {
		all.stubs = append(all.stubs, t.stubs...)
	}
	for i, t := range append(slices.Clone(things), all) {
		module, err := replaced(filepath.Join(dir, fmt.Sprint("without", i)), t.stubs)
		if err != nil {
			return nil, fmt.Errorf("without %s: %w", t.name, err)
		}
		of := []program{ours}
		if t.name == all.name {
			of = append(of, both)
		}
		for _, p := range of {
			c := cut{name: t.name, program: p}
			// By -trimpath the folder, another each time, makes no other program: the cache knows it.
			if _, c.whole, c.stripped, err = weigh(dir, p, "-trimpath", "-mod=mod", "-modfile="+module); err != nil {
				return nil, fmt.Errorf("without %s: %w", t.name, err)
			}
			cuts = append(cuts, c)
		}
	}
	return cuts, nil
}

// replaced makes stubs, and a go.mod of this module with them.
func replaced(dir string, stubs []stub) (module string, err error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return "", err
		}
	}
	module = filepath.Join(dir, "go.mod")
	for i, s := range stubs {
		of := filepath.Join(dir, fmt.Sprint(i))
		if err := os.Mkdir(of, 0o700); err != nil {
			return "", err
		}
		if err := s.fill(of); err != nil {
			return "", err
		}
		_ = os.Remove(filepath.Join(of, "go.mod")) // read-only, where it is a copy
		if err := holds("go.mod", "module "+s.module+"\n\ngo 1.20\n")(of); err != nil {
			return "", err
		}
		if out, err := exec.Command("go", "mod", "edit", "-replace", s.module+"="+of, module).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w\n%s", err, out)
		}
	}
	return module, nil
}

// goal is what was asked for.
const goal = 16e6

// reportLimit says that the goal can't be reached; it fails where that no longer follows.
func reportLimit(b *strings.Builder, sizes map[program]size, cuts []cut) error {
	least := cuts[len(cuts)-1]
	if least.whole < goal {
		return fmt.Errorf("what a driver has to have is %s now: see whether it can be below %s after all, and write %s anew", mb(least.whole), mb(goal), page)
	}
	fmt.Fprintf(b, "A driver with TiDB's parser can't be brought below %.0f MB without a fork of the parser: go-sql-driver and the parser, without a line of countermysql, are %s (%s stripped), and with stubs in place of all that could be cut beside the parser's own packages %s (%s stripped, to which the %s of countermysql itself come).\n",
		goal/1e6, mb(sizes[both].whole), mb(sizes[both].stripped), mb(least.whole), mb(least.stripped), mb(sizes[ours].stripped-sizes[both].stripped))
	return nil
}

func reportWithout(b *strings.Builder, sizes map[program]size, cuts []cut) {
	b.WriteString("\nWhat could be cut beside the parser's own packages, and what that saves at most: each is replaced by a stub that compiles, and does nothing.\n\n")
	b.WriteString("| countermysql without | size | stripped | saved at most |\n|---|---:|---:|---:|\n")
	var least cut
	for _, c := range cuts {
		if c.program == ours {
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", c.name, mb(c.whole), mb(c.stripped), mb(sizes[ours].whole-c.whole))
			least = c
		}
	}
	fmt.Fprintf(b, "\nIf a fork took out the grammar's tables as well, all of them, it would be %s.\n", mb(least.whole-sizes[ours].tables()+sizes[plain].tables()))
}
