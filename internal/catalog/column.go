package catalog

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/countermysql/countermysql/internal/sqltext"
)

// Column is one column of a base table, as information_schema describes it.
type Column struct {
	Name       string
	ColumnType string // "int unsigned", "varchar(20)", …
	DataType   string // "int", "varchar", …
	Nullable   bool
	Charset    string
	Collation  string
	AutoInc    bool
	OnUpdate   bool // ON UPDATE CURRENT_TIMESTAMP
	Invisible  bool
	HasDefault bool // an INSERT may leave it out, and nothing else happens
	Touchable  bool // a time that the server computes nothing with: it may become a touch column
	Settles    bool // a touch column that not every process knows yet
	generated  string
	Scale      int // digits after the point: DECIMAL, or fractional seconds
}

// Holds reports whether an integer column can store n.
func (c *Column) Holds(n int64) bool {
	bits := IntegerBits[c.DataType]
	switch {
	case bits == 0:
		return false
	case c.Unsigned():
		return n >= 0 && (bits == 64 || n < 1<<bits)
	}
	return bits == 64 || n >= -1<<(bits-1) && n < 1<<(bits-1)
}

// Joins reports whether a value of the column, as applications write it, can
// be written so that joining with it finds what comparing with it finds.
func (c *Column) Joins() bool {
	switch c.DataType {
	case "char", "varchar":
		return AsciiCharsets[c.Charset]
	case "binary", "varbinary", "date":
		return true
	}
	return c.Integer()
}

// AsciiCharsets are those whose characters below 128 are ASCII.
var AsciiCharsets = map[string]bool{"utf8mb4": true, "utf8mb3": true, "utf8": true, "latin1": true, "ascii": true}

