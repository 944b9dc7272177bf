package catalog

import (
	"math/big"
	"strings"
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
	high = new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
	high.Sub(high, big.NewInt(1))
	if unsigned {
		return new(big.Int), high
	}
	return new(big.Int).Neg(high), high
}
