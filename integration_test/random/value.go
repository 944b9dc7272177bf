package random

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// dialect is what the text of a statement depends on.
type dialect struct {
	mariaDB    bool
	ansi       bool // ANSI_QUOTES
	backslash  bool // NO_BACKSLASH_ESCAPES
	foundRows  bool
	parseTime  bool
	snapshot   bool // read_own: snapshot
	interpolat bool
	implicit   bool // autocommit=0
	several    bool // multiStatements
	strict     bool // innodb_snapshot_isolation
	clock      clock
}

// clock is whose time touch columns are set to. Of the server's, two sides would see
// different seconds if it did not stand still.
type clock int

const (
	anyClock clock = iota // nothing is listed as touched
	stoodStill
	application
)

// value is a constant: as a literal, and as arguments of several Go types.
type value struct {
	lit   string
	args  []any
	again func() value // another value for the same place; nil: none
}

// gen makes one script.
type gen struct {
	*rand.Rand
	d      dialect
	tables []*table
	script *Script
	vals   []value // of the statement that is being written
	kept   []kept  // prepared statements to run again
	once   bool    // the statement that is being written is not to be run again
	byRow  bool    // it looks for rows of several columns in a subquery

	x      extras
	begun  bool // inside BeginTx
	inText bool // inside a transaction begun as text
	saved  []string
}

// kept is a prepared statement and the places of its arguments.
type kept struct {
	step   Step
	params []value
}

func (g *gen) chance(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g *gen, of ...T) T { return of[g.IntN(len(of))] }

// one calls one of the functions.
func (g *gen) one(of ...func() string) string { return of[g.IntN(len(of))]() }

// v marks the place of a value in a statement.
func (g *gen) v(x value) string {
	g.vals = append(g.vals, x)
	return "\x01" + strconv.Itoa(len(g.vals)-1) + "\x02"
}

// c is v for a value that must not be a parameter.
func (g *gen) c(x value) string { return x.lit }

func (g *gen) i(n int) string { return g.v(g.integer(n)) }

func (g *gen) arg(x value) any {
	if g.chance(60) {
		return x.args[0]
	}
	return pick(g, x.args...)
}

// finish replaces the marked values by literals or markers.
func (g *gen) finish(do, text string, ordered bool) Step {
	s := Step{Do: do, Ordered: ordered}
	mode := g.IntN(10)          // 0-3 literals, 4-7 arguments, 8-9 prepared
	if g.d.mariaDB && g.byRow { // prepared, it has plain MariaDB crash, at once or with the next
		mode = 0
	}
	percent := 0
	if mode > 3 {
		percent = pick(g, 100, 100, 60)
	}
	var b strings.Builder
	var params []value
	for {
		before, rest, found := strings.Cut(text, "\x01")
		b.WriteString(before)
		if !found {
			break
		}
		number, after, _ := strings.Cut(rest, "\x02")
		n, _ := strconv.Atoi(number)
		x := g.vals[n]
		if g.chance(percent) && len(x.args) > 0 {
			b.WriteByte('?')
			params = append(params, x)
		} else {
			b.WriteString(x.lit)
		}
		text = after
	}
	g.vals = nil
	defer func() { g.once, g.byRow = false, false }()
	s.SQL = b.String()
	s.Prepared = mode > 7
	if params == nil {
		return s
	}
	calls := 1
	if s.Prepared {
		calls = 1 + g.IntN(3)
	}
	for i := range calls {
		s.Args = append(s.Args, g.arguments(s, params, i > 0))
	}
	if s.Prepared && g.d.mariaDB && g.once { // plain MariaDB itself fails, or finds other rows, the second time
		s.Args = s.Args[:1]
		return s
	}
	if s.Prepared && len(g.kept) < 4 {
		g.kept = append(g.kept, kept{s, params})
	}
	return s
}

// adding are statements whose floating-point arguments decide, on plain MySQL, what later
// ones add: TestAcceptedFloating.
var adding = regexp.MustCompile(`(?is)\b(UPDATE|INSERT)\b.*(\? ?[+-]|[+-] ?\?)`)

func (g *gen) arguments(s Step, params []value, again bool) []any {
	args := make([]any, len(params))
	for i, p := range params {
		if again && p.again != nil {
			p = p.again()
		}
		if s.Prepared && !g.d.mariaDB && adding.MatchString(s.SQL) {
			p.args = slices.DeleteFunc(slices.Clone(p.args), floating)
		}
		args[i] = g.arg(p)
	}
	return args
}

func floating(arg any) bool {
	switch arg.(type) {
	case float32, float64, sql.NullFloat64:
		return true
	}
	return false
}

