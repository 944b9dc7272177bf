package slotsql

import (
	"math/big"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// totalOfColumn is base plus slots plus pending, if the column can hold it; cut to what it
// can hold where the session has the server do so; other reports whether that is another
// number than base.
func totalOfColumn(c *catalog.Column, base string, i int, slots []SlotRow, e *RowIncrement, strict bool) (total string, other bool, err error) {
	sum, digits, err := exactSum(c, base, i, slots, e)
	if err != nil {
		return "", false, err
	}
	held, text := catalog.Round(sum, digits-c.Fraction()), string(catalog.AppendDigits(nil, sum.String(), digits))
	if !c.InRange(held) {
		if strict {
			return "", false, c.OutOfRange()
		}
		held = c.Clamp(held)
		text = c.FormatBig(held)
	}
	was, err := SumOf(c, base, i, nil)
	return text, err == nil && held.Cmp(was) != 0, err
}

// standIn is a number for a total that the column can't hold: near the end of its range,
// but not at it, so that who sets the column changes it.
func standIn(c *catalog.Column, base string, i int, slots []SlotRow, e *RowIncrement) (string, error) {
	sum, digits, err := exactSum(c, base, i, slots, e)
	if err != nil {
		return "", err
	}
	sum = catalog.Round(sum, digits-c.Fraction())
	held := c.Clamp(sum)
	return c.FormatBig(held.Sub(held, big.NewInt(int64(sum.Cmp(held))))), nil
}

// totalOfFloat is totalOfColumn of a column that has become one of floating-point numbers, which
// the server adds up.
func totalOfFloat(c *catalog.Column, name string, i int, slots []SlotRow, e *RowIncrement) (string, error) {
	sum, digits, err := exactSum(c, "0", i, slots, e)
	if err != nil {
		return "", err
	}
	return name + "." + sqltext.Quote(c.Name) + " + " + string(catalog.AppendDigits(nil, sum.String(), digits)), nil
}

// SumOf is base plus slots without a look at the column's range.
func SumOf(c *catalog.Column, base string, i int, slots []SlotRow) (*big.Int, error) {
	sum, digits, err := exactSum(c, base, i, slots, nil)
	if err != nil {
		return nil, err
	}
	return catalog.Round(sum, digits-c.Fraction()), nil
}

// exactSum is base plus slots plus pending in units of the last of some digits: the base row may have
// more than is known of the column, and slots those that it had before an ALTER TABLE.
func exactSum(c *catalog.Column, base string, i int, slots []SlotRow, e *RowIncrement) (sum *big.Int, digits int, err error) {
	digits = max(c.Fraction(), catalog.Fraction(base))
	for _, s := range slots {
		digits = max(digits, catalog.Fraction(s.Amounts[i]))
	}
	if sum, err = c.ParseUnits(base, digits); err != nil {
		return nil, 0, err
	}
	for _, s := range slots {
		n, err := c.ParseUnits(s.Amounts[i], digits)
		if err != nil {
			return nil, 0, err
		}
		sum.Add(sum, n)
	}
	if e != nil {
		sum.Add(sum, new(big.Int).Mul(big.NewInt(e.Deltas[i]), catalog.PowerOfTen(digits-c.Fraction())))
	}
	return sum, digits, nil
}
