package random

import (
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// outcome is all that an application learns from one call.
type outcome struct {
	err     int // 0: none; -1: not the server's
	message string

	affected, id int64

	isRows  bool
	columns []string
	types   []string
	values  [][]string
}

func (o *outcome) fail(err error) *outcome {
	if err == nil {
		return o
	}
	o.err, o.message = -1, err.Error()
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		o.err = int(e.Number)
	}
	return o
}

func (o *outcome) result(res sql.Result, err error) *outcome {
	if err != nil {
		return o.fail(err)
	}
	if o.affected, err = res.RowsAffected(); err != nil {
		return o.fail(err)
	}
	o.id, err = res.LastInsertId()
	return o.fail(err)
}

func (o *outcome) rows(rows *sql.Rows, err error) *outcome {
	if err != nil {
		return o.fail(err)
	}
	defer rows.Close()
	o.isRows = true
	if o.columns, err = rows.Columns(); err != nil {
		return o.fail(err)
	}
	types, err := rows.ColumnTypes()
	if err != nil {
		return o.fail(err)
	}
	for _, t := range types {
		nullable, nullableOK := t.Nullable()
		precision, scale, decimalOK := t.DecimalSize()
		length, lengthOK := t.Length()
		o.types = append(o.types, fmt.Sprint(t.DatabaseTypeName(), " null ", nullable, nullableOK, " decimal ", precision, scale, decimalOK, " length ", length, lengthOK, " ", t.ScanType()))
	}
	for set := 0; ; set++ {
		columns, err := rows.Columns()
		if err != nil {
			return o.fail(err)
		}
		if err := o.read(rows, set, len(columns)); err != nil {
			return o.fail(err)
		}
		if !rows.NextResultSet() {
			break
		}
	}
	if err := rows.Err(); err != nil {
		return o.fail(err)
	}
	return o.fail(rows.Close())
}