// integer is n in the forms in which applications send it.
func (g *gen) integer(n int) value {
	v := value{lit: strconv.Itoa(n), args: []any{int64(n), n, int32(n), strconv.Itoa(n), []byte(strconv.Itoa(n)), float64(n)}}
	if n >= 0 {
		v.args = append(v.args, uint64(n), uint8(n), uint16(n), uint32(n))
	}
	v.args = append(v.args, sql.NullInt64{Int64: int64(n), Valid: true}, int8(n), int16(n), Amount(n), json.RawMessage(strconv.Itoa(n)),
		sql.NullString{String: strconv.Itoa(n), Valid: true}, sql.NullFloat64{Float64: float64(n), Valid: true}, float32(n))
	if n == 0 || n == 1 {
		v.args = append(v.args, n == 1)
	}
	if g.chance(3) {
		v.lit = pick(g, "'"+v.lit+"'", v.lit+".0", "("+v.lit+")")
	}
	return v
}

// count is integer for LIMIT, which takes nothing else.
func (g *gen) count(n int) value {
	return value{lit: strconv.Itoa(n), args: []any{int64(n), n, uint64(n)}}
}

// decimal is a number with two digits after the point.
func (g *gen) decimal(cents int) value {
	sign := ""
	if cents < 0 {
		sign, cents = "-", -cents
	}
	s := fmt.Sprintf("%s%d.%02d", sign, cents/100, cents%100)
	f, _ := strconv.ParseFloat(s, 64)
	return value{lit: s, args: []any{s, []byte(s), f, sql.NullString{String: s, Valid: true}}}
}

// Amount is a number of a type of the application's.
type Amount int64

// Present is the present moment, whenever it is sent.
type Present struct{}

// Value implements driver.Valuer.
func (Present) Value() (driver.Value, error) { return time.Now(), nil }

var null = value{lit: "NULL", args: []any{nil, sql.NullInt64{}, sql.NullString{}, sql.NullTime{}}}

// digits is a number with more digits after the point than Go's numbers have.
func (g *gen) digits() value {
	s := pick(g, "0.0000000000000000000000001", "0.1234567890123456789012345", "-0.0000000000000000000000003", "7.0000000000000000000000009", "0.5", "12345678901234.1234567890123456789012345")
	return value{lit: s, args: []any{s, []byte(s)}}
}

// huge is a number that floating-point ones can't tell from its neighbours, so far from the end of its
// type that a script does not get there by adding some: semantics.md, 6.
func (g *gen) huge(sign int, unsigned bool) value {
	n := int64(sign) * pick[int64](g, 1<<53+1, 1<<53+3, 1<<57+1, 100_000_000_000_000_001)
	s := strconv.FormatInt(n, 10)
	v := value{lit: s, args: []any{n, s, []byte(s), sql.NullInt64{Int64: n, Valid: true}}}
	if unsigned {
		big := pick(g, uint64(n), 1<<63+5, 17_000_000_000_000_000_001)
		s := strconv.FormatUint(big, 10)
		v = value{lit: s, args: []any{big, s, []byte(s)}}
	}
	return v
}

// compared is x for a comparison with the column. What has more digits than
// floating-point numbers is compared with exact numbers only: the others are a
// documented difference.
func (c *col) compared(x value) value {
	if !c.digits && !c.wide {
		return x
	}
	exact := value{lit: strings.Trim(x.lit, "'")}
	for _, arg := range x.args {
		switch arg.(type) {
		case int64, int, uint64, nil:
			exact.args = append(exact.args, arg)
		}
	}
	return exact
}

// str is a string constant.
func (g *gen) str(s string) value {
	return value{lit: g.quote(s), args: []any{s, []byte(s), sql.NullString{String: s, Valid: true}}}
}

func (g *gen) quote(s string) string {
	q := "'"
	if !g.d.ansi && g.chance(8) {
		q = `"`
	}
	if !g.d.backslash {
		s = strings.ReplaceAll(s, `\`, `\\`)
		if g.chance(20) {
			return q + strings.ReplaceAll(s, q, `\`+q) + q
		}
	}
	return q + strings.ReplaceAll(s, q, q+q) + q
}

func (g *gen) date(day int) value {
	t := time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC)
	s := t.Format("2006-01-02")
	return value{lit: pick(g, "'"+s+"'", "'"+s+"'", "DATE '"+s+"'"), args: []any{s, t, []byte(s)}}
}

// ident writes a name, quoted or not, in any letter case where that is free.
func (g *gen) ident(name string) string {
	if reserved[name] || strings.ContainsAny(name, " -") {
		if g.d.ansi && g.chance(30) {
			return `"` + name + `"`
		}
		return "`" + name + "`"
	}
	switch g.IntN(10) {
	case 0, 1, 2:
		return "`" + name + "`"
	case 3:
		if g.d.ansi {
			return `"` + name + `"`
		}
	case 4:
		return strings.ToUpper(name)
	}
	return name
}

// tableName is ident without change of letter case, which matters to tables.
func (g *gen) tableName(name string) string {
	if reserved[name] || g.chance(30) {
		if g.d.ansi && g.chance(30) {
			return `"` + name + `"`
		}
		return "`" + name + "`"
	}
	return name
}

var reserved = map[string]bool{"order": true, "group": true, "key": true, "rank": true, "limit": true, "where": true, "desc": true}
