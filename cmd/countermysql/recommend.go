package main

import (
	"fmt"
	"slices"
)

const (
	asFast   = 0.95 // of the fastest: as fast as it
	allowed  = 0.2  // the middle half of the rounds may differ by so much of their median
	decisive = 0.8  // the share of rounds that a number of slots has to lose to be slower
)

// recommend gives the smallest number of slots that is as fast as the fastest, as an index, or
// why the rounds do not tell. rounds are transactions per second, by round and number of
// slots. Only what was measured in one round is compared: what slows the server down slows
// down all of it.
func recommend(rounds [][]float64, slots []int) (best int, refused string) {
	fastest, most := 0, 0.0
	for i := range slots {
		if m := median(column(rounds, i)); m > most {
			fastest, most = i, m
		}
	}
	lost := make([]int, len(slots)) // rounds, against the fastest
	var medians, noise []float64
	for i := range slots {
		var ratios []float64
		for _, round := range rounds {
			r := round[i] / round[fastest]
			ratios = append(ratios, r)
			if r < asFast {
				lost[i]++
			}
		}
		medians = append(medians, median(ratios))
		if i != fastest {
			noise = append(noise, spread(ratios))
		}
	}
	if n := median(noise); n > allowed {
		return 0, fmt.Sprintf("what a number of slots makes of the speed differed by %.0f %% from round to round", 100*n)
	}
	for i := range slots[:fastest] {
		switch {
		case float64(lost[i]) >= decisive*float64(len(rounds)):
		case medians[i] >= asFast:
			return i, ""
		default:
			return 0, fmt.Sprintf("%d slots were slower than %d in %d of %d rounds", slots[i], slots[fastest], lost[i], len(rounds))
		}
	}
	return fastest, ""
}

// column are the values of one number of slots.
func column(rounds [][]float64, i int) (values []float64) {
	for _, round := range rounds {
		values = append(values, round[i])
	}
	return values
}

func median(values []float64) float64 { return quantile(values, 0.5) }

// spread is the width of the middle half of the values, as a part of their median.
func spread(values []float64) float64 {
	if m := median(values); m > 0 {
		return (quantile(values, 0.75) - quantile(values, 0.25)) / m
	}
	return 0
}

func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	values = slices.Sorted(slices.Values(values))
	at := q * float64(len(values)-1)
	low := int(at)
	high := min(low+1, len(values)-1)
	return values[low] + (at-float64(low))*(values[high]-values[low])
}
