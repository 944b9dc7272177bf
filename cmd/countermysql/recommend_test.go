package main

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

var triedSlots = []int{1, 2, 4, 8, 16, 32, 64}

// TestRecommend proves that the smallest number of slots that is as fast as the fastest is
// recommended, of rounds in which the whole server is now quick and now slow, too.
func TestRecommend(t *testing.T) {
	speeds := []float64{180, 350, 690, 1300, 1900, 1950, 1940}
	var rounds [][]float64
	for _, server := range []float64{1, 0.3, 0.8, 1, 0.5} {
		var round []float64
		for _, s := range speeds {
			round = append(round, s*server)
		}
		rounds = append(rounds, round)
	}
	best, refused := recommend(rounds, triedSlots)
	require.Empty(t, refused)
	require.Equal(t, 16, triedSlots[best])
}

// TestRecommendFromNoise proves that what is recommended of one server, round by round as it
// may come, is one number of slots or its neighbours, and that from mere noise nothing is.
func TestRecommendFromNoise(t *testing.T) {
	speeds := []float64{180, 350, 690, 1300, 1900, 1950, 1940}
	random := rand.New(rand.NewPCG(1, 2))
	told := func(noise float64) (refused int, by map[int]int) {
		by = map[int]int{}
		for range 500 {
			var rounds [][]float64
			for range 5 {
				var round []float64
				for _, s := range speeds {
					round = append(round, s*(1+noise*(2*random.Float64()-1)))
				}
				rounds = append(rounds, round)
			}
			best, why := recommend(rounds, triedSlots)
			if why != "" {
				require.Zero(t, best)
				refused++
				continue
			}
			by[triedSlots[best]]++
		}
		return refused, by
	}
	refused, by := told(0.02)
	require.Less(t, refused, 50, "%v", by)
	for slots := range by {
		require.Contains(t, []int{16, 32}, slots, "%v", by)
	}
	refused, by = told(0.7)
	require.Greater(t, refused, 350, "%v", by)
	for slots := range by {
		require.GreaterOrEqual(t, slots, 8, "%v", by)
	}
}
