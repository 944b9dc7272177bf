package catalog

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/sqltext"
)

// TestBounds proves which conditions of CHECK constraints, as MySQL and MariaDB tell them, are
// read as bounds, and that all others are not.
func TestBounds(t *testing.T) {
	const least, most = math.MinInt64, math.MaxInt64
	for text, want := range map[string][2]int64{
		"((`n` >= 0))":                        {0, most},
		"(`n` > -1)":                          {0, most},
		"((`n` >= -(5)))":                     {-5, most},
		"((0 <= `n`))":                        {0, most},
		"(100 > `n`)":                         {least, 99},
		"((`n` between 0 and 100))":           {0, 100},
		"(`n` between -3 and 7 and `n` <= 6)": {-3, 6},
		"(((`n` >= 0) and (`n` <= 100)))":     {0, 100},
		"(((`n` > 1) and ((`n` > 5) and (3 <= `n`)) and (`other` < 9)))": {6, most},
	} {
		table := &Table{Columns: []*Column{{Name: "N", DataType: "int"}, {Name: "other", DataType: "int"}}}
		require.True(t, table.bind(sqltext.Tokenize(text, sqltext.Mode{})), text)
		low, high := table.Bounds(table.Column("n"))
		require.Equal(t, want, [2]int64{low, high}, text)
	}
	for _, text := range []string{
		"((`n` >= `other`))", "((`n` <> 0))", "(`n` != 0)", "((`n` = 3))", "((`n` <=> 3))", "((`n` >= 0.5))", "((`n` >= '0'))", "(`n` >= 1e2)", "((`n` % 2) = 0)", "((`n` + 1) >= 0)",
		"(((`n` >= 0) or (`other` > 1)))", "(`n` >= 0 and `other` > 1 or `n` < 9)", "((`n` not between 0 and 9))", "(not `n` >= 0)", "((`n` is not null))", "((`n` in (1,2)))", "((0 <= `n`) <= 5)",
		"((`price` >= 0))", "((`gone` >= 0))", "((`n` >= 9223372036854775807))", "((`n` >= -(-(5))))", "((`n` between 0 and `other`))", "((`n` > 0 > 1))", "(`n` >= 0 xor `n` < 5)", "()", "((`n`))", "(`n` >= )", "(`n` >= true)",
		"(((`n` >= 0) and (`n` <> 5)))", "((`t`.`n` >= 0))", "(`n` >= 2*3)", "(`n` >= 0x10)", "(1 >= 0)",
	} {
		table := &Table{Columns: []*Column{{Name: "n", DataType: "int"}, {Name: "other", DataType: "int"}, {Name: "price", DataType: "decimal"}}}
		require.False(t, table.bind(sqltext.Tokenize(text, sqltext.Mode{})), text)
	}
}