// read reads a result set. The values of all but the first say which it is.
func (o *outcome) read(rows *sql.Rows, set, columns int) error {
	cells := make([]any, columns)
	dest := make([]any, columns)
	for i := range cells {
		dest[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		row := make([]string, len(cells))
		for i, v := range cells {
			row[i] = shown(v)
		}
		if set > 0 {
			row = append([]string{fmt.Sprint("set ", set)}, row...)
		}
		o.values = append(o.values, row)
	}
	return rows.Err()
}

// shown writes a value with its Go type. The present time is only "now".
func shown(v any) string {
	switch v := v.(type) {
	case []byte:
		if now(string(v)) {
			return "[]byte now"
		}
		return fmt.Sprintf("[]byte %q", v)
	case string:
		if now(v) {
			return "string now"
		}
	case time.Time:
		if v.Year() >= 2026 && time.Since(v).Abs() < 4*24*time.Hour {
			return "time.Time now"
		}
		return "time.Time " + v.UTC().Format(time.RFC3339Nano)
	}
	return fmt.Sprintf("%T %#v", v, v)
}

func now(s string) bool {
	t, err := time.Parse("2006-01-02 15:04:05", s) // a fraction may follow
	return err == nil && time.Since(t).Abs() < 4*24*time.Hour
}

// differ compares two outcomes of a step.
func differ(x, y *outcome, s Step, mariaDB bool) *Difference {
	switch {
	case (x.err == 1052 || x.err == 1054 || x.err == 1055 || x.err == 3569) && y.err == 1792: // TestAcceptedNonsense
		return nil
	case x.err == 0 && y.err == 1792 && !mariaDB && having.MatchString(s.SQL): // MySQL takes some only with plain tables: TestAcceptedReadOnly
		return nil
	case x.err != y.err:
		return &Difference{Kind: "error", What: fmt.Sprintf("%d against %d", x.err, y.err), Plain: x.summary(), Ours: y.summary()}
	case x.err != 0:
		return nil
	case x.affected < y.affected && touchesAlone.MatchString(s.SQL): // in the second in which an increment did: TestAcceptedTouch
		return nil
	case x.affected != y.affected:
		return &Difference{Kind: "affected", Plain: fmt.Sprint(x.affected), Ours: fmt.Sprint(y.affected)}
	case x.id != y.id && s.Lax != "id":
		return &Difference{Kind: "id", Plain: fmt.Sprint(x.id), Ours: fmt.Sprint(y.id)}
	case spelled(x.columns) == spelled(y.columns) && !slices.Equal(x.columns, y.columns):
		return &Difference{Kind: "spelling", Plain: fmt.Sprint(x.columns), Ours: fmt.Sprint(y.columns)}
	case x.isRows != y.isRows, spelled(x.columns) != spelled(y.columns) &&
		!((mariaDB && grouping.MatchString(s.SQL) || !mariaDB && nestedDistinct.MatchString(s.SQL)) && slices.EqualFunc(x.columns, y.columns, tableLeftOut)): // TestAcceptedTableNames
		return &Difference{Kind: "columns", Plain: fmt.Sprint(x.columns), Ours: fmt.Sprint(y.columns)}
	}
	l, decimals := leniency(s, mariaDB), false
	for i := range x.types {
		if l.united && wholeDecimal.MatchString(x.types[i]) && strings.HasPrefix(y.types[i], "BIGINT ") {
			decimals = true
			continue
		}
		if a, b := l.kept(x.types[i]), l.kept(y.types[i]); a != b && s.Lax != "types" && s.Lax != "numbers" {
			return &Difference{Kind: "types", What: x.columns[i], Plain: x.types[i], Ours: y.types[i]}
		}
	}
	if s.Lax == "value" {
		return nil
	}
	a, b := x.lines(s.Ordered), y.lines(s.Ordered)
	if slices.Equal(a, b) {
		return nil
	}
	if s.Lax == "numbers" && slices.Equal(numbers(a, s.Ordered), numbers(b, s.Ordered)) {
		return nil
	}
	kind := "rows"
	if slices.Equal(untyped(a, s.Ordered), untyped(b, s.Ordered)) {
		kind = "gotypes"
		if decimals || l.copies && !mariaDB && slices.Equal(signed(a, s.Ordered), signed(b, s.Ordered)) {
			return nil
		}
	}
	if (l.digits || l.inside && slices.ContainsFunc(x.types, allDigits.MatchString)) && slices.Equal(shortened(a, s.Ordered), shortened(b, s.Ordered)) {
		return nil
	}
	if !s.Ordered && distinct.MatchString(s.SQL) && slices.Equal(folded(a), folded(b)) {
		return nil // of texts that are equal, the server shows the one that it meets first
	}
	return &Difference{Kind: kind, Plain: strings.Join(a, "\n         "), Ours: strings.Join(b, "\n         ")}
}

// lenient says in which ways the types of a query's columns may differ:
// docs/semantics.md, "Results".
type lenient struct {
	mariaDB bool
	copies  bool // columns of copied rows can be of another size than the expressions that they hold
	outer   bool // a row that the server has read beforehand can't be missing
	digits  bool // TestAcceptedDigits, TestAcceptedDigitsOfParameters
	inside  bool // plain may leave out digits that its type has: TestAcceptedDigitsOfParameters
	united  bool // plain may take a number for UNSIGNED that stands beside a counter: TestAcceptedUnion
}

func leniency(s Step, mariaDB bool) lenient {
	copies := copying.MatchString(s.SQL)
	inside := parameterInside.MatchString(s.SQL)
	return lenient{
		mariaDB: mariaDB, copies: copies, outer: outerJoin.MatchString(s.SQL),
		digits: !mariaDB && (copies || inside && !s.whole()) && choosing.MatchString(s.SQL),
		inside: !mariaDB && (inside || parameterInWith.MatchString(s.SQL)),
		united: !mariaDB && united.MatchString(s.SQL),
	}
}

// whole reports whether all arguments are integers.
func (s Step) whole() bool {
	return !slices.ContainsFunc(slices.Concat(s.Args...), func(arg any) bool {
		switch arg.(type) {
		case int, int64, uint64, bool:
			return false
		}
		return true
	})
}

// kept is what has to be equal of a column's type.
func (l lenient) kept(columnType string) string {
	if l.digits {
		columnType = digits.ReplaceAllString(columnType, "")
	}
	if l.copies || l.outer {
		columnType = precision.ReplaceAllString(columnType, "")
	}
	if l.copies && !l.mariaDB {
		columnType = size.ReplaceAllString(columnType, "")
	}
	if l.outer {
		columnType = size.ReplaceAllString(nullable.ReplaceAllString(columnType, ""), "")
	}
	return columnType
}

var (
	copying        = regexp.MustCompile(`(?i)\b(GROUP BY|DISTINCT|DISTINCTROW|SQL_BUFFER_RESULT|OVER|ORDER BY)\b`)
	changing       = regexp.MustCompile(`(?i)^\s*(SET\b.*\bsql_mode\b|USE\b)`)
	grouping       = regexp.MustCompile(`(?is)\bSELECT\b.*\bSELECT\b.*\bGROUP BY\b`)
	nestedDistinct = regexp.MustCompile(`(?is)\bSELECT DISTINCT.*\bSELECT\b|\bWITH\b.*\bSELECT DISTINCT`)
	united         = regexp.MustCompile(`(?is)\bNULLIF\b.*\bUNION\b|\bUNION\b.*\bNULLIF\b`)
	wholeDecimal   = regexp.MustCompile(`^DECIMAL .*decimal \d+ 0 `)
	choosing       = regexp.MustCompile(`(?i)\b(IF|CASE|COALESCE)\b`)
	digits         = regexp.MustCompile(`decimal \d+ \d+`)

	// A parameter that a derived table, or WITH, may compute with, and the type that it gives to
	// numbers with digits.
	parameterInside = regexp.MustCompile(`(?is)\bFROM\b.*\(\s*SELECT\b.*\?`)
	parameterInWith = regexp.MustCompile(`(?is)\bWITH\b.*\(\s*SELECT\b.*\?`)
	allDigits       = regexp.MustCompile(`decimal \d+ 30`)

	distinct     = regexp.MustCompile(`(?i)\bSELECT DISTINCT\b`)
	rollsBack    = regexp.MustCompile(`(?i)\brollback\b`)
	touchesAlone = regexp.MustCompile(`(?i)\bupdated_at\W*= (NOW\(\)|CURRENT_TIMESTAMP)`)
	having       = regexp.MustCompile(`(?i)^\s*SELECT\b.*\bHAVING\b`)
	outerJoin    = regexp.MustCompile(`(?i)\b(LEFT|RIGHT)\b.*\bJOIN\b`)
	precision    = regexp.MustCompile(`decimal \d+|\b(VAR)?CHAR\b`)
	nullable     = regexp.MustCompile(`null (true|false) true`)
	size         = regexp.MustCompile(`(UNSIGNED )?(TINY|SMALL|MEDIUM|BIG|\b)(INT)\b|\b(LONG)?TEXT\b|\b(u?int\d+|sql\.NullInt64|sql\.Null\[uint64\]|sql\.NullString|sql\.NullFloat64|float64|string)$`)
)

// shortened leaves out the zeros at the end of decimal numbers.
func shortened(lines []string, ordered bool) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = decimal.ReplaceAllStringFunc(l, func(d string) string {
			return strings.TrimSuffix(strings.TrimRight(strings.TrimSuffix(d, `"`), "0"), ".") + `"`
		})
	}
	if !ordered {
		slices.Sort(out)
	}
	return out
}

