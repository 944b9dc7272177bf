package txn

import (
	"fmt"
	"testing"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/catalogtest"
	"github.com/countermysql/countermysql/internal/slotsql"
)

// BenchmarkOrder sorts and sums the pending increments of a transaction.
func BenchmarkOrder(b *testing.B) {
	for _, n := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := catalogtest.Forum(true)
			t := s.Tables[s.Key("forum", "post")]
			entries := make([]slotsql.RowIncrement, n)
			for i := range entries {
				entries[i] = slotsql.RowIncrement{Key: catalog.Key{fmt.Sprint(i * 7919 % 1000)}, Deltas: []int64{1, 0}, Touch: []string{}}
				entries[i].ID = entries[i].Key.ID()
			}
			b.ReportAllocs()
			for b.Loop() {
				p := &Pending{Table: t}
				for i := range entries {
					p.Add(entries[i])
					p.Add(entries[i])
				}
				p.Sorted()
			}
		})
	}
}
