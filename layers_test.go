package countermysql

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLayers proves that what was kept stays as it was, whatever is set later, by
// maps that are copied as a whole.
func TestLayers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	type state struct {
		m    layers[int]
		same map[string]int
	}
	now := state{same: map[string]int{}}
	var kept []state
	for range 20_000 {
		id := fmt.Sprint(random.IntN(40))
		switch n := random.IntN(20); {
		case n < 8:
			v := 1 + random.IntN(100)
			now.m.set(id, v)
			now.same[id] = v
		case n < 13:
			now.m.remove(id)
			delete(now.same, id)
		case n < 17:
			kept = append(kept, state{now.m.keep(), maps.Clone(now.same)})
		case n < 18 && len(kept) > 0: // ROLLBACK TO
			i := random.IntN(len(kept))
			now, kept = state{kept[i].m.keep(), maps.Clone(kept[i].same)}, kept[:i+1]
		case n == 18 && random.IntN(10) == 0:
			now.m.clear()
			clear(now.same)
		case n == 19 && random.IntN(10) == 0:
			converted := map[*layer[int]]bool{}
			for _, s := range append([]state{now}, kept...) {
				s.m.convert(func(v int) int { return v + 1000 }, converted)
				for id := range s.same {
					s.same[id] += 1000
				}
			}
		}
		for _, s := range append([]state{now}, kept[max(0, len(kept)-3):]...) {
			require.Equal(t, s.same, maps.Collect(s.m.all()))
			require.Equal(t, len(s.same), s.m.len())
			require.Equal(t, s.same[id], s.m.get(id))
		}
	}
}

// TestManySavepoints proves that a savepoint does not copy what is pending: the
// layers that ten thousand of them hold, one after each increment of another row, have
// some values for each row, and not ten thousand.
func TestManySavepoints(t *testing.T) {
	const n = 10_000
	table := &table{spec: tableSpec{db: "forum", name: "post"}}
	x := newTx(repeatableRead)
	for i := range n {
		id := fmt.Sprint(i)
		x.pendingFor(table).add(entry{id: id, key: key{id}, deltas: []int64{1}})
		x.save("s" + id)
	}
	values, depth, seen := 0, 0, map[*layer[*entry]]bool{}
	for _, s := range x.savepoints {
		deep := 0
		for l := s.pending[table.String()].entries.kept; l != nil; l = l.below {
			if deep++; !seen[l] {
				seen[l] = true
				values += len(l.values)
			}
		}
		depth = max(depth, deep)
	}
	require.Less(t, values, 20*n)
	require.Less(t, depth, 20)
	x.rollbackTo("s99")
	require.Equal(t, 100, x.pendingFor(table).entries.len())
}