func Ascii(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// Digits reports whether its values are integers, and their texts nothing but these.
func (c *Column) Digits() bool { return c.Integer() && !c.zerofill() }

func (c *Column) zerofill() bool { return strings.Contains(c.ColumnType, "zerofill") }

// padded reports whether the column's collation takes texts that differ in spaces at their
// end for the same (https://dev.mysql.com/doc/refman/8.4/en/charset-unicode-sets.html;
// https://mariadb.com/kb/en/supported-character-sets-and-collations/).
func (c *Column) padded() bool {
	return !strings.Contains(c.Collation, "_0900_") && !strings.Contains(c.Collation, "nopad")
}

// arguments is what stands in the parentheses of the column's type.
func (c *Column) arguments() string {
	_, arguments, _ := strings.Cut(c.ColumnType, "(")
	return arguments[:max(strings.LastIndexByte(arguments, ')'), 0)]
}

// members are those of an ENUM or SET, as literals. Where the session reads a backslash
// otherwise, they are none, and increments verbatim.
func (c *Column) members() string { return strings.ReplaceAll(c.arguments(), `\`, `\\`) }

// Writes reports whether the key column would be written so by its own type: a text may
// have zeros or spaces before a number.
func (c *Column) Writes(v string) bool {
	if !c.Integer() {
		return true
	}
	digits := strings.TrimPrefix(v, "-")
	return digits == "0" && v == digits || digits != "" && digits[0] != '0' && strings.Trim(digits, "0123456789") == ""
}

// StringKey reports whether a key column travels as hexadecimal bytes.
func (c *Column) StringKey() bool {
	switch c.DataType {
	case "char", "varchar", "binary", "varbinary", "enum", "set":
		return true
	}
	return false
}

// Literal writes a value of the key column so that comparing the column with it finds
// exactly that value, whatever the session. The column's own collation decides: with
// COLLATE, both servers compare two values of an OR by their character set's default one,
// and may drop the second of two that are equal in that.
func (c *Column) Literal(v string) string {
	switch {
	case c.StringKey() && c.Collation == "":
		return "x'" + v + "'"
	case c.StringKey():
		return "_" + c.Charset + " x'" + v + "'"
	}
	switch c.DataType {
	case "date":
		if strings.HasSuffix(v, "()") {
			return v // a moment
		}
		return "CAST('" + v + "' AS DATE)"
	case "datetime", "timestamp":
		return "CAST('" + v + "' AS DATETIME(6))"
	case "time":
		return "CAST('" + v + "' AS TIME(6))"
	case "uuid", "inet4", "inet6":
		return "CAST('" + v + "' AS " + c.DataType + ")"
	}
	return v // a number
}

// Constant is Literal as a column of a derived table, which has its collation.
func (c *Column) Constant(v string) string {
	if c.StringKey() && c.Collation != "" {
		return c.Literal(v) + " COLLATE " + c.Collation
	}
	return c.Literal(v)
}

// equals compares a key column with a value of its own. A date without a day or month
// is no literal under every sql_mode
// (https://dev.mysql.com/doc/refman/8.4/en/sql-mode.html#sqlmode_no_zero_in_date).
func (c *Column) equals(ref, v string) string {
	if c.incomplete(v) {
		return "CAST(" + ref + " AS CHAR) = '" + v + "'"
	}
	return ref + " = " + c.Literal(v)
}

// Dated reports whether a column holds dates, with a time of day or without.
func (c *Column) Dated() bool { return c.DataType == "date" || c.moment() }

// incomplete reports whether a key column's value is a date without a day or month.
func (c *Column) incomplete(v string) bool {
	return c.Dated() && len(v) >= len(time.DateOnly) && (v[5:7] == "00" || v[8:10] == "00")
}

// Spans reports whether two numbers of the column can differ by n. If not, the
// statement fails, and its slot could never be added to the base row.
func (c *Column) Spans(n int64) bool {
	if c.Decimal() {
		return c.length() > 17 || math.Abs(float64(n)) < 2*math.Pow10(c.length())
	}
	bits := IntegerBits[c.DataType]
	return bits == 64 || n > -1<<bits && n < 1<<bits
}

// Fraction is the number of digits after a counter's point.
func (c *Column) Fraction() int {
	if c.Decimal() {
		return c.Scale
	}
	return 0
}

// Ordered is what a key column is ordered by: ENUM and SET are by their numbers,
// but compare with a literal as strings.
func (c *Column) Ordered(ref string) string {
	if c.DataType == "enum" || c.DataType == "set" {
		return "CONCAT(" + ref + ")"
	}
	return ref
}

func (c *Column) Unsigned() bool { return strings.Contains(c.ColumnType, "unsigned") }

func (c *Column) Decimal() bool { return c.DataType == "decimal" }

// IntegerBits is the size of an integer column.
var IntegerBits = map[string]uint{"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}

func (c *Column) Integer() bool { return IntegerBits[c.DataType] != 0 }

// Text reports whether a column holds strings of any characters.
func (c *Column) Text() bool {
	return (c.DataType == "char" || c.DataType == "varchar") && c.Charset == "utf8mb4"
}

// sameDigits reports whether a number or time of a column is one of another as well.
func (c *Column) sameDigits(o *Column) bool {
	return strings.EqualFold(c.Name, o.Name) && c.Scale == o.Scale
}

func FindColumn(cols []*Column, name string) *Column {
	for _, c := range cols {
		if strings.EqualFold(c.Name, name) {
			return c
		}
	}
	return nil
}

func QuoteNames(cols []*Column) []string {
	names := make([]string, len(cols))
	for i, c := range cols {
		names[i] = sqltext.Quote(c.Name)
	}
	return names
}

func (c *Column) StoresInteger(n int64, negative bool) bool {
	if negative {
		n = -n
	}
	switch {
	case c.Decimal():
		return c.StoresDecimal(strconv.FormatInt(n, 10))
	case c.DataType == "year":
		return n > 1901 && n < 2155
	}
	return c.Holds(n)
}

func (c *Column) StoresDecimal(s string) bool {
	whole, frac, _ := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	return len(frac) <= c.Scale && len(whole) <= c.length()-c.Scale && (!c.Unsigned() || s[0] != '-')
}

func (c *Column) StoresText(s string) bool {
	switch c.DataType {
	case "char", "varchar":
		return utf8.RuneCountInString(s) <= c.length() && c.hasCharacters(s) && (c.DataType != "char" || !strings.HasSuffix(s, " "))
	case "binary":
		return len(s) == c.length()
	case "varbinary":
		return len(s) <= c.length()
	case "enum", "set":
		return strings.Contains(c.ColumnType, "'"+s+"'")
	case "datetime", "timestamp":
		_, digits, _ := strings.Cut(s, ".")
		return len(strings.TrimRight(digits, "0")) <= c.Scale
	}
	if c.Integer() {
		n, err := strconv.ParseInt(s, 10, 64)
		return err == nil && c.Holds(n)
	}
	return true
}

// hasCharacters reports whether the column's character set has those of s.
func (c *Column) hasCharacters(s string) bool {
	if Ascii(s) || c.Charset == "utf8mb4" {
		return true
	}
	return strings.HasPrefix(c.Charset, "utf8") && !slices.ContainsFunc([]rune(s), func(r rune) bool { return r > 0xffff })
}

// length is the first number in the column's type, of char(20), of decimal(20,2); 0 if there is none.
func (c *Column) length() (n int) {
	_, number, _ := strings.Cut(c.ColumnType, "(")
	for i := 0; i < len(number) && '0' <= number[i] && number[i] <= '9'; i++ {
		n = 10*n + int(number[i]-'0')
	}
	return n
}

// FewValues reports whether the type tells that many rows have the same value.
func (c *Column) FewValues() bool {
	return slices.Contains([]string{"tinyint", "bit", "enum", "set"}, c.DataType)
}

// Moments is the type of a touch column's values: MySQL rounds to its digits what it is
// set to, so that it may be later than a time that follows.
func (c *Column) Moments() string { return "DATETIME(" + strconv.Itoa(c.Scale) + ")" }

func (c *Column) moment() bool { return c.DataType == "datetime" || c.DataType == "timestamp" }
