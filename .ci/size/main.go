// Size writes into docs/size.md what a program with the driver weighs, what of it is what, why
// the linker keeps it, and what it would weigh without:
//
//	go run ./.ci/size          # minutes the first time, as the parser is built anew without each thing
//	go run ./.ci/size -check   # fails where docs/size.md is wrong by more than a twentieth
package main

import (
	"debug/elf"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

const (
	page       = "docs/size.md"
	parserPath = "github.com/pingcap/tidb/pkg/parser"
)

// program is what is built.
type program struct{ name, text string }

var (
	plain  = program{"go-sql-driver/mysql", source("mysql", opens, "github.com/go-sql-driver/mysql")}
	ours   = program{"countermysql", source("countermysql", opens, "github.com/countermysql/countermysql")}
	parser = program{"TiDB's parser alone: `parser.New().ParseSQL(\"SELECT 1\")`", source("", parses, "")}
	both   = program{"go-sql-driver and the parser, without countermysql", source("mysql", opens+parses, "github.com/go-sql-driver/mysql")}

	programs = []program{plain, ours, parser, both}
)

const (
	opens = `
	db, err := sql.Open(driver, "root@tcp(127.0.0.1:3306)/")
	if err != nil {
		log.Fatal(err)
	}
	log.Print(db.Ping())`
	parses = `
	log.Print(parser.New().ParseSQL("SELECT 1"))`
)

// source is a program that does this, with a driver or without.
func source(driver, does, path string) string {
	imports := `"log"` + "\n"
	if strings.Contains(does, opens) {
		imports += fmt.Sprintf("\"database/sql\"\n_ %q\n", path)
	}
	if strings.Contains(does, parses) {
		imports += fmt.Sprintf("%q\n_ %q\n", parserPath, parserPath+"/test_driver")
	}
	return fmt.Sprintf("package main\n\nimport (\n%s)\n\nconst driver = %q\n\nfunc main() {%s\n}\n", imports, driver, does)
}

// size is what a program weighs, in bytes.
type size struct {
	whole, stripped float64
	sections        map[string]float64
	packages        map[string]float64 // symbols by their packages' paths
}

func main() {
	log.SetFlags(0)
	checks := flag.Bool("check", false, "compare "+page+" with what is built, and write nothing")
	flag.Parse()
	text, err := os.ReadFile(page)
	if err != nil {
		log.Fatal(err)
	}
	if *checks && !isOfHere(text) {
		log.Printf("%s is not of %s: nothing to compare", page, built(runtime.Version()))
		return
	}
	if runtime.GOOS != "linux" {
		log.Fatal("size reads ELF: run it on Linux")
	}
	dir, err := os.MkdirTemp("", "size")
	if err != nil {
		log.Fatal(err)
	}
	err = run(dir, text, *checks)
	os.RemoveAll(dir)
	if err != nil {
		log.Fatal(err)
	}
}

func run(dir string, text []byte, checks bool) error {
	sizes := map[program]size{}
	of := programs
	if checks {
		of = []program{plain, ours} // what README.md and docs/compatibility.md name; the others follow
	}
	for _, p := range of {
		s, err := measure(dir, p)
		if err != nil {
			return err
		}
		sizes[p] = s
	}
	if checks {
		return check(text, of, sizes)
	}
	links, err := linked(dir, parser)
	if err != nil {
		return err
	}
	cuts, err := measureWithout(dir)
	if err != nil {
		return err
	}
	block := regexp.MustCompile(`(?s)(<!-- made by make size -->\n).*?(<!-- end -->\n)`)
	if !block.Match(text) {
		return fmt.Errorf("%s has no block between <!-- made by make size --> and <!-- end -->: put these lines where it belongs", page)
	}
	var b strings.Builder
	if err := reportLimit(&b, sizes, cuts); err != nil {
		return err
	}
	reportSizes(&b, sizes)
	if err := reportChains(&b, links); err != nil {
		return err
	}
	reportWithout(&b, sizes, cuts)
	text = block.ReplaceAll(text, []byte("${1}"+strings.ReplaceAll(b.String(), "$", "$$")+"${2}"))
	return os.WriteFile(page, text, 0o644)
}

// build makes a program as Go's users do, from this module's dependencies.
func build(dir string, p program, flags ...string) (file, told string, err error) {
	source, file := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	if err := os.WriteFile(source, []byte(p.text), 0o600); err != nil {
		return "", "", err
	}
	out, err := exec.Command("go", append(append([]string{"build"}, flags...), "-o", file, source)...).CombinedOutput()
	if err != nil {
		return "", "", fmt.Errorf("the program with %s: %w\n%s", p.name, err, out)
	}
	return file, string(out), nil
}

// weigh builds a program with and without debug information. The first stays.
func weigh(dir string, p program, flags ...string) (file string, whole, stripped float64, err error) {
	for _, b := range []struct {
		flags string
		bytes *float64
	}{{"-s -w", &stripped}, {"", &whole}} {
		if file, _, err = build(dir, p, append(flags, "-ldflags", b.flags)...); err != nil {
			return "", 0, 0, err
		}
		info, err := os.Stat(file)
		if err != nil {
			return "", 0, 0, err
		}
		*b.bytes = float64(info.Size())
	}
	return file, whole, stripped, nil
}

func measure(dir string, p program) (size, error) {
	s := size{sections: map[string]float64{}, packages: map[string]float64{}}
	file, whole, stripped, err := weigh(dir, p)
	if err != nil {
		return size{}, err
	}
	s.whole, s.stripped = whole, stripped
	f, err := elf.Open(file)
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

func mb(bytes float64) string { return fmt.Sprintf("%.1f MB", bytes/1e6) }

// built says where and by what the programs are built.
func built(goVersion string) string {
	return fmt.Sprintf("%s/%s, %s", runtime.GOOS, runtime.GOARCH, strings.Replace(goVersion, "go", "Go ", 1))
}

func reportSizes(b *strings.Builder, sizes map[program]size) {
	fmt.Fprintf(b, "\nA program that opens a database and pings it, %s, with and without debug information (`-ldflags=\"-s -w\"`):\n\n", built(runtime.Version()))
	b.WriteString("| with | size | stripped |\n|---|---:|---:|\n")
	for _, p := range programs {
		fmt.Fprintf(b, "| %s | %s | %s |\n", p.name, mb(sizes[p].whole), mb(sizes[p].stripped))
	}
	fmt.Fprintf(b, "\nSo countermysql adds %s: %s the parser, %s its own code and what else that needs. What they consist of:\n\n",
		mb(sizes[ours].whole-sizes[plain].whole), mb(sizes[both].whole-sizes[plain].whole), mb(sizes[ours].whole-sizes[both].whole))
	b.WriteString("| what | countermysql | go-sql-driver/mysql | the parser alone |\n|---|---:|---:|---:|\n")
	for _, row := range []struct {
		what string
		of   func(size) float64
	}{
		{"the tables of the grammar, `yyParseTab`: arrays indexed by symbol, two thirds of them zeros (`.noptrdata`)", size.tables},
		{"code, and what the runtime knows of it (`.text`, `.rodata`, `.gopclntab`)", size.code},
		{"debug information", func(s size) float64 { return s.whole - s.stripped }},
		{"of these, symbols of the driver's own", func(s size) float64 { return s.in("github.com/countermysql/countermysql") }},
	} {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", row.what, mb(row.of(sizes[ours])), mb(row.of(sizes[plain])), mb(row.of(sizes[parser])))
	}
}

// isOfHere says whether the page is of what this machine builds: another release of Go makes
// other sizes.
func isOfHere(text []byte) bool {
	release := regexp.MustCompile(`^go\d+\.\d+`).FindString(runtime.Version())
	return release != "" && regexp.MustCompile(regexp.QuoteMeta(built(release))+`\b`).Match(text)
}

// check compares the page's first table with what is built.
func check(text []byte, of []program, sizes map[program]size) error {
	for _, p := range of {
		said := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(p.name) + ` \| (\S+) MB \| (\S+) MB \|$`).FindSubmatch(text)
		if said == nil {
			return fmt.Errorf("%s lacks the program with %s: run make size", page, p.name)
		}
		for i, is := range []float64{sizes[p].whole, sizes[p].stripped} {
			was, err := strconv.ParseFloat(string(said[i+1]), 64)
			if err != nil || math.Abs(is-was*1e6) > is/20 {
				return fmt.Errorf("%s says %s MB of a program with %s that has %s: run make size, and have README.md and docs/compatibility.md say the same", page, said[i+1], p.name, mb(is))
			}
		}
	}
	return nil
}
