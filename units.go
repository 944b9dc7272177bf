package countermysql

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// total is base plus slots plus pending, if the column can hold it; cut to what it
// can hold where the session has the server do so.
func (c *column) total(base string, i int, slots []slotRow, e *entry, strict bool) (string, error) {
	sum, digits, err := c.exactSum(base, i, slots, e)
	if err != nil {
		return "", err
	}
	if held := round(sum, digits-c.fraction()); !c.inRange(held) {
		if !strict {
			return c.formatBig(c.clamp(held)), nil
		}
		return "", c.outOfRange()
	}
	return string(appendDigits(nil, sum.String(), digits)), nil
}

// outOfRange is the server's error for a value that the column can't hold.
func (c *column) outOfRange() error {
	return &mysql.MySQLError{Number: errDataRange, SQLState: [5]byte([]byte("22003")),
		Message: fmt.Sprintf("Out of range value for column '%s' at row 1", c.name)}
}

// standIn is a number for a total that the column can't hold: near the end of its range,
// but not at it, so that who sets the column changes it.
func (c *column) standIn(base string, i int, slots []slotRow, e *entry) (string, error) {
	sum, digits, err := c.exactSum(base, i, slots, e)
	if err != nil {
		return "", err
	}
	sum = round(sum, digits-c.fraction())
	held := c.clamp(sum)
	return c.formatBig(held.Sub(held, big.NewInt(int64(sum.Cmp(held))))), nil
}

// totalOfFloat is total of a column that has become one of floating-point numbers, which
// the server adds up.
func (c *column) totalOfFloat(name string, i int, slots []slotRow, e *entry) (string, error) {
	sum, digits, err := c.exactSum("0", i, slots, e)
	if err != nil {
		return "", err
	}
	return name + "." + quoteIdent(c.name) + " + " + string(appendDigits(nil, sum.String(), digits)), nil
}

// sum is total without a look at the column's range.
func (c *column) sum(base string, i int, slots []slotRow) (*big.Int, error) {
	sum, digits, err := c.exactSum(base, i, slots, nil)
	if err != nil {
		return nil, err
	}
	return round(sum, digits-c.fraction()), nil
}

// exactSum is total in units of the last of some digits: the base row may have
// more than is known of the column, and slots those that it had before an ALTER TABLE.
func (c *column) exactSum(base string, i int, slots []slotRow, e *entry) (sum *big.Int, digits int, err error) {
	digits = max(c.fraction(), fraction(base))
	for _, s := range slots {
		digits = max(digits, fraction(s.amounts[i]))
	}
	if sum, err = c.parseUnits(base, digits); err != nil {
		return nil, 0, err
	}
	for _, s := range slots {
		n, err := c.parseUnits(s.amounts[i], digits)
		if err != nil {
			return nil, 0, err
		}
		sum.Add(sum, n)
	}
	if e != nil {
		sum.Add(sum, new(big.Int).Mul(big.NewInt(e.deltas[i]), powerOfTen(digits-c.fraction())))
	}
	return sum, digits, nil
}

// fraction is how many digits a number has behind the point.
func fraction(s string) int {
	_, frac, _ := strings.Cut(s, ".")
	return len(frac)
}

func powerOfTen(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// parseUnits reads a number in units of a digit behind the point.
func (c *column) parseUnits(s string, digits int) (*big.Int, error) {
	whole, frac, _ := strings.Cut(s, ".")
	n, ok := new(big.Int).SetString(whole+frac+strings.Repeat("0", digits-len(frac)), 10)
	if !ok {
		return nil, fmt.Errorf("countermysql: counter %s holds %q, which is no number", c.name, s)
	}
	return n, nil
}

// round takes digits from a number as the server does: half away from zero.
func round(n *big.Int, digits int) *big.Int {
	unit := powerOfTen(digits)
	half := new(big.Int).Rsh(unit, 1)
	if n.Sign() < 0 {
		half.Neg(half)
	}
	return half.Quo(half.Add(half, n), unit)
}

func (c *column) formatBig(n *big.Int) string {
	return string(appendDigits(nil, n.String(), c.fraction()))
}

// inRange reports whether the column can hold the number of units.
func (c *column) inRange(n *big.Int) bool { return c.clamp(n).Cmp(n) == 0 }

// clamp is the value nearest to n that the column can hold.
func (c *column) clamp(n *big.Int) *big.Int {
	low, high := c.limits()
	return clamp(n, low, high)
}

func clamp(n, low, high *big.Int) *big.Int {
	switch {
	case low != nil && n.Cmp(low) < 0:
		return low
	case high != nil && n.Cmp(high) > 0:
		return high
	}
	return new(big.Int).Set(n)
}

// limits are the least and the greatest number of units that the column can
// hold; nil if they are not known.
func (c *column) limits() (low, high *big.Int) {
	if bits := integerBits[c.dataType]; bits != 0 {
		return signedLimits(new(big.Int).Lsh(big.NewInt(1), bits), c.unsigned())
	}
	_, spec, _ := strings.Cut(c.columnType, "(")
	digits, _, _ := strings.Cut(spec, ",")
	precision, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSuffix(digits, " unsigned"), ")"))
	if err != nil {
		return nil, nil
	}
	return decimalLimits(precision, c.unsigned())
}

// slotLimits are the limits of the counter's column in the slots table.
func (c *column) slotLimits() (low, high *big.Int) {
	if c.decimal() {
		return decimalLimits(65, false)
	}
	return signedLimits(new(big.Int).Lsh(big.NewInt(1), 64), false)
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
	high = new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
	high.Sub(high, big.NewInt(1))
	if unsigned {
		return new(big.Int), high
	}
	return new(big.Int).Neg(high), high
}