var decimal = regexp.MustCompile(`"-?\d+\.\d+"`)

// folded writes texts in lower case and without spaces at their end, in their order then.
func folded(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = endSpaces.ReplaceAllString(strings.ToLower(l), `"`)
	}
	slices.Sort(out)
	return out
}

var endSpaces = regexp.MustCompile(` +"`)

// signed writes unsigned numbers as signed ones.
func signed(lines []string, ordered bool) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = unsigned.ReplaceAllStringFunc(l, func(u string) string {
			n, _ := strconv.ParseUint(strings.TrimPrefix(u, "uint64 0x"), 16, 64)
			return "int64 " + strconv.FormatUint(n, 10)
		})
	}
	if !ordered {
		slices.Sort(out)
	}
	return out
}

var unsigned = regexp.MustCompile(`uint64 0x[0-9a-f]+`)

// spelled leaves out of columns' names the letter case and the database.
func spelled(columns []string) string {
	return strings.ToLower(strings.ReplaceAll(strings.Join(columns, "|"), "{db}.", ""))
}

// tableLeftOut reports whether a column's names differ at most in that plain's leaves out the
// table, which columnsWithAlias adds.
func tableLeftOut(plain, ours string) bool {
	table, name, ok := strings.Cut(ours, ".")
	return plain == ours || ok && name == plain && !strings.ContainsAny(table, " (`")
}

// rename hides the database's name, which expressions show as columns' names.
func (o *outcome) rename(db string) {
	for i := range o.columns {
		o.columns[i] = strings.ReplaceAll(o.columns[i], db, "{db}")
		o.types[i] = strings.ReplaceAll(o.types[i], db, "{db}")
	}
}

func (o *outcome) lines(ordered bool) []string {
	out := make([]string, len(o.values))
	for i, row := range o.values {
		out[i] = strings.Join(row, " | ")
	}
	if !ordered {
		slices.Sort(out)
	}
	return out
}

var goType = regexp.MustCompile(`(\[\]byte|string|u?int64|u?int32|float64) "?`)

// untyped leaves out the Go types.
func untyped(lines []string, ordered bool) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = goType.ReplaceAllString(hexNumber.ReplaceAllStringFunc(l, func(h string) string {
			n, _ := strconv.ParseUint(h[2:], 16, 64)
			return strconv.FormatUint(n, 10)
		}), "")
		out[i] = strings.ReplaceAll(out[i], `"`, "")
	}
	if !ordered {
		slices.Sort(out)
	}
	return out
}

// numbers leaves out the Go types, and how numbers are written.
func numbers(lines []string, ordered bool) []string {
	out := untyped(lines, true)
	for i, l := range out {
		out[i] = number.ReplaceAllStringFunc(l, func(n string) string {
			f, err := strconv.ParseFloat(n, 64)
			if err != nil {
				return n
			}
			return strconv.FormatFloat(f, 'g', 9, 64)
		})
	}
	if !ordered {
		slices.Sort(out)
	}
	return out
}

var number = regexp.MustCompile(`-?\d+(\.\d+)?(e[-+]?\d+)?`)

var hexNumber = regexp.MustCompile(`0x[0-9a-f]+`)

func (o *outcome) summary() string {
	switch {
	case o.err != 0:
		return "error " + o.message
	case o.isRows:
		return fmt.Sprintf("%d rows: %s", len(o.values), strings.Join(o.lines(true), "; "))
	}
	return fmt.Sprintf("affected %d, id %d", o.affected, o.id)
}
