// Size writes into docs/size.md what a program with the driver weighs, and what of it is what:
//
//	go run .ci/size/main.go
package main

import (
	"debug/elf"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// programs are what is built.
var programs = []struct{ name, text string }{
	{"go-sql-driver/mysql", opens("mysql", "github.com/go-sql-driver/mysql")},
	{"countermysql", opens("countermysql", "github.com/countermysql/countermysql")},
	{"TiDB's parser alone: `parser.New().ParseSQL(\"SELECT 1\")`", `package main

import (
	"fmt"

	"github.com/pingcap/tidb/pkg/parser"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver"
)

func main() { fmt.Println(parser.New().ParseSQL("SELECT 1")) }
`},
}

func opens(driver, path string) string {
	return fmt.Sprintf(`package main

import (
	"database/sql"
	"log"

	_ %q
)

func main() {
	db, err := sql.Open(%q, "root@tcp(127.0.0.1:3306)/")
	if err != nil {
		log.Fatal(err)
	}
	log.Print(db.Ping())
}
`, path, driver)
}

// size is what a program weighs, in bytes.
type size struct {
	whole, stripped float64
	sections        map[string]float64
	packages        map[string]float64 // symbols by their packages' paths
}

func main() {
	log.SetFlags(0)
	if runtime.GOOS != "linux" {
		log.Fatal("size reads ELF: run it on Linux")
	}
	const file = "docs/size.md"
	text, err := os.ReadFile(file)
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "size")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	var all []size
	for i, p := range programs {
		s, err := measure(filepath.Join(dir, fmt.Sprint(i)), p.text)
		if err != nil {
			log.Fatalf("the program with %s: %v", p.name, err)
		}
		all = append(all, s)
	}
	block := regexp.MustCompile(`(?s)(<!-- made by make size -->\n).*?(<!-- end -->\n)`)
	if !block.Match(text) {
		log.Fatalf("%s has no block between <!-- made by make size --> and <!-- end -->", file)
	}
	text = block.ReplaceAll(text, []byte("${1}"+strings.ReplaceAll(report(all), "$", "$$")+"${2}"))
	if err := os.WriteFile(file, text, 0o644); err != nil {
		log.Fatal(err)
	}
}

// measure builds a program twice.
func measure(dir, text string) (size, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return size{}, err
	}
	source, program, stripped := filepath.Join(dir, "main.go"), filepath.Join(dir, "program"), filepath.Join(dir, "stripped")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		return size{}, err
	}
	s := size{sections: map[string]float64{}, packages: map[string]float64{}}
	for _, b := range []struct {
		to, flags string
		bytes     *float64
	}{{program, "", &s.whole}, {stripped, "-s -w", &s.stripped}} {
		build := exec.Command("go", "build", "-ldflags", b.flags, "-o", b.to, source)
		if out, err := build.CombinedOutput(); err != nil {
			return size{}, fmt.Errorf("%w\n%s", err, out)
		}
		info, err := os.Stat(b.to)
		if err != nil {
			return size{}, err
		}
		*b.bytes = float64(info.Size())
	}
	f, err := elf.Open(program)
	if err != nil {
		return size{}, err
	}
	defer f.Close()
	for _, section := range f.Sections {
		s.sections[section.Name] = float64(section.Size)
	}
	symbols, err := f.Symbols()
	if err != nil {
		return size{}, err
	}
	for _, symbol := range symbols {
		name := strings.NewReplacer("type:.eq.", "", "go:itab.", "", "*", "").Replace(symbol.Name)
		slash := strings.LastIndexByte(name, '/') + 1
		if dot := strings.IndexByte(name[slash:], '.'); dot >= 0 {
			s.packages[name[:slash+dot]] += float64(symbol.Size)
		}
	}
	return s, nil
}

// in is the size of the symbols of packages below any of the paths.
func (s size) in(paths ...string) (bytes float64) {
	for name, n := range s.packages {
		for _, path := range paths {
			if name == path || strings.HasPrefix(name, path+"/") {
				bytes += n
			}
		}
	}
	return bytes
}

// code is what runs, and what the runtime knows of it.
func (s size) code() float64 {
	return s.sections[".text"] + s.sections[".rodata"] + s.sections[".gopclntab"]
}

// tables is data without pointers: the grammar's, nearly all of it.
func (s size) tables() float64 { return s.sections[".noptrdata"] }

func report(all []size) string {
	mb := func(bytes float64) string { return fmt.Sprintf("%.1f MB", bytes/1e6) }
	fine := func(bytes float64) string { return fmt.Sprintf("%.2f MB", bytes/1e6) }
	plain, ours, parser := all[0], all[1], all[2]
	var b strings.Builder
	fmt.Fprintf(&b, "A program that opens a database and pings it, %s, %s, with and without debug information (`-ldflags=\"-s -w\"`):\n\n", runtime.GOOS+"/"+runtime.GOARCH, strings.Replace(runtime.Version(), "go", "Go ", 1))
	b.WriteString("| with | size | stripped |\n|---|---:|---:|\n")
	for i, p := range programs {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", p.name, mb(all[i].whole), mb(all[i].stripped))
	}
	fmt.Fprintf(&b, "\nSo countermysql adds %s, and nearly all of it is the parser's:\n\n", mb(ours.whole-plain.whole))
	b.WriteString("| what | countermysql | go-sql-driver/mysql | the parser alone |\n|---|---:|---:|---:|\n")
	row := func(what string, of func(size) float64, write func(float64) string) {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", what, write(of(ours)), write(of(plain)), write(of(parser)))
	}
	row("the tables of the grammar, `yyParseTab`: arrays indexed by symbol, mostly zeros (`.noptrdata`)", size.tables, mb)
	row("code, and what the runtime knows of it (`.text`, `.rodata`, `.gopclntab`)", size.code, mb)
	row("debug information", func(s size) float64 { return s.whole - s.stripped }, mb)
	row("of these, what is the driver's own", func(s size) float64 { return s.in("github.com/countermysql/countermysql") }, fine)
	row("character sets, `golang.org/x/text/encoding`", func(s size) float64 { return s.in("golang.org/x/text/encoding") }, fine)
	row("a logger: `pingcap/log`, `zap`, `lumberjack`", func(s size) float64 {
		return s.in("github.com/pingcap/log", "go.uber.org/zap", "gopkg.in/natefinch/lumberjack.v2", "go.uber.org/multierr", "go.uber.org/atomic")
	}, fine)
	row("`net/http`, which the logger brings for a handler that nobody calls", func(s size) float64 { return s.in("net/http") }, fine)
	fmt.Fprintf(&b, "\nLess than %s is out of reach: that is go-sql-driver's %s and the grammar's tables, before a line of the parser's code.\n", mb(plain.whole+ours.tables()-plain.tables()), mb(plain.whole))
	return b.String()
}
