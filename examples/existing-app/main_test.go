package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/servertest"
)

// TestExistingApp proves that the program does the same with and without the
// environment variable, and that the variable alone gives it slots.
func TestExistingApp(t *testing.T) {
	servertest.Alone(t, func(t *testing.T, d servertest.Database) {
		for tables, file := range []string{"", "counters.yaml"} {
			t.Setenv("COUNTERMYSQL_CONFIG", file)
			text, err := shop(t.Context(), d.DSN())
			require.NoError(t, err)
			require.Equal(t, "ann: bought\nbob: bought\neve: sold out\n0 left, 2 sold\n", text)
			var n int
			require.NoError(t, d.Direct.QueryRow("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = 'item_slots'", d.Name).Scan(&n))
			require.Equal(t, tables, n)
		}
	})
}
