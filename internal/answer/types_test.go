package answer

import (
	"database/sql/driver"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestConverted proves that a number gets plain's Go type where the types can be of one
// query, and is never another number.
func TestConverted(t *testing.T) {
	for _, c := range []struct {
		plain, sent  string
		scale        int64 // of what was sent
		value, given driver.Value
	}{
		{"UNSIGNED INT", "UNSIGNED BIGINT", 0, uint64(7), int64(7)},
		{"BIGINT", "UNSIGNED BIGINT", 0, uint64(1) << 63, uint64(1) << 63},
		{"BIGINT", "DECIMAL", 0, []byte("-7"), int64(-7)},
		{"UNSIGNED BIGINT", "DECIMAL", 0, []byte("18446744073709551615"), uint64(18446744073709551615)},
		{"BIGINT", "DECIMAL", 0, []byte("18446744073709551616"), []byte("18446744073709551616")},
		{"FLOAT", "DOUBLE", 0, float64(float32(0.1)), float32(0.1)},
		{"FLOAT", "DOUBLE", 0, 0.1, 0.1},
		{"BIGINT", "DECIMAL", 2, []byte("7.00"), nil}, // of other arguments
		{"BIGINT", "DECIMAL", parameterScale, []byte("7.000000000000000000000000000000"), int64(7)},
		{"DOUBLE", "DECIMAL", 0, []byte("9007199254740993"), nil},
		{"DECIMAL", "BIGINT", 0, int64(7), nil},
		{"UNSIGNED BIGINT", "BIGINT", 0, int64(7), uint64(7)}, // DIV of a DECIMAL UNSIGNED
		{"UNSIGNED BIGINT", "BIGINT", 0, int64(-7), int64(-7)},
		{"TIMESTAMP", "DATETIME", 0, "2026-01-02 03:04:05", "2026-01-02 03:04:05"},
		{"DATE", "DATETIME", 0, "2026-01-02 03:04:05", nil},
		{"UNSIGNED INT", "VARCHAR", 0, []byte("7"), nil},
		{"VARCHAR", "VARBINARY", 0, []byte("a"), nil},
	} {
		plain, sent := column{database: c.plain}, column{database: c.sent, scale: c.scale}
		require.Equal(t, c.given != nil, plain.narrows(&sent, func() bool { return true }), "%+v", c)
		require.Equal(t, c.given != nil && c.scale == 0, plain.narrows(&sent, func() bool { return false }), "%+v", c)
		if c.given != nil {
			require.Equal(t, c.given, plain.convert(c.value, false), "%+v", c)
		}
	}
}
