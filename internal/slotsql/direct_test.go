package slotsql_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/catalogtest"
	"github.com/countermysql/countermysql/internal/slotsql"
)

// TestCanonicalOrder proves that rows have an order, by table and within one by key, also where the keys of two
// tables begin with the same value and one has more columns.
func TestCanonicalOrder(t *testing.T) {
	daily := catalogtest.TestTable("daily", []string{"views"}, nil, []string{"post,day"}, "post bigint", "day date", "views bigint")
	post := catalogtest.TestTable("post", []string{"likes"}, nil, []string{"id"}, "id bigint", "likes bigint")
	row := func(of *catalog.Table, key ...string) slotsql.BaseRow {
		return slotsql.BaseRow{Table: of, Increment: &slotsql.RowIncrement{Key: key}}
	}
	want := []slotsql.BaseRow{row(daily, "7", "2026-01-02"), row(daily, "12", "2026-01-01"), row(post, "7"), row(post, "12")}
	rows := []slotsql.BaseRow{want[2], want[1], want[3], want[0]}
	slices.SortFunc(rows, slotsql.BaseRow.Compare)
	require.Equal(t, want, rows)
}
