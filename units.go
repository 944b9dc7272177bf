package countermysql

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// total is base plus slots plus pending, if the column can hold it.
func (c *column) total(base string, i int, slots []slotRow, e *entry) (string, error) {
	sum, err := c.sum(base, i, slots, e)
	if err != nil {
		return "", err
	}
	if !c.inRange(sum) {
		return "", &mysql.MySQLError{Number: errDataRange, SQLState: [5]byte([]byte("22003")),
			Message: fmt.Sprintf("Out of range value for column '%s' at row 1", c.name)}
	}
	return c.formatBig(sum), nil
}

// sum is total without a look at the column.
func (c *column) sum(base string, i int, slots []slotRow, e *entry) (*big.Int, error) {
	sum, err := c.parseUnits(base)
	if err != nil {
		return nil, err
	}
	for _, s := range slots {
		n, err := c.parseUnits(s.amounts[i])
		if err != nil {
			return nil, err
		}
		sum.Add(sum, n)
	}
	if e != nil {
		sum.Add(sum, big.NewInt(e.deltas[i]))
	}
	return sum, nil
}

func (c *column) parseUnits(s string) (*big.Int, error) {
	whole, frac, _ := strings.Cut(s, ".")
	frac = strings.TrimRight(frac, "0") // an ALTER TABLE may have given it more digits
	n, ok := new(big.Int).SetString(whole+frac+strings.Repeat("0", max(0, c.fraction()-len(frac))), 10)
	if !ok || len(frac) > c.fraction() {
		return nil, fmt.Errorf("countermysql: counter %s holds %q, which is no number that it had when the schema was read", c.name, s)
	}
	return n, nil
}

func (c *column) formatBig(n *big.Int) string { return string(c.appendDigits(nil, n.String())) }

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
