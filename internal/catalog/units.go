package catalog

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/countermysql/countermysql/internal/mysqlerr"
)

// AppendDigits writes digits, perhaps behind a sign, with a point before the last f.
func AppendDigits(buf []byte, s string, f int) []byte {
	if f == 0 {
		return append(buf, s...)
	}
	if s[0] == '-' {
		buf, s = append(buf, '-'), s[1:]
	}
	if len(s) <= f {
		s = strings.Repeat("0", f-len(s)+1) + s
	}
	return append(append(append(buf, s[:len(s)-f]...), '.'), s[len(s)-f:]...)
}

// Fraction is how many digits a number has behind the point.
func Fraction(s string) int {
	_, frac, _ := strings.Cut(s, ".")
	return len(frac)
}

func PowerOfTen(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// Round takes digits from a number as the server does: half away from zero.
func Round(n *big.Int, digits int) *big.Int {
	unit := PowerOfTen(digits)
	half := new(big.Int).Rsh(unit, 1)
	if n.Sign() < 0 {
		half.Neg(half)
	}
	return half.Quo(half.Add(half, n), unit)
}

func Clamp(n, low, high *big.Int) *big.Int {
	switch {
	case low != nil && n.Cmp(low) < 0:
		return low
	case high != nil && n.Cmp(high) > 0:
		return high
	}
	return new(big.Int).Set(n)
}

// signedLimits are those of an integer type with so many values.
func signedLimits(values *big.Int, unsigned bool) (low, high *big.Int) {
	one := big.NewInt(1)
	if unsigned {
		return new(big.Int), values.Sub(values, one)
	}
	half := values.Rsh(values, 1)
	return new(big.Int).Neg(half), new(big.Int).Sub(half, one)
}

func decimalLimits(digits int, unsigned bool) (low, high *big.Int) {
	high = PowerOfTen(digits)
	high.Sub(high, big.NewInt(1))
	if unsigned {
		return new(big.Int), high
	}
	return new(big.Int).Neg(high), high
}

// FormatUnits writes units as a number of the column.
func (c *Column) FormatUnits(n int64) string { return string(c.AppendUnits(nil, n)) }

func (c *Column) AppendUnits(buf []byte, n int64) []byte {
	if c.Fraction() == 0 {
		return strconv.AppendInt(buf, n, 10)
	}
	return AppendDigits(buf, strconv.FormatInt(n, 10), c.Fraction())
}

// ParseUnits reads a number in units of a digit behind the point.
func (c *Column) ParseUnits(s string, digits int) (*big.Int, error) {
	whole, frac, _ := strings.Cut(s, ".")
	n, ok := new(big.Int).SetString(whole+frac+strings.Repeat("0", digits-len(frac)), 10)
	if !ok {
		return nil, fmt.Errorf("countermysql: counter %s holds %q, which is no number", c.Name, s)
	}
	return n, nil
}

func (c *Column) FormatBig(n *big.Int) string {
	return string(AppendDigits(nil, n.String(), c.Fraction()))
}

// InRange reports whether the column can hold the number of units.
func (c *Column) InRange(n *big.Int) bool { return c.Clamp(n).Cmp(n) == 0 }

// Clamp is the value nearest to n that the column can hold.
func (c *Column) Clamp(n *big.Int) *big.Int {
	low, high := c.Limits()
	return Clamp(n, low, high)
}

// Limits are the least and the greatest number of units that the column can
// hold; nil if they are not known.
func (c *Column) Limits() (low, high *big.Int) {
	if bits := IntegerBits[c.DataType]; bits != 0 {
		return signedLimits(new(big.Int).Lsh(big.NewInt(1), bits), c.Unsigned())
	}
	if c.length() == 0 {
		return nil, nil
	}
	return decimalLimits(c.length(), c.Unsigned())
}

// SlotLimits are the limits of the counter's column in the slots table.
func (c *Column) SlotLimits() (low, high *big.Int) {
	if c.Decimal() {
		return decimalLimits(65, false)
	}
	return signedLimits(new(big.Int).Lsh(big.NewInt(1), 64), false)
}

// OutOfRange is the server's error for a value that the column can't hold.
func (c *Column) OutOfRange() error {
	return &mysql.MySQLError{Number: mysqlerr.ErrDataRange, SQLState: [5]byte([]byte("22003")),
		Message: fmt.Sprintf("Out of range value for column '%s' at row 1", c.Name)}
}
